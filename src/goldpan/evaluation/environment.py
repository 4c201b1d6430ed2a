"""The environment of a run: versions, processor, memory and GPUs."""

from __future__ import annotations

import os
import platform
import subprocess
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from goldpan._version import __version__

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
    "sentence-transformers",
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
        packages=_versions(),
    )


def _revision() -> str | None:
    source = Path(__file__).resolve().parents[3]
    if not (source / ".git").exists():
        return None
    git = ("git", "-C", str(source))
    head = _output(*git, "rev-parse", "HEAD")
    return head and head + ("+" if _output(*git, "status", "--porcelain") else "")


def _output(*command: str) -> str | None:
    """Return what a program prints, without spaces around; None where it is missing or fails."""
    try:
        return subprocess.run(  # noqa: S603
            command, capture_output=True, text=True, check=True, timeout=30
        ).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return None


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.machine()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


def _gpus() -> tuple[str, ...]:
    output = _output("nvidia-smi", "--query-gpu=name", "--format=csv,noheader") or ""
    return tuple(output.splitlines())


def _versions() -> dict[str, str]:
    versions = {}
    for package in _PACKAGES:
        with suppress(PackageNotFoundError):
            versions[package] = version(package)
    return versions
