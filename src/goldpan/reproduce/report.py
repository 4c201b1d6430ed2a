"""A reproduction as JSON and as one HTML page, and the words that both and the screen use."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from html import escape
from pathlib import Path

import orjson

from goldpan.core.errors import WorkspaceError
from goldpan.core.result import Block, Line, Table, Title, count, html_of, json_data
from goldpan.core.sanitize import for_json
from goldpan.core.storage.workspace import make_directory, write_whole
from goldpan.reproduce.cells import MEANING, STATES, VERDICTS, Cell, TableResult, count_states
from goldpan.reproduce.printed import Value
from goldpan.reproduce.result import Reproduced

NAMES = ("result.json", "result.html")
_PAGE = """\
<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>{title}</title>
<style>
body {{ font: 15px sans-serif; margin: 2em }}
td, th {{ padding: 2px 8px; text-align: left }}
</style>
<body>{body}</body>
</html>
"""


def write_files(result: Reproduced, directory: Path) -> Reproduced:
    """Write JSON and an HTML page into a directory; raises `WorkspaceError`."""
    json, page = (directory / name for name in NAMES)
    text = orjson.dumps(json_data(result), option=orjson.OPT_INDENT_2).decode()
    body = "\n".join(map(html_of, _page(result)))
    try:
        make_directory(directory)
        write_whole(json, for_json(text) + "\n")
        write_whole(page, _PAGE.format(title=escape(result.title), body=body))
    except OSError as error:
        raise WorkspaceError(
            f"{directory} cannot be written: {error.strerror or error}", "Choose another --output"
        ) from None
    return replace(result, paths=(json, page))


def _page(result: Reproduced) -> Iterator[Block]:
    """Yield every cell with its notes, and where all came from."""
    yield Title(f"{result.title}, reproduced")
    yield Line(f"{result.citation} {result.url}")
    yield from map(Line, result.recipe.about)
    yield from (Line(f"{state}: {MEANING[state]}") for state in STATES)
    yield from (Line(f"{missing.problem}. {missing.remedy}.") for missing in result.missing)
    for table in result.tables:
        yield Title(table.title)
        yield from map(Line, (*sentences(table), *table.problems, *table.notes))
        columns = ("row", "column", "paper", "here", "verdict", "state", "note")
        yield Table(columns, [_row(cell) for cell in table.cells])
    yield Title("Provenance")
    files = [
        (file.title, file.name, file.sha256, file.state, file.address) for file in result.files
    ]
    yield Table(("file", "name", "SHA-256 of its content", "state", "published at"), files)
    environment, effort = result.environment, result.effort
    facts = {
        "Goldpan": environment.goldpan,
        "revision": environment.revision or "installed",
        "Python": environment.python,
        "processor": f"{environment.cpu}, {environment.cores} cores",
        "GPUs": ", ".join(environment.gpus) or "none",
        "seed": str(result.seed),
        "limit of rows": str(effort.limit or "none"),
        "small grids": "yes" if effort.quick else "no",
    }
    yield Table(
        ("what", "value"),
        [*facts.items(), *sorted(environment.packages.items()), *sorted(result.plugins.items())],
    )


def _row(cell: Cell) -> tuple[str, ...]:
    others = [
        f"{other.state}: {shown(other.value, cell.decimals)}"
        for other in cell.others
        if other.value is not None
    ]
    return (
        cell.row,
        cell.column,
        shown(cell.paper, cell.decimals),
        shown(cell.here, cell.decimals),
        verdict_shown(cell),
        cell.state,
        "; ".join(filter(None, [cell.note, *others])),
    )


def counted(tables: Sequence[TableResult]) -> str:
    """Return how many cells tables have, and how many of each state."""
    counts = count_states(tables)
    texts = [f"{number:,} {state}" for state, number in counts.items() if number]
    return ", ".join([count(sum(counts.values()), "cell"), *texts])


def sentences(table: TableResult) -> Iterator[str]:
    """Yield what came out of a table: cells by state, and how near they are to the print."""
    yield f"{table.title}: {counted([table])}."
    for state in STATES[:-1]:
        compared = [cell for cell in table.cells if cell.state == state]
        compared = [cell for cell in compared if cell.verdict != "untested"]
        if not compared:
            continue
        verdicts = [
            f"{number:,} {verdict}"
            for verdict in VERDICTS
            if (number := sum(cell.verdict == verdict for cell in compared))
        ]
        sentence = f"Of {count(len(compared), 'cell')} {state}: {', '.join(verdicts)}"
        if different := [cell for cell in compared if cell.verdict == "different"]:
            furthest = max(different, key=lambda cell: abs(cell.distance or 0.0))
            sentence += (
                f"; the furthest is {furthest.row}, {furthest.column}: "
                f"{shown(furthest.here, furthest.decimals)} here, "
                f"{shown(furthest.paper, furthest.decimals)} in print"
            )
        yield f"{sentence}."


def shown(value: Value, decimals: int) -> str:
    """Return a value as tables print it; nothing for one that there is not."""
    if value is None:
        return ""
    return value if isinstance(value, str) else f"{value:.{decimals}f}"


def verdict_shown(cell: Cell) -> str:
    """Return how a cell compares with the print, with the distance where it is not equal."""
    if cell.verdict == "untested":
        return ""
    if cell.verdict == "equal" or cell.distance is None:
        return cell.verdict
    return f"{cell.verdict} {cell.distance:+.{cell.decimals + 1}f}"
