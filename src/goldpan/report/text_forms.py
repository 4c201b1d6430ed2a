"""Documents as Markdown, with all texts and tables, and tables as LaTeX with booktabs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined

from goldpan.core.sanitize import line, visible
from goldpan.report.document import (
    Cell,
    Matrix,
    Report,
    ReportTable,
    formatted,
    kind,
    number_columns,
)

_MARKS = re.compile(r"[\\`*_\[\]#!|~$]")
_NAMED = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "@": "&#64;"}
"""HTML, and the sign with which GitHub notifies people."""
_ADDRESS = re.compile(r"\b(www)\.", re.IGNORECASE)
"""Text that GitHub would make a link of."""
_START = re.compile(r"^(\d{0,9})([-+=.)])")
"""Text that would begin a list or a heading."""
_LONGEST_CELL = 400


def markdown_report(report: Report) -> str:
    """Return the report as Markdown; figures stand in the HTML page alone."""
    text = _templates().get_template("report.md.jinja").render(report=report)
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


@cache
def _templates() -> Environment:
    environment = Environment(  # noqa: S701 - the filters escape for Markdown and HTML
        loader=PackageLoader("goldpan.report"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "md": escape,
        "cell": lambda cell: _inline(formatted(cell), _LONGEST_CELL),
        "visible": visible,
    }
    environment.globals |= {"kind": kind, "sides": number_columns, "as_table": _as_table}
    return environment


def _as_table(part: Matrix) -> ReportTable:
    title = f"{part.title}, {part.note}" if part.note else part.title
    columns = ("right, then answered", *part.labels, "not valid")
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (label, *row) for label, row in zip(part.labels, part.counts, strict=True)
    )
    table = ReportTable(title, columns, rows)
    return table if part.invalid else table.only(range(len(columns) - 1))


def escape(text: str, most: int = 2_000) -> str:
    """Return a text in one line, escaped for Markdown and HTML."""
    return _START.sub(r"\1\\\2", _inline(text, most))


def _inline(text: str, most: int) -> str:
    marked = _MARKS.sub(r"\\\g<0>", line(text, most))
    for mark, named in _NAMED.items():
        marked = marked.replace(mark, named)
    return _ADDRESS.sub(r"\1&#46;", marked.replace("://", ":&#47;/"))


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
_SPECIAL = re.compile(rf"[{re.escape(''.join(_COMMANDS))}]|[^\x20-\x7e\u00a1-\u017f]")
"""Characters that LaTeX would act upon, and letters beyond Latin."""
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
    """Return a cell escaped for LaTeX; letters beyond Latin become question marks."""
    marked = latex_text(text, _LONGEST_PRINTED)
    # A bracket at the start of a row would be taken as an argument of the line break before it.
    return "{" + marked + "}" if marked.startswith(("[", "*")) else marked


def _page_parts(table: ReportTable) -> Iterator[ReportTable]:
    """Yield parts of a table that fit a page; the columns that name a row stand in each."""
    fixed = 2 if table.columns[:2] in (("place", "model"), ("first", "second")) else 1
    for chosen in _column_parts(table, fixed):
        part = table.only(chosen)
        for top in range(0, max(1, len(table.rows)), _MOST_ROWS):
            end = top + _MOST_ROWS
            strong = frozenset((row - top, at) for row, at in part.strong if top <= row < end)
            yield replace(part, rows=part.rows[top:end], strong=strong)


def _column_parts(table: ReportTable, fixed: int) -> Iterator[list[int]]:
    """Yield the columns of each part: as many as fit a line of small print."""
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


def latex_text(text: str, most: int = 2_000) -> str:
    """Escape a longer text, such as a caption."""
    return _SPECIAL.sub(lambda match: _COMMANDS.get(match[0], "?"), line(text, most))


def _latex_cell(cell: Cell, strong: bool) -> str:
    text = latex_escape(formatted(cell))
    if isinstance(cell, int | float) and text.startswith("-"):
        text = f"${text}$"
    return f"\\textbf{{{text}}}" if strong else text
