"""Pages of reports: a document as one HTML file, and the report on stored runs."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from markupsafe import Markup

from goldpan.core.workspace import Workspace
from goldpan.datasets.task import Task
from goldpan.evaluation.comparison.question import ComparisonResult
from goldpan.report.comparison.make import make_report, paper_tables
from goldpan.report.document import Report, ReportTable, formatted, number_columns
from goldpan.report.latex import latex_tables
from goldpan.report.markdown import markdown_report
from goldpan.report.page import render, write_page

# Puts SVG figures of our own drawing into a page whose policy forbids styles in attributes.

_SVG = "{http://www.w3.org/2000/svg}"
_LINK = "{http://www.w3.org/1999/xlink}href"
_DROPPED = ("metadata", "style")
_DRAWN = {
    "#1f1c17": "var(--ink)",
    "#000000": "var(--ink)",
    "#5f594f": "var(--soft)",
    "#b8830f": "var(--gold)",
    "#e6d9b8": "var(--line)",
    "#ffffff": "var(--card)",
    "#0072b2": "var(--series)",
}
"""Colors of `plot_style.py` that follow the page's scheme."""
_REFERENCE = re.compile(r"url\(#([^)]*)\)")
_UNIT = 1.3
"""Pixels of a point: labels of ten points are then read with ease."""
_SMALL, _WIDE = 600, 1_500
"""Pixels up to which a figure is never stretched, and from which on it is scrolled, not shrunk."""


def inline_figure(svg: str, label: str, key: str) -> Markup:
    """Return a figure as part of a page; `key` tells its names from those of other figures.

    Styles become attributes, colors those of the page, and what nothing draws is left out.
    """
    # Drawn here by matplotlib, which escapes what it writes: no file from outside is parsed.
    root = ET.fromstring(svg)  # noqa: S314
    referenced = {name for element in root.iter() for name in _referenced(element)}
    _clean(root, referenced, key)
    width, height = (float(size) for size in root.attrib["viewBox"].split()[2:])
    shown = {
        "viewBox": root.attrib["viewBox"],
        "width": f"{width * _UNIT:.0f}",
        "height": f"{height * _UNIT:.0f}",
        "role": "img",
        "aria-label": label,
    }
    root.attrib.clear()
    root.attrib.update(shown)
    if not _SMALL < width * _UNIT < _WIDE:
        root.set("class", "small" if width * _UNIT <= _SMALL else "wide")
    return Markup(ET.tostring(root, encoding="unicode"))  # noqa: S704 - all text is escaped by it


def _clean(element: ET.Element, referenced: set[str], key: str) -> None:
    element.tag = element.tag.removeprefix(_SVG)
    for child in [inner for inner in element if inner.tag.removeprefix(_SVG) in _DROPPED]:
        element.remove(child)
    attributes = dict(element.attrib)
    element.attrib.clear()
    for declared in attributes.pop("style", "").split(";"):
        name, _, value = declared.partition(":")
        if value and name.strip() != "font-family":
            attributes[name.strip()] = value.strip()
    for name, value in attributes.items():
        _keep(element, name, value, referenced, key)
    element.text = _tight(element.text)
    element.tail = _tight(element.tail)
    for child in element:
        _clean(child, referenced, key)


def _keep(element: ET.Element, name: str, value: str, referenced: set[str], key: str) -> None:
    if name == "id":
        if value in referenced:
            element.set(name, f"{key}-{value}")
    elif name == _LINK:
        element.set("href", f"#{key}-{value.removeprefix('#')}")
    elif name in ("fill", "stroke") and not (element.tag == "text" and value == "#ffffff"):
        element.set(name, _DRAWN.get(value, value))
    elif name == "d":
        element.set(name, " ".join(value.split()))
    else:
        element.set(name, _REFERENCE.sub(lambda match: f"url(#{key}-{match[1]})", value))


def _referenced(element: ET.Element) -> list[str]:
    names = [element.attrib[_LINK].removeprefix("#")] if _LINK in element.attrib else []
    return names + [name for value in element.attrib.values() for name in _REFERENCE.findall(value)]


def _tight(text: str | None) -> str | None:
    """Leave out the line breaks between elements."""
    return None if text is not None and not text.strip() else text


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
    return {"kind": _kind, "figure": _figures(), "formatted": formatted, "sides": number_columns}


def _kind(part: object) -> str:
    return type(part).__name__.lower()


def _figures() -> Callable[[str, str], Markup]:
    """Return what puts figures into a page, each with names of its own."""
    numbers = count(1)
    return lambda svg, label: inline_figure(svg, label, f"f{next(numbers)}")


@dataclass(frozen=True, slots=True)
class EvaluationFiles:
    """The files of a report; None leaves one out."""

    page: Path | None = None
    markdown: Path | None = None
    latex: Path | None = None


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """A file that was written."""

    output: Path
    size: int
    """Bytes."""


def write_evaluation(
    workspace: Workspace,
    compared: ComparisonResult,
    tasks: Mapping[str, Task],
    files: EvaluationFiles,
    title: str = "",
) -> tuple[WrittenFile, ...]:
    """Write the report on a comparison; the same runs give the same bytes.

    Raises `WorkspaceError` where a file cannot be written.
    """
    return write_files(
        files,
        lambda: make_report(workspace, compared, tasks, title),
        lambda: paper_tables(compared),
    )


def write_files(
    files: EvaluationFiles,
    make: Callable[[], Report],
    tables: Callable[[], Iterable[ReportTable]],
) -> tuple[WrittenFile, ...]:
    """Write a report in the forms that are wanted; LaTeX has the tables alone."""
    written = []
    if files.page or files.markdown:
        report = make()
        if files.page:
            written.append(_write(evaluation_page(report), files.page))
        if files.markdown:
            written.append(_write(markdown_report(report), files.markdown))
    if files.latex:
        written.append(_write(latex_tables(tables()), files.latex))
    return tuple(written)


def evaluation_page(report: Report) -> str:
    """Return the report as one HTML page that needs nothing else."""
    return render(
        "evaluation.html.jinja",
        styles=("report.css", "evaluation.css"),
        title=f"Goldpan evaluation: {report.title}",
        report=report,
        links=_links(report),
        **part_helpers(),
    )


def _write(text: str, output: Path) -> WrittenFile:
    write_page(text, output)
    return WrittenFile(output, len(text.encode()))


def _links(report: Report) -> list[tuple[str, str]]:
    """Return the links at the top: sections by their title, the steps as one."""
    links = []
    for section in report.sections:
        if section.step is None:
            links.append((section.key, section.title.partition(",")[0]))
        elif section.step == 1:
            links.append(("steps", "Steps S1 to S10"))
    return links
