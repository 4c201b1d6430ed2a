"""The files of a finished run: reading them, and computing its scores from its predictions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
from pydantic import ValidationError

from goldpan.core.errors import EvaluationError
from goldpan.core.parquet import read_table, write_table
from goldpan.core.resources import write_file
from goldpan.core.sealed import read_json, sealed_json
from goldpan.datasets.leakage import KINDS
from goldpan.datasets.task import Task
from goldpan.datasets.task_data import TaskData
from goldpan.evaluation.columns import scores_by, values_of
from goldpan.evaluation.leaks import leaks_of
from goldpan.evaluation.record import RunRecord
from goldpan.evaluation.score import score

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
    """Return all that a result says of stored predictions."""
    predictions = tables[PREDICTIONS]
    leaks = leaks_of(task, predictions, kinds=kinds, learned=learns, seed=seed, files=files)
    return {
        "leaks": asdict(leaks),
        "scores": asdict(score(task, predictions, seed=seed, files=files)),
        "scores_by": {
            name: asdict(scores_by(task, predictions, name, seed=seed, files=files))
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


def rescore(
    directory: Path,
    task: Task,
    files: Mapping[str, str] | None = None,
    *,
    by: Sequence[str] = (),
    data: TaskData | None = None,
) -> dict[str, Any]:
    """Compute the scores of a finished run anew from its predictions, and store them.

    `by` are further columns to score by; those that predictions lack are taken from `data`.
    """
    result = read_result(directory)
    tables = {name: _read(directory / name) for name in (PREDICTIONS, TRAIN, VALIDATION)}
    predictions = tables[PREDICTIONS]
    missing = [name for name in by if name not in predictions.column_names]
    if missing and data is not None:
        predictions = with_values(predictions, data, missing)
        unfinished = directory / (PREDICTIONS + ".new")
        write_table(predictions, unfinished)
        unfinished.replace(directory / PREDICTIONS)
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
    unfinished = directory / (RESULT + ".new")
    write_file(unfinished, sealed_json(result))
    unfinished.replace(directory / RESULT)
    return result


def _read(path: Path) -> pa.Table:
    try:
        return read_table(path)
    except (OSError, pa.ArrowException) as error:
        raise EvaluationError(
            f"{path} cannot be read ({str(error).splitlines()[0]})",
            "Remove its directory and run it again",
        ) from None
