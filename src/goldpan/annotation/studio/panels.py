"""Panels: how the rows that forms ask about are drawn for annotators.

Label Studio keeps images and styles of HTML that it is given, so every text from GitHub is
escaped, unseen characters are written out, and no element stands here that is not made here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from html import escape
from itertools import groupby
from typing import Any, Literal

from markdown_it import MarkdownIt

from goldpan.code.patch import split_patch
from goldpan.code.unified_diff import DiffLine, DiffRow, side_by_side
from goldpan.core.sanitize import line, visible
from goldpan.text.markdown import excerpt

# Draws inline Markdown of GitHub's texts: code, emphasis and escapes; all else is shown as text.
#
# Links, images, HTML and entities stay as they are written, so a reader sees each address, and no
# character appears that was not in the text.

_PARSER = MarkdownIt("zero").enable(["backticks", "emphasis", "escape"])
_TAGS = {
    "strong_open": "<b>",
    "strong_close": "</b>",
    "em_open": "<i>",
    "em_close": "</i>",
    "softbreak": "\n",
    "hardbreak": "\n",
}


def inline(text: str) -> str:
    """Return a text as HTML; indented lines, code to Markdown, are left as they are."""
    parts = []
    for indented, lines in groupby(text.split("\n"), lambda row: row.startswith(("    ", "\t"))):
        stretch = "\n".join(lines)
        parts.append(escape(stretch) if indented else _drawn(stretch))
    return "\n".join(parts)


def _drawn(text: str) -> str:
    (token,) = _PARSER.parseInline(text)
    return "".join(
        f"<code>{escape(child.content)}</code>"
        if child.type == "code_inline"
        else _TAGS.get(child.type, escape(child.content))
        for child in token.children or ()
    )


MOST_CHARACTERS = 20_000
"""The length of a text; a longer one is cut, and says so."""
MOST_ROWS = 600
"""The rows of one diff."""
_ANSWERS = '<div class="gp-answers">'
Fields = Sequence[tuple[str, str]]
"""Names and values of an answer."""


def heading(text: str) -> str:
    """Return one line that says what is looked at."""
    return f'<div class="gp-head">{escape(line(text))}</div>'


def document(title: str, body: str | None, kicker: str = "") -> str:
    """Return a title with its text, code in it set apart."""
    head = f"{_kicker(kicker)}<h3>{escape(line(title, 300))}</h3>"
    return f'<div class="gp-doc">{head}{prose(body, markdown=True)}</div>'


def text(body: str | None, kicker: str = "") -> str:
    """Return a text that has no title."""
    return f'<div class="gp-doc">{_kicker(kicker)}{prose(body)}</div>'


def sentence(body: str | None) -> str:
    """Return the one sentence that is asked about, in large letters."""
    return f'<div class="gp-doc gp-sentence">{_kicker("Sentence")}{prose(body)}</div>'


def prose(text: str | None, markdown: bool = False) -> str:
    """Return a text in paragraphs and fences, cut where it is very long.

    With `markdown`, code and emphasis within paragraphs are drawn.
    """
    parts_of_text = excerpt(text, MOST_CHARACTERS, MOST_CHARACTERS)
    draw = inline if markdown else escape
    parts = [
        f"<pre>{escape(block.text)}</pre>" if block.code else f"<p>{draw(block.text)}</p>"
        for block in (*parts_of_text.shown, *parts_of_text.more)
    ]
    if not parts:
        parts.append(nothing("No text."))
    if parts_of_text.left_out:
        parts.append(nothing(f"{parts_of_text.left_out:,} more characters are not shown."))
    return "".join(parts)


def code(source: str, kicker: str = "") -> str:
    """Return code as it stands, cut where it is very long."""
    return (
        f'{_kicker(kicker)}<pre class="gp-code">{escape(visible(source[:MOST_CHARACTERS]))}</pre>'
    )


def nothing(why: str) -> str:
    """Return the words that stand where there is nothing to show."""
    return f'<p class="gp-quiet">{escape(why)}</p>'


def change(path: str, diff: str) -> str:
    """Return a unified diff side by side under the file's path."""
    sides = side_by_side(diff, MOST_ROWS)
    rows = "".join(_row(row) for row in sides.rows)
    left = sides.left_out
    more = nothing(f"{left:,} more changed lines are not shown.") if left else ""
    head = f'<div class="gp-path">{escape(line(path, 300))}'
    count = f'<span class="gp-quiet"> −{sides.deleted:,} +{sides.inserted:,}</span></div>'
    columns = '<colgroup><col class="gp-n"><col><col class="gp-n"><col></colgroup>'
    return f'{head}{count}<table class="gp-diff">{columns}<tbody>{rows}</tbody></table>{more}'


def dialogue(turns: Iterable[tuple[str, str, bool]]) -> str:
    """Return turns, each a role, a text and whether it is the answer in question."""
    parts = []
    for role, text, chosen in turns:
        mark = '<span class="gp-badge">judge this reply</span>' if chosen else ""
        style = "gp-turn gp-chosen" if chosen else "gp-turn"
        html = prose(text, markdown=True)
        parts.append(
            f'<div class="{style}"><div class="gp-kicker">{escape(line(role, 40))}{mark}</div>'
            f"{html}</div>"
        )
    return "".join(parts)


def answers_panel(answers: Iterable[tuple[str, Fields]]) -> str:
    """Return what annotators answered, side by side, each with a name and its fields."""
    cells = []
    for title, fields in answers:
        cells.append(f'<div class="gp-given">{_kicker(title)}')
        for name, value in fields:
            cells.append(f"<div><b>{escape(name)}</b> {escape(line(value, 400))}</div>")
        cells.append("</div>")
    return f"{_ANSWERS}{''.join(cells)}</div>"


def without_answers(note: str) -> str:
    """Return a note without what `answers_panel` put below it."""
    return note.partition(_ANSWERS)[0]


def _kicker(words: str) -> str:
    return f'<div class="gp-kicker">{escape(words)}</div>' if words else ""


def _row(row: DiffRow) -> str:
    if row.kind == "gap":
        return '<tr class="gp-gap"><td colspan="4">⋯</td></tr>'
    kind = row.kind == "changed"
    return f"<tr>{_side(row.left, 'd' if kind else '')}{_side(row.right, 'i' if kind else '')}</tr>"


def _side(side: DiffLine | None, kind: str) -> str:
    if side is None:
        return '<td></td><td class="gp-x"></td>'
    style = f' class="gp-{kind}"' if kind else ""
    text = "".join(
        f"<mark>{escape(piece.text)}</mark>" if piece.changed else escape(piece.text)
        for piece in side.pieces
    )
    end = "" if side.ends else '<span class="gp-quiet"> no line end</span>'
    return f"<td>{side.number}</td><td{style}>{text}{end}</td>"


SubjectKind = Literal["pair", "issue", "text"]
DatasetRow = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RowShape:
    """A shape of rows: which columns it has, what it is about, and how it is drawn."""

    subject: SubjectKind
    columns: tuple[str, ...]
    """The columns that a row must have."""
    draw: Callable[[DatasetRow], Mapping[str, str]]
    """Returns the panels of a row."""
    optional: tuple[str, ...] = ()
    """Columns that a row may have."""

    def fits(self, names: set[str]) -> bool:
        """Tell whether rows with these columns have this shape."""
        return set(self.columns) <= names


def _fix_pair(row: DatasetRow) -> Mapping[str, str]:
    title = f"{row['repo']}: issue #{row['issue']}, pull request #{row['pull']}"
    description = document(row["pull_title"], row["pull_body"], "Pull request")
    return {
        "note": heading(title),
        "issue_panel": document(row["title"], row["body"], "Issue"),
        "change_panel": description + change(row["path"], row["diff"]),
    }


def _fix_patch(row: DatasetRow) -> Mapping[str, str]:
    title, _, body = row["problem_statement"].partition("\n")
    return {
        "note": heading(f"{row['repo']}: issue #{row['issue']}, pull request #{row['pull']}"),
        "issue_panel": document(title, body, "Issue"),
        "change_panel": "".join(change(file.path, file.text) for file in split_patch(row["patch"])),
    }


def _changed_file(row: DatasetRow) -> Mapping[str, str]:
    path = code(row["changed_path"], f"The file that pull request #{row['pull']} changed")
    return {**_issue(row), "change_panel": path}


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
    kind = "discussion" if row.get("source") == "discussions" else "issue"
    return {
        "note": heading(f"{row['repo']}: {kind} #{row['issue']}"),
        "issue_panel": document(row["title"], row["body"], "Question"),
        "answer_panel": dialogue(turns),
    }


def _issue(row: DatasetRow) -> Mapping[str, str]:
    return {
        "note": heading(f"{row['repo']}: issue #{row['issue']}"),
        "issue_panel": document(row["title"], row["body"], "Issue"),
    }


def _issue_text(row: DatasetRow) -> Mapping[str, str]:
    # The title and body are easier to read than the text that models are given.
    shown = row.get("title")
    panel = document(shown, row.get("body"), "Issue") if shown else text(row["text"], "Text")
    return {"note": _origin(row), "issue_panel": panel}


def _sentence(row: DatasetRow) -> Mapping[str, str]:
    around = row.get("comment")
    parts = [text(around, "The whole comment")] if around else []
    if row.get("code"):
        parts.append(code(row["code"], "The code around it"))
    return {
        "note": _origin(row),
        "sentence_panel": sentence(row.get("sentence") or row.get("text")),
        "code_panel": "".join(parts) or nothing("The data has only the sentence."),
    }


def _origin(row: DatasetRow) -> str:
    """Return where a text is from, which is all of a row that annotators see beside it."""
    where = [row.get(name) for name in ("repo", "path", "class", "document")]
    return heading(": ".join(dict.fromkeys(str(part) for part in where if part)) or "Text")


def _as_text(draw: Callable[[DatasetRow], Mapping[str, str]], row: DatasetRow) -> Mapping[str, str]:
    shown = draw(row)
    return {"note": shown["note"], "text_panel": shown["issue_panel"]}


_ISSUE = ("repo", "issue", "title", "body")
_TEXT = ("id", "repo", "text")
_LABELS = ("label", "labels")
FIX_PAIR = RowShape("pair", (*_ISSUE, "pull", "pull_title", "pull_body", "path", "diff"), _fix_pair)
FIX_PATCH = RowShape("pair", ("repo", "issue", "pull", "problem_statement", "patch"), _fix_patch)
CHANGED_FILE = RowShape("pair", (*_ISSUE, "pull", "changed_path"), _changed_file)
QUESTION_ANSWER = RowShape(
    "issue", (*_ISSUE, "dialogue", "answer_comment_id"), _question_answer, ("source",)
)
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
TASK_TEXT = replace(ISSUE_TEXT, draw=partial(_as_text, _issue_text))
"""A row of any task on texts, before a form that was made of it."""
TASK_ISSUE = replace(ISSUE, draw=partial(_as_text, _issue))
