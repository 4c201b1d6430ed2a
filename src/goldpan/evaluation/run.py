"""Runs a model on a task once: `goldpan evaluate run`.

    WORKSPACE/runs/TASK/MODEL/seed-S-DIGEST/
    ├── result.json          settings, environment, hashes, costs, scores; its presence is the end
    ├── predictions.parquet  an answer a test row (`predictions.py`), with how it resembles train
    ├── train.parquet        the same for at most 5,000 train rows, to see overfitting; no rows of
    │                        models whose answers cost money
    └── validation.parquet   the same for the rows that chose, to see degradation; no rows where
                             nothing, or the test, chose

The digest is that of everything that tells runs apart, so a finished run is never repeated and
other settings are another run. What a model keeps while it learns lies beside, in
``seed-S-DIGEST.work``, until the run is done.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa

from goldpan.core.errors import EvaluationError
from goldpan.core.locks import hold_lock
from goldpan.core.parquet import write_table
from goldpan.core.plugins import blamed, digests
from goldpan.core.progress import Reporter
from goldpan.core.resources import named
from goldpan.core.sealed import sealed_json
from goldpan.core.workspace import Workspace, make_directory, publish
from goldpan.datasets.overlap import Overlap
from goldpan.datasets.task import Task
from goldpan.datasets.task_data import TaskData, with_validation
from goldpan.datasets.task_rows import target_column
from goldpan.evaluation.by_column import unasked
from goldpan.evaluation.costs import counting
from goldpan.evaluation.dates import CUTOFF, find_dates
from goldpan.evaluation.environment import read_environment
from goldpan.evaluation.leaks import overlap_of, read_overlap, with_leaks
from goldpan.evaluation.model import (
    Answers,
    Costs,
    Fitted,
    Model,
    SelectionInfo,
    TrainingContext,
)
from goldpan.evaluation.parts import Part, parts_of
from goldpan.evaluation.predictions import invalid_answers, predictions_of, predictions_schema
from goldpan.evaluation.protocol import Protocol, in_part
from goldpan.evaluation.record import RunRecord
from goldpan.evaluation.shared_task_rows import sibling_rows
from goldpan.evaluation.stored import (
    FORMAT,
    PREDICTIONS,
    RESULT,
    TRAIN,
    VALIDATION,
    read_result,
    record_of,
    rescore,
    scored,
    with_values,
)
from goldpan.llm.budget import Estimate

TEST = "the test set"
"""What chose, where the test did."""
ABLATE = "ablate"
"""The setting of a run that names what is taken out of the input."""
_TRAIN_ROWS = 5_000
_OPENED = "test-opened"


@dataclass(frozen=True, slots=True)
class RunResult:
    """A finished run."""

    directory: Path
    result: Mapping[str, Any]
    """The content of `result.json`."""
    again: bool
    """Whether it was finished before."""

    @property
    def record(self) -> RunRecord:
        """The same, typed."""
        return record_of(self.directory, self.result)


def run(
    workspace: Workspace,
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
        return _finished(directory, data, by, files)
    work = directory.with_name(directory.name + ".work")
    with _alone(work):
        if (directory / RESULT).exists():  # another process was faster
            shutil.rmtree(work, ignore_errors=True)
            return _finished(directory, data, by, files)
        costs = Costs()
        parts = parts_of(data, protocol, needs_train=model.needs_train)
        done = []
        for number, part in enumerate(parts, 1):
            folder = work if len(parts) == 1 else work.with_name(f"{directory.name}.{number}.work")
            overlap = (
                read_overlap(workspace, data)
                if len(parts) == 1
                else overlap_of(data.task, part.splits)
            )
            context, test = _training_context(
                workspace,
                replace(data, splits=part.splits),
                protocol,
                seed,
                folder,
                reporter,
                costs,
            )
            title = f"{data.task.name} by {model.name}" + (f", {part.name}" if part.name else "")
            done.append(_train_and_ask(model, context, test, overlap, title))
        predictions = with_values(_joined(part.predictions for part in done), data, by)
        learned = _joined(part.learned for part in done)
        chosen = _joined(part.chosen for part in done)
        kinds = frozenset(kind for part in done for kind in part.overlap.rows)
        result = {
            **facts,
            "environment": asdict(read_environment()),
            "rows": {name: len(table) for name, table in data.splits.items()},
            "dates": asdict(find_dates(data.splits["test"], model.settings.get(CUTOFF))),
            "split": data.split,
            "learned_from": {
                name: sum(part.learned_from[name] for part in done)
                for name in ("train", "validation")
            },
            "learning": _learning([part.context.learning for part in done], parts),
            "in_part": in_part(
                protocol,
                data.task,
                model.name,
                model.settings,
                steps=data.steps,
                split=data.split,
                facts=done[0].context.learning.facts,
            ),
            "uses_neighbours": model.uses_neighbours,
            "test_opened": max(part.opened for part in done),
            "answers": {
                "notes": dict(sum((Counter(part.notes) for part in done), Counter())),
                "invalid": invalid_answers(predictions),
            },
            "costs": {name: round(value, 6) for name, value in asdict(costs).items()},
            **scored(
                data.task,
                {PREDICTIONS: predictions, TRAIN: learned, VALIDATION: chosen},
                seed=seed,
                files=files,
                kinds=kinds,
                learns=model.needs_train,
                by=(*unasked(predictions), *by),
            ),
        }
        tables = {PREDICTIONS: predictions, TRAIN: learned, VALIDATION: chosen}
        _publish(workspace, directory, result, tables)
        for path in (work, *(part.context.directory for part in done)):
            shutil.rmtree(path, ignore_errors=True)
    return RunResult(directory, result, again=False)


@dataclass(frozen=True, slots=True)
class _Done:
    """What one of a run's models answered."""

    context: TrainingContext
    overlap: Overlap
    predictions: pa.Table
    learned: pa.Table
    chosen: pa.Table
    notes: Mapping[str, int]
    opened: int
    learned_from: Mapping[str, int]


def _train_and_ask(
    model: Model, context: TrainingContext, test: pa.Table, overlap: Overlap, title: str
) -> _Done:
    """Train one model, then open the test."""
    task = context.task
    make_directory(context.directory)
    with (
        counting(context.costs),
        context.reporter.task(title, 2) as progress,
        blamed("model", model.name),
    ):
        fitted = model.fit(context)
        progress.advance()
        opened = _open_test(context.directory)
        answers = _ask(task, fitted, test)
        predictions = with_leaks(predictions_of(task, test, answers), overlap)
        progress.advance()
    seen = context.train.slice(0, _TRAIN_ROWS if model.predict_train else 0)
    return _Done(
        context,
        overlap,
        predictions,
        predictions_of(task, seen, _ask(task, fitted, seen) if len(seen) else None),
        _chosen(task, context, fitted),
        answers.notes,
        opened,
        _learned_from(model, context),
    )


def _learning(learning: Sequence[SelectionInfo], parts: Sequence[Part]) -> dict[str, Any]:
    """Return how the models of a run came to be; facts by part where there are several."""
    facts: dict[str, Any] = learning[0].facts
    if len(learning) > 1:
        named = zip(parts, learning, strict=True)
        facts = {"parts": {part.name: info.facts for part, info in named if info.facts}}
    return {
        "chosen_on": learning[0].chosen_on,
        "candidates": sum(info.candidates for info in learning),
        "from_all": all(info.from_all for info in learning),
        "facts": facts,
    }


def _joined(tables: Iterable[pa.Table]) -> pa.Table:
    """Put the answers of several models together; a train row that several had stands once."""
    joined = pa.concat_tables(tables).sort_by("id")
    names = joined["id"].to_pylist()
    kept = [
        position
        for position, name in enumerate(names)
        if not position or names[position - 1] != name
    ]
    return joined if len(kept) == len(names) else joined.take(pa.array(kept))


def _finished(
    directory: Path, data: TaskData, by: Sequence[str], files: Mapping[str, str] | None
) -> RunResult:
    """Return a run that is done, scored by these columns too."""
    result = read_result(directory)
    if set(by) - set(result.get("scores_by", {})):
        result = rescore(directory, data.task, files, by=by, data=data)
    return RunResult(directory, result, again=True)


def estimate(
    workspace: Workspace,
    data: TaskData,
    model: Model,
    protocol: Protocol,
    seed: int,
    reporter: Reporter,
) -> Estimate | None:
    """Return what a run would cost in money, None of models that cost none; nothing is sent."""
    if model.estimate is None:
        return None
    _require(data, model)
    work = run_directory(workspace, identity(data, model, protocol, seed))
    context, test = _training_context(workspace, data, protocol, seed, work, reporter, Costs())
    return model.estimate(context, _unanswered(data.task, test))


def identity(
    data: TaskData, model: Model, protocol: Protocol, seed: int, ablated: Sequence[str] = ()
) -> dict[str, Any]:
    """Return what tells a run apart from others, as plain JSON data."""
    facts = model.task_facts(data.task) if model.task_facts else {}
    plugins = digests(("model", model.name), ("task", data.task.name))
    return {
        "format": FORMAT,
        "task": data.task.name,
        "metric": data.task.metric,
        "labels": list(data.task.label_names),
        "data_hash": data.data_hash,
        "split_hash": data.split_hash,
        "model": model.name,
        "settings": {**model.settings, **facts, **({ABLATE: "+".join(ablated)} if ablated else {})},
        "protocol": asdict(protocol),
        "seed": seed,
        **({"plugins": plugins} if plugins else {}),
    }


def run_directory(workspace: Workspace, facts: Mapping[str, Any]) -> Path:
    """Return where the run of that identity lies."""
    digest = hashlib.sha256(orjson.dumps(facts, option=orjson.OPT_SORT_KEYS)).hexdigest()[:12]
    name = f"seed-{facts['seed']}-{digest}"
    return workspace.root / "runs" / str(facts["task"]) / str(facts["model"]) / name


def _require(data: TaskData, model: Model) -> None:
    for name in ("train", "test") if model.needs_train else ("test",):
        if not len(data.splits.get(name, ())):
            raise EvaluationError(
                f"{data.task.name} has no {name} split",
                "Import or build it with a split such as stratified:0.8,0.2",
            )


def _training_context(
    workspace: Workspace,
    data: TaskData,
    protocol: Protocol,
    seed: int,
    work: Path,
    reporter: Reporter,
    costs: Costs,
) -> tuple[TrainingContext, pa.Table]:
    target = target_column(data.task.type).name
    test = data.splits["test"]
    every = pa.concat_tables(data.splits.values()).drop_columns(target).sort_by("id")
    whole = data.splits.get("train", test.slice(0, 0))
    train, validation, name = whole, data.splits.get("validation"), "the validation split"
    if protocol.validation == "test":
        validation, name = test, TEST
    elif protocol.validation == "train" and len(whole):
        carved = with_validation(data, protocol.share, seed)
        name = name if validation is not None else "a part of train"
        train, validation = carved.splits["train"], carved.splits["validation"]
    context = TrainingContext(
        task=data.task,
        train=train,
        validation=validation,
        whole_train=whole,
        unlabelled=every,
        seed=seed,
        directory=work,
        reporter=reporter,
        costs=costs,
        siblings=lambda: sibling_rows(workspace, data.task),
        protocol=protocol,
        validation_name=name,
        replies=workspace.root / "prompts" / data.task.name,
    )
    return context, test


def _chosen(task: Task, context: TrainingContext, fitted: Fitted) -> pa.Table:
    """Return the answers to the rows that chose, of the model or of those that it was chosen by."""
    learning = context.learning
    if learning.unseen is not None:
        rows, answers = learning.unseen
        return predictions_of(task, rows, answers)
    if learning.chosen_on != context.validation_name or context.validation_name == TEST:
        return predictions_schema(task.type).empty_table()
    assert context.validation is not None
    return predictions_of(task, context.validation, _ask(task, fitted, context.validation))


def _learned_from(model: Model, context: TrainingContext) -> dict[str, int]:
    if not model.needs_train:
        return {"train": 0, "validation": 0}
    chosen_by = 0 if context.validation is None else len(context.validation)
    return {"train": len(context.train), "validation": chosen_by}


def _ask(task: Task, fitted: Fitted, rows: pa.Table) -> Answers:
    return fitted.answer(_unanswered(task, rows))


def _unanswered(task: Task, rows: pa.Table) -> pa.Table:
    """Return rows without their answers; masks stay, as they say which words are asked for."""
    return rows if task.type == "mlm" else rows.drop_columns(target_column(task.type).name)


def _open_test(work: Path) -> int:
    """Count that the test is opened, before it is: a run that was killed may open it again."""
    path = work / _OPENED
    with named(path), path.open("ab") as file:
        file.write(b"\n")
        os.fsync(file.fileno())
    return path.stat().st_size


def _publish(
    workspace: Workspace,
    directory: Path,
    result: Mapping[str, Any],
    tables: Mapping[str, pa.Table],
) -> None:
    with workspace.scratch() as scratch:
        for name, table in tables.items():
            write_table(table, scratch / name)
        with named(scratch / RESULT):
            (scratch / RESULT).write_bytes(sealed_json(result))
        # The result goes last: a directory without it is no finished run.
        publish({scratch / name: directory / name for name in (*tables, RESULT)})


@contextmanager
def _alone(work: Path) -> Iterator[None]:
    make_directory(work)
    busy = EvaluationError(
        f"Another goldpan does the run in {work}", "Wait for it, or choose another --seed"
    )
    with hold_lock(work / "lock", busy):
        yield
