"""Record of a finished run: `result.json` as typed data, and how people see it."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from goldpan._version import __version__
from goldpan.core.result import Block, Line, Table, Title
from goldpan.core.sanitize import line
from goldpan.datasets.tasks.leakage import DateSignal
from goldpan.evaluation.finetune.job import FEWEST_STEPS
from goldpan.evaluation.metrics.estimate import Interval, Scores
from goldpan.evaluation.model import Costs
from goldpan.evaluation.protocol import Protocol
from goldpan.evaluation.score import main_metrics
from goldpan.evaluation.slices import ByColumn, Leaks, RowDates, headline
from goldpan.evaluation.units import MANY_PROJECTS

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


_ANSWERS = 5
"""Number of invalid answers that are shown."""
_LABELS, _PARTS = 30, 20
"""Number of labels, and of values of a column, that have a line."""


def run_blocks(record: RunRecord, directory: Path, *, again: bool) -> Iterator[Block]:
    """Yield the scores of a run and where it lies; what makes them worth less comes first."""
    scores = record.scores
    ablated = f", without {record.settings['ablate']}" if "ablate" in record.settings else ""
    yield Title(
        f"{record.task} by {record.model}, seed {record.seed}",
        f", protocol {record.protocol.name}{' in part' if record.in_part else ''}{ablated}"
        + (" (was run before)" if again else ""),
    )
    yield from (Line(f"  {sentence}") for sentence in cautions(record))
    for metric in map(scores.metric, main_metrics(scores)):
        value = metric.value
        text = f"not defined ({metric.reason})" if value is None else number_text(value)
        text += interval_text(metric.interval)
        if metric.name == scores.main:
            if metric.interval is None and value is not None and metric.reason:
                text += f" ({metric.reason})"
            text += _score_on_new(record.leaks)
        yield Line(f"  {metric.name}: {text}")
    if 1 < scores.projects < MANY_PROJECTS:
        others = "intervals hold on new rows of these, and others may differ"
        yield Line(f"  the test is of {scores.projects} projects: {others}")
    yield from _label_blocks(scores)
    for part in record.scores_by.values():
        yield from _by_blocks(part)
    yield from _closing_blocks(record, directory)


def cautions(record: RunRecord) -> list[str]:
    """Return the cautions for whoever quotes a run's scores, the most important first."""
    scores = record.scores
    texts = [
        headline(record.leaks, scores.main, scores.value(scores.main)),
        _caution_of_dates(record),
        *cautions_of_steps(record.learning),
    ]
    if record.dates is not None and (caution := caution_of_cutoff(record.dates)):
        texts.append(caution)
    if record.in_part:
        gaps = "; ".join(record.in_part)
        texts.append(f"Protocol {record.protocol.name} in part: {gaps}")
    return [text for text in texts if text]


def _caution_of_dates(record: RunRecord) -> str:
    """Return the caution that labels follow from dates, and that this model reads them."""
    sentence = record.date_signal.sentence() if record.date_signal else ""
    reads = sentence and record.uses_dates
    return f"{sentence}. This model reads the date itself" if reads else sentence


def caution_of_cutoff(dates: RowDates) -> str:
    """Return how many test rows the model may have read in training; empty where none is known."""
    if dates.cutoff is None or dates.until is None or dates.after is None:
        return ""
    dated = dates.until + dates.after
    if not dated:
        return f"No test row has a date, so the cut-off {dates.cutoff} says nothing"
    undated = f"; {dates.undated:,} have no date" if dates.undated else ""
    return (
        f"{dates.until:,} of {dated:,} test rows are from {dates.cutoff} or before, the model's "
        f"cut-off{undated}"
    )


def cautions_of_steps(learning: Learning) -> list[str]:
    """Return the caution that a model was trained for too few steps to learn; none else."""
    facts = learning.facts
    parts = [facts, *facts.get("parts", {}).values()]
    steps = [int(part["planned_steps"]) for part in parts if "planned_steps" in part]
    if not steps or min(steps) >= FEWEST_STEPS:
        return []
    return [
        f"Warning: it learned in {min(steps):,} steps, too few for a model to change much (from "
        f"{FEWEST_STEPS} on it does): give more --epochs or a smaller --set batch"
    ]


def _score_on_new(leaks: Leaks) -> str:
    """Return the scores without rows seen in train, to stand beside the score with them."""
    if not leaks.learned:
        return ""
    return "".join(
        f"; without {part.seen} seen in train {number_text(part.value)}"
        f"{interval_text(part.interval)} on {part.left:,} rows"
        for part in leaks.without
        if part.value is not None
    )


def _label_blocks(scores: Scores) -> Iterator[Block]:
    """Yield precision, recall and F1 of each label of a classification task."""
    counts = scores.label_confusions
    if not counts:
        return
    names = ("precision", "recall", "f1")
    cells = [
        (
            f"  {confusion.label}",
            *(number_text(scores.value(name, confusion.label)) for name in names),
            confusion.tp + confusion.fn,
        )
        for confusion in counts[:_LABELS]
    ]
    yield Table(("  label", *names, "rows"), cells)
    if len(counts) > _LABELS:
        yield Line(f"  and {len(counts) - _LABELS:,} more labels in result.json")


def _by_blocks(by: ByColumn) -> Iterator[Block]:
    """Yield a run's scores by a column, the values with most rows first."""
    if by.mean is not None:
        spread = "" if by.spread is None else f" ± {by.spread:.4f}"
        values = f"{len(by.parts):,} value{'' if len(by.parts) == 1 else 's'}"
        yield Line(
            f"  mean {by.metric} over {values} of {by.column}: {number_text(by.mean)}{spread}"
        )
    cells = [
        (
            f"  {line(part.value, 60)}",
            number_text(part.score),
            interval_text(part.interval).strip(),
            part.examples,
        )
        for part in by.parts[:_PARTS]
    ]
    yield Table((f"  {line(by.column)}", by.metric, "95 %", "rows"), cells)
    if len(by.parts) > _PARTS:
        yield Line(f"  and {len(by.parts) - _PARTS:,} more in result.json")


def _closing_blocks(record: RunRecord, directory: Path) -> Iterator[Block]:
    """Yield the size, cost and notes of a run."""
    scores, costs, answers = record.scores, record.costs, record.answers
    invalid = f", {scores.invalid:,} answers not valid" if scores.invalid else ""
    seconds = f"{costs.wall_seconds:.1f} s"
    yield Line(f"  {scores.examples:,} examples{invalid}; {seconds}; {directory}")
    if costs.input_tokens:
        money = f", cost {costs.money:,.2f}" if costs.money else ""
        tokens = f"{costs.input_tokens:,} tokens read and {costs.output_tokens:,} written"
        yield Line(f"  {tokens}{money}")
    if answers.notes:
        notes = ", ".join(f"{name} {count:,}" for name, count in answers.notes.items())
        yield Line(f"  answers: {notes}")
    for answer in answers.invalid[:_ANSWERS]:
        if answer.raw:
            yield Line(f"  not valid, {answer.count:,} times: {line(answer.raw)}")


def number_text(value: float | None) -> str:
    """Return a score as screens show it."""
    return "-" if value is None else f"{value:.4f}"


def interval_text(interval: Interval | None) -> str:
    """Return an interval as screens show it, after a blank."""
    return "" if interval is None else f" [{interval.low:.4f}, {interval.high:.4f}]"
