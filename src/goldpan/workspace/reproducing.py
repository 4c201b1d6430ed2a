"""Tables of papers, repeated and shown beside the printed ones."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from goldpan.core.errors import UsageError
from goldpan.core.result import Result, Results
from goldpan.core.values import several
from goldpan.workspace.opening import OpenWorkspace
from goldpan.workspace.options import Seed

if TYPE_CHECKING:
    from goldpan.reproduce.recipe import PaperRecipe


def reproduce(
    self: OpenWorkspace,
    paper: str | Path | None = None,
    *,
    table: str | Sequence[str] = (),
    data: Path | str | None = None,
    model: str | Sequence[str] = (),
    task: str | Sequence[str] = (),
    no_run: bool = False,
    limit: Annotated[int, Parameter(validator=Number(gte=10))] | None = None,
    download: bool = False,
    seed: Seed | None = None,
    output: Path | str | None = None,
) -> Result:
    """Repeat the tables of a paper, and show each cell beside the printed one.

    Every cell is marked as run, in part, recomputed from published scores, or untested. Nothing is
    fetched without `--download`. Exits with 3 if a file is missing or is not the authors'.

    Example: goldpan reproduce our_paper.py --table 3 --data papers

    Args:
        paper (PAPER): A recipe's name, or a Python file; without it, the recipes are listed.
        table: Tables, such as 3 or 3,4. (default: all)
        data: The folder with the authors' files. (default: WORKSPACE/reproduce/PAPER/sources)
        model (NAME): Models to run, as NAME, NAME@COMMIT, or all. (default: the baselines)
        task (NAME): Tasks to run, such as incivility,sentiment. (default: all)
        no_run: Train nothing; finished runs still count.
        limit: At most this many rows per task; cells are marked as in part.
        download: Download missing files and weights, where possible.
        seed: Seed of the runs. (default: the protocol's)
        output: A directory for result.json. (default: WORKSPACE/reproduce/PAPER)
    """
    from goldpan.evaluation.protocol import find_protocol
    from goldpan.reproduce.cells import Effort, PaperContext
    from goldpan.reproduce.cells import reproduce as compute
    from goldpan.reproduce.data import DataFolder
    from goldpan.reproduce.recipe import (
        find_recipe,
        find_tables,
        find_tasks,
        recipe_names,
        split_names,
    )
    from goldpan.reproduce.result import Reproduced, summary, write_result

    if paper is None:
        return Results(summary(find_recipe(name)) for name in recipe_names())
    recipe = find_recipe(str(paper))
    chosen = find_tables(recipe, split_names(several(table)))
    chosen_tasks = find_tasks(recipe, split_names(several(task))) if task else ()
    running = tuple(table for table in chosen if table.runs)
    narrowed = bool(model or task) or limit is not None
    if narrowed and not running and (model or not table):
        raise UsageError(
            f"No {'named table' if table else 'table'} of {recipe.name} runs models by itself",
            "Leave out --model, --task and --limit: its cells come from finished runs of"
            " goldpan evaluate (docs/papers.md has the commands)",
        )
    if model or task:
        chosen = chosen if table else running
    default = self.path / "reproduce" / recipe.name
    if data is not None and not Path(data).is_dir():
        raise UsageError(f"{data} is not a folder", "Give the folder with the authors' files")
    context = PaperContext(
        recipe,
        DataFolder(default / "sources" if data is None else Path(data)),
        self.layout,
        self.reporter,
        source=Path(paper) if str(paper).endswith(".py") else None,
        seed=find_protocol(recipe.protocol).seed if seed is None else seed,
        effort=Effort(
            run=not no_run,
            models=_models(recipe, split_names(several(model))),
            tasks=tuple(chosen_task.task for chosen_task in chosen_tasks),
            limit=limit,
        ),
        download=download,
    )
    result = Reproduced.of(context, compute(context, chosen))
    return write_result(result, default if output is None else Path(output))


def _models(recipe: PaperRecipe, names: tuple[str, ...]) -> tuple[str, ...]:
    from goldpan.reproduce.runs import find_models

    named = tuple(name for name in names if name != "all")
    find_models(recipe, named)  # a wrong name is refused before any work
    return named if named == names else tuple(model.name for model in recipe.models)
