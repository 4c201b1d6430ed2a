"""Requirements of PROMISE NFR as training, and other projects as test (ECSER, section 5).

Settings: `train`, the file to train on; `external`, the test files by the names of their projects,
all of RE-2019's layout; `labels`, files of that layout without texts, likewise; `total`, how many
external sets the paper has. Two tasks, isF and isQ, are
learned apart. Gives sizes of the sets, and the steps S6 to S8 of each baseline as rows of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import BaseModel, ConfigDict

from goldpan.core.errors import DatasetError
from goldpan.datasets.import_files import table_rows
from goldpan.datasets.registry import find_task
from goldpan.datasets.task import Label, Task
from goldpan.datasets.task_data import TaskData, task_data
from goldpan.datasets.task_rows import task_family
from goldpan.evaluation.metrics.confusion import BinaryConfusion
from goldpan.evaluation.protocol import find_protocol
from goldpan.evaluation.run import RunResult
from goldpan.evaluation.score_files import Part
from goldpan.evaluation.stored import PREDICTIONS, TRAIN
from goldpan.papers.ecser.classifier_counts import Counted, Study, steps
from goldpan.papers.selu.requirements import relabelled
from goldpan.reproduce.cells import Outcome
from goldpan.reproduce.context import Context
from goldpan.reproduce.data import FoundFile, MissingFileError, other_content
from goldpan.reproduce.models import find_models
from goldpan.reproduce.recipe import TableRecipe
from goldpan.reproduce.recipe_runs import run_of
from goldpan.reproduce.scores import parsed

_TASKS: Mapping[str, str] = {"isF": "functional", "isQ": "quality"}
_PARTS: Mapping[str, Part] = {"Training": "train", "Test": "test"}
_TRAINING = "PROMISE NFR"


class _Settings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    train: str
    external: Mapping[str, str]
    labels: Mapping[str, str] = {}
    total: int


_Row = tuple[str, str, bool, bool]


def compute(context: Context, table: TableRecipe, settings: Mapping[str, Any]) -> Iterator[Outcome]:
    """Yield the sizes of the sets that are at hand, and what baselines reach on them."""
    chosen = parsed(_Settings, settings)
    external: dict[str, list[_Row]] = {}
    sources: dict[str, FoundFile] = {}
    for name, key in chosen.external.items():
        try:
            sources[name] = context.file(key)
        except MissingFileError:
            continue
        external[name] = list(relabelled(sources[name].path))
    sources[_TRAINING] = context.file(chosen.train)
    training = list(relabelled(sources[_TRAINING].path))
    by_name = {
        name: [(functional, quality) for _, _, functional, quality in rows]
        for name, rows in {_TRAINING: training, **external}.items()
    }
    for name, key in chosen.labels.items():
        try:
            sources[name] = context.file(key)
        except MissingFileError:
            continue
        by_name[name] = list(_labels(sources[name].path))
    for name, labels in by_name.items():
        sizes = {
            "Size": len(labels),
            "F": sum(functional for functional, _ in labels),
            "Q": sum(quality for _, quality in labels),
        }
        for column, size in sizes.items():
            if name in table.rows and column in table.columns:
                note = "; ".join(other_content([sources[name]]))
                yield Outcome(name, column, size, "in part" if note else "run", note)
    if table.own and external:
        yield from _baselines(context, table, chosen, training, external, sources)


def _labels(path: Path) -> Iterator[tuple[bool, bool]]:
    """Yield whether each requirement is functional, and whether it is about quality."""
    for number, row in enumerate(table_rows(path), 1):
        texts = [str(row.get(column, "")).strip() for column in ("IsFunctional", "IsQuality")]
        values = [text.removesuffix(".0") for text in texts]
        if not {*values} <= {"0", "1"}:
            raise DatasetError(
                f"{path}, row {number}: the labels are {', '.join(map(repr, values))}",
                "Write 0 or 1 for IsFunctional and IsQuality",
            )
        functional, quality = values
        yield functional == "1", quality == "1"


def _baselines(
    context: Context,
    table: TableRecipe,
    settings: _Settings,
    training: list[_Row],
    external: Mapping[str, list[_Row]],
    sources: Mapping[str, FoundFile],
) -> Iterator[Outcome]:
    counted: list[Counted] = []
    train_content = list(other_content([sources[_TRAINING]]))
    fewer = len(external) < settings.total
    tested = [f"{len(external)} of {settings.total} external sets"] if fewer else []
    tested += other_content(sources[name] for name in (_TRAINING, *external))
    # The paper skips S3: training counts are of all 625 requirements, none held back to choose by.
    protocol = replace(find_protocol(context.recipe.protocol), validation="none")
    for model in find_models(context.recipe, context.effort.models):
        for task in _TASKS:
            data = _data(task, training, external)
            result = run_of(context, data, model, protocol)
            if result is not None:
                counted += _counted(result, task, model.title)
    for (row, column), value in steps(Study(tuple(counted)), _PARTS).items():
        if row in table.own and column in table.columns:
            notes = (
                train_content
                if row.startswith("Training ") or column.endswith(" training")
                else tested
            )
            yield Outcome(row, column, value, "in part" if notes else "run", "; ".join(notes))


def _data(task: str, training: list[_Row], external: Mapping[str, list[_Row]]) -> TaskData:
    """Return a task with PROMISE NFR as train and all external sets as test, told by `repo`."""
    name = _TASKS[task]
    base = find_task("requirement_type")
    labels = (Label(name, "", name), Label(f"not {name}", "", f"not {name}"))
    external_task: Task = replace(base, name=f"ecser_{name}", labels=labels, counts={}, steps=())
    parts = {"train": {_TRAINING: training}, "test": external}
    schema = task_family(external_task).schema
    splits = {}
    for part, sets in parts.items():
        rows = [
            {
                "id": f"{external_task.name}:{project}:{number:04}",
                "repo": project,
                "source": f"{project}:{number}",
                "text": text,
                "label": labels[0 if (functional if task == "isF" else quality) else 1].name,
            }
            for project, requirements in sets.items()
            for number, (_, text, functional, quality) in enumerate(requirements, 1)
        ]
        filled = [{field: row.get(field) for field in schema.names} for row in rows]
        splits[part] = pa.Table.from_pylist(filled, schema=schema).sort_by("id")
    return task_data(external_task, splits, "external sets")


def _counted(result: RunResult, task: str, model: str) -> Iterator[Counted]:
    """Yield the counts of each set out of the stored predictions."""
    parts: tuple[tuple[Part, str], ...] = (("train", TRAIN), ("test", PREDICTIONS))
    for part, name in parts:
        rows = pq.read_table(
            result.directory / name, columns=["repo", "truth", "answer"]
        ).to_pylist()
        for project in sorted({row["repo"] for row in rows}):
            pairs = [
                (row["truth"] == _TASKS[task], row["answer"] == _TASKS[task])
                for row in rows
                if row["repo"] == project
            ]
            counts = BinaryConfusion(
                pairs.count((True, True)),
                pairs.count((False, True)),
                pairs.count((False, False)),
                pairs.count((True, False)),
            )
            yield Counted(task, model, part, project, counts)
