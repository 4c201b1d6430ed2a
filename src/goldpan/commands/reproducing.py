"""The command that repeats the tables of papers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from goldpan.commands.shared import (
    PARTIAL,
    Directory,
    Json,
    print_result,
    reporting,
    settings_of,
)
from goldpan.core.errors import UsageError
from goldpan.core.terminal import Terminal, clean, titled
from goldpan.core.workspace import Workspace

if TYPE_CHECKING:  # these take long to import
    from goldpan.reproduce.cells import Cell, TableResult
    from goldpan.reproduce.context import Context
    from goldpan.reproduce.engine import Reproduction
    from goldpan.reproduce.jobs import JobPlan
    from goldpan.reproduce.recipe import Recipe, TableRecipe

_LONGEST_ROW = 26
_MARKS = {"run": "r", "in part": "p", "recomputed": "c", "untested": "-"}
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
        typer.Option(min=10, help="At most so many rows per task; cells are marked as in part."),
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
        typer.Option(min=0, max=2**32 - 1, help="Seed of runs here. (default: the protocol's)"),
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
        print_result(json, [_summary(recipe) for recipe in recipes], lambda: print_recipes(recipes))
        return
    recipe = find_recipe(paper)
    chosen = find_tables(recipe, split_names(table or ()))
    wanted = find_tasks(recipe, split_names(tasks)) if tasks else ()
    if models or tasks:
        running = tuple(filter(_can_run, chosen))
        if not running and (models or not table):
            raise UsageError(
                f"No {'named table' if table else 'table'} of {recipe.name} runs models by itself",
                "Leave out --models and --tasks: its cells come from finished runs of goldpan"
                " evaluate (docs/papers.md has the commands)",
            )
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
                tasks=tuple(task.task for task in wanted),
                limit=limit,
                quick=quick,
            ),
            download=download,
        )
        if describe:
            facts = _description(context)
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


def _summary(recipe: Recipe) -> dict[str, Any]:
    return {
        "name": recipe.name,
        "title": recipe.title,
        "citation": recipe.citation,
        "tables": [table.key for table in recipe.tables],
    }


def _description(context: Context) -> dict[str, Any]:
    """Return what a recipe holds, and which of its files are there."""
    recipe = context.recipe
    there = {
        source.key: [str(path) for path in context.data.candidates(source)[:1]]
        for source in recipe.files
    }
    return {
        **_summary(recipe),
        "tables": [{"table": table.key, "title": table.title} for table in recipe.tables],
        "files": [
            {
                "key": source.key,
                "title": source.title,
                "path": source.paths[0],
                "address": source.address,
                "license": source.license,
                "found": next(iter(there[source.key]), None),
            }
            for source in recipe.files
        ],
        "tasks": [
            {
                "task": task.task,
                "rows": task.counts.get("total"),
                "data": all(there[key] for key in task.files) and bool(task.files),
            }
            for task in recipe.tasks
        ],
        "models": [
            {
                **model.model_dump(include={"name", "title", "kind", "parameters", "license"}),
                "weights": f"{model.hub}@{model.commit or 'COMMIT'}" if model.hub else "",
            }
            for model in recipe.models
        ],
    }


def print_recipes(recipes: Sequence[Recipe]) -> None:
    """List recipes."""
    shown = Table("paper", "tables", "", box=None, header_style="dim")
    for recipe in recipes:
        shown.add_row(
            recipe.name, ", ".join(table.key for table in recipe.tables), clean(recipe.title)
        )
    Terminal(soft_wrap=False).print(shown)


def print_description(facts: dict[str, Any]) -> None:
    """Show what a recipe holds."""
    console = Terminal()
    console.print(titled(facts["title"], ""))
    console.print(clean(facts["citation"]))
    for table in facts["tables"]:
        console.print(clean(f"  table {table['table']}: {table['title']}"))
    console.print(titled("Files", ""))
    for file in facts["files"]:
        where = file["found"] or f"missing; {file['address'] or 'no address is known'}"
        console.print(clean(f"  {file['path']}: {where}"))
    for task in facts["tasks"]:
        rows = "" if task["rows"] is None else f"{task['rows']:,} rows, "
        there = "all files are there" if task["data"] else "files are missing"
        console.print(clean(f"  task {task['task']}: {rows}{there}"))
    if facts["models"]:
        console.print(titled("Models", ""))
    for model in facts["models"]:
        size = "" if model["parameters"] is None else f", {model['parameters'] / 1e6:,.0f} M"
        weights = f", {model['weights']}" if model["weights"] else ""
        text = f"  {model['name']}: {model['kind']}{size}, {model['license']}{weights}"
        console.print(clean(text))


def print_jobs(plan: JobPlan, directory: Path) -> None:
    """Show which jobs were written."""
    console = Terminal()
    for job in plan.jobs:
        console.print(clean(f"{job.name}: {job.model.gpus} GPUs, {job.model.hours} h at most"))
    for reason in plan.skipped:
        console.print(clean(f"Skipped: {reason}"))
    console.print(clean(f"Wrote {len(plan.jobs)} jobs; queue them with {directory}/submit.sh"))


def print_reproduction(result: Reproduction, paths: Sequence[Path]) -> None:
    """Show each table beside the print, and where the results lie."""
    from goldpan.reproduce.cells import MEANING
    from goldpan.reproduce.report import sentences

    console = Terminal()
    for table in result.tables:
        console.print(titled(table.recipe.title, ""))
        for block in _blocks(table, console.width):
            console.print(block)
        for sentence in sentences(table):
            console.print(clean(sentence))
        for problem in table.problems:
            console.print(clean(f"Problem: {problem}"))
        for note in table.notes:
            console.print(clean(f"Note: {note}"))
    console.print(titled("Marks: ", ", ".join(f"{_MARKS[name]} {name}" for name in MEANING)))
    for _, problem, remedy in result.missing:
        console.print(clean(f"{problem}. {remedy}."))
    fetched = sum(bool(result.recipe.file(key).raw_path) for key, _, _ in result.missing)
    if fetched:
        console.print(f"--download fetches {fetched} of these {len(result.missing)} files.")
    for path in paths:
        console.print(clean(f"Wrote {path}"))


def _blocks(table: TableResult, width: int) -> Iterator[Table]:
    """Yield a table in blocks of columns that fit: three lines a row, print, here and distance."""
    from goldpan.reproduce.report import distance_shown, shown

    cells = {(cell.row, cell.column): cell for cell in table.cells}
    rows = list(dict.fromkeys(cell.row for cell in table.cells))
    label = min(_LONGEST_ROW, max(map(len, rows), default=1)) + 12
    ways: dict[str, Callable[[Cell], str]] = {
        "paper": lambda cell: shown(cell.paper, cell.decimals),
        "here": lambda cell: f"{shown(cell.here, cell.decimals)} {_MARKS[cell.state]}".strip(),
        "distance": distance_shown,
    }
    texts = {
        name: {
            (row, way): show(cells[row, name]) if (row, name) in cells else ""
            for row in rows
            for way, show in ways.items()
        }
        for name in table.recipe.columns
    }
    block: list[str] = []
    used = label
    for name, column in texts.items():
        if not any(column.values()):
            continue
        wide = max(len(name), *map(len, column.values())) + 2
        if block and used + wide > width:
            yield _block(rows, {key: texts[key] for key in block}, ways)
            block, used = [], label
        block.append(name)
        used += wide
    if block:
        yield _block(rows, {key: texts[key] for key in block}, ways)


def _block(
    rows: Sequence[str], texts: Mapping[str, Mapping[tuple[str, str], str]], ways: Iterable[str]
) -> Table:
    block = Table(box=None, header_style="dim")
    block.add_column("", no_wrap=True, max_width=_LONGEST_ROW)
    block.add_column("", no_wrap=True)
    for name in texts:
        block.add_column(clean(name), justify="right", no_wrap=True)
    for row in rows:
        for number, way in enumerate(ways):
            values = [clean(column[row, way]) for column in texts.values()]
            block.add_row(clean("" if number else row), way, *values)
    return block
