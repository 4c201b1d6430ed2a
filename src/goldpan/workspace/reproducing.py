"""Tables of papers, repeated and shown beside the printed ones."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from goldpan.core.errors import UsageError
from goldpan.core.result import Result, Results
from goldpan.core.values import several
from goldpan.workspace.opening import OpenWorkspace
from goldpan.workspace.options import Seed


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
    from goldpan.reproduce.data import DataFolder
    from goldpan.reproduce.finding import find_recipe, recipe_names
    from goldpan.reproduce.recipe import chosen
    from goldpan.reproduce.result import RecipeSummary, reproduced
    from goldpan.reproduce.runs import find_models

    if paper is None:
        return Results(RecipeSummary.of(find_recipe(name)) for name in recipe_names())
    recipe = find_recipe(str(paper))
    tables = recipe.find_tables(_names(table))
    tasks = chosen(recipe, "task", _names(task), {one.task: one for one in recipe.tasks})
    named = tuple(name for name in _names(model) if name != "all")
    find_models(recipe, named)  # a wrong name is refused before any work
    if named != _names(model):
        named = tuple(one.name for one in recipe.models)
    running = tuple(one for one in tables if one.runs)
    if (model or (not table and (task or limit is not None))) and not running:
        raise UsageError(
            f"No {'named table' if table else 'table'} of {recipe.name} runs models by itself",
            "Leave out --model, --task and --limit: its cells come from finished runs of"
            " goldpan evaluate (docs/papers.md has the commands)",
        )
    if (model or task) and not table:
        tables = running
    folder = self.path / "reproduce" / recipe.name
    if data is not None and not Path(data).is_dir():
        raise UsageError(f"{data} is not a folder", "Give the folder with the authors' files")
    with self.reporting() as reporter:
        context = PaperContext(
            recipe,
            DataFolder(folder / "sources" if data is None else Path(data)),
            self.layout,
            reporter,
            source=Path(paper) if str(paper).endswith(".py") else None,
            seed=find_protocol(recipe.protocol).seed if seed is None else seed,
            effort=Effort(not no_run, named, tuple(one.task for one in tasks), limit),
            download=download,
        )
        return reproduced(context, tables, folder if output is None else Path(output))


def _names(argument: str | Sequence[str]) -> tuple[str, ...]:
    """Return the names in arguments such as `a,b` and `c`, each once, in order."""
    names = (name.strip() for text in several(argument) for name in text.split(","))
    return tuple(dict.fromkeys(name for name in names if name))
