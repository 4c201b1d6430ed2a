"""Runs a model on a task once: `goldpan evaluate run`.

    WORKSPACE/runs/TASK/MODEL/seed-S-DIGEST/
    ├── result.json          settings, environment, hashes, costs, scores; its presence is the end
    ├── predictions.parquet  an answer a test row (`score.py`), with how it resembles train
    ├── train.parquet        the same for at most 5,000 train rows, to see overfitting; no rows of
    │                        models whose answers cost money
    └── validation.parquet   the same for the rows that chose, to see degradation; no rows where
                             nothing, or the test, chose

The digest is that of everything that tells runs apart, so a finished run is never repeated and
other settings are another run. What a model keeps while it learns lies beside, in
``seed-S-DIGEST.work``, until the run is done.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from goldpan.core.errors import EvaluationError, UsageError
from goldpan.core.plugins.registry import unknown_name
from goldpan.core.result import Result
from goldpan.core.storage.parquet import write_table
from goldpan.core.storage.sealed import sealed_json
from goldpan.core.storage.workspace import (
    WorkspaceLayout,
    hold_lock,
    make_directory,
    publish,
    write_whole,
)
from goldpan.core.terminal import Reporter
from goldpan.datasets.tasks.data import TaskData
from goldpan.datasets.tasks.leakage import date_signal
from goldpan.evaluation.model import CUTOFF, Costs, Model, SelectionInfo
from goldpan.evaluation.protocol import Protocol, in_part
from goldpan.evaluation.record import RunRecord, read_environment
from goldpan.evaluation.runs import (
    PREDICTIONS,
    RESULT,
    TRAIN,
    VALIDATION,
    Run,
    identity,
    read_result,
    rescore,
    run_directory,
    scored,
    with_values,
)
from goldpan.evaluation.score import invalid_answers, metric_names
from goldpan.evaluation.slices import default_columns, find_dates, overlap_of, read_overlap
from goldpan.evaluation.task_input import values_of
from goldpan.evaluation.training import PartResult, train_and_ask, training_context, unanswered
from goldpan.llm.budget import RequestEstimate

_Splits = Mapping[str, pa.Table]
"""Rows that one model learns from and answers."""


def _parts(data: TaskData, protocol: Protocol, *, needs_train: bool) -> Mapping[str, _Splits]:
    """Return the parts that a protocol asks for; every test row is in one of them.

    They are named by the value of a column; the name is empty where one model does all. Raises
    `UsageError` where rows lack the column, `EvaluationError` where a part has nothing to
    learn from.
    """
    column = protocol.leave_out or protocol.model_per
    if not column:
        return {"": data.splits}
    for name, rows in data.splits.items():
        if column not in rows.column_names or rows[column].null_count:
            raise UsageError(
                f"The protocol {protocol.name} wants a {column} of each row, and the {name} rows "
                f"of {data.task.name} lack some",
                "Choose another --protocol, or import the rows with their projects",
            )
    values = {
        name: np.array(values_of(rows, column), dtype=object) for name, rows in data.splits.items()
    }
    parts: dict[str, _Splits] = {}
    for value in sorted(set(values["test"])):
        splits = {}
        for name, rows in data.splits.items():
            without = bool(protocol.leave_out) and name != "test"
            matching = rows.filter(pa.array((values[name] == value) != without))
            if len(matching):
                splits[name] = matching
        if needs_train and not len(splits.get("train", ())):
            raise EvaluationError(
                f"{data.task.name} has no train rows for {column} {value}, and the protocol "
                f"{protocol.name} trains a model for each",
                "Choose another --protocol",
            )
        parts[value] = splits
    return parts


@dataclass(frozen=True, slots=True)
class RunResult(Result):
    """A finished run."""

    schema = 2

    directory: Path
    result: Mapping[str, Any] = field(repr=False)
    """The content of `result.json`."""
    again: bool
    """True where the run was finished before."""

    @property
    def record(self) -> RunRecord:
        """The same, typed."""
        return Run.of(self.directory, self.result)


def run(
    workspace: WorkspaceLayout,
    data: TaskData,
    model: Model,
    protocol: Protocol,
    seed: int,
    reporter: Reporter,
    *,
    files: Mapping[str, str] | None = None,
    ablated: Sequence[str] = (),
    by: Sequence[str] = (),
) -> RunResult:
    """Train and test a model, or return the finished run with the same settings.

    The model learns from train and validation; then the test is opened, without its answers.
    Where the protocol asks for a model a project, that is done for each, and the answers are put
    together. `files` are for scoring, as `score` takes them; `ablated` names the parts of the input
    that the data lack; `by` are columns of the rows by which to score, beside the project.
    Raises `EvaluationError` where the data have no train or test split, or another process does
    the same run, and what the model raises.
    """
    _require(data, model)
    facts = identity(data, model, protocol, seed, ablated)
    directory = run_directory(workspace, facts)
    if (directory / RESULT).exists():
        return _finished(workspace, directory, data, by, files)
    work = directory.with_name(directory.name + ".work")
    with _locked(work):
        if (directory / RESULT).exists():  # another process was faster
            shutil.rmtree(work, ignore_errors=True)
            return _finished(workspace, directory, data, by, files)
        costs = Costs()
        parts = _parts(data, protocol, needs_train=model.needs_train)
        trained_parts = []
        for number, (name, splits) in enumerate(parts.items(), 1):
            folder = work if len(parts) == 1 else work.with_name(f"{directory.name}.{number}.work")
            overlap = (
                read_overlap(workspace, data)
                if splits is data.splits
                else overlap_of(data.task, splits)
            )
            context, test = training_context(
                workspace, replace(data, splits=splits), protocol, seed, folder, reporter, costs
            )
            title = f"{data.task.name} by {model.name}" + (f", {name}" if name else "")
            trained_parts.append(train_and_ask(model, context, test, overlap, title))
        predictions = with_values(_joined(part.predictions for part in trained_parts), data, by)
        tables = {
            PREDICTIONS: predictions,
            TRAIN: _joined(part.learned for part in trained_parts),
            VALIDATION: _joined(part.chosen for part in trained_parts),
        }
        kinds = frozenset(kind for part in trained_parts for kind in part.overlap.rows)
        result = {
            **facts,
            "environment": asdict(read_environment()),
            "rows": {name: len(table) for name, table in data.splits.items()},
            "dates": asdict(find_dates(data.splits["test"], model.settings.get(CUTOFF))),
            "date_signal": _date_signal(data),
            "split": data.split,
            "learned_from": {
                name: sum(part.learned_from[name] for part in trained_parts)
                for name in ("train", "validation")
            },
            "learning": _learning([part.context.learning for part in trained_parts], parts),
            "in_part": _gaps(data, model, protocol, parts, trained_parts),
            "uses_neighbours": model.uses_neighbours,
            "uses_dates": model.uses_dates,
            "test_opened": max(part.opened for part in trained_parts),
            "answers": {
                "notes": dict(sum((Counter(part.notes) for part in trained_parts), Counter())),
                "invalid": invalid_answers(predictions),
            },
            "costs": {name: round(value, 6) for name, value in asdict(costs).items()},
            **scored(
                data.task,
                tables,
                seed=seed,
                files=files,
                kinds=kinds,
                learns=model.needs_train,
                by=(*default_columns(predictions), *by),
            ),
        }
        _publish(workspace, directory, result, tables)
        for path in (work, *(part.context.directory for part in trained_parts)):
            shutil.rmtree(path, ignore_errors=True)
    return RunResult(directory, result, again=False)


def _date_signal(data: TaskData) -> dict[str, Any] | None:
    """Return how well dates alone predict the labels of all rows but the test's."""
    tables = (rows for name, rows in data.splits.items() if name != "test")
    signal = date_signal(data.task, (batch for rows in tables for batch in rows.to_batches()))
    return None if signal is None else asdict(signal)


def _gaps(
    data: TaskData,
    model: Model,
    protocol: Protocol,
    parts: Iterable[str],
    trained_parts: Iterable[PartResult],
) -> list[str]:
    """Return where a run falls short of its protocol; what only some parts lack names them."""
    lacking: dict[str, list[str]] = {}
    for name, part in zip(parts, trained_parts, strict=True):
        for gap in in_part(
            protocol,
            data.task,
            model.name,
            model.settings,
            steps=data.steps,
            split=data.split,
            facts=part.context.learning.facts,
        ):
            lacking.setdefault(gap, []).append(name)
    count = len([*parts])
    return [
        gap if len(names) == count else f"{gap}, of {', '.join(names)}"
        for gap, names in lacking.items()
    ]


def _learning(learning: Sequence[SelectionInfo], parts: Iterable[str]) -> dict[str, Any]:
    """Return how the models of a run were chosen; facts by part where there are several."""
    facts: dict[str, Any] = learning[0].facts
    if len(learning) > 1:
        named = zip(parts, learning, strict=True)
        facts = {"parts": {name: info.facts for name, info in named if info.facts}}
    return {
        "chosen_on": ", ".join(filter(None, dict.fromkeys(info.chosen_on for info in learning))),
        "candidates": sum(info.candidates for info in learning),
        "from_all": all(info.from_all for info in learning),
        "training": " ".join(info.training for info in learning if info.training),
        "facts": facts,
    }


def _joined(tables: Iterable[pa.Table]) -> pa.Table:
    """Return the answers of several models as one table, a row that several answered once."""
    joined = pa.concat_tables(tables).sort_by("id")
    ids = joined["id"].to_numpy()
    first = np.append([True], ids[1:] != ids[:-1])[: len(ids)]
    return joined.filter(pa.array(first))


def _finished(
    workspace: WorkspaceLayout,
    directory: Path,
    data: TaskData,
    by: Sequence[str],
    files: Mapping[str, str] | None,
) -> RunResult:
    """Return a run that is done, scored by these columns too."""
    result = read_result(directory)
    if set(by) - set(result.get("scores_by", {})):
        result = rescore(workspace, directory, data.task, files, by=by, data=data)
    return RunResult(directory, result, again=True)


def estimate(
    workspace: WorkspaceLayout,
    data: TaskData,
    model: Model,
    protocol: Protocol,
    seed: int,
    reporter: Reporter,
) -> RequestEstimate | None:
    """Return the cost of a run in money, None for models that cost none; nothing is sent."""
    if model.estimate is None:
        return None
    _require(data, model)
    work = run_directory(workspace, identity(data, model, protocol, seed))
    context, test = training_context(workspace, data, protocol, seed, work, reporter, Costs())
    return model.estimate(context, unanswered(data.task, test))


def _require(data: TaskData, model: Model) -> None:
    if model.check is not None:
        model.check(data.task)
    for name in ("train", "test") if model.needs_train else ("test",):
        if not len(data.splits.get(name, ())):
            raise EvaluationError(
                f"{data.task.name} has no {name} split",
                "Import or build it with a split such as stratified:0.8,0.2",
            )
    if data.task.metric not in (names := metric_names(data.task)):
        raise unknown_name(f"metric of {data.task.type} tasks", data.task.metric, names)


def _publish(
    workspace: WorkspaceLayout,
    directory: Path,
    result: Mapping[str, Any],
    tables: Mapping[str, pa.Table],
) -> None:
    with workspace.scratch() as scratch:
        for name, table in tables.items():
            write_table(table, scratch / name)
        write_whole(scratch / RESULT, sealed_json(result))
        # The result goes last: a directory without it is no finished run.
        publish({scratch / name: directory / name for name in (*tables, RESULT)})


def _locked(work: Path) -> AbstractContextManager[None]:
    make_directory(work)
    busy = EvaluationError(
        f"Another goldpan is already doing the run in {work}",
        "Wait for it, or choose another --seed",
    )
    return hold_lock(work / "lock", busy)
