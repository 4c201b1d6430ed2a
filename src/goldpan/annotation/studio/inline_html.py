"""Draws inline Markdown of GitHub's texts: code, emphasis and escapes; all else is shown as text.

Links, images, HTML and entities stay as they are written, so a reader sees each address, and no
character appears that was not in the text.
"""

from __future__ import annotations

from html import escape
from itertools import groupby

from markdown_it import MarkdownIt

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
