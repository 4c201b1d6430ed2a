"""The tables of FAUN-Eval: means and changes of the print, datasets and runs of a workspace."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from statistics import fmean

from goldpan.papers.faun_eval.cells import built_datasets, lengths, runs
from goldpan.plugins.evaluation import (
    CellOutcome,
    ModelRecipe,
    PaperContext,
    PaperRecipe,
    TableRecipe,
    from_print,
    read_list,
)

_HERE = Path(__file__).parent
_AVERAGE = "Average"
_QA = ("QA: BLEU", "QA: ROUGE-L", "QA: ROUGE-1", "QA: ES")
_WHOLE = {"QA": "IT+IB", "FL": "IT+IB", "CE": "IT+IB+PT+PB"}
_LOCATING = ("GPT-4o", "DSC-236B")
"""Models of Table 5 by whose fault localization its average is: CodeQwen scored 0."""


def averages(context: PaperContext, table: TableRecipe) -> Iterator[CellOutcome]:
    """Yield the averages over metrics and models, of the printed scores."""
    models = [name for name in table.columns if name != _AVERAGE]
    for row in table.rows:
        name, sign, shown = row.partition(", ")
        if name == "QA: average":
            for column in table.columns:
                cells = [(f"{metric}{sign}{shown}", column) for metric in _QA]
                yield from from_print(row, column, table, cells, fmean)
    for row in table.rows:
        chosen = _LOCATING if table.key == "5" and row.startswith("FL") else models
        cells = [(row, model) for model in chosen]
        yield from from_print(row, _AVERAGE, table, cells, fmean)


def changes(context: PaperContext, table: TableRecipe) -> Iterator[CellOutcome]:
    """Yield the changes without parts of the input, of the printed scores."""
    scores = context.recipe.table("5")
    for row in table.rows:
        name, _, _ = row.partition(", ")
        whole = f"{name}, {_WHOLE[name.partition(':')[0]]}"
        for column in table.columns:
            if table.number(row, column) is not None:
                cells = [(whole, column), (row, column)]
                yield from from_print(row, column, scores, cells, _change)


def _change(scores: Sequence[float]) -> float | None:
    """Return by how many percent the second score differs from the first, without a sign."""
    whole, less = scores
    return abs(less / whole - 1) * 100 if whole else None


_ablated = partial(runs, averages={"FL": _LOCATING})
PAPER = PaperRecipe(
    name="faun-eval",
    title="FAUN-Eval: fine-grained issue solving of language models on 30 repositories",
    citation=(
        "R. Hu et al.: A Real-World Benchmark for Evaluating Fine-Grained Issue Solving"
        " Capabilities of Large Language Models, 2024 (FAUN-Eval)."
    ),
    url="https://anonymous.4open.science/status/FAUN-Eval",
    protocol="faun-eval",
    about=(
        "The paper names seven of its 30 repositories and no commit; GitHub was read in August"
        " 2024. examples/faun-eval.toml selects 30 by language and stars, mines, pairs, filters and"
        " builds them.",
        "The paper reviews what the filters keep with GPT-4o and two people: a plan needs [review]"
        " for that.",
        "A workspace of that plan is given by --data or --workspace: its datasets of 300 rows and"
        " its runs fill the cells.",
        "Scores come from one sample an answer at temperature 0.2.",
    ),
    models=read_list(_HERE / "models.csv", ModelRecipe),
    printed=_HERE / "printed.csv",
    tables=(
        TableRecipe(
            key="data",
            title="Sections 3.1 to 3.3: repositories, entries and pairs",
            compute=(built_datasets,),
            note=(
                "The paper writes: over 800,000 entries, approximately 500,000 issues and around"
                " 100,000 fix pairs, from August 2024."
            ),
        ),
        TableRecipe(
            key="1",
            title="Table 1: the datasets",
            compute=(built_datasets,),
            note="FAUN-Eval-fix is the dataset of fault localization and of code editing.",
        ),
        TableRecipe(
            key="4",
            title="Table 4: ten models on three tasks",
            compute=(averages, partial(runs, averages={})),
        ),
        TableRecipe(
            key="5",
            title="Table 5: scores without parts of the input",
            compute=(averages, _ablated),
            note="IT and IB are the issue's title and body, PT and PB the pull request's.",
        ),
        TableRecipe(
            key="5-changes",
            title=(
                "Table 5: changes without parts of the input, in percent of the whole input's score"
            ),
            compute=(changes, partial(_ablated, changes=True)),
            note="Without their signs, which the print shows as arrows.",
        ),
        TableRecipe(
            key="F3",
            title="Figure 3: scores on short, medium and long inputs, as the text reads the figure",
            compute=(lengths,),
            note=(
                "The figure's values are drawn, not printed: what stands here is what section 5.3"
                " says of them. The thirds' scores are in the facts of each cell."
            ),
        ),
    ),
)
