"""What people see of a reproduction, of a recipe, and of the list of recipes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from goldpan.core.result import Block, Line, Table, Title, count, renders
from goldpan.reproduce.cells import TableResult
from goldpan.reproduce.recipe import SourceFile
from goldpan.reproduce.report import NAMES, counted, sentences, shown, verdict_shown
from goldpan.reproduce.result import RecipeDescription, RecipeSummary, Reproduced

_MOST_NAMES = 3
"""Missing files of one source that are named on the screen."""


@renders(Reproduced)
def _reproduced(result: Reproduced) -> Iterator[Block]:
    files = {f"{missing.problem}. {missing.remedy}.": missing.problem for missing in result.missing}
    noted: set[str] = set()
    for table in result.tables:
        if table.obtained:
            yield Title(table.title)
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
    yield Title("All tables", f": {counted(result.tables)}.")
    yield from map(Line, _how_to_get_missing(result))
    fetched = sum(bool(result.recipe.file(missing.key).raw_path) for missing in result.missing)
    if fetched:
        few = f"{fetched} of the {count(len(result.missing), 'missing file')}"
        yield Line(f"--download fetches {few}; {NAMES[0]} names each.")
    yield from (Line(f"Wrote {path}") for path in result.paths)


def _how_to_get_missing(result: Reproduced) -> Iterator[str]:
    """Yield how to get missing files, a line a source: authors publish many at one address."""
    sources: dict[str, list[tuple[SourceFile, str]]] = {}
    texts = {missing.key: f"{missing.problem}. {missing.remedy}." for missing in result.missing}
    for file in result.recipe.files:
        if file.key not in texts:
            continue
        # A note says of a single file how to make it.
        shared = (file.path and file.repository) or (not file.note and file.url)
        sources.setdefault(shared or file.key, []).append((file, texts[file.key]))
    for files in sources.values():
        first, text = files[0]
        if len(files) == 1:
            yield text
            continue
        names = ", ".join(file.paths[0] for file, _ in files[:_MOST_NAMES])
        more = " and so on" if len(files) > _MOST_NAMES else ""
        how = f"Get them from {first.address}, and put them below {result.data}"
        if first.repository:
            commit = f" at {first.commit[:12]}" if first.commit else ""
            how = f"Clone https://github.com/{first.repository}{commit} below {result.data}"
        yield f"{len(files):,} files are missing: {names}{more}. {how}."


def _beside_print(table: TableResult) -> Table:
    """Return a table with a line a cell."""
    cells = [
        (
            *(cell.row, cell.column),
            *(shown(value, cell.decimals) for value in (cell.paper, cell.here)),
            *(cell.state, verdict_shown(cell)),
        )
        for cell in table.cells
    ]
    return Table(("row", "column", "paper", "here", "state", "verdict"), cells)


@renders(RecipeSummary)
def _summary(result: RecipeSummary) -> Iterator[Block]:
    yield Line(f"{result.name}: {result.title} (tables {', '.join(result.tables)})")


@renders(RecipeDescription)
def _description(result: RecipeDescription) -> Iterator[Block]:
    yield Title(result.title)
    yield Line(result.citation)
    for table in result.tables:
        yield Line(f"  table {table['table']}: {table['title']}")
    yield Title("Files")
    for file in result.files:
        where = file["found"] or f"missing; {file['address'] or 'no address is known'}"
        yield Line(f"  {file['path']}: {where}")
    for task in result.tasks:
        rows = "" if task["rows"] is None else f"{count(task['rows'], 'row')}, "
        state = "all files found" if task["data"] else "files are missing"
        yield Line(f"  task {task['task']}: {rows}{state}")
    if result.models:
        yield Title("Models")
        columns = ("model", "kind", "million parameters", "license", "weights")
        yield Table(columns, [_model(model) for model in result.models])


def _model(model: Mapping[str, Any]) -> tuple[object, ...]:
    parameters, kind = model["parameters"], model["kind"]
    return (
        model["name"],
        kind,
        "" if parameters is None else round(parameters / 1e6),
        "" if kind == "baseline" else model["license"],
        model["weights"],
    )
