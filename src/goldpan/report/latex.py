"""Tables for a paper: LaTeX with booktabs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from goldpan.core.sanitize import line
from goldpan.report.document import NOTHING, Cell, ReportTable, formatted, number_columns

_MARKS = {
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
_MARK = re.compile("[" + re.escape("".join(_MARKS)) + "]")
_STRANGE = re.compile(r"[^\x20-\x7e\u00a1-\u017f]")
_LINE, _SHRUNK = 80, 140
"""Characters of small print between the margins, as it is and made smaller to fit."""
_MOST_ROWS = 45
_LONGEST_CELL = 120


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
        for part, piece in enumerate(_pieces(table), 1):
            parts.append(_table(piece, f"goldpan-{number}-{part}"))
    return "\n\n".join(parts) + "\n"


def escape(text: str) -> str:
    """Return text that LaTeX prints as it is; letters beyond Latin become question marks."""
    marked = _MARK.sub(lambda match: _MARKS[match[0]], _plain(line(text, _LONGEST_CELL)))
    # A bracket at the start of a row would be taken as an argument of the line break before it.
    return "{" + marked + "}" if marked.startswith(("[", "*")) else marked


def _plain(text: str) -> str:
    return _STRANGE.sub(lambda match: match[0] if match[0] in _MARKS else "?", text)


def _pieces(table: ReportTable) -> Iterator[ReportTable]:
    """Cut a table into parts that fit a page; what names a row stands in each."""
    fixed = 2 if table.columns[:2] in (("place", "model"), ("first", "second")) else 1
    for chosen in _columns(table, fixed):
        part = table.only(chosen)
        for top in range(0, max(1, len(table.rows)), _MOST_ROWS):
            end = top + _MOST_ROWS
            strong = frozenset((row - top, at) for row, at in part.strong if top <= row < end)
            yield replace(part, rows=part.rows[top:end], strong=strong)


def _columns(table: ReportTable, fixed: int) -> Iterator[list[int]]:
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
    return [2 + min(_LONGEST_CELL, max(map(len, map(formatted, cells)))) for cells in columns]


def _table(table: ReportTable, label: str) -> str:
    right = number_columns(table.rows, len(table.columns))
    sides = "".join("r" if number else "l" for number in right)
    shrink = sum(_widths(table)) > _LINE
    lines = [
        r"\begin{table}[tp]",
        r"  \centering\footnotesize",
        f"  \\caption{{{escape_text(table.title)}. {escape_text(table.note)}}}",
        f"  \\label{{tab:{label}}}",
        *([r"  \resizebox{\textwidth}{!}{%"] if shrink else []),
        f"  \\begin{{tabular}}{{{sides}}}",
        r"    \toprule",
        f"    {_row(table.columns)}",
        r"    \midrule",
    ]
    for at, row in enumerate(table.rows):
        cells = [_cell(cell, (at, column) in table.strong) for column, cell in enumerate(row)]
        lines.append(f"    {' & '.join(cells)} \\\\")
    closing = r"  \end{tabular}}" if shrink else r"  \end{tabular}"
    lines += [r"    \bottomrule", closing, r"\end{table}"]
    return "\n".join(lines)


def escape_text(text: str) -> str:
    """Escape a longer text, such as a caption."""
    return _MARK.sub(lambda match: _MARKS[match[0]], _plain(line(text, 2_000)))


def _row(cells: Iterable[str]) -> str:
    return f"{' & '.join(escape(cell) for cell in cells)} \\\\"


def _cell(cell: Cell, strong: bool) -> str:
    text = escape(formatted(cell)) if cell is not None else escape(NOTHING)
    if isinstance(cell, int | float) and text.startswith("-"):
        text = f"${text}$"
    return f"\\textbf{{{text}}}" if strong else text
