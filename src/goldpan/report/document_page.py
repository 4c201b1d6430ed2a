"""Renders a report document as one HTML page that needs nothing else."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

from markupsafe import Markup

from goldpan.report.document import Cell, Report
from goldpan.report.figures import inline_figure
from goldpan.report.number_format import formatted
from goldpan.report.page import render


def document_page(report: Report, *, kind: str, made: str) -> str:
    """Return the page; `kind` stands above the title, `made` says what it was made of."""
    return render(
        "document.html.jinja",
        styles=("report.css", "evaluation.css"),
        title=f"Goldpan: {report.title}",
        report=report,
        kicker=kind,
        made=made,
        **part_helpers(),
    )


def part_helpers() -> dict[str, Any]:
    """Return the functions by which templates show the parts of a document."""
    return {"kind": _kind, "figure": _figures(), "formatted": formatted, "sides": _sides}


def _kind(part: object) -> str:
    return type(part).__name__.lower()


def _figures() -> Callable[[str, str], Markup]:
    """Return what puts figures into a page, each with names of its own."""
    numbers = count(1)
    return lambda svg, label: inline_figure(svg, label, f"f{next(numbers)}")


def _sides(rows: tuple[tuple[Cell, ...], ...], columns: int) -> list[bool]:
    """Return which columns hold numbers alone."""
    return [
        bool(rows) and not any(isinstance(row[at], str) for row in rows) for at in range(columns)
    ]
