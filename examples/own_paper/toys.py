"""Tables of a paper that nobody wrote, beside what its scores give.

goldpan reproduce toys.py --data data
"""

from collections.abc import Iterator
from pathlib import Path
from statistics import fmean

from goldpan.plugins.data import table_rows
from goldpan.plugins.evaluation import (
    CellOutcome,
    PaperContext,
    PaperRecipe,
    SourceFile,
    TableRecipe,
    from_print,
)


def scores(context: PaperContext, table: TableRecipe) -> Iterator[CellOutcome]:
    """Yield the scores that the authors published."""
    for row in table_rows(context.file("scores").path):
        yield CellOutcome(row["task"], row["model"], float(row["f1"]))


def means(context: PaperContext, table: TableRecipe) -> Iterator[CellOutcome]:
    """Yield the mean of each model, of the printed scores."""
    for model in table.columns:
        tasks = [(row, model) for row in table.rows if row != "Mean"]
        yield from from_print("Mean", model, table, tasks, fmean)


PAPER = PaperRecipe(
    name="toys",
    title="Toys",
    citation="N. Body: Toys, 2024.",
    files=(
        SourceFile(
            key="scores",
            title="scores of every run",
            paths=("scores.csv",),
            url="https://example.org/toys",
            columns=("model", "task", "f1"),
        ),
    ),
    printed=Path(__file__).with_name("printed.csv"),
    tables=(TableRecipe(key="1", title="Table 1: F1", compute=(scores, means)),),
)
