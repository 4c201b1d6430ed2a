"""The rows that decide between the two best models: those on which they differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from goldpan.core.parquet import read_table
from goldpan.datasets.task import Task
from goldpan.evaluation.comparison.question import DecidingRows, System
from goldpan.evaluation.runs import PREDICTIONS, Run
from goldpan.evaluation.score import PATHS


def deciding_rows(
    first: System, second: System, tasks: Sequence[str], known: Mapping[str, Task]
) -> DecidingRows:
    """Return on how many rows of these tasks two models differ, in any of their seeds."""
    differ = rows = 0
    for task in tasks:
        one, other = (
            _answers(system.runs.get(task, ()), known.get(task)) for system in (first, second)
        )
        shared = one.keys() & other.keys()
        rows += len(shared)
        differ += sum(one[row] != other[row] for row in shared)
    return DecidingRows(first.name, second.name, differ, rows)


def _answers(runs: Sequence[Run], task: Task | None) -> dict[str, list[object]]:
    """Return what a model says of each row, each outcome once, or whether it is right."""
    by_right = task is not None and (
        task.type in ("binary", "multi-class") or task.source.builder == PATHS
    )
    said: dict[str, set[object]] = {}
    for run in runs:
        table = read_table(run.directory / PREDICTIONS, ["id", "truth", "answer"])
        for row in table.to_pylist():
            answer = row["answer"] == row["truth"] if by_right else repr(row["answer"])
            said.setdefault(row["id"], set()).add(answer)
    return {row: sorted(outcomes, key=repr) for row, outcomes in said.items()}
