"""What people see of a reproduction and of the list of recipes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from goldpan.core.result import Line, Piece, Table, Title, count, renders, table_of
from goldpan.reproduce.cells import STATES, Cell, TableResult
from goldpan.reproduce.recipe import SourceFile, Value
from goldpan.reproduce.result import NAME, RecipeSummary, Reproduced

_MOST_NAMES = 3
"""Missing files of one source that are named on the screen."""


@renders(Reproduced)
def _reproduced(result: Reproduced) -> Iterator[Piece]:
    files = {f"{missing.problem}. {missing.remedy}.": missing.problem for missing in result.missing}
    noted: set[str] = set()
    for table in result.tables:
        if table.obtained:
            yield Title(table.title)
            yield _beside_print(table)
        else:
            yield Line("")
        yield from _sentences(table)
        for problem in table.problems:
            short = files.get(problem)
            text = problem if short is None else f"{short}. How to get it stands below."
            yield f"Problem: {text}"
        for note in table.notes:
            if note not in noted:  # tables may share files
                yield f"Note: {note}"
            noted.add(note)
    yield Title("All tables", f": {_counted(result.tables)}.")
    yield from _how_to_get_missing(result)
    fetched = sum(bool(result.recipe.file(missing.key).raw_path) for missing in result.missing)
    if fetched:
        few = f"{fetched} of the {count(len(result.missing), 'missing file')}"
        yield f"--download fetches {few}; {NAME} names each."
    yield f"Wrote {result.path}"


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
            *(_shown(value, cell.decimals) for value in (cell.paper, cell.here)),
            *(cell.state, _verdict(cell)),
        )
        for cell in table.cells
    ]
    return Table(("row", "column", "paper", "here", "state", "verdict"), cells)


@renders(list[RecipeSummary])
def _listed(results: Sequence[RecipeSummary]) -> Iterator[Piece]:
    yield table_of(results, "name", "title", "tables")


def _counted(tables: Sequence[TableResult]) -> str:
    """Return how many cells tables have, and how many of each state."""
    counts = {state: sum(table.counts[state] for table in tables) for state in STATES}
    texts = [f"{number:,} {state}" for state, number in counts.items() if number]
    return ", ".join([count(sum(counts.values()), "cell"), *texts])


def _sentences(table: TableResult) -> Iterator[str]:
    """Yield what came out of a table: cells by state, and by how near they are to the print."""
    yield f"{table.title}: {_counted([table])}."
    compared = [cell for cell in table.cells if cell.verdict != "untested"]
    if not compared:
        return
    verdicts = [f"{many:,} {verdict}" for verdict, many in table.verdicts.items() if many]
    sentence = f"Of all cells: {', '.join(verdicts)}"
    if different := [cell for cell in compared if cell.verdict == "different"]:
        furthest = max(different, key=lambda cell: abs(cell.distance or 0.0))
        sentence += (
            f"; the furthest is {furthest.row}, {furthest.column}: "
            f"{_shown(furthest.here, furthest.decimals)} here, "
            f"{_shown(furthest.paper, furthest.decimals)} in print"
        )
    yield f"{sentence}."


def _shown(value: Value, decimals: int) -> str:
    """Return a value as tables print it; nothing for one that there is not."""
    if value is None:
        return ""
    return value if isinstance(value, str) else f"{value:.{decimals}f}"


def _verdict(cell: Cell) -> str:
    """Return how a cell compares with the print, with the distance where it is not equal."""
    if cell.verdict == "untested":
        return ""
    if cell.verdict == "equal" or cell.distance is None:
        return cell.verdict
    return f"{cell.verdict} {cell.distance:+.{cell.decimals + 1}f}"
