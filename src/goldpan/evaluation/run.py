"""Runs a model on a task once: `goldpan evaluate run`.

    WORKSPACE/runs/TASK/MODEL/seed-S-DIGEST/
    ├── result.json          settings, environment, hashes, costs, scores; its presence is the end
    ├── predictions.parquet  an answer a test row (`predictions.py`)
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
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
from pydantic import ValidationError

from goldpan.core.errors import EvaluationError
from goldpan.core.locks import hold_lock
from goldpan.core.parquet import read_table, write_table
from goldpan.core.plugins import blamed, digests
from goldpan.core.progress import Reporter
from goldpan.core.resources import named
from goldpan.core.sealed import read_json, sealed_json
from goldpan.core.workspace import Workspace, make_directory, publish
from goldpan.datasets.task import Task
from goldpan.datasets.task_data import TaskData, with_validation
from goldpan.datasets.task_rows import target_column
from goldpan.evaluation.costs import counting
from goldpan.evaluation.environment import read_environment
from goldpan.evaluation.model import Answers, Costs, Fitted, Model, TrainingContext
from goldpan.evaluation.predictions import predictions_schema
from goldpan.evaluation.protocol import Protocol
from goldpan.evaluation.record import RunRecord
from goldpan.evaluation.score import score
from goldpan.evaluation.shared_task_rows import sibling_rows
from goldpan.llm.budget import Estimate

FORMAT = 1
RESULT = "result.json"
PREDICTIONS = "predictions.parquet"
TRAIN = "train.parquet"
VALIDATION = "validation.parquet"
TEST = "the test set"
"""What chose, where the test did."""
ABLATE = "ablate"
"""The setting of a run that names what is taken out of the input."""
_TRAIN_ROWS = 5_000
_SHOWN, _LONGEST = 20, 500
"""How many invalid answers a result shows, and how many characters of each."""
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
) -> RunResult:
    """Train and test a model, or return the finished run with the same settings.

    The model learns from train and validation; then the test is opened, without its answers.
    `files` are for scoring, as `score` takes them; `ablated` names the parts of the input that
    the data lack. Raises `EvaluationError` where the data have no train or test split, or another
    process does the same run, and what the model raises.
    """
    _require(data, model)
    facts = identity(data, model, protocol, seed, ablated)
    directory = run_directory(workspace, facts)
    if (directory / RESULT).exists():
        return RunResult(directory, read_result(directory), again=True)
    work = directory.with_name(directory.name + ".work")
    with _alone(work):
        if (directory / RESULT).exists():  # another process was faster
            shutil.rmtree(work, ignore_errors=True)
            return RunResult(directory, read_result(directory), again=True)
        context, test = _training_context(workspace, data, protocol, seed, work, reporter)
        with (
            counting(context.costs),
            reporter.task(f"{data.task.name} by {model.name}", 2) as task,
            blamed("model", model.name),
        ):
            fitted = model.fit(context)
            task.advance()
            opened = _open_test(work)
            answers = _ask(data.task, fitted, test)
            predictions = _table(data.task, test, answers)
            task.advance()
        seen = context.train.slice(0, _TRAIN_ROWS if model.predict_train else 0)
        learned = _table(data.task, seen, _ask(data.task, fitted, seen) if len(seen) else None)
        chosen = _chosen(data.task, context, fitted)
        result = {
            **facts,
            "environment": asdict(read_environment()),
            "rows": {name: len(table) for name, table in data.splits.items()},
            "split": data.split,
            "learned_from": _learned_from(model, context),
            "learning": {
                "chosen_on": context.learning.chosen_on,
                "candidates": context.learning.candidates,
                "from_all": context.learning.from_all,
                "facts": context.learning.facts,
            },
            "uses_neighbours": model.uses_neighbours,
            "test_opened": opened,
            "answers": {"notes": dict(answers.notes), "invalid": _invalid(predictions)},
            "costs": {name: round(value, 6) for name, value in asdict(context.costs).items()},
            "scores": asdict(score(data.task, predictions, seed=seed, files=files)),
            "train_scores": asdict(score(data.task, learned, seed=seed, resamples=0)),
            "validation_scores": asdict(score(data.task, chosen, seed=seed, resamples=0)),
        }
        tables = {PREDICTIONS: predictions, TRAIN: learned, VALIDATION: chosen}
        _publish(workspace, directory, result, tables)
        shutil.rmtree(work, ignore_errors=True)
    return RunResult(directory, result, again=False)


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
    context, test = _training_context(workspace, data, protocol, seed, work, reporter)
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


def read_result(directory: Path) -> dict[str, Any]:
    """Read `result.json`; raises `EvaluationError` for one that is damaged or of another format."""
    path = directory / RESULT
    try:
        result = read_json(path)
        known = result["format"] == FORMAT
    except (OSError, orjson.JSONDecodeError, KeyError, TypeError) as error:
        raise EvaluationError(
            f"{path} cannot be read ({error})", "Remove its directory and run it again"
        ) from None
    if not known:
        raise EvaluationError(
            f"{path} has the format {result['format']}, not {FORMAT}",
            "Use the version of Goldpan that wrote it, or run it again",
        )
    return dict(result)


def record_of(directory: Path, result: Mapping[str, Any]) -> RunRecord:
    """Return what `read_result` read as a record; raises `EvaluationError` where it is none."""
    try:
        return RunRecord.model_validate(orjson.loads(orjson.dumps(result)))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(map(str, first["loc"]))
        raise EvaluationError(
            f"{directory / RESULT} cannot be read ({key}: {first['msg']})",
            "Remove its directory and run it again",
        ) from None


def rescore(directory: Path, task: Task, files: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Compute the scores of a finished run anew from its predictions, and store them."""
    result = read_result(directory)
    seed = int(result["seed"])
    result["scores"] = asdict(score(task, _read(directory / PREDICTIONS), seed=seed, files=files))
    for part, name in (("train", TRAIN), ("validation", VALIDATION)):
        table = _read(directory / name)
        result[f"{part}_scores"] = asdict(score(task, table, seed=seed, resamples=0))
    unfinished = directory / (RESULT + ".new")
    with named(unfinished):
        unfinished.write_bytes(sealed_json(result))
    unfinished.replace(directory / RESULT)
    return result


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
        costs=Costs(),
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
        return _table(task, rows, answers)
    if learning.chosen_on != context.validation_name or context.validation_name == TEST:
        return predictions_schema(task.type).empty_table()
    assert context.validation is not None
    return _table(task, context.validation, _ask(task, fitted, context.validation))


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


def _table(task: Task, rows: pa.Table, answers: Answers | None) -> pa.Table:
    if answers is None:
        return predictions_schema(task.type).empty_table()
    if len(answers.values) != len(rows):
        raise ValueError(f"{len(answers.values)} answers to {len(rows)} rows of {task.name}")
    nothing = [None] * len(rows)
    columns = {
        "id": rows["id"],
        "repo": rows["repo"],
        "document": rows["document"],
        "truth": _truth(task, rows),
        "answer": list(answers.values),
        "scores": nothing
        if answers.scores is None
        else [list(row_scores) for row_scores in answers.scores],
        "raw": nothing if answers.raw is None else list(answers.raw),
    }
    return pa.table(columns, schema=predictions_schema(task.type)).sort_by("id")


def _truth(task: Task, rows: pa.Table) -> Any:
    target = rows[target_column(task.type).name]
    if task.type != "mlm":
        return target
    texts = rows["text"].to_pylist()
    return [
        [text[span["start"] : span["end"]] for span in spans]
        for text, spans in zip(texts, target.to_pylist(), strict=True)
    ]


def _invalid(predictions: pa.Table) -> list[dict[str, Any]]:
    """Return the commonest answers that are not valid, as the model gave them."""
    raw = predictions.filter(predictions["answer"].is_null())["raw"].to_pylist()
    counts = Counter((text or "")[:_LONGEST] for text in raw)
    common = sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))[:_SHOWN]
    return [{"raw": text, "count": count} for text, count in common]


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


def _read(path: Path) -> pa.Table:
    try:
        return read_table(path)
    except (OSError, pa.ArrowException) as error:
        raise EvaluationError(
            f"{path} cannot be read ({str(error).splitlines()[0]})",
            "Remove its directory and run it again",
        ) from None


@contextmanager
def _alone(work: Path) -> Iterator[None]:
    make_directory(work)
    busy = EvaluationError(
        f"Another goldpan does the run in {work}", "Wait for it, or choose another --seed"
    )
    with hold_lock(work / "lock", busy):
        yield
