"""A reproduction as JSON, Markdown and one HTML page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import orjson

from goldpan.core.errors import WorkspaceError
from goldpan.core.result import NOT_IN_JSON, Result, count
from goldpan.core.sanitize import for_json
from goldpan.core.storage.workspace import make_directory, write_whole
from goldpan.report.compared import evaluation_page
from goldpan.report.document import Content, Fold, Remark, Report, ReportTable, Section
from goldpan.report.html import write_page
from goldpan.report.text_forms import markdown_report
from goldpan.reproduce.cells import MEANING, STATES, Cell, Reproduction, TableResult, count_states
from goldpan.reproduce.recipe import Value

FORMAT = 1
NAMES = ("result.json", "result.md", "result.html")
_FOLDED = 60
"""Cells above which a table is folded."""


def as_json(result: Reproduction) -> dict[str, Any]:
    """Return everything as plain JSON data."""
    return {
        "format": FORMAT,
        "paper": result.context.recipe.name,
        "title": result.context.recipe.title,
        "citation": result.context.recipe.citation,
        "url": result.context.recipe.url,
        "seed": result.context.seed,
        "effort": asdict(result.context.effort),
        "complete": result.complete,
        "tables": [_table_json(table) for table in result.tables],
        "files": [
            {
                "key": file.source.key,
                "title": file.source.title,
                "name": file.path.name,
                "sha256": file.sha256,
                "state": file.state,
                "address": file.source.address,
                "license": file.source.license,
            }
            for _, file in sorted(result.context.data.files.items())
        ],
        "missing": [
            {"key": key, "problem": problem, "remedy": remedy}
            for key, (problem, remedy) in result.missing.items()
        ],
        "environment": asdict(result.environment),
        **({"plugins": dict(result.plugins)} if result.plugins else {}),
    }


def write_files(result: Reproduction, directory: Path) -> tuple[Path, ...]:
    """Write JSON, Markdown and HTML into a directory; raises `WorkspaceError`."""
    paths = tuple(directory / name for name in NAMES)
    text = orjson.dumps(as_json(result), option=orjson.OPT_INDENT_2, default=str).decode()
    report = make_report(result)
    try:
        make_directory(directory)
        write_whole(paths[0], for_json(text) + "\n")
    except OSError as error:
        raise WorkspaceError(
            f"{paths[0]} cannot be written: {error.strerror or error}", "Choose another --output"
        ) from None
    write_page(markdown_report(report), paths[1])
    write_page(evaluation_page(report), paths[2])
    return paths


def make_report(result: Reproduction) -> Report:
    """Return the reproduction as a document."""
    counts = count_states(result.tables)
    cells = sum(counts.values())
    return Report(
        title=f"{result.context.recipe.title}, reproduced",
        lead=f"{result.context.recipe.citation} {result.context.recipe.url}".strip(),
        facts=(
            (f"{cells:,}", "cells"),
            *((f"{counts[state]:,}", f"of them {state}") for state in STATES),
        ),
        summary=tuple(sentence for table in result.tables for sentence in sentences(table)),
        warnings=(
            *result.context.recipe.about,
            *(f"{state}: {MEANING[state]}" for state in STATES),
            *(f"{problem}. {remedy}." for problem, remedy in result.missing.values()),
        ),
        sections=(*(_section(table) for table in result.tables), _provenance(result)),
    )


def counted(tables: Sequence[TableResult]) -> str:
    """Return how many cells tables have, and how many of each state."""
    counts = count_states(tables)
    texts = [f"{number:,} {state}" for state, number in counts.items() if number]
    return ", ".join([count(sum(counts.values()), "cell"), *texts])


def sentences(table: TableResult) -> Iterator[str]:
    """Yield what came out of a table: cells by state, and how near they are to the print."""
    yield f"{table.recipe.title}: {counted([table])}."
    for state in STATES[:-1]:
        compared = [cell for cell in table.cells if cell.state == state and cell.same is not None]
        if not compared:
            continue
        differing = [cell for cell in compared if cell.same is False]
        same = len(compared) - len(differing)
        verb = "agrees" if same == 1 else "agree"
        sentence = f"Of {count(len(compared), 'cell')} {state}, {same:,} {verb}"
        sentence += " to the printed digits"
        if differing:
            furthest = max(differing, key=lambda cell: abs(cell.distance or 0.0))
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


def distance_shown(cell: Cell) -> str:
    """Return how far a cell is from the print: a signed number, or whether words agree."""
    if cell.distance is not None:
        text = f"{cell.distance:+.{cell.decimals + 1}f}"
        return text.replace("-", "+", 1) if float(text) == 0 else text
    return {None: "", True: "same", False: "differs"}[cell.same]


def _table_json(table: TableResult) -> dict[str, Any]:
    return {
        "table": table.recipe.key,
        "title": table.recipe.title,
        "counts": count_states([table]),
        "problems": list(table.problems),
        "notes": list(table.notes),
        "cells": list(map(_cell_json, table.cells)),
    }


def _cell_json(cell: Cell) -> dict[str, Any]:
    return {
        "row": cell.row,
        "column": cell.column,
        "paper": cell.paper,
        "here": cell.here,
        "distance": cell.distance,
        "same": cell.same,
        "state": cell.state,
        "note": cell.note,
        "facts": dict(cell.facts),
        "others": list(map(asdict, cell.others)),
    }


def _section(table: TableResult) -> Section:
    rows = tuple(
        (
            cell.row,
            cell.column,
            shown(cell.paper, cell.decimals),
            shown(cell.here, cell.decimals),
            distance_shown(cell),
            cell.state,
            _notes_of(cell),
        )
        for cell in table.cells
    )
    columns = ("row", "column", "paper", "here", "distance", "state", "note")
    whole = ReportTable("", columns, rows)
    content: list[Content] = [Remark(sentence) for sentence in sentences(table)]
    content += [Remark(f"Problem: {problem}") for problem in table.problems]
    content += [Remark(note) for note in table.notes]
    folded = len(rows) > _FOLDED
    content.append(Fold(f"All {len(rows):,} cells", (whole,)) if folded else whole)
    if folded and (differing := table.differing()):
        chosen = tuple(
            row for row, cell in zip(rows, table.cells, strict=True) if cell in differing
        )
        content.insert(-1, ReportTable("Cells that differ from the print", columns, chosen))
    return Section(f"table{table.recipe.key}", table.recipe.title, tuple(content))


def _notes_of(cell: Cell) -> str:
    others = [
        f"{other.state}: {shown(other.value, cell.decimals)}"
        for other in cell.others
        if other.value is not None
    ]
    return "; ".join(filter(None, [cell.note, *others]))


def _provenance(result: Reproduction) -> Section:
    environment = result.environment
    files = ReportTable(
        "Files",
        ("file", "name", "SHA-256 of its content", "state", "published at"),
        tuple(
            (file.source.title, file.path.name, file.sha256, file.state, file.source.address)
            for _, file in sorted(result.context.data.files.items())
        ),
    )
    facts = [
        ("Goldpan", environment.goldpan),
        ("revision", environment.revision or "installed"),
        ("Python", environment.python),
        ("processor", f"{environment.cpu}, {environment.cores} cores"),
        ("GPUs", ", ".join(environment.gpus) or "none"),
        ("seed", str(result.context.seed)),
        ("limit of rows", str(result.context.effort.limit or "none")),
        ("small grids", "yes" if result.context.effort.quick else "no"),
        *sorted(environment.packages.items()),
    ]
    content: list[Content] = [files] if files.rows else []
    if result.plugins:
        content.append(ReportTable("Plugins", ("plugin", "SHA-256"), tuple(result.plugins.items())))
    content.append(ReportTable("Versions and settings", ("what", "value"), tuple(facts)))
    return Section("provenance", "Provenance", tuple(content))


@dataclass(frozen=True, slots=True)
class Reproduced(Result):
    """A reproduction and the files that hold it."""

    schema = 2
    shown_in_json = ("results",)

    reproduction: Reproduction = field(metadata=NOT_IN_JSON)
    paths: tuple[Path, ...]

    @property
    def exit_code(self) -> int:
        """3 where a file is missing, is not the authors', or a computation did not run."""
        return 0 if self.reproduction.complete else 3

    @property
    def results(self) -> dict[str, Any]:
        """What the JSON file among them holds."""
        return as_json(self.reproduction)
