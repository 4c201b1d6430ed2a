"""The tables of NLBSE'23 on issue reports and code comments, and the rules of the competitions.

Code comments (section III-B): 0.75 x mean F1 over the 19 categories + 0.25 x share of categories
in which the F1 is above that of the organizers' random forest. Issue reports (section II-B): the
micro-averaged F1.

The score of a printed row on comments follows from its mean F1 and the categories that it won; the
organizers' forest has published answers, and features on which it is trained anew. As every issue
has one class and gets one answer, the average on issues follows from the recalls alone; what comes
out of printed recalls has their rounding in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import fsum
from pathlib import Path
from statistics import fmean, harmonic_mean

import pyarrow.compute as pc

from goldpan.papers.nlbse.comment_tasks import Category, categories
from goldpan.plugins import evaluation
from goldpan.plugins.data import EvaluationError, TaskData, UnknownNameError
from goldpan.plugins.evaluation import CellOutcome, PaperContext, TableRecipe, from_print

_HERE = Path(__file__).parent
_MEANS = {"Precision": "precision", "Recall": "recall", "F1": "f1"}
_WON, _SCORE = "Outperformed", "Score"
_FOREST = "Random Forest (Rani et al.)"
_SUPPORT = {"Bug": 74781, "Feature": 52797, "Question": 8490, "Documentation": 6252}
"""Test issues of each class."""
_PARTS = {"Training": "train", "Testing": "test", "All": ""}
_COUNTED = ("positive", "negative", "total")


_F1_WEIGHT = 0.75
_OUTPERFORMED_WEIGHT = 0.25

BASELINE: Mapping[str, evaluation.Confusion] = {
    name: evaluation.Confusion(*category["forest"]) for name, category in categories().items()
}
"""Answers of the official random forest on the test sets, by task (Rani et al.; the results in
github.com/nlbse2023/code-comment-classification). Its mean F1 is Table III's 0.309."""


@dataclass(frozen=True, slots=True)
class CommentScore:
    """How a model does in the code-comment competition."""

    mean_f1: float
    won: tuple[str, ...]
    """The categories in which it is above the baseline."""
    score: float


def baseline_f1() -> dict[str, float]:
    """Return the F1 of the organizers' random forest by task; 0 where it found nothing."""
    return {name: evaluation.label_metric(own, "f1") or 0.0 for name, own in BASELINE.items()}


def comment_score(f1: Mapping[str, float | None]) -> CommentScore:
    """Score a model by its F1 in every category; an undefined F1 counts 0.

    A category is won by a strictly higher F1. Raises `EvaluationError` where a category is
    missing or unknown, since a mean over others would not be comparable.
    """
    baseline = baseline_f1()
    if f1.keys() != baseline.keys():
        missing, unknown = sorted(baseline.keys() - f1.keys()), sorted(f1.keys() - baseline.keys())
        raise EvaluationError(
            "The code-comment score takes one F1 for each category: "
            f"missing {', '.join(missing) or 'none'}, unknown {', '.join(unknown) or 'none'}",
            "Run the model on all tasks of the suite nlbse23 that classify comments",
        )
    exact = evaluation.as_decimal
    values = {name: f1[name] or 0.0 for name in sorted(baseline)}
    won = tuple(name for name in values if exact(values[name]) > exact(baseline[name]))
    mean = fmean(values.values())
    return CommentScore(mean, won, comment_rule(mean, len(won), len(values)))


def comment_rule(mean_f1: float, outperformed: int, categories: int) -> float:
    """Return the formula of section III-B."""
    return _F1_WEIGHT * mean_f1 + _OUTPERFORMED_WEIGHT * outperformed / categories


def mean_scores(answered: Iterable[evaluation.Confusion]) -> dict[str, float]:
    """Return precision, recall and F1, means over categories, by the column that shows them."""
    confusions = list(answered)
    return {
        column: fmean(evaluation.label_metric(confusion, metric) or 0.0 for confusion in confusions)
        for column, metric in _MEANS.items()
    }


def issue_totals(context: PaperContext, table: TableRecipe) -> Iterator[CellOutcome]:
    """Yield the sums over types of issues."""
    for row in table.rows:
        yield from from_print(row, "Total", table, [(row, name) for name in _SUPPORT], fsum)


def issue_f1(context: PaperContext, table: TableRecipe) -> Iterator[CellOutcome]:
    """Yield the F1 of each class and their average, of printed precision and recall."""
    for row in table.rows:
        for name in _SUPPORT:
            cells = [(row, f"{name} precision"), (row, f"{name} recall")]
            yield from from_print(row, f"{name} F1", table, cells, harmonic_mean)
        cells = [(row, f"{name} recall") for name in _SUPPORT]
        yield from from_print(row, "Average F1", table, cells, _average)


def _average(recalls: Sequence[float]) -> float:
    """Return the micro-averaged F1 of section II-B.

    Every issue has one class and gets one answer, so it is the share of right answers, which is
    the mean of the recalls weighted by size.
    """
    sizes = _SUPPORT.values()
    return fsum(recall * size for recall, size in zip(recalls, sizes, strict=True)) / sum(sizes)


def places(
    context: PaperContext, table: TableRecipe, scores: str, column: str
) -> Iterator[CellOutcome]:
    """Yield the places by a printed column of a table of scores."""
    printed = context.recipe.table(scores)
    values = {row: printed.number(row, column) for row in table.rows}
    ranked = evaluation.rank({row: value for row, value in values.items() if value})
    for name, place in ranked.items():
        yield CellOutcome(name, "Place", place, note="place of printed figures")


def printed_counts(context: PaperContext, table: TableRecipe) -> Iterator[CellOutcome]:
    """Yield the sums over categories and parts, of printed counts."""
    for language in ("Java", "Pharo", "Python"):
        total = f"{language} total"
        rows = [row for row in table.rows if row.startswith(language) and row != total]
        for column in table.columns:
            yield from from_print(total, column, table, [(row, column) for row in rows], fsum)
    for part in _PARTS:
        for row in table.rows:
            cells = [(row, f"{part} positive"), (row, f"{part} negative")]
            yield from from_print(row, f"{part} total", table, cells, fsum)


TABLE_2 = {
    "Java Expand": "java_expand",
    "Java Ownership": "java_ownership",
    "Java Deprecation": "java_deprecation",
    "Java Rational": "java_rational",
    "Java Summary": "java_summary",
    "Java Pointer": "java_pointer",
    "Java Usage": "java_usage",
    "Pharo Responsibilities": "pharo_responsibilities",
    "Pharo Key messages": "pharo_key_messages",
    "Pharo Key impl. points": "pharo_key_implementation",
    "Pharo Collaborators": "pharo_collaborators",
    "Pharo Example": "pharo_example",
    "Pharo Class references": "pharo_class_references",
    "Pharo Intent": "pharo_intent",
    "Python Expand": "python_expand",
    "Python Parameters": "python_parameters",
    "Python Summary": "python_summary",
    "Python Dev. notes": "python_development_notes",
    "Python Usage": "python_usage",
}
"""The category of each row of Table II."""


def data_counts(context: PaperContext, table: TableRecipe) -> Iterator[CellOutcome]:
    """Yield the counts of each category whose file is there."""
    columns = [(f"{part} {kind}", part, kind) for part in _PARTS for kind in _COUNTED]
    for row, category in TABLE_2.items():
        task = context.recipe.task(f"nlbse23_{category}")
        if task is None or (context.effort.tasks and task.task not in context.effort.tasks):
            continue
        try:
            ready = evaluation.prepared(context, task)
        except (evaluation.MissingFileError, UnknownNameError) as error:
            for column, _, _ in columns:
                yield CellOutcome(row, column, None, "untested", error.problem)
            continue
        limited = ("rows were limited",) if context.effort.limit is not None else ()
        note = "; ".join((*ready.notes, *limited))
        for column, part, kind in columns:
            value = _count(ready.data, _PARTS[part], kind)
            yield CellOutcome(row, column, value, "in part" if note else "run", note)


def _count(data: TaskData, split: str, kind: str) -> int:
    tables = [rows for name, rows in data.splits.items() if split in ("", name)]
    if kind == "total":
        return sum(map(len, tables))
    label = data.task.label_names[_COUNTED.index(kind)]
    return sum(int(pc.sum(pc.equal(rows["label"], label)).as_py() or 0) for rows in tables)


def comments(context: PaperContext, table: TableRecipe) -> Iterator[CellOutcome]:
    """Yield scores of printed rows, the forest's means, and what baselines reach here."""
    context.files(("java", "pharo", "python"))
    for row in table.rows:
        won = str(table.printed(row, _WON) or "").partition("/")[0]
        mean = table.number(row, "F1")
        if won.isdigit() and mean is not None:
            reached = comment_rule(mean, int(won), len(BASELINE))
            yield CellOutcome(row, _SCORE, reached, note="from the rounded mean F1")
    for column, value in mean_scores(BASELINE.values()).items():
        yield CellOutcome(_FOREST, column, value)
    if context.effort.tasks:
        context.note("No score was computed here: it takes all categories, and --tasks names some.")
    for model in evaluation.find_models(context.recipe, context.effort.models):
        yield from _entry(context, table, model)


def _entry(
    context: PaperContext, table: TableRecipe, model: evaluation.ModelRecipe
) -> Iterator[CellOutcome]:
    """Yield the row of a model that ran on all tasks; it runs on those that are chosen."""
    protocol = evaluation.find_protocol(context.recipe.protocol)
    values: dict[str, dict[str, float | None]] = {metric: {} for metric in _MEANS.values()}
    chosen, limit = context.effort.tasks, context.effort.limit
    notes = [] if limit is None else [f"at most {limit:,} rows a task"]
    for task in context.recipe.tasks:
        if chosen and task.task not in chosen:
            continue
        ready = evaluation.prepared(context, task)
        result = evaluation.run_of(context, ready.data, model, protocol)
        if result is None:
            return
        notes += [*ready.notes, *result.in_part]
        for metric, by_task in values.items():
            by_task[task.task] = result.scores.value(metric)
    if chosen or model.title not in table.own:  # the runs are kept, for when all are there
        return
    ranked = comment_score(values["f1"])
    cells: dict[str, evaluation.Value] = {
        column: fmean(value or 0.0 for value in values[metric].values())
        for column, metric in _MEANS.items()
    }
    cells |= {_WON: f"{len(ranked.won)}/{len(BASELINE)}", _SCORE: ranked.score}
    note = "; ".join(dict.fromkeys(notes))
    for column, value in cells.items():
        yield CellOutcome(model.title, column, value, "in part" if notes else "run", note)


def _task(name: str, category: Category) -> evaluation.TaskRecipe:
    label, counts = category["label"], category["counts"]
    positive, negative = counts[0] + counts[2], counts[1] + counts[3]
    return evaluation.TaskRecipe(
        task=name,
        files=(name.split("_")[1],),
        steps="none",
        counts={
            "total": positive + negative,
            f"label:{label}": positive,
            f"label:not {label}": negative,
        },
        split=evaluation.SplitRecipe(plan="given"),
    )


PAPER = evaluation.PaperRecipe(
    name="nlbse23",
    title="NLBSE'23 tool competition: issue reports and code comments",
    citation=(
        "R. Kallis, M. Izadi, L. Pascarella, O. Chaparro and P. Rani: The NLBSE'23 Tool"
        " Competition, NLBSE 2023."
    ),
    url="https://doi.org/10.1109/NLBSE59153.2023.00007",
    protocol="nlbse23",
    about=(
        "Test sentences of code comments stand word for word in train for 41% of the Java rows,"
        " 11% of Pharo and 13% of Python.",
        "The paper's text says that partition 1 is training; its Table II and the data have 0 for"
        " training.",
        "Issue types have 1,418,201 rows; their figures are recomputed from the print, and runs"
        " are goldpan evaluate's once the data are imported.",
    ),
    files=evaluation.read_list(_HERE / "nlbse23_files.csv", evaluation.SourceFile),
    tasks=tuple(_task(name, category) for name, category in sorted(categories().items())),
    models=(
        evaluation.ModelRecipe(
            name="tfidf-svm", title="tfidf-svm", kind="baseline", model="tfidf-svm"
        ),
    ),
    printed=_HERE / "nlbse23_printed.csv",
    tables=(
        TableRecipe(
            key="issues",
            title="Section II-A: issue reports by type",
            compute=(issue_totals,),
            note=(
                "None of the files holds the 1.4 million issues: goldpan tasks import"
                " nlbse23_issue_type takes the organizers' two."
            ),
        ),
        TableRecipe(
            key="1",
            title="Table I: issue types",
            compute=(issue_f1,),
            note=(
                "The SGD row prints two digits a class. Nothing is run here, as none of the files"
                " holds the 1.4 million issues: goldpan tasks import nlbse23_issue_type and"
                " goldpan evaluate run do."
            ),
        ),
        TableRecipe(
            key="issue-ranking",
            title="Section II-D: ranking of issue types",
            compute=(partial(places, scores="1", column="Average F1"),),
        ),
        TableRecipe(
            key="2", title="Table II: sentences by category", compute=(printed_counts, data_counts)
        ),
        TableRecipe(
            key="3",
            title="Table III: code comments",
            compute=(comments,),
            runs=True,
            own=("tfidf-svm",),
        ),
        TableRecipe(
            key="comment-ranking",
            title="Section III-D: ranking of code comments",
            compute=(partial(places, scores="3", column=_SCORE),),
        ),
    ),
)
