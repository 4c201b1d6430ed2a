"""Documents as Markdown, without pictures, and tables as LaTeX."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined

from goldpan.core.errors import UsageError
from goldpan.core.imports import load
from goldpan.core.sanitize import line
from goldpan.report.document import Report, ReportTable, formatted, kind, number_columns

_MARKS = re.compile(r"[\\`*_\[\]#!|~$]")
_NAMED = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "@": "&#64;"}
"""HTML, and the sign with which GitHub notifies people."""
_ADDRESS = re.compile(r"\b(www)\.", re.IGNORECASE)
"""Text that GitHub would make a link of."""
_START = re.compile(r"^(\d{0,9})([-+=.)])")
"""Text that would begin a list or a heading."""
_LONGEST_CELL = 400


def markdown_report(report: Report) -> str:
    """Return the report as Markdown; pictures stand in the HTML page alone."""
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
    }
    environment.globals |= {"kind": kind, "sides": number_columns}
    return environment


def escape(text: str, most: int = 2_000) -> str:
    """Return a text in one line, escaped for Markdown and HTML."""
    return _START.sub(r"\1\\\2", _inline(text, most))


def _inline(text: str, most: int) -> str:
    marked = _MARKS.sub(r"\\\g<0>", line(text, most))
    for mark, named in _NAMED.items():
        marked = marked.replace(mark, named)
    return _ADDRESS.sub(r"\1&#46;", marked.replace("://", ":&#47;/"))


_COMMANDS = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        '"': r"\textquotedbl{}",
        "\N{EN DASH}": "--",
        "±": r"$\pm$",
        "…": r"\ldots{}",
        "⟨": r"$\langle$",
        "⟩": r"$\rangle$",
        "[": "{[}",  # which the line break before it would take as an argument
        **{mark: f"\\{mark}" for mark in "&%$#_{}"},
    }
)
_LONGEST_PRINTED = 120


def latex_tables(tables: Iterable[ReportTable]) -> str:
    """Return tables for a paper; they go on over pages, as pandas writes them."""
    frame = load("pandas", "LaTeX", UsageError).DataFrame
    parts = ["% \\usepackage{booktabs,longtable,textcomp} and \\usepackage[T1]{fontenc}\n"]
    for number, table in enumerate(tables, 1):
        rows = [
            [
                f"\\textbf{{{latex_text(formatted(cell))}}}"
                if (at, column) in table.strong
                else latex_text(formatted(cell))
                for column, cell in enumerate(row)
            ]
            for at, row in enumerate(table.rows)
        ]
        sides = number_columns(table.rows, len(table.columns))
        text = frame(rows, columns=[latex_text(name) for name in table.columns]).to_latex(
            index=False,
            longtable=True,
            caption=f"{latex_text(table.title)}. {latex_text(table.note, 2_000)}",
            label=f"tab:goldpan-{number}",
            column_format="".join("r" if number else "l" for number in sides),
        )
        parts.append(text)
    return "\n".join(parts)


def latex_text(text: str, most: int = _LONGEST_PRINTED) -> str:
    """Return a text in one line, escaped for LaTeX."""
    return line(text, most).translate(_COMMANDS)
