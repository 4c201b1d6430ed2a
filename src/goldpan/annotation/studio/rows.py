"""The shapes of rows that forms can ask about, and how each is drawn."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from goldpan.annotation.studio import panel_html

SubjectKind = Literal["pair", "issue", "text"]
DatasetRow = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RowShape:
    """A shape of rows: which columns it has, what it is about, and how it is drawn."""

    subject: SubjectKind
    columns: tuple[str, ...]
    """What a row has to hold."""
    draw: Callable[[DatasetRow], Mapping[str, str]]
    """Returns the panels of a row."""
    optional: tuple[str, ...] = ()
    """What a row may hold."""

    def fits(self, names: set[str]) -> bool:
        """Tell whether rows with these columns have this shape."""
        return set(self.columns) <= names


def _fix_pair(row: DatasetRow) -> Mapping[str, str]:
    title = f"{row['repo']}: issue #{row['issue']}, pull request #{row['pull']}"
    description = panel_html.document(row["pull_title"], row["pull_body"], "Pull request")
    return {
        "note": panel_html.heading(title),
        "issue_panel": panel_html.document(row["title"], row["body"], "Issue"),
        "change_panel": description + panel_html.change(row["path"], row["diff"]),
    }


def _question_answer(row: DatasetRow) -> Mapping[str, str]:
    turns = [
        (
            "somebody else" if turn["role"] in (None, "none") else turn["role"],
            turn["content"],
            turn["comment_id"] == row["answer_comment_id"],
        )
        for turn in row["dialogue"]
        if turn["comment_id"] is not None
    ]
    return {
        "note": panel_html.heading(f"{row['repo']}: issue #{row['issue']}"),
        "issue_panel": panel_html.document(row["title"], row["body"], "Question"),
        "answer_panel": panel_html.dialogue(turns),
    }


def _issue(row: DatasetRow) -> Mapping[str, str]:
    return {
        "note": panel_html.heading(f"{row['repo']}: issue #{row['issue']}"),
        "issue_panel": panel_html.document(row["title"], row["body"], "Issue"),
    }


def _issue_text(row: DatasetRow) -> Mapping[str, str]:
    # The title and body are easier to read than the text that models are given.
    if row.get("title"):
        return {
            "note": _origin(row),
            "issue_panel": panel_html.document(row["title"], row.get("body"), "Issue"),
        }
    return {"note": _origin(row), "issue_panel": panel_html.text(row["text"], "Text")}


def _sentence(row: DatasetRow) -> Mapping[str, str]:
    around = row.get("comment")
    parts = [panel_html.text(around, "The whole comment")] if around else []
    if row.get("code"):
        parts.append(panel_html.code(row["code"], "The code around it"))
    return {
        "note": _origin(row),
        "sentence_panel": panel_html.sentence(row.get("sentence") or row.get("text")),
        "code_panel": "".join(parts) or panel_html.nothing("The data has only the sentence."),
    }


def _origin(row: DatasetRow) -> str:
    """Return where a text is from, which is all of a row that annotators see beside it."""
    where = [row.get(name) for name in ("repo", "path", "class", "document")]
    return panel_html.heading(
        ": ".join(dict.fromkeys(str(part) for part in where if part)) or "Text"
    )


def _task_text(row: DatasetRow) -> Mapping[str, str]:
    shown = _issue_text(row)
    return {"note": shown["note"], "text_panel": shown["issue_panel"]}


def _task_issue(row: DatasetRow) -> Mapping[str, str]:
    shown = _issue(row)
    return {"note": shown["note"], "text_panel": shown["issue_panel"]}


_ISSUE = ("repo", "issue", "title", "body")
_TEXT = ("id", "repo", "text")
_LABELS = ("label", "labels")

FIX_PAIR = RowShape(
    "pair",
    (*_ISSUE, "pull", "pull_title", "pull_body", "path", "diff"),
    _fix_pair,
)
QUESTION_ANSWER = RowShape("issue", (*_ISSUE, "dialogue", "answer_comment_id"), _question_answer)
ISSUE = RowShape("issue", _ISSUE, _issue)
ISSUE_TEXT = RowShape("text", _TEXT, _issue_text, ("document", "title", "body", *_LABELS))
"""A row of a task on issues."""
SENTENCE = RowShape(
    "text",
    ("id", "repo", "sentence"),
    _sentence,
    ("path", "class", "comment", "code", "language", *_LABELS),
)
SENTENCE_TEXT = RowShape("text", _TEXT, _sentence, ("document", *_LABELS))
"""A row of a task on comments."""
TASK_TEXT = RowShape("text", _TEXT, _task_text, ("document", "title", "body", *_LABELS))
"""A row of any task on texts, before a form that was made of it."""
TASK_ISSUE = RowShape("issue", _ISSUE, _task_issue)
