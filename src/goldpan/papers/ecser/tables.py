"""The tables of ECSER: of the print, of the appendix's counts, and of requirements."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial
from math import fsum, sqrt
from operator import sub
from pathlib import Path

from goldpan.papers.ecser.counts import METRICS, steps
from goldpan.papers.ecser.sets import sets
from goldpan.plugins.evaluation import (
    CellOutcome,
    Confusion,
    ModelRecipe,
    PaperContext,
    PaperRecipe,
    SourceFile,
    TableRecipe,
    Value,
    from_print,
    label_metric,
    magnitude,
    read_list,
)

_HERE = Path(__file__).parent
_FORMULAS = ("Precision", "Recall", "Specificity", "F1", "F2")
_FLAKY_TESTS = (
    "hbase",
    "okhttp",
    "hector",
    "java-websocket",
    "httpcore",
    "incubator-dubbo",
    "wro4j",
)


def example_metrics(context: PaperContext, table: TableRecipe) -> Iterator[CellOutcome]:
    """Yield the metrics of the ten matrices that rows are named after."""
    for row in table.rows:
        counts = Confusion(*map(int, re.findall(r"\d+", row)))
        values = {column: label_metric(counts, column.lower()) for column in _FORMULAS}
        if not counts.tp:  # then harmonic means divide by zero, which others call 0
            values["F1"] = values["F2"] = None
        values["Accuracy"] = (counts.tp + counts.tn) / counts.size
        for column in table.columns:
            value = values[column]
            yield CellOutcome(row, column, "-" if value is None else value)


def requirement_totals(context: PaperContext, table: TableRecipe) -> Iterator[CellOutcome]:
    """Yield the sums over sets of requirements."""
    yield from _totals(table, "Totals", [row for row in table.rows if row != "Totals"])


def flaky_totals(context: PaperContext, table: TableRecipe) -> Iterator[CellOutcome]:
    """Yield the sums over projects with flaky tests."""
    names = [row for row in table.rows if not row.endswith(" total")]
    yield from _totals(table, "Train set total", [row for row in names if row not in _FLAKY_TESTS])
    yield from _totals(table, "Test set total", _FLAKY_TESTS)


def _totals(table: TableRecipe, row: str, rows: Sequence[str]) -> Iterator[CellOutcome]:
    for column in table.columns:
        yield from from_print(row, column, table, [(name, column) for name in rows], fsum)


def overfitting(context: PaperContext, table: TableRecipe) -> Iterator[CellOutcome]:
    """Yield the overfitting that printed scores give."""
    for row in table.rows:
        for metric in METRICS:
            cells = [(row, f"{metric} test"), (row, f"{metric} training")]
            yield from from_print(row, f"{metric} overfitting", table, cells, lambda two: sub(*two))
            cells = [(row, f"{metric} test SD")]
            yield from from_print(row, f"{metric} overfitting SD", table, cells, fsum)


def training_metrics(context: PaperContext, table: TableRecipe) -> Iterator[CellOutcome]:
    """Yield the metrics of the training counts that the table of matrices prints."""
    matrices = context.recipe.table("9" if table.key == "10" else "13")
    for row in table.rows:
        task, _, model = row.rpartition(" ")
        counts = [
            int(matrices.number(f"Training {model}", f"{task} {kind}".strip()) or 0)
            for kind in ("TP", "FP", "TN", "FN")
        ]
        for metric in METRICS:
            value = label_metric(Confusion(*counts), metric.lower())
            yield CellOutcome(row, f"{metric} training", value)


def effects(context: PaperContext, table: TableRecipe) -> Iterator[CellOutcome]:
    """Yield the effects that printed means and deviations give, where the paper prints them."""
    scores = context.recipe.table("10" if table.key == "11" else "14")
    for row, figures in table.rows.items():
        task, _, metric = row.rpartition(" ")
        for column in figures:
            if " vs " not in column:
                continue
            pair = column.removesuffix(" magnitude").split(" vs ")
            cells = [
                (f"{task} {model}".strip(), f"{metric} test{sd}")
                for model in pair
                for sd in ("", " SD")
            ]
            word = column.endswith(" magnitude")
            yield from from_print(row, column, scores, cells, _effect_name if word else _effect)


def _effect(scores: Sequence[float]) -> float | None:
    """Return Cohen's d, without a sign, of two means with a deviation after each."""
    mean, deviation, other, spread = scores
    pooled = sqrt((deviation**2 + spread**2) / 2)
    return abs(mean - other) / pooled if pooled else None


def _effect_name(scores: Sequence[float]) -> Value:
    return magnitude(_effect(scores))


requirement_steps = partial(
    steps,
    file="requirement-counts",
    tasks={"isF": "isF", "isQ": "isQ"},
    parts={"Training": "train", "Test": "test"},
)
flaky_steps = partial(steps, file="flaky-counts", tasks={"": "flaky"})
_OVERFITTING = (
    "Overfitting that is recomputed is the printed test mean less the printed training score; its"
    " deviation is that of the test, as there is one training score."
)
PAPER = PaperRecipe(
    name="ecser",
    title="ECSER: evaluating classifiers in software engineering research, with two replications",
    citation=(
        "D. Dell'Anna, F. B. Aydemir and F. Dalpiaz: Evaluating classifiers in SE research: the"
        " ECSER pipeline and two replication studies, Empirical Software Engineering 28(1), 2023."
    ),
    url="https://doi.org/10.1007/s10664-022-10243-1",
    about=(
        "The paper prints cumulative counts; means over data sets, degradation and tests need the"
        " counts of each, which its online appendix holds.",
        "The classifiers ling17, km500 and norbert are not run here; the row tfidf-svm is a"
        " baseline of Goldpan beside them.",
        "Five of the 13 external sets of requirements were never published as texts: ESA,"
        " Helpdesk, OAppT, RepReq and User mgmt. RE-2019 publishes labels of three of them.",
        "RE-2019's 17 features (FinalSel_vlist) and its linear SVM give other training counts than"
        " Table 9 has for ling17: 231, 76, 239, 79 on isF and 350, 86, 157, 32 on isQ; so ling17"
        " is not run.",
    ),
    files=read_list(_HERE / "files.csv", SourceFile),
    models=(ModelRecipe(name="tfidf-svm", title="tfidf-svm", kind="baseline", model="tfidf-svm"),),
    printed=_HERE / "printed.csv",
    tables=(
        TableRecipe(
            key="5", title="Table 5: metrics of ten confusion matrices", compute=(example_metrics,)
        ),
        TableRecipe(
            key="7",
            title="Table 7: sets of requirements",
            compute=(requirement_totals, sets),
            runs=True,
        ),
        TableRecipe(
            key="9",
            title="Table 9: confusion matrices of requirements (S6)",
            compute=(requirement_steps, sets),
            runs=True,
            own=("Training tfidf-svm", "Test tfidf-svm"),
            note=(
                "The test counts of each classifier add up to 1,889 requirements, while the 13"
                " external sets of Table 7 add up to 1,913."
            ),
        ),
        TableRecipe(
            key="10",
            title="Table 10: performance and overfitting on requirements (S7, S8)",
            compute=(overfitting, training_metrics, requirement_steps, sets),
            runs=True,
            own=("isF tfidf-svm", "isQ tfidf-svm"),
            note=_OVERFITTING,
        ),
        TableRecipe(
            key="11",
            title="Table 11: tests of requirement classifiers (S10)",
            compute=(effects, requirement_steps),
        ),
        TableRecipe(
            key="12",
            title="Table 12: projects with flaky tests",
            compute=(flaky_totals,),
            note=(
                "Only the totals follow from other figures: none of the files counts the tests of"
                " each project."
            ),
        ),
        TableRecipe(
            key="13",
            title="Table 13: confusion matrices of flaky tests (S6)",
            compute=(flaky_steps,),
        ),
        TableRecipe(
            key="14",
            title="Table 14: performance and overfitting on flaky tests (S7, S8)",
            compute=(overfitting, training_metrics, flaky_steps),
            note=_OVERFITTING,
        ),
        TableRecipe(
            key="14-degradation",
            title="Table 14: degradation from validation to test on flaky tests (S8)",
            compute=(flaky_steps,),
            note=(
                "With 10 folds and 7 projects, effects of 0.686, 0.126 and 0.11 are those of U ="
                " 0, 20 and 21, whose exact p is 0.0001, 0.161 and 0.193; the print has 0.001 for"
                " the first."
            ),
        ),
        TableRecipe(
            key="15",
            title="Table 15: tests of flaky-test classifiers (S10)",
            compute=(effects, flaky_steps),
        ),
    ),
)
