"""Requirements that models learn: PROMISE NFR is training, other projects the test (section 5).

Files are of RE-2019's layout. Two tasks, isF and isQ, are learned apart. Cells are sizes of the
sets, and the steps S6 to S8 of each baseline in rows of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from goldpan.papers.ecser.counts import CountTable, cells_of
from goldpan.plugins import data
from goldpan.plugins.evaluation import (
    PREDICTIONS,
    TRAIN,
    CellOutcome,
    Confusion,
    FoundFile,
    MissingFileError,
    PaperContext,
    Part,
    RunRecord,
    TableRecipe,
    find_models,
    find_protocol,
    load,
    other_content,
    run_of,
)

_TASKS: Mapping[str, str] = {"isF": "functional", "isQ": "quality"}
_SET_PARTS: Mapping[str, Part] = {"Training": "train", "Test": "test"}
_TRAINING = "PROMISE NFR"
_EXTERNAL = {
    "Leeds Library": "leeds",
    "WASP": "wasp",
    "Dronology": "dronology",
    "ReqView": "reqview",
    "DUAP": "duap",
    "ERec mgmt": "erec",
    "NFR-Examples": "nfr-examples",
    "Streaming": "streaming",
}
"""The file of each external set that has texts."""
_LABELED = {"Helpdesk": "helpdesk", "User mgmt": "user-mgmt", "ESA": "esa"}
"""The file of each external set without them."""
_SETS = 13
"""External sets of the paper."""
_TEXT, _LABELS = "RequirementText", ("IsFunctional", "IsQuality")


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


def sets(context: PaperContext, table: TableRecipe) -> Iterator[CellOutcome]:
    """Yield the sizes of the sets that are at hand, and what baselines reach on them."""
    tests = _sets(context, _EXTERNAL)
    training = _read_set(context.file("promise"))
    labels = _sets(context, _LABELED) if _TRAINING in table.rows else {}
    for name, own in {**tests, _TRAINING: training, **labels}.items():
        sizes = {
            "Size": len(own.requirements),
            "F": sum(requirement.functional for requirement in own.requirements),
            "Q": sum(requirement.quality for requirement in own.requirements),
        }
        for column, size in sizes.items():
            if name in table.rows and column in table.columns:
                note = "; ".join(other_content([own.file]))
                yield CellOutcome(name, column, size, "in part" if note else "run", note)
    if table.own and tests:
        yield from _baselines(context, table, training, tests)


def _sets(context: PaperContext, keys: Mapping[str, str]) -> dict[str, _Set]:
    """Return the sets whose files are at hand."""
    sets: dict[str, _Set] = {}
    for name, key in keys.items():
        with suppress(MissingFileError):
            sets[name] = _read_set(context.file(key))
    return sets


def _read_set(file: FoundFile) -> _Set:
    return _Set(file, tuple(requirements(file)))


def requirements(file: FoundFile) -> Iterator[Requirement]:
    """Yield the requirements of a file of RE-2019's layout, with or without texts and classes.

    Texts with classes stand in the quotes of ARFF, which hold commas and quotes of their own.
    Raises `DatasetError` for another layout.
    """
    for number, row in enumerate(data.table_rows(file.path, _TEXT), 1):
        if missing := [name for name in (_TEXT, *_LABELS) if name not in row]:
            raise data.DatasetError(
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
        raise data.DatasetError(
            f"{file.path}, requirement {number}: {text[:40]!r} is neither 0 nor 1",
            f"Correct the row, or get {file.source.title} again: {file.source.address}",
        )
    return text == "1"


def _baselines(
    context: PaperContext, table: TableRecipe, training: _Set, external: Mapping[str, _Set]
) -> Iterator[CellOutcome]:
    counted: dict[tuple[str, str, Part], list[tuple[str, Confusion]]] = {}
    train_content = list(other_content([training.file]))
    tested = [f"{len(external)} of {_SETS} external sets"] if len(external) < _SETS else []
    tested += other_content([training.file, *(test.file for test in external.values())])
    # The paper skips S3: training counts are of all 625 requirements, none held back to choose by.
    protocol = replace(find_protocol(context.recipe.protocol), validation="none")
    for model in find_models(context.recipe, context.effort.models):
        for name in _TASKS:
            rows = _data(name, training, external)
            if result := run_of(context, rows, model, protocol):
                for part, counts in _counted(result, name).items():
                    counted[name, model.title, part] = counts
    for (row, column), value in cells_of(CountTable(counted), _SET_PARTS).items():
        if row in table.own and column in table.columns:
            of_training = row.startswith("Training ") or column.endswith(" training")
            notes = train_content if of_training else tested
            yield CellOutcome(row, column, value, "in part" if notes else "run", "; ".join(notes))


def _task(positive: str) -> data.Task:
    """Return the task of one of the two labels, which a requirement may have both."""
    labels = [{"name": positive}, {"name": f"not {positive}"}]
    title = {"title": "Requirements of PROMISE NFR and external sets"}
    values = {"name": f"ecser_{positive}", "type": "binary", "labels": labels, "source": title}
    return data.task_of(values, "ecser")


def _data(name: str, training: _Set, external: Mapping[str, _Set]) -> data.TaskData:
    """Return a task with PROMISE NFR as train and all external sets as test, named in `repo`."""
    task = _task(_TASKS[name])
    schema = data.task_family(task).schema
    splits = {}
    for part, sets in {"train": {_TRAINING: training}, "test": external}.items():
        rows = [
            {
                "id": f"{task.name}:{project}:{number:04}",
                "repo": project,
                "source": f"{project}:{number}",
                "text": requirement.text,
                "label": task.label_names[0 if getattr(requirement, _TASKS[name]) else 1],
            }
            for project, own in sets.items()
            for number, requirement in enumerate(own.requirements, 1)
        ]
        splits[part] = pa.Table.from_pylist(rows, schema=schema).sort_by("id")
    return data.task_data(task, splits, "external sets")


def _counted(result: RunRecord, task: str) -> dict[Part, list[tuple[str, Confusion]]]:
    """Return the counts of each set out of the stored predictions, by part."""
    metrics = load("sklearn.metrics")
    parts: dict[Part, list[tuple[str, Confusion]]] = {"train": [], "test": []}
    for counted, name in zip(parts.values(), (TRAIN, PREDICTIONS), strict=True):
        answers = pq.read_table(result.directory / name, columns=["repo", "truth", "answer"])
        for project in sorted(set(answers["repo"].to_pylist())):
            of_set = answers.filter(pc.equal(answers["repo"], project))
            truth, answer = (
                [label == _TASKS[task] for label in of_set[side].to_pylist()]
                for side in ("truth", "answer")
            )
            matrix = metrics.confusion_matrix(truth, answer, labels=[False, True])
            tn, fp, fn, tp = map(int, matrix.ravel())
            counted.append((project, Confusion(tp, fp, tn, fn)))
    return parts
