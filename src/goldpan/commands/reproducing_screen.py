"""What reproducing a paper shows, on the terminal and as JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table

from goldpan.core.terminal import Terminal, clean, titled

if TYPE_CHECKING:  # these take long to import
    from goldpan.reproduce.cells import Cell, TableResult
    from goldpan.reproduce.context import Context
    from goldpan.reproduce.engine import Reproduction
    from goldpan.reproduce.jobs import JobPlan
    from goldpan.reproduce.recipe import Recipe, SourceFile


_LONGEST_ROW = 26
_MOST_NAMES = 3
"""Missing files of one source that are named on the screen."""
_MARKS = {"run": "r", "in part": "p", "recomputed": "c", "untested": "-"}


def summary(recipe: Recipe) -> dict[str, Any]:
    """Return what a list says of a recipe, as plain data."""
    return {
        "name": recipe.name,
        "title": recipe.title,
        "citation": recipe.citation,
        "tables": [table.key for table in recipe.tables],
    }


def description(context: Context) -> dict[str, Any]:
    """Return what a recipe holds, and which of its files are there."""
    recipe = context.recipe
    paths_of = {
        source.key: [str(path) for path in context.data.candidates(source)[:1]]
        for source in recipe.files
    }
    return {
        **summary(recipe),
        "tables": [{"table": table.key, "title": table.title} for table in recipe.tables],
        "files": [
            {
                "key": source.key,
                "title": source.title,
                "path": source.paths[0],
                "address": source.address,
                "license": source.license,
                "found": next(iter(paths_of[source.key]), None),
            }
            for source in recipe.files
        ],
        "tasks": [
            {
                "task": task.task,
                "rows": task.counts.get("total"),
                "data": all(paths_of[key] for key in task.files) and bool(task.files),
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
        state = "all files are there" if task["data"] else "files are missing"
        console.print(clean(f"  task {task['task']}: {rows}{state}"))
    if facts["models"]:
        console.print(titled("Models", ""))
    for model in facts["models"]:
        size = "" if model["parameters"] is None else f", {model['parameters'] / 1e6:,.0f} M"
        weights = f", {model['weights']}" if model["weights"] else ""
        terms = "" if model["kind"] == "baseline" else f", {model['license']}"
        text = f"  {model['name']}: {model['kind']}{size}{terms}{weights}"
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
    from goldpan.report.number_format import count
    from goldpan.reproduce.cells import MEANING
    from goldpan.reproduce.report import NAMES, counted, sentences

    console = Terminal()
    named = {f"{what}. {remedy}.": what for _, what, remedy in result.missing}
    said: set[str] = set()
    for table in result.tables:
        console.print(titled(table.recipe.title, "") if table.obtained else "")
        if table.obtained:
            for block in _blocks(table, console.width):
                console.print(block)
        for sentence in sentences(table):
            console.print(clean(sentence))
        for problem in table.problems:
            short = named.get(problem)
            text = problem if short is None else f"{short}. How to get it stands below."
            console.print(clean(f"Problem: {text}"))
        for note in table.notes:
            if note not in said:  # tables may share what they lack
                console.print(clean(f"Note: {note}"))
            said.add(note)
    console.print(titled("Marks: ", ", ".join(f"{_MARKS[name]} {name}" for name in MEANING)))
    console.print(f"All tables: {counted(result.tables)}.")
    for line in _missing_files(result):
        console.print(clean(line))
    fetched = sum(bool(result.recipe.file(key).raw_path) for key, _, _ in result.missing)
    if fetched:
        few = f"{fetched} of the {count(len(result.missing), 'missing file')}"
        console.print(f"--download fetches {few}; {NAMES[1]} names each.")
    for path in paths:
        console.print(clean(f"Wrote {path}"))


def _missing_files(result: Reproduction) -> Iterator[str]:
    """Yield how to get what lacks, a line a source: authors publish many files at one address."""
    sources: dict[str, list[tuple[SourceFile, str]]] = {}
    missing = {key: f"{problem}. {remedy}." for key, problem, remedy in result.missing}
    for file in result.recipe.files:
        if file.key in missing:
            # A note says of a single file how to make it.
            shared = (file.path and file.repository) or (not file.note and file.url)
            sources.setdefault(shared or file.key, []).append((file, missing[file.key]))
    for files in sources.values():
        first, text = files[0]
        if len(files) == 1:
            yield text
            continue
        names = ", ".join(file.paths[0] for file, _ in files[:_MOST_NAMES])
        more = " and so on" if len(files) > _MOST_NAMES else ""
        how = f"Get them from {first.address}, and put them below {result.folder}"
        if first.repository:
            commit = f" at {first.commit[:12]}" if first.commit else ""
            how = f"Clone https://github.com/{first.repository}{commit} below {result.folder}"
        yield f"{len(files):,} files are missing: {names}{more}. {how}."


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
