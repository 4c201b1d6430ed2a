"""The recipe of a small paper of nobody's, which `tests.reproducing` writes into a folder."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from goldpan.plugins.data import table_rows
from goldpan.plugins.evaluation import (
    CellOutcome,
    ModelRecipe,
    PaperContext,
    PaperRecipe,
    SourceFile,
    SplitRecipe,
    TableRecipe,
    TaskRecipe,
    run_scores,
)

COMMIT = "0123456789012345678901234567890123456789"


def scores(context: PaperContext, table: TableRecipe) -> Iterator[CellOutcome]:
    """Yield the published scores."""
    for row in table_rows(context.file("scores").path):
        if row["f1"] not in ("", None):
            yield CellOutcome(row["task"], row["model"], float(row["f1"]))
        elif row["error"] not in ("", None):
            yield CellOutcome(row["task"], row["model"], 1 - float(row["error"]))
        else:
            context.note(f"{row['model']} has no score on {row['task']}.")


PAPER = PaperRecipe(
    name="nobody",
    title="A paper of nobody",
    citation="N. Body: Toys, 2024.",
    files=(
        SourceFile(
            key="scores",
            title="scores",
            paths=("kit/scores.csv",),
            sha256=("DIGEST",),
            repository="nobody/toys",
            commit=COMMIT,
            path="out/scores.csv",
            columns=("model", "task"),
        ),
        SourceFile(key="toys", title="toys", paths=("toys.csv",), url="https://example.org/toys"),
        SourceFile(
            key="others",
            title="other toys",
            paths=("others.csv",),
            url="https://example.org/toys",
            note="Beside the toys.",
        ),
    ),
    tasks=(
        TaskRecipe(
            task="requirement_type",
            files=("toys",),
            steps="none",
            counts={"total": 40, "label:functional": 20},
            split=SplitRecipe(kind="shuffled", labels=("non-functional", "functional")),
        ),
        TaskRecipe(task="incivility", files=("others",)),
    ),
    models=(
        ModelRecipe(name="a", title="A", kind="baseline", model="majority"),
        ModelRecipe(
            name="big",
            title="Big",
            kind="fine-tuned",
            hub="nobody/big",
            commit=COMMIT,
            license="MIT",
        ),
    ),
    printed=Path(__file__).with_name("printed.csv"),
    tables=(
        TableRecipe(key="1", title="Table 1: scores", compute=(scores,)),
        TableRecipe(
            key="2", title="Table 2: runs", compute=(partial(run_scores, one_minus=()),), runs=True
        ),
    ),
)
