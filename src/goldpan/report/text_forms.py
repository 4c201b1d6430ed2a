"""Documents as Markdown, all that is text and every table, and as LaTeX with booktabs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from goldpan.core.sanitize import line, visible
from goldpan.report.document import (
    NOTHING,
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
        f"|{'|'.join(' ---: ' if number else ' --- ' for number in right)}|",
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


_COMMANDS = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "–": "--",
    "±": r"$\pm$",
    "…": r"\ldots{}",
    "⟨": r"$\langle$",
    "⟩": r"$\rangle$",
    **{mark: f"\\{mark}" for mark in "&%$#_{}"},
}
_COMMAND = re.compile("[" + re.escape("".join(_COMMANDS)) + "]")
_STRANGE = re.compile(r"[^\x20-\x7e\u00a1-\u017f]")
_LINE, _SHRUNK = 80, 140
"""Characters of small print between the margins, as it is and made smaller to fit."""
_MOST_ROWS = 45
_LONGEST_PRINTED = 120


def latex_tables(tables: Iterable[ReportTable]) -> str:
    """Return tables for a paper.

    A document needs the packages booktabs, graphicx, textcomp and fontenc with T1. Wide tables are
    made smaller, then split by columns, and long ones by rows, so that each part fits a page.
    """
    parts = [
        "% Tables of goldpan evaluate compare\n"
        "% \\usepackage{booktabs,graphicx,textcomp}\n"
        "% \\usepackage[T1]{fontenc}"
    ]
    for number, table in enumerate(tables, 1):
        for part, piece in enumerate(_page_parts(table), 1):
            parts.append(_latex_table(piece, f"goldpan-{number}-{part}"))
    return "\n\n".join(parts) + "\n"


def latex_escape(text: str) -> str:
    """Return text that LaTeX prints as it is; letters beyond Latin become question marks."""
    marked = _COMMAND.sub(lambda match: _COMMANDS[match[0]], _plain(line(text, _LONGEST_PRINTED)))
    # A bracket at the start of a row would be taken as an argument of the line break before it.
    return "{" + marked + "}" if marked.startswith(("[", "*")) else marked


def _plain(text: str) -> str:
    return _STRANGE.sub(lambda match: match[0] if match[0] in _COMMANDS else "?", text)


def _page_parts(table: ReportTable) -> Iterator[ReportTable]:
    """Cut a table into parts that fit a page; what names a row stands in each."""
    fixed = 2 if table.columns[:2] in (("place", "model"), ("first", "second")) else 1
    for chosen in _column_parts(table, fixed):
        part = table.only(chosen)
        for top in range(0, max(1, len(table.rows)), _MOST_ROWS):
            end = top + _MOST_ROWS
            strong = frozenset((row - top, at) for row, at in part.strong if top <= row < end)
            yield replace(part, rows=part.rows[top:end], strong=strong)


def _column_parts(table: ReportTable, fixed: int) -> Iterator[list[int]]:
    """Yield which columns stand side by side: as many as fit a line of small print."""
    widths = _widths(table)
    names = list(range(fixed))
    chosen = list(names)
    for at in range(fixed, len(widths)):
        if len(chosen) > fixed and sum(widths[column] for column in (*chosen, at)) > _SHRUNK:
            yield chosen
            chosen = list(names)
        chosen.append(at)
    yield chosen


def _widths(table: ReportTable) -> list[int]:
    """Return how many characters each column takes, with the space between columns."""
    columns = [(name, *(row[at] for row in table.rows)) for at, name in enumerate(table.columns)]
    return [2 + min(_LONGEST_PRINTED, max(map(len, map(formatted, cells)))) for cells in columns]


def _latex_table(table: ReportTable, label: str) -> str:
    right = number_columns(table.rows, len(table.columns))
    sides = "".join("r" if number else "l" for number in right)
    shrink = sum(_widths(table)) > _LINE
    lines = [
        r"\begin{table}[tp]",
        r"  \centering\footnotesize",
        f"  \\caption{{{latex_text(table.title)}. {latex_text(table.note)}}}",
        f"  \\label{{tab:{label}}}",
        *([r"  \resizebox{\textwidth}{!}{%"] if shrink else []),
        f"  \\begin{{tabular}}{{{sides}}}",
        r"    \toprule",
        f"    {' & '.join(map(latex_escape, table.columns))} \\\\",
        r"    \midrule",
    ]
    for at, row in enumerate(table.rows):
        cells = [_latex_cell(cell, (at, column) in table.strong) for column, cell in enumerate(row)]
        lines.append(f"    {' & '.join(cells)} \\\\")
    closing = r"  \end{tabular}}" if shrink else r"  \end{tabular}"
    lines += [r"    \bottomrule", closing, r"\end{table}"]
    return "\n".join(lines)


def latex_text(text: str) -> str:
    """Escape a longer text, such as a caption."""
    return _COMMAND.sub(lambda match: _COMMANDS[match[0]], _plain(line(text, 2_000)))


def _latex_cell(cell: Cell, strong: bool) -> str:
    text = latex_escape(formatted(cell)) if cell is not None else latex_escape(NOTHING)
    if isinstance(cell, int | float) and text.startswith("-"):
        text = f"${text}$"
    return f"\\textbf{{{text}}}" if strong else text
