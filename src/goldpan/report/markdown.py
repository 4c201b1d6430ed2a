"""The report as Markdown: all that is text, and every table."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from goldpan.core.sanitize import line, visible
from goldpan.report.document import (
    Cell,
    Content,
    Figure,
    Fold,
    Matrix,
    Mistake,
    Remark,
    Report,
    ReportTable,
    Section,
    SideBySide,
    formatted,
    number_columns,
)

_MARKS = re.compile(r"[\\`*_\[\]#!|~$]")
_NAMED = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "@": "&#64;"}
"""HTML, and names that GitHub would tell people of."""
_ADDRESS = re.compile(r"\b(www)\.", re.IGNORECASE)
"""Text that GitHub would make a link of."""
_START = re.compile(r"^(\d{0,9})([-+=.)])")
"""Text that would begin a list or a heading."""
_LONGEST_CELL = 400


def markdown_report(report: Report) -> str:
    """Return the report as Markdown; figures stand in the HTML page alone."""
    parts = [f"# {escape(report.title)}", escape(report.lead)]
    parts.append("Figures and the matrices of binary tasks are only in the HTML page.")
    parts.append(", ".join(f"{number} {escape(what)}" for number, what in report.facts))
    parts.append(_list(report.summary))
    if report.warnings:
        parts += ["Before quoting:", _list(report.warnings)]
    for section in report.sections:
        parts += _section(section)
    return "\n\n".join(part for part in parts if part) + "\n"


def escape(text: str, most: int = 2_000) -> str:
    """Return text that Markdown and HTML take as text, in one line."""
    return _START.sub(r"\1\\\2", _inline(text, most))


def markdown_table(table: ReportTable) -> str:
    """Return a table with its title and note."""
    parts = [f"**{escape(table.title)}**"] if table.title else []
    parts.append(rows(table.columns, table.rows))
    if table.left_out:
        parts.append(f"{table.left_out:,} more rows are not shown.")
    if table.note:
        parts.append(escape(table.note))
    return "\n\n".join(parts)


def rows(columns: Sequence[str], body: Iterable[Sequence[Cell]]) -> str:
    """Return a table's lines; numbers stand to the right."""
    whole = [tuple(row) for row in body]
    right = number_columns(whole, len(columns))
    lines = [
        _row(columns),
        _rule(right),
        *(_row([formatted(cell) for cell in row]) for row in whole),
    ]
    return "\n".join(lines)


def _inline(text: str, most: int) -> str:
    marked = _MARKS.sub(r"\\\g<0>", line(text, most))
    for mark, named in _NAMED.items():
        marked = marked.replace(mark, named)
    return _ADDRESS.sub(r"\1&#46;", marked.replace("://", ":&#47;/"))


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(_inline(cell, _LONGEST_CELL) for cell in cells)} |"


def _rule(right: Iterable[bool]) -> str:
    return f"|{'|'.join(' ---: ' if number else ' --- ' for number in right)}|"


def _section(section: Section) -> Iterator[str]:
    step = f"S{section.step}. " if section.step else ""
    yield f"## {step}{escape(section.title)}"
    if section.skipped:
        yield f"Skipped: {escape(section.skipped)}"
        return
    if section.note:
        yield escape(section.note)
    for part in section.content:
        yield from _content(part, 3)


def _content(content: Content, level: int) -> Iterator[str]:
    match content:
        case Remark():
            yield escape(content.text)
        case ReportTable():
            yield markdown_table(content)
        case Figure():
            return
        case Matrix():
            if len(content.labels) > 2:
                yield _matrix(content)
        case Mistake():
            yield _mistake(content)
        case Fold():
            inside = [part for inner in content.content for part in _content(inner, level + 1)]
            if inside:
                yield "\n\n".join([f"{'#' * level} {escape(content.title)}", *inside])
        case SideBySide():
            for inner in content.content:
                yield from _content(inner, level)


def _matrix(part: Matrix) -> str:
    extra = ("not valid",) if part.invalid else ()
    columns = ("right, then answered", *part.labels, *extra)
    body: list[Sequence[Cell]] = [
        (label, *(row if part.invalid else row[:-1]))
        for label, row in zip(part.labels, part.counts, strict=True)
    ]
    title = f"{part.title}, {part.note}" if part.note else part.title
    return f"**{escape(title)}**\n\n{rows(columns, body)}"


def _mistake(part: Mistake) -> str:
    answers = "; ".join(f"{answered.answer} ({answered.models})" for answered in part.answers)
    source = f" ({part.origin})" if part.origin else ""
    text = " ".join(block.text for block in part.text.shown) if part.text else ""
    quoted = f": {escape(visible(text), 500)}" if text else ""
    why = f" {escape(part.why)}." if part.why else ""
    return (
        f"- {escape(part.id + source)}{quoted}. Right: {escape(part.truth)}."
        f" Answered: {escape(answers)}.{why}"
    )


def _list(items: Iterable[str]) -> str:
    return "\n".join(f"- {escape(item)}" for item in items)
