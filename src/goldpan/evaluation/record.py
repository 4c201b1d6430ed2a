"""The record of a finished run: one type on disk, in memory and in the API.

    WORKSPACE/runs/TASK/MODEL/seed-S-DIGEST/
    ├── result.json          the record; its presence is the end
    ├── predictions.parquet  an answer a test row (`score.py`), with how it resembles train
    ├── train.parquet        the same for at most 5,000 train rows, to see overfitting; no rows of
    │                        models whose answers cost money
    └── validation.parquet   the same for the rows that chose, to see degradation; no rows where
                             nothing, or the test, chose

The digest is that of everything that tells runs apart, so a finished run is never repeated and
other settings are another run.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
from pydantic import TypeAdapter, ValidationError

from goldpan.core.errors import EvaluationError, UsageError
from goldpan.core.plugins.registry import unknown_name
from goldpan.core.result import NOT_IN_JSON, Result, json_data
from goldpan.core.storage.parquet import read_table, reading, write_table
from goldpan.core.storage.sealed import read_json, sealed_json
from goldpan.core.storage.workspace import WorkspaceLayout, publish, write_whole
from goldpan.datasets.tasks.leakage import DateSignal
from goldpan.evaluation.environment import Environment
from goldpan.evaluation.metrics.estimate import Scores
from goldpan.evaluation.model import Costs, Learning
from goldpan.evaluation.protocol import Protocol
from goldpan.evaluation.score import InvalidAnswer
from goldpan.evaluation.slices import ByColumn, Leaks, RowDates

FORMAT = 3
RESULT = "result.json"
PREDICTIONS = "predictions.parquet"
TRAIN = "train.parquet"
VALIDATION = "validation.parquet"
ABLATE = "ablate"
"""The setting of a run that names what is taken out of the input."""
_REMEDY = "Remove its directory and run it again"


@dataclass(frozen=True, slots=True)
class LearnedFrom:
    """How many rows the model learned from."""

    train: int
    """Rows of train."""
    validation: int
    """Rows that chose, of a split or carved out of train."""


@dataclass(frozen=True, slots=True)
class AnswerNotes:
    """Notes on the answers to test rows."""

    notes: Mapping[str, int]
    """How many are not what was hoped for, by what they are: refused, truncated."""
    invalid: tuple[InvalidAnswer, ...]
    """The commonest ones that are not valid."""


@dataclass(frozen=True, slots=True)
class RunRecord(Result):
    """The record of a finished run: task, model, seed, settings, environment and scores."""

    schema = 4

    directory: Path = field(metadata=NOT_IN_JSON)
    """Where the run lies."""
    again: bool = field(metadata=NOT_IN_JSON)
    """True where the run was finished before."""
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
    seed: int
    """Seed of all random draws."""
    plugins: Mapping[str, str]
    """SHA-256 of the plugins that brought the model or the task, by their names."""
    environment: Environment
    """Goldpan's revision, packages and hardware."""
    rows: Mapping[str, int]
    """How many rows each split has."""
    dates: RowDates
    """When test rows were written, and how many after the model's cut-off."""
    date_signal: DateSignal | None
    """Prediction of labels by dates alone; None without dates."""
    split: str
    """How rows were split, as `--split` writes it; empty where it is not known."""
    learned_from: LearnedFrom
    """How many rows the model learned from."""
    learning: Learning
    """How the model came to be."""
    in_part: tuple[str, ...]
    """In what the run is less than its protocol asks for; empty where it follows it in whole."""
    uses_neighbors: bool
    """True if the model reads the texts around a row, those of test rows included."""
    test_opened: int
    """How often the test was opened: once, and once more after each kill."""
    answers: AnswerNotes
    """Notes on the answers."""
    costs: Costs
    """Tokens, money and time."""
    leaks: Leaks
    """Test rows that resemble train, and the scores without them."""
    scores_by: Mapping[str, ByColumn]
    """Scores by project, and by the columns that `--by` named."""
    scores: Scores
    """On test, from the stored predictions alone."""
    train_scores: Scores
    """On train rows, to see overfitting."""
    validation_scores: Scores
    """On the rows that chose, to see degradation."""

    def __repr__(self) -> str:
        name = f"{self.task} by {self.model}, seed {self.seed}"
        return f"<RunRecord of {name}: {self.scores.main} {self.value}>"

    @property
    def hashes(self) -> tuple[str, str]:
        """Hashes of the data and of the split: scores of other ones cannot be compared."""
        return self.data_hash, self.split_hash

    @property
    def value(self) -> float | None:
        """The score that ranks, None where it is undefined."""
        return self.scores.value(self.scores.main)

    def predictions(self) -> pa.Table:
        """Return the answers to the test rows."""
        return self.table(PREDICTIONS)

    def table(self, name: str) -> pa.Table:
        """Return one of the run's tables; raises `EvaluationError` where it is damaged."""
        path = self.directory / name
        with reading(path, _REMEDY, EvaluationError):
            return read_table(path)


_RECORD = TypeAdapter(RunRecord)


def run_directory(workspace: WorkspaceLayout, identity: Mapping[str, Any]) -> Path:
    """Return where the run of that identity lies."""
    plain = orjson.dumps(json_data(identity), option=orjson.OPT_SORT_KEYS)
    name = f"seed-{identity['seed']}-{hashlib.sha256(plain).hexdigest()[:12]}"
    folder: Path = workspace.root / "runs" / identity["task"] / identity["model"]
    return folder / name


def write_run(
    workspace: WorkspaceLayout, record: RunRecord, tables: Mapping[str, pa.Table]
) -> None:
    """Publish a run; its record goes last, as a directory without it is no finished run."""
    with workspace.scratch() as scratch:
        _write(scratch, record, tables)
        publish({scratch / name: record.directory / name for name in (*tables, RESULT)})


def replace_run(
    workspace: WorkspaceLayout, record: RunRecord, tables: Mapping[str, pa.Table]
) -> None:
    """Replace the record of a finished run and some of its tables, all at once."""
    with workspace.replacing(record.directory) as building:
        shutil.copytree(record.directory, building, dirs_exist_ok=True)
        _write(building, record, tables)


def _write(folder: Path, record: RunRecord, tables: Mapping[str, pa.Table]) -> None:
    for name, table in tables.items():
        write_table(table, folder / name)
    write_whole(folder / RESULT, sealed_json(json_data(record)))


def read_record(directory: Path, *, again: bool = True) -> RunRecord:
    """Read a run's record; raises `EvaluationError` where it is damaged or of another format."""
    path = directory / RESULT
    try:
        plain = read_json(path)
        if plain["format"] == FORMAT:
            return _RECORD.validate_python({**plain, "directory": directory, "again": again})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        cause = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
        raise EvaluationError(f"{path} cannot be read ({cause})", _REMEDY) from None
    except (OSError, orjson.JSONDecodeError, KeyError, TypeError) as error:
        raise EvaluationError(f"{path} cannot be read ({error})", _REMEDY) from None
    raise EvaluationError(
        f"{path} has the format {plain['format']} of another version of Goldpan, not {FORMAT}",
        f"{_REMEDY}, or use the version that wrote it",
    )


def read_runs(
    workspace: WorkspaceLayout, *, tasks: Collection[str] = (), models: Collection[str] = ()
) -> list[RunRecord]:
    """Return the finished runs of these tasks and models, of all where none is named; sorted.

    Raises `UsageError` where there is none, `EvaluationError` for one that is damaged.
    """
    runs = []
    stored: dict[str, set[str]] = {"task": set(), "model": set()}
    for path in sorted((workspace.root / "runs").glob(f"*/*/*/{RESULT}")):
        task, model = path.parts[-4:-2]
        stored["task"].add(task)
        stored["model"].add(model)
        if (not tasks or task in tasks) and (not models or model in models):
            runs.append(read_record(path.parent))
    if not runs:
        raise _no_runs(workspace, stored, {"task": tasks, "model": models})
    return sorted(runs, key=lambda run: (run.task, run.model, run.seed, run.directory.name))


def require_runs(noun: str, names: Collection[str], available: Collection[str]) -> None:
    """Raise `UsageError` that lists near matches for a task, model or protocol without a run."""
    for name in names:
        if name not in available:
            raise unknown_name(f"stored run for the {noun}", name, sorted(available))


def _no_runs(
    workspace: WorkspaceLayout,
    stored: Mapping[str, Collection[str]],
    wanted: Mapping[str, Collection[str]],
) -> UsageError:
    """Say that no run was chosen; raises `UsageError` itself for the one name that has no run."""
    for noun, names in wanted.items():
        if len(names) == 1 and stored[noun]:
            require_runs(noun, names, stored[noun])
    chosen = " of what was asked for" if any(wanted.values()) and stored["task"] else ""
    return UsageError(
        f"{workspace.root} holds no finished run{chosen}",
        "Run goldpan evaluate run --task TASK --model MODEL",
    )
