"""The finished runs of a workspace: their files, and what comparisons and reports read of them."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
from pydantic import Field, ValidationError

from goldpan.core.errors import EvaluationError, UsageError
from goldpan.core.plugins.loading import digests
from goldpan.core.plugins.parts import Kind
from goldpan.core.plugins.registry import unknown_name
from goldpan.core.storage.parquet import read_table, reading, write_table
from goldpan.core.storage.sealed import read_json, sealed_json
from goldpan.core.storage.workspace import WorkspaceLayout, hold_lock, write_whole
from goldpan.datasets.tasks.data import TaskData
from goldpan.datasets.tasks.leakage import KINDS
from goldpan.datasets.tasks.task import Task
from goldpan.evaluation.metrics.estimate import Scores, added_names
from goldpan.evaluation.model import Model
from goldpan.evaluation.protocol import Protocol
from goldpan.evaluation.record import RunRecord
from goldpan.evaluation.score import score
from goldpan.evaluation.slices import leaks_of, scores_by
from goldpan.evaluation.task_input import PLACE, values_of

FORMAT = 2
RESULT = "result.json"
PREDICTIONS = "predictions.parquet"
TRAIN = "train.parquet"
VALIDATION = "validation.parquet"


def with_values(predictions: pa.Table, data: TaskData, columns: Iterable[str]) -> pa.Table:
    """Return predictions with columns of the test rows by which they are to be scored."""
    test = data.splits["test"]
    positions = {name: position for position, name in enumerate(test["id"].to_pylist())}
    order = pa.array([positions[name] for name in predictions["id"].to_pylist()], pa.int64())
    for name in columns:
        if name not in predictions.column_names:
            predictions = predictions.append_column(
                name, pa.array(values_of(test, name)).take(order)
            )
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
    """Return the scores of stored predictions, as `result.json` holds them."""
    predictions = tables[PREDICTIONS]

    def scoring(rows: pa.Table, resamples: int) -> Scores:
        return score(task, rows, seed=seed, resamples=resamples, files=files, part=True)

    return {
        "leaks": asdict(leaks_of(scoring, predictions, task, kinds=kinds, learned=learns)),
        "scores": asdict(score(task, predictions, seed=seed, files=files)),
        "scores_by": {
            name: asdict(scores_by(scoring, predictions, name, task.metric))
            for name in dict.fromkeys(by)
        },
        "train_scores": asdict(score(task, tables[TRAIN], seed=seed, resamples=0)),
        "validation_scores": asdict(score(task, tables[VALIDATION], seed=seed, resamples=0)),
    }


def read_result(directory: Path) -> dict[str, Any]:
    """Read `result.json`; raises `EvaluationError` for one that is damaged or of another format."""
    path = directory / RESULT
    try:
        result = read_json(path)
        is_current = result["format"] == FORMAT
    except (OSError, orjson.JSONDecodeError, KeyError, TypeError) as error:
        raise EvaluationError(
            f"{path} cannot be read ({error})", "Remove its directory and run it again"
        ) from None
    if not is_current:
        raise EvaluationError(
            f"{path} has the format {result['format']}, not {FORMAT}",
            "Use the version of Goldpan that wrote it, or run it again",
        )
    return dict(result)


def rescore(
    workspace: WorkspaceLayout,
    directory: Path,
    task: Task,
    files: Mapping[str, str] | None = None,
    *,
    by: Sequence[str] = (),
    data: TaskData | None = None,
) -> dict[str, Any]:
    """Compute the scores of a finished run anew from its predictions, and store both at once.

    `by` are further columns to score by; those that predictions lack are taken from `data`, as
    are the places, which a later audit may have changed.
    """
    with hold_lock(directory.parent / "lock"):
        result = read_result(directory)
        tables = {name: _read(directory / name) for name in (PREDICTIONS, TRAIN, VALIDATION)}
        predictions = tables[PREDICTIONS]
        if data is not None and PLACE in by and PLACE in predictions.column_names:
            predictions = predictions.drop_columns(PLACE)
        if data is not None:
            predictions = with_values(predictions, data, by)
        counted = result["leaks"]
        result |= scored(
            task,
            {**tables, PREDICTIONS: predictions},
            seed=int(result["seed"]),
            files=files,
            kinds=frozenset(kind for kind in KINDS if counted[kind] is not None),
            learns=counted["learned"],
            by=(*result["scores_by"], *by),
        )
        with workspace.replacing(directory) as building:
            shutil.copytree(directory, building, dirs_exist_ok=True)
            write_table(predictions, building / PREDICTIONS)
            write_whole(building / RESULT, sealed_json(result))
    return result


def _read(path: Path) -> pa.Table:
    with reading(path, "Remove its directory and run it again", EvaluationError):
        return read_table(path)


ABLATE = "ablate"
"""The setting of a run that names what is taken out of the input."""


def identity(
    data: TaskData, model: Model, protocol: Protocol, seed: int, ablated: Sequence[str] = ()
) -> dict[str, Any]:
    """Return the facts that tell a run from others, as plain JSON data."""
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
        "labels": list(data.task.label_names),
        "data_hash": data.data_hash,
        "split_hash": data.split_hash,
        "model": model.name,
        "settings": {**model.settings, **facts, **({ABLATE: "+".join(ablated)} if ablated else {})},
        "protocol": asdict(protocol),
        "seed": seed,
        **({"plugins": plugins} if plugins else {}),
    }


def run_directory(workspace: WorkspaceLayout, facts: Mapping[str, Any]) -> Path:
    """Return where the run of that identity lies."""
    digest = hashlib.sha256(orjson.dumps(facts, option=orjson.OPT_SORT_KEYS)).hexdigest()[:12]
    name = f"seed-{facts['seed']}-{digest}"
    return workspace.root / "runs" / str(facts["task"]) / str(facts["model"]) / name


class Run(RunRecord):
    """A finished run: its record, and where it lies."""

    directory: Path = Field(exclude=True)

    @classmethod
    def of(cls, directory: Path, result: Mapping[str, Any]) -> Run:
        """Return a result as typed data; raises `EvaluationError` where it is no record."""
        try:
            plain = orjson.dumps({**result, "directory": str(directory)})
            return cls.model_validate(orjson.loads(plain))
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            key = ".".join(map(str, first["loc"]))
            raise EvaluationError(
                f"{directory / RESULT} cannot be read ({key}: {first['msg']})",
                "Remove its directory and run it again",
            ) from None

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
        return read_table(self.directory / PREDICTIONS)


def read_runs(
    workspace: WorkspaceLayout, *, tasks: Collection[str] = (), models: Collection[str] = ()
) -> list[Run]:
    """Return the finished runs of these tasks and models, of all where none is named; sorted.

    Raises `UsageError` where there is none, `EvaluationError` for one that is damaged.
    """
    runs = []
    stored: dict[str, set[str]] = {"task": set(), "model": set()}
    for path in sorted((workspace.root / "runs").glob(f"*/*/*/{RESULT}")):
        result = read_result(path.parent)
        for noun, names in stored.items():
            names.add(result[noun])
        if (tasks and result["task"] not in tasks) or (models and result["model"] not in models):
            continue
        runs.append(Run.of(path.parent, result))
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
