"""The command that repeats the tables of papers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from goldpan.commands.reproducing_screen import (
    description,
    print_description,
    print_jobs,
    print_recipes,
    print_reproduction,
    summary,
)
from goldpan.commands.shared import PARTIAL, Directory, Json, print_result, reporting, settings_of
from goldpan.core.errors import UsageError
from goldpan.core.workspace import Workspace

if TYPE_CHECKING:  # these take long to import
    from goldpan.reproduce.context import Context
    from goldpan.reproduce.recipe import Recipe, TableRecipe

_METHODS_OF_RUNS = ("by-repository", "comment-competition", "requirement-sets", "runs")


def reproduce(
    paper: Annotated[
        str | None,
        typer.Argument(help="A recipe's name, or a TOML file; without it, the recipes are listed."),
    ] = None,
    table: Annotated[
        list[str] | None,
        typer.Option("--table", help="Tables, such as 3 or 3,4. (default: all)"),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            help="The folder with the authors' files. (default: WORKSPACE/reproduce/PAPER/sources)"
        ),
    ] = None,
    models: Annotated[
        list[str] | None,
        typer.Option(
            "--models", help="Models to run, as NAME, NAME@COMMIT, or all. (default: the baselines)"
        ),
    ] = None,
    tasks: Annotated[
        list[str] | None,
        typer.Option("--tasks", help="Tasks to run, such as incivility,sentiment. (default: all)"),
    ] = None,
    no_run: Annotated[
        bool, typer.Option("--no-run", help="Train nothing; finished runs still count.")
    ] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="Run small grids; cells are marked as in part.")
    ] = False,
    limit: Annotated[
        int | None,
        typer.Option(min=10, help="At most this many rows per task; cells are marked as in part."),
    ] = None,
    slurm: Annotated[
        bool, typer.Option("--slurm", help="Write a job for each model and task, and run nothing.")
    ] = False,
    describe: Annotated[
        bool,
        typer.Option("--list", help="List tables, files, tasks and models, and compute nothing."),
    ] = False,
    download: Annotated[
        bool, typer.Option("--download", help="Download missing files and weights, where possible.")
    ] = False,
    seed: Annotated[
        int | None,
        typer.Option(min=0, max=2**32 - 1, help="Seed of the runs. (default: the protocol's)"),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(help="A directory for results. (default: WORKSPACE/reproduce/PAPER)"),
    ] = None,
    workspace: Directory = None,
    json: Json = False,
) -> None:
    """Repeat the tables of a paper, and show each cell beside the printed one.

    Every cell is marked as run, in part, recomputed from published scores, or untested. Nothing is
    fetched without --download. Exits with 3 if a file is missing or is not the authors'.
    """
    from goldpan.evaluation.protocol import find_protocol
    from goldpan.reproduce.catalogue import find_recipe, find_tables, find_tasks, recipe_names
    from goldpan.reproduce.context import Context, Effort
    from goldpan.reproduce.data import DataFolder
    from goldpan.reproduce.names import split_names

    if paper is None:
        recipes = [find_recipe(name) for name in recipe_names()]
        print_result(json, [summary(recipe) for recipe in recipes], lambda: print_recipes(recipes))
        return
    recipe = find_recipe(paper)
    chosen = find_tables(recipe, split_names(table or ()))
    chosen_tasks = find_tasks(recipe, split_names(tasks)) if tasks else ()
    running = tuple(filter(_can_run, chosen))
    narrowed = bool(models or tasks or quick) or limit is not None
    if narrowed and not running and (models or not table):
        raise UsageError(
            f"No {'named table' if table else 'table'} of {recipe.name} runs models by itself",
            "Leave out --models, --tasks, --limit and --quick: its cells come from finished runs of"
            " goldpan evaluate (docs/papers.md has the commands)",
        )
    if models or tasks:
        chosen = chosen if table else running
    lab = Workspace(settings_of(workspace=workspace).workspace)
    default = lab.root / "reproduce" / recipe.name
    if data is not None and not data.is_dir():
        raise UsageError(f"{data} is not a folder", "Give the folder with the authors' files")
    with reporting(json) as reporter:
        context = Context(
            recipe,
            DataFolder(data or default / "sources"),
            lab,
            reporter,
            argument=paper,
            seed=find_protocol(recipe.protocol).seed if seed is None else seed,
            effort=Effort(
                run=not no_run,
                models=_models(recipe, split_names(models or ())),
                tasks=tuple(task.task for task in chosen_tasks),
                limit=limit,
                quick=quick,
            ),
            download=download,
        )
        if describe:
            facts = description(context)
            print_result(json, facts, lambda: print_description(facts))
            return
        if slurm:
            _write_slurm(context, output or default / "slurm", json)
            return
        from goldpan.reproduce.engine import reproduce as compute
        from goldpan.reproduce.report import as_json, write_files

        result = compute(context, chosen)
    paths = write_files(result, output or default)
    print_result(json, as_json(result), lambda: print_reproduction(result, paths))
    raise typer.Exit(0 if result.complete else PARTIAL)


def _can_run(table: TableRecipe) -> bool:
    return any(computation.method in _METHODS_OF_RUNS for computation in table.compute)


def _models(recipe: Recipe, names: tuple[str, ...]) -> tuple[str, ...]:
    from goldpan.reproduce.models import find_models

    named = tuple(name for name in names if name != "all")
    find_models(recipe, named)  # a name that is wrong is told before any work
    return named if named == names else tuple(model.name for model in recipe.models)


def _write_slurm(context: Context, directory: Path, json: bool) -> None:
    from goldpan.reproduce.jobs import plan_jobs, write_jobs

    plan = plan_jobs(context, context.effort.models)
    if not plan.jobs:
        raise UsageError(
            f"No job can be written: {plan.skipped[0] if plan.skipped else 'nothing was named'}",
            "Name --models and --tasks that the paper has, with the data of those tasks",
        )
    paths = write_jobs(plan.jobs, directory)
    facts = {
        "jobs": [{"name": job.name, "command": list(job.command)} for job in plan.jobs],
        "skipped": list(plan.skipped),
        "files": [str(path) for path in paths],
    }
    print_result(json, facts, lambda: print_jobs(plan, directory))
    raise typer.Exit(PARTIAL if plan.skipped else 0)
