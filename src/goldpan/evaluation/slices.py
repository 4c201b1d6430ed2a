"""Scores by slices of the rows: by a column of the dataset, and by the length of the input."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from goldpan.core.errors import DatasetError, EvaluationError, UsageError
from goldpan.core.result import Block, Result, Table
from goldpan.datasets.provenance import shard_paths
from goldpan.datasets.task import Task
from goldpan.datasets.task_data import TaskData
from goldpan.evaluation.metrics.estimate import Interval, Scores
from goldpan.evaluation.score import RESAMPLES, score

if TYPE_CHECKING:
    from goldpan.evaluation.runs import Run

ALWAYS = "repo"
"""The column by which every run is scored, where its rows name 2 to 200 projects."""
_MOST_BY_DEFAULT, _MOST = 200, 5_000
_RESAMPLES = 500


@dataclass(frozen=True, slots=True)
class PartScore:
    """The score of the rows with one value of the column."""

    value: str
    examples: int
    score: float | None
    """In the run's main metric."""
    interval: Interval | None
    """95 %, by bootstrap over these rows."""


@dataclass(frozen=True, slots=True)
class ByColumn:
    """A run's scores by a column."""

    column: str
    metric: str
    mean: float | None
    """Over the values, each counting the same however many rows it has."""
    spread: float | None
    """The standard deviation over them; None of a single one."""
    parts: tuple[PartScore, ...]
    """The values with most rows first."""


def scores_by(
    task: Task,
    predictions: pa.Table,
    column: str,
    *,
    seed: int = 0,
    files: Mapping[str, str] | None = None,
) -> ByColumn:
    """Score the rows of each value of a column that `predictions` has.

    Raises `UsageError` where it has more values than anyone reads.
    """
    values = values_of(predictions, column)
    counts = Counter(values)
    if len(counts) > _MOST:
        raise UsageError(
            f"The predictions have {len(counts):,} values of {column}",
            f"Give a column with {_MOST:,} values or fewer",
        )
    indexes: dict[str, list[int]] = {}
    for position, value in enumerate(values):
        indexes.setdefault(value, []).append(position)
    resamples = _RESAMPLES if len(counts) <= _MOST_BY_DEFAULT else 0
    parts = []
    for value in sorted(indexes, key=lambda name: (-counts[name], name)):
        rows = predictions.take(pa.array(indexes[value], pa.int64()))
        metric = score(task, rows, seed=seed, resamples=resamples, files=files).metric(task.metric)
        parts.append(PartScore(value, len(rows), metric.value, metric.interval))
    scores = [part.score for part in parts if part.score is not None]
    mean = math.fsum(scores) / len(scores) if scores else None
    spread = None
    if mean is not None and len(scores) > 1:
        spread = math.sqrt(math.fsum((x - mean) ** 2 for x in scores) / (len(scores) - 1))
    return ByColumn(column, task.metric, mean, spread, tuple(parts))


def default_columns(predictions: pa.Table) -> tuple[str, ...]:
    """Return the columns by which a run is scored in any case."""
    projects = set(predictions[ALWAYS].to_pylist()) - {None}
    return (ALWAYS,) if 2 <= len(projects) <= _MOST_BY_DEFAULT else ()


NO_VALUE = "(none)"
_LONGEST = 200


def with_columns(data: TaskData, directory: Path, names: Iterable[str]) -> TaskData:
    """Return a task's rows with these columns of their dataset; its hashes stay.

    Raises `UsageError` for a column that the dataset has not, `DatasetError` where it cannot be
    read.
    """
    present = next(iter(data.splits.values())).column_names
    missing = [name for name in dict.fromkeys(names) if name not in present]
    if not missing:
        return data
    splits = {
        name: _added(rows, _read(directory, name, missing), missing)
        for name, rows in data.splits.items()
    }
    return replace(data, splits=splits)


def values_of(rows: pa.Table, column: str) -> list[str]:
    """Return what groups each row: the value as text, the year of a time, `(none)` for none."""
    return [_text(value) for value in rows[column].to_pylist()]


def _text(value: Any) -> str:
    if value is None:
        return NO_VALUE
    if isinstance(value, datetime):
        return str(value.year)
    if isinstance(value, list):
        return ", ".join(map(str, value))[:_LONGEST] or NO_VALUE
    return str(value)[:_LONGEST] or NO_VALUE


def _read(directory: Path, split: str, columns: list[str]) -> pa.Table:
    paths = shard_paths(directory, split)
    try:
        present = [name for name in pq.read_schema(paths[0]).names if name != "id"]
        if missing := [name for name in columns if name not in present]:
            raise UsageError(
                f"The rows in {directory} have no column {missing[0]!r}",
                f"They have {', '.join(present)}",
            )
        return pa.concat_tables(pq.read_table(path, columns=["id", *columns]) for path in paths)
    except (OSError, IndexError, pa.ArrowException) as error:
        message = (str(error).splitlines() or ["no file"])[0]
        raise DatasetError(
            f"{directory} cannot be read ({message})", "Import or build the dataset again"
        ) from None


def _added(rows: pa.Table, columns: pa.Table, names: list[str]) -> pa.Table:
    positions = {name: position for position, name in enumerate(columns["id"].to_pylist())}
    order = pa.array([positions[name] for name in rows["id"].to_pylist()], pa.int64())
    for name in names:
        rows = rows.append_column(name, columns[name].take(order))
    return rows


THIRDS = ("short", "medium", "long")


@dataclass(frozen=True, slots=True)
class Third:
    """The scores of the shortest, middle or longest examples."""

    name: str
    shortest: int
    longest: int
    """Characters of the inputs."""
    scores: Scores


def length_thirds(lengths: Mapping[str, int]) -> tuple[tuple[str, ...], ...]:
    """Sort examples by length and divide them evenly; equal lengths go by id.

    The paper divides evenly and says no more; where the number is no multiple of three, shorter
    thirds get one more. A third may be empty where there are fewer than three examples.
    """
    ordered = sorted(lengths, key=lambda id_: (lengths[id_], id_))
    size, more = divmod(len(ordered), len(THIRDS))
    sizes = [size + (index < more) for index in range(len(THIRDS))]
    ends = [sum(sizes[: index + 1]) for index in range(len(THIRDS))]
    return tuple(tuple(ordered[end - size : end]) for end, size in zip(ends, sizes, strict=True))


def score_by_length(
    task: Task,
    predictions: pa.Table,
    lengths: Mapping[str, int],
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
    files: Mapping[str, str] | None = None,
) -> tuple[Third, ...]:
    """Score the short, the medium and the long examples apart; lengths are characters by id.

    Raises `EvaluationError` where an example has no length or there are fewer than three.
    """
    ids = predictions["id"].to_pylist()
    unknown = [id_ for id_ in ids if id_ not in lengths]
    if unknown or len(ids) < len(THIRDS):
        problem = f"{unknown[0]!r} has no length" if unknown else f"There are {len(ids)} examples"
        raise EvaluationError(problem, "Give at least three examples, all with their lengths")
    thirds = length_thirds({id_: lengths[id_] for id_ in ids})
    parts: list[Third] = []
    for name, members in zip(THIRDS, thirds, strict=True):
        rows = predictions.filter(pc.is_in(predictions["id"], pa.array(members, pa.string())))
        scores = score(task, rows, seed=seed, resamples=resamples, files=files)
        parts.append(Third(name, lengths[members[0]], lengths[members[-1]], scores))
    return tuple(parts)


@dataclass(frozen=True, slots=True)
class LengthScores(Result):
    """The scores of short, medium and long inputs of runs (FAUN-Eval, RQ3)."""

    measured: tuple[tuple[Run, Sequence[Third]], ...]

    def plain(self) -> list[dict[str, Any]]:
        """Return the thirds of each run."""
        return [
            {"directory": str(run.directory), "thirds": [asdict(third) for third in thirds]}
            for run, thirds in self.measured
        ]

    def blocks(self) -> Iterator[Block]:
        """Yield how scores change with the length of the input."""
        cells = []
        for run, thirds in self.measured:
            name = f"{run.task} by {run.model}, seed {run.seed}: {run.scores.main}"
            for index, third in enumerate(thirds):
                value = third.scores.value(third.scores.main)
                cells.append(
                    (
                        "" if index else name,
                        third.name,
                        f"{third.shortest:,} to {third.longest:,}",
                        third.scores.examples,
                        "not defined" if value is None else f"{value:.4f}",
                    )
                )
        yield Table(("run", "inputs", "characters", "examples", "score"), cells)
