"""Requirements of PROMISE NFR as training, and other projects as test (ECSER, section 5).

Settings: `train`, the file to train on; `external`, the test files by the names of their projects,
all of RE-2019's layout; `labels`, files of that layout without texts, likewise; `total`, how many
external sets the paper has. Two tasks, isF and isQ, are
learned apart. Gives sizes of the sets, and the steps S6 to S8 of each baseline as rows of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from goldpan.papers.ecser.steps import CountTable, cells_of
from goldpan.plugins.data import (
    DatasetError,
    Task,
    TaskData,
    table_rows,
    task_data,
    task_family,
    task_of,
)
from goldpan.plugins.evaluation import (
    PREDICTIONS,
    TRAIN,
    BinaryConfusion,
    Context,
    FoundFile,
    MissingFileError,
    Outcome,
    Part,
    RunResult,
    StrictModel,
    TableRecipe,
    find_models,
    find_protocol,
    label_counts,
    other_content,
    parsed,
    run_of,
    runs_models,
)

_TASKS: Mapping[str, str] = {"isF": "functional", "isQ": "quality"}
_PARTS: Mapping[str, Part] = {"Training": "train", "Test": "test"}
_TRAINING = "PROMISE NFR"
_TEXT, _LABELS = "RequirementText", ("IsFunctional", "IsQuality")


class _Settings(StrictModel):
    train: str
    external: Mapping[str, str]
    labels: Mapping[str, str] = {}
    total: int


@dataclass(frozen=True, slots=True)
class Requirement:
    """A requirement, or what is published of it."""

    text: str
    """Empty where its text is not published."""
    functional: bool
    quality: bool


@dataclass(frozen=True, slots=True)
class _Set:
    file: FoundFile
    requirements: tuple[Requirement, ...]


@runs_models
def compute(context: Context, table: TableRecipe, settings: Mapping[str, Any]) -> Iterator[Outcome]:
    """Yield the sizes of the sets that are at hand, and what baselines reach on them."""
    chosen = parsed(_Settings, settings)
    external = _sets(context, chosen.external)
    file = context.file(chosen.train)
    training = _Set(file, tuple(requirements(file)))
    by_name = {**external, _TRAINING: training, **_sets(context, chosen.labels)}
    for name, held in by_name.items():
        sizes = {
            "Size": len(held.requirements),
            "F": sum(one.functional for one in held.requirements),
            "Q": sum(one.quality for one in held.requirements),
        }
        for column, size in sizes.items():
            if name in table.rows and column in table.columns:
                note = "; ".join(other_content([held.file]))
                yield Outcome(name, column, size, "in part" if note else "run", note)
    if table.own and external:
        yield from _baselines(context, table, chosen, training, external)


def _sets(context: Context, keys: Mapping[str, str]) -> dict[str, _Set]:
    """Return the sets whose files are at hand."""
    found: dict[str, _Set] = {}
    for name, key in keys.items():
        try:
            file = context.file(key)
        except MissingFileError:
            continue
        found[name] = _Set(file, tuple(requirements(file)))
    return found


def requirements(file: FoundFile) -> Iterator[Requirement]:
    """Yield the requirements of a file of RE-2019's layout, with or without texts and classes.

    Texts with classes stand in the quotes of ARFF, which hold commas and quotes of their own.
    Raises `DatasetError` for another layout.
    """
    for number, row in enumerate(table_rows(file.path, _TEXT), 1):
        if missing := [name for name in (_TEXT, *_LABELS) if name not in row]:
            raise DatasetError(
                f"{file.path} has no column {missing[0]}; it has {', '.join(map(str, row))[:200]}",
                f"Give a file with the columns {', '.join((_TEXT, *_LABELS))}"
                f"; {file.source.title} are published at {file.source.address}",
            )
        text = str(row[_TEXT] or "")
        yield Requirement(
            (text.strip("'") if "Class" in row else text).strip(),
            *(_flag(file, number, row[name]) for name in _LABELS),
        )


def _flag(file: FoundFile, number: int, value: object) -> bool:
    text = str(value).strip().removesuffix(".0")  # as pandas and workbooks write whole numbers
    if text not in ("0", "1"):
        raise DatasetError(
            f"{file.path}, requirement {number}: {text[:40]!r} is neither 0 nor 1",
            f"Correct the row, or get {file.source.title} again: {file.source.address}",
        )
    return text == "1"


def _baselines(
    context: Context,
    table: TableRecipe,
    settings: _Settings,
    training: _Set,
    external: Mapping[str, _Set],
) -> Iterator[Outcome]:
    counted: dict[tuple[str, str, Part], list[tuple[str, BinaryConfusion]]] = {}
    train_content = list(other_content([training.file]))
    fewer = len(external) < settings.total
    tested = [f"{len(external)} of {settings.total} external sets"] if fewer else []
    tested += other_content([training.file, *(held.file for held in external.values())])
    # The paper skips S3: training counts are of all 625 requirements, none held back to choose by.
    protocol = replace(find_protocol(context.recipe.protocol), validation="none")
    for model in find_models(context.recipe, context.effort.models):
        for name in _TASKS:
            data = _data(name, training, external)
            result = run_of(context, data, model, protocol)
            if result is not None:
                for part, counts in _counted(result, name).items():
                    counted[name, model.title, part] = counts
    for (row, column), value in cells_of(CountTable(counted), _PARTS).items():
        if row in table.own and column in table.columns:
            of_training = row.startswith("Training ") or column.endswith(" training")
            notes = train_content if of_training else tested
            yield Outcome(row, column, value, "in part" if notes else "run", "; ".join(notes))


def _task(positive: str) -> Task:
    """Return the task of one of the two labels, which a requirement may have both."""
    labels = [{"name": positive}, {"name": f"not {positive}"}]
    title = {"title": "Requirements of PROMISE NFR and external sets"}
    values = {"name": f"ecser_{positive}", "type": "binary", "labels": labels, "source": title}
    return task_of(values, "ecser")


def _data(name: str, training: _Set, external: Mapping[str, _Set]) -> TaskData:
    """Return a task with PROMISE NFR as train and all external sets as test, told by `repo`."""
    task = _task(_TASKS[name])
    schema = task_family(task).schema
    splits = {}
    for part, sets in {"train": {_TRAINING: training}, "test": external}.items():
        rows = [
            {
                "id": f"{task.name}:{project}:{number:04}",
                "repo": project,
                "source": f"{project}:{number}",
                "text": one.text,
                "label": task.label_names[0 if getattr(one, _TASKS[name]) else 1],
            }
            for project, held in sets.items()
            for number, one in enumerate(held.requirements, 1)
        ]
        filled = [{field: row.get(field) for field in schema.names} for row in rows]
        splits[part] = pa.Table.from_pylist(filled, schema=schema).sort_by("id")
    return task_data(task, splits, "external sets")


def _counted(result: RunResult, task: str) -> dict[Part, list[tuple[str, BinaryConfusion]]]:
    """Return the counts of each set out of the stored predictions, by part."""
    parts: dict[Part, list[tuple[str, BinaryConfusion]]] = {"train": [], "test": []}
    for counted, name in zip(parts.values(), (TRAIN, PREDICTIONS), strict=True):
        answers = pq.read_table(result.directory / name, columns=["repo", "truth", "answer"])
        for project in sorted(set(answers["repo"].to_pylist())):
            of_set = answers.filter(pc.equal(answers["repo"], project))
            found = label_counts(of_set, _TASKS[task])
            counted.append((project, BinaryConfusion(found.tp, found.fp, found.tn, found.fn)))
    return parts
