"""Cells of CrossCodeBench: from the authors' code, from their task files, from finished runs.

Task files are looked for in all folders below the data folder, and their key says which cells
of them a table has: 2 averages, 3 types, 4 tasks of the splits, 4-train and 4-evaluation their
instances, 5 the two shortcuts. A split that `goldpan build crosscode split` wrote is a task by
`goldpan build crosscode import`, called after split and method, so that runs on it fill cells.
"""

from __future__ import annotations

import ast
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice, pairwise
from statistics import fmean

import numpy as np

from goldpan.papers.crosscodebench.build import find_tasks
from goldpan.papers.crosscodebench.importing import split_folder, split_task_name
from goldpan.papers.crosscodebench.instances import read_instances
from goldpan.papers.crosscodebench.meta import META, Meta, TaskExample
from goldpan.papers.crosscodebench.prompts import LAYOUTS
from goldpan.papers.crosscodebench.splits import Assigned, TaskFiles, assign_tasks, shipped_splits
from goldpan.plugins.data import METHODS, DatasetError
from goldpan.plugins.evaluation import (
    CellOutcome,
    FoundFile,
    PaperContext,
    RunRecord,
    State,
    TableRecipe,
    bleu_of_counts,
    compare_text,
    model_of,
    read_runs,
    read_text,
    workspaces,
)

_TASKS = 216
_ROWS = 500
"""The most test rows of a task (section IV-D), the first ones in the authors' code."""
_SEEDS = 3
"""Runs of which the paper prints the mean (section V)."""
_SEED = 42
"""The seed of the authors' shortcut, where none is said."""
_TOTAL = "Total"
_MILLION, _THOUSAND = 1_000_000, 1_000
Cells = Iterator[tuple[str, str, float]]
"""Row, column and value of each."""


def categories(context: PaperContext, table: TableRecipe) -> Iterator[CellOutcome]:
    """Yield how many categories each type and sub-type has in the authors' code (Table III)."""
    rows = {row.casefold(): row for row in table.rows}
    counts: Counter[str] = Counter()
    for name in _types_of_categories(context.file("categories")).values():
        kind = rows.get(name.casefold(), name)
        counts.update({kind, kind.partition(" -> ")[0], _TOTAL})
    for row in table.rows:
        yield CellOutcome(
            row, "categories", counts[row], "recomputed", "as the authors' code has them"
        )


def _types_of_categories(file: FoundFile) -> dict[str, str]:
    """Return the first dictionary of a Python file, read as data: nothing of it is run."""
    try:
        tree = ast.parse(read_text(file))
        value = next(node.value for node in tree.body if isinstance(node, ast.Assign))
        types = ast.literal_eval(value)
        return {str(category): str(kind) for category, kind in types.items()}
    except (SyntaxError, ValueError, StopIteration, AttributeError) as error:
        raise DatasetError(
            f"{file.path} holds no dictionary of categories and types ({error})",
            "Give the file as its authors publish it",
        ) from None


def tasks(context: PaperContext, table: TableRecipe) -> Iterator[CellOutcome]:
    """Yield the cells of a table that follow from the task files that are there."""
    folders = sorted({path.parent for path in context.data.root.rglob(f"task_*{META}")})
    if not folders:
        context.note(
            "No task_*.meta.json is below the data folder: get the tasks from "
            "https://doi.org/10.5281/zenodo.7321934."
        )
        return
    ways: Mapping[str, Callable[[Sequence[TaskFiles]], Cells]] = {
        "2": _averages,
        "3": _types,
        "4": _split_tasks,
        "4-train": lambda found: _split_instances(found, "train", _MILLION),
        "4-evaluation": lambda found: _split_instances(found, "evaluation", _THOUSAND),
        "5": _shortcuts,
    }
    found = find_tasks(folders)
    whole = len(found) == _TASKS
    state: State = "run" if whole else "in part"
    note = "" if whole else f"{len(found)} of {_TASKS} tasks"
    for row, column, value in ways[table.key](found):
        if row in table.rows and column in table.columns:
            yield CellOutcome(row, column, value, state, note, {"tasks": len(found)})


def _instances(tasks: Sequence[TaskFiles]) -> int:
    """Return how many instances tasks have, as their files say it, else by counting."""
    return sum(
        task.meta.counts.get("total") or sum(1 for _ in read_instances(task.data)) for task in tasks
    )


def _averages(tasks: Sequence[TaskFiles]) -> Cells:
    metas = [task.meta for task in tasks]
    sides: Mapping[str, Callable[[Meta], Sequence[TaskExample]]] = {
        "positive": lambda meta: meta.positive,
        "negative": lambda meta: meta.negative,
    }
    yield "instances per task", "average", _instances(tasks) / len(tasks)
    yield "description length", "average", _mean_words([meta.description for meta in metas])
    yield "definition length", "average", _mean_words([meta.definition for meta in metas])
    for name, side in sides.items():
        for part in ("input", "output"):
            texts = [[getattr(example, part) for example in side(meta)] for meta in metas]
            if lengths := [_mean_words(of_task) for of_task in texts if of_task]:
                row = f"{name} example {part} length"
                yield row, "average", fmean(lengths)


def _mean_words(texts: Sequence[str]) -> float:
    return fmean(len(text.split()) for text in texts)


def _types(tasks: Sequence[TaskFiles]) -> Cells:
    by_kind: dict[str, list[TaskFiles]] = defaultdict(list)
    for task in tasks:
        for name in {task.meta.kind.type, str(task.meta.kind), _TOTAL}:
            by_kind[name].append(task)
    for name, members in by_kind.items():
        yield name, "tasks", len(members)
        yield name, "categories", len({task.meta.category for task in members})
        yield name, "instances", _instances(members)


def _splits(tasks: Sequence[TaskFiles]) -> Iterator[Assigned]:
    metas = [task.meta for task in tasks]
    return (assign_tasks(name, split, metas) for name, split in shipped_splits().items())


def _split_tasks(tasks: Sequence[TaskFiles]) -> Cells:
    for split in _splits(tasks):
        yield split.name, "train", len(split.train)
        yield split.name, "evaluation", len(split.evaluation)


def _split_instances(tasks: Sequence[TaskFiles], side: str, unit: int) -> Cells:
    for split in _splits(tasks):
        stems = {meta.stem for meta in (split.train if side == "train" else split.evaluation)}
        yield split.name, side, _instances([t for t in tasks if t.meta.stem in stems]) / unit


def _shortcuts(tasks: Sequence[TaskFiles]) -> Cells:
    by_stem = {task.meta.stem: task for task in tasks}
    for split in _splits(tasks):
        drawing = random.Random(_SEED)  # noqa: S311 - repeats the authors' drawing
        truths: list[str] = []
        outputs: list[str | None] = []
        inputs: list[str | None] = []
        for meta in split.evaluation:
            shown = [example.output for example in meta.positive]
            for instance in islice(read_instances(by_stem[meta.stem].data), _ROWS):
                truths.append(instance.output)
                outputs.append(drawing.choice(shown) if shown else None)
                inputs.append(instance.input)
        for row, answers in (("Copy Ex-output", outputs), ("Copy Ins-input", inputs)):
            for metric, value in percentages(truths, answers).items():
                yield row, f"{split.name} {metric}", value


def percentages(references: Sequence[str], answers: Sequence[str | None]) -> dict[str, float]:
    """Score answers, where None is one that is not valid (section IV-C); nothing scores nothing.

    Exact match is for tasks with short, fixed outputs, BLEU and ROUGE-L for the others. The paper
    does not say which ones; these are the corpus BLEU and the mean ROUGE-L of Goldpan's metrics.
    """
    agreements = [compare_text(*pair) for pair in zip(references, answers, strict=True)]
    if not agreements:
        return {}
    counts = np.array([agreement.bleu_counts for agreement in agreements], dtype=np.float64)
    return {
        "EM": 100 * fmean(agreement.exact_match for agreement in agreements),
        "BLEU": 100 * float(bleu_of_counts(counts.sum(axis=0, keepdims=True))[0]),
        "ROUGE-L": 100 * fmean(agreement.rouge_l for agreement in agreements),
    }


def runs(
    context: PaperContext, table: TableRecipe, rows: Mapping[str, str]
) -> Iterator[CellOutcome]:
    """Yield the cells of Table V of models that have finished runs; of several seeds, the mean.

    Rows of the table are `MODEL, METHOD`, columns `SPLIT METRIC`; `rows` has the MODEL of each
    model of the recipe.
    """
    built = {
        split_task_name(split_folder(split, method, layout)): (split, method)
        for split in shipped_splits()
        for method in METHODS
        for layout in LAYOUTS
    }
    by_cell: dict[tuple[str, str], list[RunRecord]] = defaultdict(list)
    for name, run in _runs(context):
        if run.task in built and name in rows:
            split, method = built[run.task]
            by_cell[split, f"{rows[name]}, {method}"].append(run)
    for (split, row), found in sorted(by_cell.items()):
        examples, seeds = min(run.scores.examples for run in found), len({r.seed for r in found})
        weights = sorted({str(run.settings.get("weights", "")) for run in found} - {""})
        tasks = shipped_splits()[split].paper
        notes = [f"{seeds} of {_SEEDS} seeds"] * (seeds < _SEEDS)
        if tasks is not None and examples < tasks[1] * _ROWS:
            notes.append(f"{examples:,} of up to {tasks[1] * _ROWS:,} rows")
        if len(weights) > 1:
            notes.append(f"the mean is over {len(weights)} commits of the weights")
        state: State = "in part" if notes else "run"
        facts = {"rows": examples, "weights": weights}
        for metric, mean in _mean_scores(found).items():
            column = f"{split} {metric}"
            if row in table.rows and column in table.columns:
                yield CellOutcome(row, column, mean, state, "; ".join(notes), facts)


def _runs(context: PaperContext) -> list[tuple[str, RunRecord]]:
    """Return the finished runs of the recipe's models with their names there."""
    return [
        (model.name, run)
        for workspace in workspaces(context)
        if (workspace.root / "runs").is_dir()
        for run in read_runs(workspace)
        if (model := model_of(context.recipe.models, run)) is not None
    ]


def _mean_scores(runs: Sequence[RunRecord]) -> dict[str, float]:
    """Return the means over runs by metric; without those that no run has."""
    values: dict[str, list[float]] = defaultdict(list)
    for run in runs:
        answers = run.predictions()
        scores = percentages(answers["truth"].to_pylist(), answers["answer"].to_pylist())
        for metric, value in scores.items():
            values[metric].append(value)
    return {metric: fmean(of_runs) for metric, of_runs in values.items()}


def figure(
    context: PaperContext,
    table: TableRecipe,
    split: str,
    method: str,
    curves: Mapping[str, Mapping[str, tuple[int, str]]],
) -> Iterator[CellOutcome]:
    """Yield what the text says of the curves of Figures 2 and 3, whose points rows name.

    A point is the most instances of a training task and a model; at least two of a curve must have
    runs. Columns are the metrics, and a note has the scores of the points.
    """
    found = _runs(context)
    for row, points in curves.items():
        curve = {}
        for point, (cap, model) in points.items():
            folders = [split_folder(split, method, way, cap) for way in LAYOUTS]
            built = {split_task_name(folder) for folder in folders}
            runs = [run for name, run in found if name == model and run.task in built]
            if scores := _mean_scores(runs):
                curve[point] = scores
        if len(curve) < 2:
            continue
        whole = len(curve) == len(points)
        for metric in table.columns:
            scores = {point: of_point[metric] for point, of_point in curve.items()}
            value = _trend([*scores.values()])
            if row.startswith("best"):
                value = max(scores, key=scores.__getitem__)
            shown = ", ".join(f"{name}: {score:.2f}" for name, score in scores.items())
            note = shown if whole else f"{len(curve)} of {len(points)} points; {shown}"
            state: State = "run" if whole else "in part"
            yield CellOutcome(row, metric, value, state, note, {"curve": curve})


def _trend(scores: Sequence[float]) -> str:
    steps = list(pairwise(scores))
    if all(after > before for before, after in steps):
        return "higher"
    return "lower" if all(after < before for before, after in steps) else "not the same throughout"
