"""Turns Markdown and HTML into the text that a reader sees, with tokens for code and links.

Inline code becomes CODE and a link URL (SELU, section III-B). Blocks of code stay: `mask_code`
masks them. Tags, comments, scripts and styles go.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from functools import cache

from markdown_it import MarkdownIt
from markdown_it.common.html_blocks import block_names
from markdown_it.rules_block import StateBlock

from goldpan.text.masks import CODE, URL

_PIECE = 16_384
"""Code points that are parsed at once: some inputs cost the parser more than their length."""
_WORK = 40_000
"""Tries of the block rules in a piece; real texts need at most four a line."""
_MARKUP = re.compile(
    r"<!--(?:-?>|.*?(?:-->|\Z))|<(/?)([A-Za-z][A-Za-z0-9-]*+)([^<>]*+)>|<[!?][^<>]*+>", re.S
)
_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_LINES = re.compile(r"(?<![ \t])[ \t]*+\n")
_GAPS = re.compile(r"\n{3,}+")
_BLOCKS = frozenset(block_names) | {"br", "pre"}
_TOKENS = {"a": URL, "code": CODE, "kbd": CODE, "samp": CODE, "tt": CODE}
_GONE = frozenset({"script", "style"})


def markdown_to_text(text: str) -> str:
    """Return the visible text of Markdown that may hold HTML, or of HTML alone.

    The time grows with the length of the text: it is parsed in pieces that end between lines.
    """
    rendered = "\n".join(_parser().render(piece, {}) for piece in _pieces(text))
    lines = _LINES.sub("\n", "".join(_visible(rendered)))
    return _GAPS.sub("\n\n", lines).strip()


def _pieces(text: str) -> Iterator[str]:
    start = 0
    while len(text) - start > _PIECE:
        last = start + _PIECE
        cut = max(text.rfind("\n\n", start, last), start)
        if cut == start:
            cut = max(text.rfind("\n", start, last), text.rfind(" ", start, last), start)
        cut = last if cut == start else cut
        yield text[start:cut]
        start = cut
    yield text[start:]


def _visible(markup: str) -> Iterator[str]:
    """Yield the text between tags, a token in the place of what is masked.

    `masked` is the element whose content is not shown; elements of its name within it count, so
    that its own end is found.
    """
    at = depth = 0
    masked = ""
    in_pre = 0
    for found in _MARKUP.finditer(markup):
        if not masked:
            yield _decode(markup[at : found.start()])
        at = found.end()
        name = (found[2] or "").lower()
        closes = bool(found[1])
        if masked:
            if name == masked:
                depth += -1 if closes else 1
                masked = masked if depth else ""
            continue
        if name == "pre":
            in_pre = 0 if closes else 1
        if name in ("td", "th"):
            yield " "
        elif name in _BLOCKS:
            yield "\n"
        elif not closes and name in _GONE:
            masked, depth = name, 1
        elif not closes and name in _TOKENS and not in_pre and not (found[3] or "").endswith("/"):
            yield _TOKENS[name]
            masked, depth = name, 1
    if not masked:
        yield _decode(markup[at:])


def _decode(raw: str) -> str:
    return _ENTITY.sub(lambda entity: html.unescape(entity[0]), raw)


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    # Without this limit, quotes and lists in turn cost the square of their number.
    parser.block.ruler.before(
        "table",
        "work",
        _stop_endless_work,
        {"alt": ["paragraph", "reference", "blockquote", "list"]},
    )
    return parser


def _stop_endless_work(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    state.env["work"] = state.env.get("work", 0) + 1
    if state.env["work"] <= _WORK:
        return False
    if not silent:
        state.line = end
    return True
