"""What people see of recipes and their tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from goldpan.core.result import Block, Line, Table, Title, count, renders
from goldpan.reproduce.cells import MEANING, Cell, Reproduction, TableResult
from goldpan.reproduce.data import RecipeDescription, RecipeSummary
from goldpan.reproduce.recipe import SourceFile
from goldpan.reproduce.report import NAMES, Reproduced, counted, distance_shown, sentences, shown
from goldpan.reproduce.runs import ClusterJobs

_MOST_NAMES = 3
"""Missing files of one source that are named on the screen."""
_MARKS = {"run": "r", "in part": "p", "recomputed": "c", "untested": "-"}


@renders(RecipeSummary)
def summary(result: RecipeSummary) -> Iterator[Block]:
    """Yield one line."""
    yield Line(f"{result.name}: {result.title} (tables {', '.join(result.tables)})")


@renders(RecipeDescription)
def described(result: RecipeDescription) -> Iterator[Block]:
    """Yield the same for people."""
    yield Title(result.title)
    yield Line(result.citation)
    for table in result.tables:
        yield Line(f"  table {table['table']}: {table['title']}")
    yield Title("Files")
    for file in result.files:
        where = file["found"] or f"missing; {file['address'] or 'no address is known'}"
        yield Line(f"  {file['path']}: {where}")
    for task in result.tasks:
        rows = "" if task["rows"] is None else f"{task['rows']:,} rows, "
        state = "all files are there" if task["data"] else "files are missing"
        yield Line(f"  task {task['task']}: {rows}{state}")
    if result.models:
        yield Title("Models")
    columns = ("model", "kind", "million parameters", "license", "weights")
    cells = [
        (
            model["name"],
            model["kind"],
            "" if model["parameters"] is None else round(model["parameters"] / 1e6),
            "" if model["kind"] == "baseline" else model["license"],
            model["weights"],
        )
        for model in result.models
    ]
    if cells:
        yield Table(columns, cells)


@renders(Reproduced)
def reproduced(done: Reproduced) -> Iterator[Block]:
    """Yield each table beside the print, and where the results lie."""
    result = done.reproduction
    files = {f"{problem}. {remedy}.": problem for problem, remedy in result.missing.values()}
    noted: set[str] = set()
    for table in result.tables:
        if table.obtained:
            yield Title(table.recipe.title)
            yield _beside_print(table)
        else:
            yield Line("")
        yield from map(Line, sentences(table))
        for problem in table.problems:
            short = files.get(problem)
            text = problem if short is None else f"{short}. How to get it stands below."
            yield Line(f"Problem: {text}")
        for note in table.notes:
            if note not in noted:  # tables may share files
                yield Line(f"Note: {note}")
            noted.add(note)
    yield Title("Marks: ", ", ".join(f"{_MARKS[name]} {name}" for name in MEANING))
    yield Line(f"All tables: {counted(result.tables)}.")
    yield from map(Line, _how_to_get_missing(result))
    if fetched := sum(bool(result.context.recipe.file(key).raw_path) for key in result.missing):
        few = f"{fetched} of the {count(len(result.missing), 'missing file')}"
        yield Line(f"--download fetches {few}; {NAMES[1]} names each.")
    yield from (Line(f"Wrote {path}") for path in done.paths)


@renders(ClusterJobs)
def jobs(result: ClusterJobs) -> Iterator[Block]:
    """Yield which jobs were written."""
    for job in result.jobs:
        yield Line(f"{job.name}: {job.model.gpus} GPUs, {job.model.hours} h at most")
    yield from (Line(f"Skipped: {reason}") for reason in result.skipped)
    yield Line(f"Wrote {len(result.jobs)} jobs; queue them with {result.files[-1]}")


def _how_to_get_missing(result: Reproduction) -> Iterator[str]:
    """Yield how to get missing files, a line a source: authors publish many at one address."""
    sources: dict[str, list[tuple[SourceFile, str]]] = {}
    folder = result.context.data.root
    missing = {key: f"{problem}. {remedy}." for key, (problem, remedy) in result.missing.items()}
    for file in result.context.recipe.files:
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
        how = f"Get them from {first.address}, and put them below {folder}"
        if first.repository:
            commit = f" at {first.commit[:12]}" if first.commit else ""
            how = f"Clone https://github.com/{first.repository}{commit} below {folder}"
        yield f"{len(files):,} files are missing: {names}{more}. {how}."


def _beside_print(table: TableResult) -> Table:
    """Return a table with three lines a row: print, here and distance."""
    cells = {(cell.row, cell.column): cell for cell in table.cells}
    rows = dict.fromkeys(cell.row for cell in table.cells)
    ways: dict[str, Callable[[Cell], str]] = {
        "paper": lambda cell: shown(cell.paper, cell.decimals),
        "here": lambda cell: f"{shown(cell.here, cell.decimals)} {_MARKS[cell.state]}".strip(),
        "distance": distance_shown,
    }

    def text(row: str, column: str, show: Callable[[Cell], str]) -> str:
        cell = cells.get((row, column))
        return "" if cell is None else show(cell)

    columns = [
        name
        for name in table.recipe.columns
        if any(text(row, name, show) for row in rows for show in ways.values())
    ]
    lines = [
        (("" if number else row), way, *(text(row, name, show) for name in columns))
        for row in rows
        for number, (way, show) in enumerate(ways.items())
    ]
    return Table(("", "", *columns), lines, repeated=2)
