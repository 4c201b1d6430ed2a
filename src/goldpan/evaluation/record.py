"""Record of a finished run: `result.json` as typed data."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from goldpan._version import __version__
from goldpan.datasets.tasks.leakage import DateSignal
from goldpan.evaluation.metrics.estimate import Scores
from goldpan.evaluation.model import Costs
from goldpan.evaluation.protocol import Protocol
from goldpan.evaluation.slices import ByColumn, Leaks, RowDates

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


class _RecordPart(BaseModel):
    """Data that nobody changes; what a later version adds is passed over."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class LearnedFrom(_RecordPart):
    """How many rows the model learned from."""

    train: int
    """Rows of train."""
    validation: int
    """Rows that chose, of a split or carved out of train."""


class Learning(_RecordPart):
    """How the model came to be."""

    chosen_on: str
    """Rows that chose among candidates; empty without candidates."""
    candidates: int
    """How many there were."""
    from_all: bool
    """True where the model learned from all of train, the rows that chose included."""
    training: str = ""
    """Name of a training that answers several tasks; empty for the training of this task alone."""
    facts: Mapping[str, Any]
    """Further facts, by model."""


class InvalidAnswer(_RecordPart):
    """An answer that is not valid."""

    raw: str
    """As the model gave it, cut to 500 characters."""
    count: int
    """How often it was given."""


class AnswerNotes(_RecordPart):
    """Notes on the answers to test rows."""

    notes: Mapping[str, int]
    """How many are not what was hoped for, by what they are: refused, truncated."""
    invalid: tuple[InvalidAnswer, ...]
    """The commonest ones that are not valid."""


class RunRecord(_RecordPart):
    """The record of a finished run: task, model, seed, settings, environment and scores."""

    format: int
    """Version of the file's format; others are refused."""
    task: str
    """The task's name."""
    metric: str
    """The metric that ranks."""
    labels: tuple[str, ...]
    """The labels of a classification task, in the order of scores."""
    data_hash: str
    """SHA-256 of all rows, whatever their split."""
    split_hash: str
    """SHA-256 of the assignment of rows to splits."""
    model: str
    """The model's name."""
    settings: Mapping[str, Any]
    """The model's and the relevant ones of the task; `ablate` names what was left out."""
    protocol: Protocol
    """The rules by which settings were chosen and the test was opened."""
    in_part: tuple[str, ...] = ()
    """In what the run is less than its protocol asks for; empty where it follows it in whole."""
    seed: int
    """Seed of all random draws."""
    plugins: Mapping[str, str] = {}
    """SHA-256 of the plugins that brought the model or the task, by their names."""
    environment: Environment
    """Goldpan's revision, packages and hardware."""
    rows: Mapping[str, int]
    """How many rows each split has."""
    dates: RowDates | None = None
    """When test rows were written, and how many after the model's cut-off; None in older runs."""
    date_signal: DateSignal | None = None
    """Prediction of labels by dates alone; None without dates, and in older runs."""
    split: str
    """How rows were split, as `--split` writes it; empty where it is not known."""
    learned_from: LearnedFrom
    """How many rows the model learned from."""
    learning: Learning
    """How the model came to be."""
    uses_neighbours: bool
    """True if the model reads the texts around a row, those of test rows included."""
    uses_dates: bool = False
    """True if the model reads the date of a text; false in older runs."""
    test_opened: int
    """How often the test was opened: once, and once more after each kill."""
    answers: AnswerNotes
    """Notes on the answers."""
    costs: Costs
    """Tokens, money and time."""
    leaks: Leaks
    """Test rows that resemble train, and the scores without them."""
    scores_by: Mapping[str, ByColumn] = {}
    """Scores by project, and by the columns that `--by` named."""
    scores: Scores
    """On test, from the stored predictions alone."""
    train_scores: Scores
    """On train rows, to see overfitting."""
    validation_scores: Scores
    """On the rows that chose, to see degradation."""
