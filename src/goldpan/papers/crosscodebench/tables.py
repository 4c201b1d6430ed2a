"""The tables of CrossCodeBench: of the print, of the authors' files, and of finished runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from math import fsum
from operator import sub, truediv
from pathlib import Path

from goldpan.papers.crosscodebench import cells
from goldpan.papers.crosscodebench.prompts import TRAIN_CAP
from goldpan.plugins.evaluation import (
    CellOutcome,
    ModelRecipe,
    PaperContext,
    PaperRecipe,
    SourceFile,
    TableRecipe,
    from_print,
    read_list,
)

_HERE = Path(__file__).parent
_ML, _C2T = "Classification -> Multi-label", "Generation -> Code-to-Text"
_PARTS = {
    "Classification": ("Classification -> Binary", _ML),
    "Generation": ("Generation -> Rewrite", "Generation -> Text-to-Code", _C2T),
    "Total": (
        "Classification",
        "Fill in the Blank",
        "Translation",
        "Generation",
        "Summarization",
        "Type Prediction",
        "Question Answering",
    ),
}
_TRAIN = {
    "Sub-Intra-ML": ("Classification -> Binary",),
    "Sub-Intra-C2T": ("Generation", _C2T),
    "Sub-Inter-ML": ("Total", _ML),
    "Sub-Inter-C2T": ("Total", _C2T),
    "Type-Trans": ("Total", "Translation"),
    "Type-QA": ("Total", "Question Answering"),
}
"""The types on which a split trains: one, or one without another."""
_EVALUATION = {
    "Sub-Intra-ML": (_ML,),
    "Sub-Intra-C2T": (_C2T,),
    "Sub-Inter-ML": (_ML,),
    "Sub-Inter-C2T": (_C2T,),
    "Type-Trans": ("Translation",),
    "Type-QA": ("Question Answering",),
}
_SAME = {
    "4": {"Cat-Inter-CD": "Cat-Intra-CD", "Cat-Inter-BF": "Cat-Intra-BF"},
    "4-evaluation": {"Cat-Intra-CD": "Cat-Inter-CD", "Cat-Inter-BF": "Cat-Intra-BF"},
}
"""Splits that are evaluated on the same tasks."""


def instances_per_task(context: PaperContext, table: TableRecipe) -> Iterator[CellOutcome]:
    """Yield the average that the printed totals give."""
    figures = [("Total", "instances"), ("Total", "tasks")]
    types = context.recipe.table("3")
    row, column = "instances per task", "average"
    yield from from_print(row, column, types, figures, lambda two: truediv(*two))


def type_totals(context: PaperContext, table: TableRecipe) -> Iterator[CellOutcome]:
    """Yield the sums over types of tasks."""
    for row, parts in _PARTS.items():
        for column in table.columns:
            yield from from_print(row, column, table, [(part, column) for part in parts], fsum)


def split_tasks(context: PaperContext, table: TableRecipe) -> Iterator[CellOutcome]:
    """Yield the tasks of splits, of the printed types."""
    yield from _of_types(context, "train", _TRAIN, "tasks")
    yield from _of_types(context, "evaluation", _EVALUATION, "tasks")
    yield from _same_evaluation(table)


def train_instances(context: PaperContext, table: TableRecipe) -> Iterator[CellOutcome]:
    """Yield the training instances in millions, of the printed types."""
    return _of_types(context, "train", _TRAIN, "instances", 1e-6)


def evaluation_instances(context: PaperContext, table: TableRecipe) -> Iterator[CellOutcome]:
    """Yield the evaluation instances in thousands, of the printed types."""
    types = {split: parts for split, parts in _EVALUATION.items() if split != "Type-Trans"}
    yield from _of_types(context, "evaluation", types, "instances", 1e-3)
    yield from _same_evaluation(table)


def _of_types(
    context: PaperContext,
    column: str,
    splits: Mapping[str, Sequence[str]],
    counted: str,
    scale: float = 1.0,
) -> Iterator[CellOutcome]:
    types = context.recipe.table("3")
    for split, parts in splits.items():
        figures = [(part, counted) for part in parts]
        yield from from_print(
            split, column, types, figures, lambda counts: (counts[0] - fsum(counts[1:])) * scale
        )


def _same_evaluation(table: TableRecipe) -> Iterator[CellOutcome]:
    for split, other in _SAME[table.key].items():
        yield from from_print(split, "evaluation", table, [(other, "evaluation")], fsum)


def twins(context: PaperContext, table: TableRecipe) -> Iterator[CellOutcome]:
    """Yield scores of what was not trained on a split: they stand twice in the print.

    A split within a type and the one across types have the same evaluation.
    """
    untrained = ("Copy", "Tk-Instruct off the shelf", "CodeT5, supervised")
    for row in table.rows:
        for column in table.columns if row.startswith(untrained) else ():
            twin = column.replace("-Intra-", "-Inter-")
            if twin == column:
                twin = column.replace("-Inter-", "-Intra-")
            if twin != column:
                yield from from_print(row, column, table, [(row, twin)], fsum)


def bug_fixing(context: PaperContext, table: TableRecipe) -> Iterator[CellOutcome]:
    """Yield scores and sizes that other tables print, and sizes by what rows have in common."""
    rows = {"2: sub-type and type": "Cat-Intra-BF", "3: sub-type, type and others": "Cat-Inter-BF"}
    scores, sizes = context.recipe.table("5"), context.recipe.table("4-train")
    size = "training size (M)"
    for row, split in rows.items():
        for metric in ("BLEU", "ROUGE-L"):
            figures = [("CodeT5, 2/0-instruct", f"{split} {metric}")]
            yield from from_print(row, metric, scores, figures, fsum)
        yield from from_print(row, size, sizes, [(split, "train")], fsum)
    # Rows differ by whole groups of tasks, so sizes are differences of sizes.
    two, three = rows
    differences = {
        "4: type": (two, "1: sub-type"),
        "5: type and others": (three, "1: sub-type"),
        "6: others": (three, two),
    }
    for row, pair in differences.items():
        figures = [(name, size) for name in pair]
        yield from from_print(row, size, table, figures, lambda both: sub(*both))


model_runs = partial(
    cells.runs,
    rows={
        "plbart-large": "PLBART",
        "codet5-large": "CodeT5",
        "tk-instruct": "Tk-Instruct",
        "tk-instruct-def-pos": "Tk-Instruct off the shelf",
        "tk-instruct-def-pos-neg": "Tk-Instruct off the shelf",
    },
)
_FIGURES = "Type-Trans", "2/0-instruct"


def instances_curve(context: PaperContext, table: TableRecipe) -> Iterator[CellOutcome]:
    """Yield what Figure 2 shows."""
    caps = (500, 1000, 2000, 5000, 10000, 20000)
    points = {f"{cap:,}": (cap, "codet5-large") for cap in caps}
    last = {name: points[name] for name in ("10,000", "20,000")}
    curves = {row: points if row.startswith("best") else last for row in table.rows}
    return cells.figure(context, table, *_FIGURES, curves)


def size_curves(context: PaperContext, table: TableRecipe) -> Iterator[CellOutcome]:
    """Yield what Figure 3 shows."""
    tk_instruct = ("tk-instruct-small", "tk-instruct-base", "tk-instruct-large", "tk-instruct")
    models = {
        "CodeT5: larger against smaller": ("codet5-small", "codet5-base", "codet5-large"),
        "Tk-Instruct: larger against smaller": tk_instruct,
    }
    curves = {row: {name: (TRAIN_CAP, name) for name in of_row} for row, of_row in models.items()}
    return cells.figure(context, table, *_FIGURES, curves)


PAPER = PaperRecipe(
    name="crosscodebench",
    title="CrossCodeBench: cross-task generalization on 216 tasks of source code",
    citation=(
        "C. Niu, C. Li, V. Ng and B. Luo: CrossCodeBench: Benchmarking Cross-Task Generalization"
        " of Source Code Models, ICSE 2023."
    ),
    url="https://arxiv.org/abs/2302.04030",
    protocol="crosscodebench",
    about=(
        "The 216 tasks are at https://doi.org/10.5281/zenodo.7321934, and not in the authors'"
        " repository. A folder of their task_*.meta.json and task_*.data.json below --data is read"
        " as it is.",
        "The paper speaks of 500 evaluation instances that are selected; the authors' code takes"
        " the first 500 of each task's file, and the first 10,000 for training.",
        "The authors' prompts are one line: parts are joined by '; ', and a list of inputs by ' |||"
        " '. goldpan build crosscode split writes them with --layout authors; without it, prompts"
        " have line breaks.",
        "The authors' code names 30 categories, where Table III counts 28: 12 binary (13), 3"
        " multi-label (2), 5 of text to code (2), 1 summarization (2), and 3, 1, 2, 1, 1 and 1 as"
        " printed.",
        "All models of Table V have open weights. Scores are means of three runs, without"
        " intervals; hyper-parameters were searched on data that the paper does not name.",
    ),
    files=read_list(_HERE / "files.csv", SourceFile),
    models=read_list(_HERE / "models.csv", ModelRecipe),
    printed=_HERE / "printed.csv",
    tables=(
        TableRecipe(
            key="2",
            title="Table II: averages",
            compute=(instances_per_task, cells.tasks),
            note=(
                "Lengths are in words, as the paper does not say; only the first row follows from"
                " other figures."
            ),
        ),
        TableRecipe(
            key="3",
            title="Table III: types of tasks",
            compute=(type_totals, cells.categories, cells.tasks),
        ),
        TableRecipe(
            key="4", title="Table IV: tasks of the ten splits", compute=(split_tasks, cells.tasks)
        ),
        TableRecipe(
            key="4-train",
            title="Table IV: training instances, in millions",
            compute=(train_instances, cells.tasks),
        ),
        TableRecipe(
            key="4-evaluation",
            title="Table IV: evaluation instances, in thousands",
            compute=(evaluation_instances, cells.tasks),
            note=(
                "3.1 M and 2.4 M are printed to a tenth of a million. Cat-Intra-CD is printed as"
                " 1.73K, where the same task in Cat-Inter-CD has 1.73M: the K is an error, for"
                " 4.83 M and 1.73 M are the 6.57 M of all classification."
            ),
        ),
        TableRecipe(
            key="5",
            title="Table V: two shortcuts and four models on ten splits, in percent",
            compute=(twins, model_runs, cells.tasks),
            note=(
                "What was not trained on a split has the same evaluation within a type and across"
                " types, and so has the supervised model: those cells are recomputed from each"
                " other."
            ),
        ),
        TableRecipe(
            key="6",
            title="Table VI: what CodeT5 is trained on before bug fixing",
            compute=(bug_fixing,),
            note=(
                "Sizes are printed to a tenth of a million, except the first. Rows 2 and 3 are"
                " CodeT5, 2/0-instruct of Cat-Intra-BF and Cat-Inter-BF in Table V."
            ),
        ),
        TableRecipe(
            key="F2",
            title=(
                "Figure 2: CodeT5 on Type-Trans by the most instances of a task, as the text reads"
                " the figure"
            ),
            compute=(instances_curve,),
            note=("The figures' values are drawn, not printed. It takes CodeT5-large on a GPU."),
        ),
        TableRecipe(
            key="F3",
            title="Figure 3: CodeT5 and Tk-Instruct by size, as the text reads the figure",
            compute=(size_curves,),
            note=(
                "The figures' values are drawn, not printed, and its split is not named:"
                " Type-Trans, as in Figure 2, is taken. It takes models of up to 3 B parameters on"
                " GPUs."
            ),
        ),
    ),
)
