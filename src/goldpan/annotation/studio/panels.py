"""Panels: the rows that forms ask about as HTML for annotators, by `panels.html.jinja`.

Label Studio keeps images and styles in HTML, so every text from GitHub is escaped, and invisible
characters are written out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal

from jinja2 import Environment, PackageLoader, StrictUndefined
from lxml.html import fragment_fromstring

from goldpan.code.patch import FilePatch, side_by_side, split_patch
from goldpan.core.sanitize import line, visible
from goldpan.text.markdown import excerpt

MOST_CHARACTERS = 20_000
"""The length of a text; a longer one is cut, and says so."""
MOST_ROWS = 600
"""The rows of one diff."""
_BLANK_LINES = re.compile(r"\n{3,}")
_ANSWERS = '<div class="gp-answers">'
Fields = Sequence[tuple[str, str]]
"""Names and values of an answer."""


@cache
def _macros() -> Any:
    environment = Environment(
        loader=PackageLoader("goldpan.annotation.studio"),
        autoescape=True,
        undefined=StrictUndefined,
    )
    environment.filters |= {
        "excerpt": lambda text: excerpt(text, MOST_CHARACTERS, MOST_CHARACTERS),
        "line": line,
        "side_by_side": lambda diff: side_by_side(diff, MOST_ROWS),
        "split_patch": _files_of,
        "visible": visible,
    }
    environment.globals["most"] = MOST_CHARACTERS
    return environment.get_template("panels.html.jinja").module


def _files_of(patch: str) -> tuple[FilePatch, ...]:
    """Return the files of a git diff; empty for another text, which rows from elsewhere hold."""
    try:
        return split_patch(patch)
    except ValueError:
        return ()


def draw(macro: str, *values: object) -> str:
    """Return the HTML that a macro of the template gives for values."""
    return str(getattr(_macros(), macro)(*values))


def answers_panel(answers: Iterable[tuple[str, Fields]]) -> str:
    """Return annotators' answers side by side, each with a name and its fields."""
    return draw("answers", list(answers))


def without_answers(note: str) -> str:
    """Return a note without what `answers_panel` put below it."""
    return note.partition(_ANSWERS)[0]


def text_of_panel(panel: str) -> str:
    """Return a panel as plain text; lines of a diff begin with what became of them."""
    root = fragment_fromstring(panel, create_parent="div")
    for row in root.iter("tr"):
        cells = [cell.text_content() for cell in row.findall("td")]
        if "gp-gap" in row.get("class", "") or len(cells) < 4:
            lines = ["..."]
        elif "gp-same" in row.get("class", ""):
            lines = [f"  {cells[1]}"]
        else:
            lines = [f"{sign} {cells[side]}" for sign, side in (("-", 1), ("+", 3)) if cells[side]]
        for cell in list(row):
            row.remove(cell)
        row.text = "\n".join(lines)
    for element in root.iter("div", "p", "h3", "pre", "table", "tr"):
        element.tail = f"\n{element.tail or ''}"
    return _BLANK_LINES.sub("\n\n", root.text_content()).strip()


SubjectKind = Literal["pair", "issue", "text"]
DatasetRow = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RowShape:
    """The shape of rows: their columns, their kind of subject, and how they are drawn."""

    subject: SubjectKind
    columns: tuple[str, ...]
    """The columns that a row must have."""
    macros: Mapping[str, str]
    """The macro of the template that draws a row, by panel."""
    optional: tuple[str, ...] = ()
    """Columns that a row may have."""

    def fits(self, names: set[str]) -> bool:
        """Tell whether rows with these columns have this shape."""
        return set(self.columns) <= names

    def draw(self, row: DatasetRow) -> dict[str, str]:
        """Return the panels of a row."""
        return {panel: draw(macro, row) for panel, macro in self.macros.items()}


_ISSUE = ("repo", "issue", "title", "body")
_TEXT = ("id", "repo", "text")
_LABELS = ("label", "labels")
FIX_PAIR = RowShape(
    "pair",
    (*_ISSUE, "pull", "pull_title", "pull_body", "path", "diff"),
    {"note": "pair_note", "issue_panel": "issue", "change_panel": "fix"},
)
FIX_PATCH = RowShape(
    "pair",
    ("repo", "issue", "pull", "problem_statement", "patch"),
    {"note": "pair_note", "issue_panel": "problem", "change_panel": "patch"},
)
CHANGED_FILE = RowShape(
    "pair",
    (*_ISSUE, "pull", "changed_path"),
    {"note": "issue_note", "issue_panel": "issue", "change_panel": "changed_file"},
)
QUESTION_ANSWER = RowShape(
    "issue",
    (*_ISSUE, "dialogue", "answer_comment_id"),
    {"note": "question_note", "issue_panel": "question", "answer_panel": "dialogue"},
    ("source",),
)
ISSUE = RowShape("issue", _ISSUE, {"note": "issue_note", "issue_panel": "issue"})
ISSUE_TEXT = RowShape(
    "text",
    _TEXT,
    {"note": "origin_note", "issue_panel": "issue_text"},
    ("document", "title", "body", *_LABELS),
)
"""A row of a task on issues."""
SENTENCE = RowShape(
    "text",
    ("id", "repo", "sentence"),
    {"note": "origin_note", "sentence_panel": "sentence", "code_panel": "around"},
    ("path", "class", "comment", "code", "language", *_LABELS),
)
SENTENCE_TEXT = replace(SENTENCE, columns=_TEXT, optional=("document", *_LABELS))
"""A row of a task on comments."""
TASK_TEXT = replace(ISSUE_TEXT, macros={"note": "origin_note", "text_panel": "issue_text"})
"""A row of any task on texts, before a form that was made of it."""
TASK_ISSUE = replace(ISSUE, macros={"note": "issue_note", "text_panel": "issue"})
"""A row of a task on issues, before a form that was made of it."""
