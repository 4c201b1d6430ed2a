"""Runs a model on a task once: `goldpan evaluate run`.

What a model keeps while it learns lies in ``seed-S-DIGEST.work`` beside the run's directory
(`record.py`), until the run is done.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from goldpan.core.errors import EvaluationError
from goldpan.core.locks import hold_lock
from goldpan.core.plugins.loading import digests
from goldpan.core.plugins.parts import Kind
from goldpan.core.plugins.registry import unknown_name
from goldpan.core.storage.workspace import WorkspaceLayout, make_directory
from goldpan.core.terminal import Reporter
from goldpan.datasets.tasks.data import TaskData
from goldpan.datasets.tasks.leakage import KINDS, date_signal
from goldpan.datasets.tasks.task import Task
from goldpan.evaluation.environment import read_environment
from goldpan.evaluation.metrics.estimate import added_names
from goldpan.evaluation.model import CUTOFF, Costs, Learning, Model
from goldpan.evaluation.protocol import Protocol, in_part
from goldpan.evaluation.record import (
    ABLATE,
    FORMAT,
    PREDICTIONS,
    RESULT,
    TRAIN,
    VALIDATION,
    AnswerNotes,
    LearnedFrom,
    RunRecord,
    read_record,
    replace_run,
    run_directory,
    write_run,
)
from goldpan.evaluation.score import invalid_answers, metric_names, score
from goldpan.evaluation.slices import default_columns, find_dates, leaks_of, overlap_of, scores_by
from goldpan.evaluation.task_input import LENGTH, PLACE, thirds_by_length, values_of
from goldpan.evaluation.training import (
    Answered,
    joined,
    parts_of,
    train_and_ask,
    training_context,
    unanswered,
)
from goldpan.llm.budget import RequestEstimate


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
) -> RunRecord:
    """Train and test a model, or return the finished run with the same settings.

    The model learns from train and validation; then the test is opened, without its answers.
    Where the protocol asks for a model a project, that is done for each, and the answers are put
    together. `files` are for scoring, as `score` takes them; `ablated` names the parts of the input
    that the data lack; `by` are columns of the rows by which to score, beside the project.
    Raises `EvaluationError` where the data have no train or test split, or another process does
    the same run, and what the model raises.
    """
    _require(data, model)
    identity = run_identity(data, model, protocol, seed, ablated)
    directory = run_directory(workspace, identity)
    if is_finished(directory):
        return _finished(workspace, directory, data, by, files)
    work = directory.with_name(directory.name + ".work")
    with _locked(work):
        if is_finished(directory):  # another process was faster
            shutil.rmtree(work, ignore_errors=True)
            return _finished(workspace, directory, data, by, files)
        costs = Costs()
        parts = parts_of(data, protocol, needs_train=model.needs_train)
        answered = []
        for number, (name, splits) in enumerate(parts.items(), 1):
            folder = work.with_name(f"{directory.name}.{number}.work") if len(parts) > 1 else work
            context, test = training_context(
                workspace, replace(data, splits=splits), protocol, seed, folder, reporter, costs
            )
            overlap = overlap_of(data, splits)
            title = f"{data.task.name} by {model.name}" + (f", {name}" if name else "")
            answered.append(train_and_ask(model, context, test, overlap, title))
        tables = {
            PREDICTIONS: with_values(joined(part.predictions for part in answered), data, by),
            TRAIN: joined(part.learned for part in answered),
            VALIDATION: joined(part.chosen for part in answered),
        }
        record = RunRecord(
            directory=directory,
            again=False,
            **identity,
            **_facts(data, model, protocol, dict(zip(parts, answered, strict=True)), costs),
            answers=_answer_notes(answered, tables[PREDICTIONS]),
            **scored(
                data.task,
                tables,
                seed=seed,
                files=files,
                kinds=frozenset(kind for part in answered for kind in part.overlap.rows),
                learns=model.needs_train,
                by=(*default_columns(tables[PREDICTIONS]), *by),
            ),
        )
        write_run(workspace, record, tables)
        for path in (work, *(part.context.directory for part in answered)):
            shutil.rmtree(path, ignore_errors=True)
    return read_record(directory, again=False)


def run_identity(
    data: TaskData, model: Model, protocol: Protocol, seed: int, ablated: Sequence[str] = ()
) -> dict[str, Any]:
    """Return the fields of a `RunRecord` that tell it from others."""
    facts = model.task_facts(data.task) if model.task_facts else {}
    metrics: list[tuple[Kind, str]] = [("metric", name) for name in added_names(data.task)]
    rules: list[tuple[Kind, str]] = [("prompt rule", data.task.source.builder)]
    plugins = digests(
        ("model", model.name),
        ("task", data.task.name),
        ("importer", data.task.source.reader),
        ("protocol", protocol.name),
        ("fine-tuning recipe", str(model.settings.get("recipe", ""))),
        *metrics,
        *(rules if model.task_facts else ()),
    )
    return {
        "format": FORMAT,
        "task": data.task.name,
        "metric": data.task.metric,
        "labels": data.task.label_names,
        "data_hash": data.data_hash,
        "split_hash": data.split_hash,
        "model": model.name,
        "settings": {**model.settings, **facts, **({ABLATE: "+".join(ablated)} if ablated else {})},
        "protocol": protocol,
        "seed": seed,
        "plugins": plugins,
    }


def is_finished(directory: Path) -> bool:
    """Tell whether a run is done."""
    return (directory / RESULT).exists()


def _finished(
    workspace: WorkspaceLayout,
    directory: Path,
    data: TaskData,
    by: Sequence[str],
    files: Mapping[str, str] | None,
) -> RunRecord:
    """Return a run that is done, scored by these columns too."""
    record = read_record(directory)
    if set(by) - set(record.scores_by):
        record = rescore(workspace, directory, data.task, files, by=by, data=data)
    return replace(record, again=True)


def _locked(work: Path) -> AbstractContextManager[None]:
    make_directory(work)
    busy = EvaluationError(
        f"Another goldpan is already doing the run in {work}",
        "Wait for it, or choose another --seed",
    )
    return hold_lock(work / "lock", busy)


def _require(data: TaskData, model: Model) -> None:
    if model.check is not None:
        model.check(data.task)
    for name in ("train", "test") if model.needs_train else ("test",):
        if not len(data.splits.get(name, ())):
            raise EvaluationError(
                f"{data.task.name} has no {name} split",
                "Import or build it again with --split stratified:0.8,0.2",
            )
    if data.task.metric not in (names := metric_names(data.task)):
        raise unknown_name(f"metric of {data.task.type} tasks", data.task.metric, names)


def _facts(
    data: TaskData, model: Model, protocol: Protocol, parts: Mapping[str, Answered], costs: Costs
) -> dict[str, Any]:
    """Return the fields of a `RunRecord` on the data, the environment and the training."""
    answered = parts.values()
    tables = (rows for name, rows in data.splits.items() if name != "test")
    return {
        "environment": read_environment(),
        "rows": {name: len(table) for name, table in data.splits.items()},
        "dates": find_dates(data.splits["test"], model.settings.get(CUTOFF)),
        "date_signal": date_signal(
            data.task, (batch for rows in tables for batch in rows.to_batches())
        ),
        "split": data.split,
        "learned_from": _learned_from(answered),
        "learning": _learning(parts),
        "in_part": _gaps(data, model, protocol, parts),
        "uses_neighbors": model.uses_neighbors,
        "test_opened": max(part.opened for part in answered),
        "costs": Costs(**{name: round(value, 6) for name, value in asdict(costs).items()}),
    }


def _learned_from(answered: Iterable[Answered]) -> LearnedFrom:
    counts = [part.learned_from for part in answered]
    return LearnedFrom(sum(train for train, _ in counts), sum(chosen for _, chosen in counts))


def _learning(parts: Mapping[str, Answered]) -> Learning:
    """Return how the models of a run were chosen; facts by part where there are several."""
    named = {name: part.context.learning for name, part in parts.items()}
    learning = list(named.values())
    facts = learning[0].facts
    if len(named) > 1:
        facts = {"parts": {name: info.facts for name, info in named.items() if info.facts}}
    return Learning(
        chosen_on=", ".join(filter(None, dict.fromkeys(info.chosen_on for info in learning))),
        candidates=sum(info.candidates for info in learning),
        from_all=all(info.from_all for info in learning),
        training=" ".join(info.training for info in learning if info.training),
        facts=facts,
    )


def _gaps(
    data: TaskData, model: Model, protocol: Protocol, parts: Mapping[str, Answered]
) -> tuple[str, ...]:
    """Return where a run falls short of its protocol; what only some parts lack names them."""
    lacking: dict[str, list[str]] = {}
    for name, part in parts.items():
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
    return tuple(
        gap if len(names) == len(parts) else f"{gap}, of {', '.join(names)}"
        for gap, names in lacking.items()
    )


def _answer_notes(answered: Iterable[Answered], predictions: pa.Table) -> AnswerNotes:
    notes = sum((Counter(part.notes) for part in answered), Counter[str]())
    return AnswerNotes(notes, invalid_answers(predictions))


def with_values(predictions: pa.Table, data: TaskData, columns: Iterable[str]) -> pa.Table:
    """Return predictions with columns of their rows by which they are to be scored."""
    every = pa.concat_tables(data.splits.values())  # the run may have held out others
    rows = every.take(pc.index_in(predictions["id"], every["id"]))
    for name in columns:
        if name not in predictions.column_names:
            of_length = name == LENGTH
            values = thirds_by_length(rows, data.task) if of_length else values_of(rows, name)
            predictions = predictions.append_column(name, pa.array(values, pa.string()))
    return predictions


def scored(
    task: Task,
    tables: Mapping[str, pa.Table],
    *,
    seed: int,
    files: Mapping[str, str] | None,
    kinds: frozenset[str],
    learns: bool,
    by: Iterable[str],
) -> dict[str, Any]:
    """Return the fields of a `RunRecord` that follow from its stored predictions alone."""
    predictions = tables[PREDICTIONS]
    scoring = partial(score, task, seed=seed, files=files, part=True)
    return {
        "leaks": leaks_of(scoring, predictions, task, kinds=kinds, learned=learns),
        "scores": score(task, predictions, seed=seed, files=files),
        "scores_by": {
            name: scores_by(scoring, predictions, name, task.metric) for name in dict.fromkeys(by)
        },
        "train_scores": score(task, tables[TRAIN], seed=seed, resamples=0),
        "validation_scores": score(task, tables[VALIDATION], seed=seed, resamples=0),
    }


def rescore(
    workspace: WorkspaceLayout,
    directory: Path,
    task: Task,
    files: Mapping[str, str] | None = None,
    *,
    by: Sequence[str] = (),
    data: TaskData | None = None,
) -> RunRecord:
    """Compute the scores of a finished run anew from its predictions, and store both at once.

    `by` are further columns to score by; those that predictions lack are taken from `data`, as
    are the places, which a later audit may have changed.
    """
    with hold_lock(directory.parent / "lock"):
        record = read_record(directory, again=False)
        tables = {name: record.table(name) for name in (PREDICTIONS, TRAIN, VALIDATION)}
        if data is not None:
            predictions = tables[PREDICTIONS]
            if PLACE in by and PLACE in predictions.column_names:
                predictions = predictions.drop_columns(PLACE)
            tables[PREDICTIONS] = with_values(predictions, data, by)
        leaks = record.leaks
        scores = scored(
            task,
            tables,
            seed=record.seed,
            files=files,
            kinds=frozenset(kind for kind in KINDS if getattr(leaks, kind) is not None),
            learns=leaks.learned,
            by=(*record.scores_by, *by),
        )
        record = replace(record, **scores)
        replace_run(workspace, record, {PREDICTIONS: tables[PREDICTIONS]})
        return read_record(directory, again=False)


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
    work = run_directory(workspace, run_identity(data, model, protocol, seed))
    context, test = training_context(workspace, data, protocol, seed, work, reporter, Costs())
    return model.estimate(context, unanswered(data.task, test))
