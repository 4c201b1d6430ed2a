"""Tables of a report as LaTeX, by pandas."""

from __future__ import annotations

from collections.abc import Iterable

from goldpan.core.errors import UsageError
from goldpan.core.imports import load
from goldpan.core.sanitize import line
from goldpan.report.document import ReportTable, formatted, number_columns

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
