"""Cells of ECSER's tables: of confusion counts, and of requirements that models learn.

Counts give the steps S6 to S8 and S10, by data set, project or fold. Settings: `file`, a file of
counts as `goldpan evaluate compare --scores` takes it; `tasks` and `models`, the file's names of
each of the paper's (a paper with one task names it by an empty text); `parts`, the titles of train,
validation and test in the table of S6; `undefined`, what a metric that divides by zero counts as.
`cells_of` says which step a cell is of; rows of S10 are a task and a metric, its columns Omnibus,
p, and two classifiers with `vs` between them.

Requirements of PROMISE NFR are training, other projects the test (section 5). Settings: `train` and
`external`, files of RE-2019's layout, those by the names of their projects; `labels`, files without
texts, likewise; `total`, how many external sets the paper has. Two tasks, isF and isQ, are learned
apart. Cells are sizes of the sets, and S6 to S8 of each baseline in rows of its own.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from operator import itemgetter

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from goldpan.plugins import data
from goldpan.plugins.evaluation import (
    FEWEST_TASKS,
    PREDICTIONS,
    TRAIN,
    BinaryConfusion,
    CellOutcome,
    Floats,
    FoundFile,
    MissingFileError,
    PaperContext,
    Part,
    RunResult,
    StrictModel,
    TableRecipe,
    autoranked,
    cohen_d,
    degradation,
    find_models,
    find_protocol,
    label_counts,
    magnitude,
    other_content,
    overfitting,
    pool,
    read_scores,
    run_of,
    runs_models,
)

METRICS = ("Precision", "Recall", "F1")
_PARTS: Mapping[str, Part] = {"Training": "train", "Validation": "validation", "Tests": "test"}


class _CountSettings(StrictModel):
    file: str
    tasks: Mapping[str, str]
    models: Mapping[str, str] = {}
    parts: Mapping[str, Part] = _PARTS
    undefined: float = 0.0


def compute_steps(
    context: PaperContext, table: TableRecipe, settings: _CountSettings
) -> Iterator[CellOutcome]:
    """Yield the cells of the table that the counts of the file give."""
    study = _read(context, settings)
    words = {word for name in (*table.rows, *table.columns) for word in name.split()}
    models = sorted({model for _, model, _ in study.counted})
    if words.isdisjoint(models):
        raise data.EvaluationError(
            f"{context.file(settings.file).path} has counts of {', '.join(models)}, which "
            f"{table.title} has not",
            "Write classifiers in the column model as the table does",
        )
    for (row, column), value in cells_of(study, settings.parts).items():
        if row in table.rows and column in table.columns:
            yield CellOutcome(row, column, value, "recomputed", facts={"file": settings.file})
    yield from _tests(context, table, study)


def _read(context: PaperContext, settings: _CountSettings) -> CountTable:
    file = context.file(settings.file)
    scores = read_scores(file.path)
    if scores.layout != "counts":
        raise data.EvaluationError(
            f"{file.path} holds {scores.layout}, not confusion counts",
            "Name the columns model, task, part, project, fold, tp, fp, tn, fn",
        )
    tasks = {written: task for task, written in settings.tasks.items()}
    models = {written: model for model, written in settings.models.items()}
    counted: dict[tuple[str, str, Part], list[tuple[str, BinaryConfusion]]] = defaultdict(list)
    for key, labels in scores.counts.items():
        if key.task not in tasks:
            continue
        if len(labels) != 1:
            raise data.EvaluationError(
                f"{file.path} counts {len(labels)} labels of {key.dataset}",
                "Give the counts of the positive label alone",
            )
        (counts,) = labels.values()
        part = tasks[key.task], models.get(key.model, key.model), key.part
        confusion = BinaryConfusion(counts.tp, counts.fp, counts.tn, counts.fn)
        counted[part].append((key.project or key.fold, confusion))
    if not counted:
        raise data.EvaluationError(
            f"{file.path} has counts of {', '.join(sorted({key.task for key in scores.counts}))}, "
            "which are none of the paper's tasks",
            f"Call them {', '.join(tasks)} in the column task",
        )
    return CountTable(counted, settings.undefined)


def _tests(context: PaperContext, table: TableRecipe, study: CountTable) -> Iterator[CellOutcome]:
    """Yield S10: the omnibus test that the values allow, and the effects of pairs."""
    pairs = [tuple(name.split(" vs ")) for name in table.columns if name.count(" vs ") == 1]
    pairs = [pair for pair in pairs if not pair[1].endswith(" magnitude")]
    models = tuple(dict.fromkeys(model for pair in pairs for model in pair))
    for task in study.tasks:
        if not models or not set(models) <= set(study.models(task)):
            continue
        for metric in METRICS:
            row = named(task, metric)
            if row not in table.rows:
                continue
            values = study.matrix(task, models, metric)
            if values.shape[1] < FEWEST_TASKS:
                context.note(f"{row}: {values.shape[1]} test sets are too few for a test.")
                continue
            test = autoranked(values, alpha=context.recipe.statistics.alpha)
            p = float(test.pvalue)
            cells: dict[str, float | str | None] = {
                "Omnibus": test.omnibus,
                "p": p if math.isfinite(p) else 1.0,
            }
            for first, second in pairs:
                d = cohen_d(values[models.index(first)], values[models.index(second)])
                cells[f"{first} vs {second}"] = None if d is None else abs(d)
                cells[f"{first} vs {second} magnitude"] = magnitude(d)
            for column, value in cells.items():
                if column in table.columns and value is not None:
                    yield CellOutcome(row, column, value, "recomputed")


@dataclass(frozen=True)
class CountTable:
    """All counts of one or more tasks and classifiers."""

    counted: Mapping[tuple[str, str, Part], Sequence[tuple[str, BinaryConfusion]]]
    """Each data set, project or fold with the answers to it, by task, classifier and part."""
    undefined: float = 0.0
    """The value of a metric that divides by zero."""

    @property
    def tasks(self) -> tuple[str, ...]:
        """Return the tasks, as they come."""
        return tuple(dict.fromkeys(task for task, _, _ in self.counted))

    def models(self, task: str) -> tuple[str, ...]:
        """Return the classifiers of a task, as they come."""
        return tuple(dict.fromkeys(model for own, model, _ in self.counted if own == task))

    def values(self, task: str, model: str, part: Part, metric: str) -> Floats:
        """Return a metric of each data set of a part, by the data sets' names."""
        rows = sorted(self.counted.get((task, model, part), ()), key=itemgetter(0))
        return np.array([self._metric(counts, metric) for _, counts in rows])

    def matrix(self, task: str, models: Iterable[str], metric: str) -> Floats:
        """Return a metric on the test sets, models x data sets that all of them answered."""
        by_model = [dict(self.counted.get((task, model, "test"), ())) for model in models]
        shared = sorted(set.intersection(*(set(counts) for counts in by_model)))
        return np.array(
            [[self._metric(counts[name], metric) for name in shared] for counts in by_model]
        )

    def _metric(self, counts: BinaryConfusion, name: str) -> float:
        value: float | None = getattr(counts, name.lower())
        return self.undefined if value is None else value


def named(task: str, rest: str) -> str:
    """Return the name of a row or column of a task; papers with one task leave it out."""
    return f"{task} {rest}" if task else rest


def cells_of(study: CountTable, parts: Mapping[str, Part]) -> dict[tuple[str, str], float | str]:
    """Return the steps S6 to S8 as cells, by row and column.

    S6: rows are a part's title and the classifier, columns the task and TP, FP, TN or FN. S7 and
    S8: rows are the task and the classifier, columns a metric and `training`, `validation`, `test`
    (means over data sets, with `SD`), `overfitting` (Equation 1), `degradation` with `p`, `eta2`
    and `magnitude`.
    """
    cells: dict[tuple[str, str], float | str] = {}
    for task in study.tasks:
        for model in study.models(task):
            for title, part in parts.items():
                if counts := study.counted.get((task, model, part)):
                    cumulative = pool([confusion for _, confusion in counts])
                    for kind in ("tp", "fp", "tn", "fn"):
                        key = named(title, model), named(task, kind.upper())
                        cells[key] = getattr(cumulative, kind)
            for metric in METRICS:
                row = named(task, model)
                for column, value in _performance(study, task, model, metric).items():
                    undefined = isinstance(value, float) and math.isnan(value)
                    if value is not None and value != "" and not undefined:
                        cells[row, f"{metric} {column}"] = value
    return cells


def _performance(
    study: CountTable, task: str, model: str, metric: str
) -> dict[str, float | str | None]:
    train, validation, test = (
        study.values(task, model, part, metric) for part in ("train", "validation", "test")
    )
    cells: dict[str, float | str | None] = {}
    for title, values in (("training", train), ("validation", validation), ("test", test)):
        if values.size:
            cells[title] = float(values.mean())
            cells[f"{title} SD"] = float(values.std(ddof=1)) if values.size > 1 else None
    if train.size == 1 and test.size:
        over = overfitting(float(train[0]), test.tolist())
        cells["overfitting"], cells["overfitting SD"] = over.mean, over.sd
    if validation.size > 1 and test.size > 1:
        worse = degradation(validation.tolist(), test.tolist(), ranks=True)
        cells["degradation p"] = worse.p
        cells["degradation eta2"] = worse.eta_squared
        cells["degradation magnitude"] = worse.eta_magnitude
    return cells


_TASKS: Mapping[str, str] = {"isF": "functional", "isQ": "quality"}
_SET_PARTS: Mapping[str, Part] = {"Training": "train", "Test": "test"}
_TRAINING = "PROMISE NFR"
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


@runs_models
def compute_sets(
    context: PaperContext,
    table: TableRecipe,
    train: str,
    external: Mapping[str, str],
    total: int,
    labels: Mapping[str, str] = {},
) -> Iterator[CellOutcome]:
    """Yield the sizes of the sets that are at hand, and what baselines reach on them."""
    tests = _sets(context, external)
    training = _read_set(context.file(train))
    by_name = {**tests, _TRAINING: training, **_sets(context, labels)}
    for name, own in by_name.items():
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
        yield from _baselines(context, table, training, tests, total)


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
    context: PaperContext,
    table: TableRecipe,
    training: _Set,
    external: Mapping[str, _Set],
    total: int,
) -> Iterator[CellOutcome]:
    counted: dict[tuple[str, str, Part], list[tuple[str, BinaryConfusion]]] = {}
    train_content = list(other_content([training.file]))
    tested = [f"{len(external)} of {total} external sets"] if len(external) < total else []
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


def _counted(result: RunResult, task: str) -> dict[Part, list[tuple[str, BinaryConfusion]]]:
    """Return the counts of each set out of the stored predictions, by part."""
    parts: dict[Part, list[tuple[str, BinaryConfusion]]] = {"train": [], "test": []}
    for counted, name in zip(parts.values(), (TRAIN, PREDICTIONS), strict=True):
        answers = pq.read_table(result.directory / name, columns=["repo", "truth", "answer"])
        for project in sorted(set(answers["repo"].to_pylist())):
            of_set = answers.filter(pc.equal(answers["repo"], project))
            counts = label_counts(of_set, _TASKS[task])
            confusion = BinaryConfusion(counts.tp, counts.fp, counts.tn, counts.fn)
            counted.append((project, confusion))
    return parts
