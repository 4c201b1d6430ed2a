"""On what a run ran: Goldpan's revision, packages and hardware, as `result.json` keeps them."""

from __future__ import annotations

import os
import platform
import subprocess
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from goldpan import __version__

_PACKAGES = (
    "accelerate",
    "autorank",
    "deepspeed",
    "numpy",
    "openai",
    "peft",
    "pyarrow",
    "scikit-learn",
    "scipy",
    "torch",
    "transformers",
    "xgboost-cpu",
)


@dataclass(frozen=True, slots=True)
class Environment:
    """Where a run happened; it names no machine and no person."""

    goldpan: str
    revision: str | None
    """The git commit of Goldpan's source, with `+` where files differ; None when installed."""
    python: str
    system: str
    cpu: str
    cores: int
    memory_gb: float
    gpus: tuple[str, ...] = ()
    packages: dict[str, str] = field(default_factory=dict)


@cache
def read_environment() -> Environment:
    """Return the environment of this process."""
    return Environment(
        goldpan=__version__,
        revision=_revision(),
        python=platform.python_version(),
        system=platform.system().lower(),
        cpu=_cpu(),
        cores=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1,
        memory_gb=round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        gpus=_gpus(),
        packages=dict(_versions()),
    )


def _revision() -> str | None:
    source = Path(__file__).resolve().parents[3]
    if not (source / ".git").exists():
        return None
    head = _git(source, "rev-parse", "HEAD")
    return head and head + ("+" if _git(source, "status", "--porcelain") else "")


def _git(source: Path, *arguments: str) -> str | None:
    try:
        process = subprocess.run(  # noqa: S603
            ["git", "-C", str(source), *arguments],  # noqa: S607
            capture_output=True,
            text=True,
            check=True,
            timeout=30,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return process.stdout.strip()


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.machine()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


def _gpus() -> tuple[str, ...]:
    try:
        process = subprocess.run(
            ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"],  # noqa: S607
            capture_output=True,
            text=True,
            check=True,
            timeout=30,
        )
    except (OSError, subprocess.SubprocessError):
        return ()
    return tuple(process.stdout.split("\n")[:-1])


def _versions() -> list[tuple[str, str]]:
    versions = []
    for package in _PACKAGES:
        try:
            versions.append((package, version(package)))
        except PackageNotFoundError:
            continue
    return versions
