"""Draws subjects for annotators: HTML of our own around text that is only ever shown.

Label Studio keeps images and styles of HTML that it is given, so every text from GitHub is
escaped, unseen characters are written out, and no element stands here that is not made here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby

from markdown_it import MarkdownIt

from goldpan.code.unified_diff import Line, Row, side_by_side
from goldpan.core.sanitize import line, visible
from goldpan.text.excerpts import excerpt

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
"""Of one text; a longer one is cut, and says so."""
MOST_ROWS = 600
"""Of one diff."""
_ANSWERS = '<div class="gp-answers">'


@dataclass(frozen=True, slots=True)
class ShownAnswer:
    """What somebody answered, for the person who decides between answers."""

    name: str
    fields: Sequence[tuple[str, str]]


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


def answers(rated: Iterable[ShownAnswer]) -> str:
    """Return what annotators answered, side by side."""
    cells = []
    for answer in rated:
        fields = "".join(
            f"<div><b>{escape(name)}</b> {escape(line(value, 400))}</div>"
            for name, value in answer.fields
        )
        cells.append(f'<div class="gp-given"><div class="gp-kicker">{escape(answer.name)}</div>')
        cells.append(f"{fields}</div>")
    return f"{_ANSWERS}{''.join(cells)}</div>"


def without_answers(note: str) -> str:
    """Return a note without what `answers` put below it."""
    return note.partition(_ANSWERS)[0]


def _kicker(words: str) -> str:
    return f'<div class="gp-kicker">{escape(words)}</div>' if words else ""


def _row(row: Row) -> str:
    if row.kind == "gap":
        return '<tr class="gp-gap"><td colspan="4">⋯</td></tr>'
    kind = row.kind == "changed"
    return f"<tr>{_side(row.left, 'd' if kind else '')}{_side(row.right, 'i' if kind else '')}</tr>"


def _side(side: Line | None, kind: str) -> str:
    if side is None:
        return '<td></td><td class="gp-x"></td>'
    style = f' class="gp-{kind}"' if kind else ""
    text = "".join(
        f"<mark>{escape(piece.text)}</mark>" if piece.changed else escape(piece.text)
        for piece in side.pieces
    )
    end = "" if side.ends else '<span class="gp-quiet"> no line end</span>'
    return f"<td>{side.number}</td><td{style}>{text}{end}</td>"
