"""The visible part of a GitHub-flavored Markdown text, by blocks or as one plain text.

`blocks` gives leaf blocks (paragraphs, headings, list items, table cells, runs of HTML) without
quotes, code and comments. Two guards keep every text near a second: `LIMIT`, at which the slowest
inline input found by fuzzing ("![]![![](#" repeated) takes 1.4 s, and `_WORK`, without which quoted
empty list items (">1)" and "<" on alternate lines) are quadratic: 98 s at `LIMIT`, now 0.5 s.

`markdown_to_text` gives the whole text: inline code becomes CODE and a link URL (SELU, section
III-B), blocks of code stay for `mask_code`, and tags, comments, scripts and styles go. It has no
limit: it parses pieces of `_PIECE`.
"""

from __future__ import annotations

import html
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import groupby

from markdown_it import MarkdownIt
from markdown_it.common.html_blocks import block_names
from markdown_it.rules_block import StateBlock
from markdown_it.token import Token

from goldpan.core.sanitize import visible

CODE, URL = "CODE", "URL"
"""Placeholders for inline code and for an address."""
LIMIT = 65_536
"""Code points of a text that are read: GitHub's own maximum for a body."""

OBJECT = "\ufffc"
"""Stands in a block's text for an inline code span or an image."""

_WORK = 150_000  # tries of the block rules; real texts need at most four a line
_PIECE, _PIECE_WORK = 16_384, 40_000

_BLOCK_TAGS = frozenset(block_names) | {"pre", "script", "style"}
_HIDDEN_TAGS = frozenset({"blockquote", "code", "pre", "script", "style", "tt"})
_BREAKS = frozenset(block_names) | {"br", "pre"}
_TOKENS = {"a": URL, "code": CODE, "kbd": CODE, "samp": CODE, "tt": CODE}
_DROPPED_TAGS = frozenset({"script", "style"})
_HTML = re.compile(
    r"<!--(?:-?>|.*?(?:-->|\Z))|<(/?)([A-Za-z][A-Za-z0-9-]*+)([^<>]*+)>|<[!?][^<>]*+>", re.S
)
_LINES = re.compile(r"(?<![ \t])[ \t]*+\n")
_GAPS = re.compile(r"\n{3,}+")
_HREF = re.compile(r"""(?:^|\s)href\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""", re.I)
_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")


@dataclass(frozen=True, slots=True)
class Node:
    """A stretch of a block's text without markup inside; `href` is the address of its link."""

    start: int
    end: int
    href: str | None


@dataclass(frozen=True, slots=True)
class MarkdownBlock:
    """The visible text of one leaf block, the source line it begins on, and its text nodes."""

    text: str
    line: int
    nodes: tuple[Node, ...]

    def node_at(self, offset: int) -> Node:
        """Return the text node that holds the character at `offset`."""
        return self.nodes[bisect_right(self.nodes, offset, key=lambda node: node.start) - 1]


def blocks(text: str) -> Iterator[MarkdownBlock]:
    """Yield the visible leaf blocks of a Markdown text, at most its first `LIMIT` code points."""
    page = _Page()
    quotes = 0
    for token in _PARSER.parse(text[:LIMIT], {"work": _WORK}):
        if token.type == "blockquote_open":
            quotes += 1
        elif token.type == "blockquote_close":
            quotes -= 1
        elif token.type in ("inline", "html_block") and not quotes:
            page.line = token.map[0] + 1 if token.map else page.line
            if token.type == "inline":
                page.add_inline(token.children or [])
            else:
                page.add_html(token.content)
            page.end_block()
            yield from page.done
            page.done.clear()


def paragraphs(text: str) -> Iterator[MarkdownBlock]:
    """Yield the paragraphs of a plain text, such as a title or a commit message."""
    numbered = enumerate(text.split("\n"), 1)
    for blank, group in groupby(numbered, key=lambda line: not line[1].strip()):
        if not blank:
            lines = list(group)
            content = "\n".join(line for _, line in lines)
            yield MarkdownBlock(content, lines[0][0], (Node(0, len(content), None),))


def markdown_to_text(text: str) -> str:
    """Return the visible text of Markdown that may hold HTML, or of HTML alone.

    The time grows with the length of the text: it is parsed in pieces that end between lines.
    """
    rendered = "\n".join(_PARSER.render(piece, {"work": _PIECE_WORK}) for piece in _pieces(text))
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
    for match in _HTML.finditer(markup):
        if not masked:
            yield _decode(markup[at : match.start()])
        at = match.end()
        name = (match[2] or "").lower()
        closes = bool(match[1])
        if masked:
            if name == masked:
                depth += -1 if closes else 1
                masked = masked if depth else ""
            continue
        if name == "pre":
            in_pre = 0 if closes else 1
        if name in ("td", "th"):
            yield " "
        elif name in _BREAKS:
            yield "\n"
        elif not closes and name in _DROPPED_TAGS:
            masked, depth = name, 1
        elif not closes and name in _TOKENS and not in_pre and not (match[3] or "").endswith("/"):
            yield _TOKENS[name]
            masked, depth = name, 1
    if not masked:
        yield _decode(markup[at:])


class _Page:
    """Collects visible text into blocks; counts the open HTML elements that hide text."""

    def __init__(self) -> None:
        self.line = 1
        self.done: list[MarkdownBlock] = []
        self._hidden: Counter[str] = Counter()
        self._begin()

    def _begin(self) -> None:
        self._parts: list[str] = []
        self._nodes: list[Node] = []
        self._length = 0
        self._line = self.line
        self._href: str | None = None
        self._seam = True

    def end_block(self) -> None:
        if self._parts:
            self.done.append(MarkdownBlock("".join(self._parts), self._line, tuple(self._nodes)))
        self._begin()

    def add_inline(self, tokens: list[Token]) -> None:
        outside = self._hidden.copy()
        for token in tokens:
            match token.type:
                case "text":
                    self._add(token.content)
                case "softbreak" | "hardbreak":
                    self._add("\n")
                    self.line += 1
                case "html_inline":
                    self.add_html(token.content)
                case "code_inline" | "image":
                    self._add_object()
                case _:
                    self._seam = True
                    if token.tag == "a":
                        self._href = str(token.attrGet("href")) if token.nesting == 1 else None
        # An element left open inside a paragraph hides nothing after it.
        self._hidden &= outside

    def add_html(self, raw: str) -> None:
        at = 0
        for markup in _HTML.finditer(raw):
            self._add_html_text(raw[at : markup.start()])
            at = markup.end()
            self.line += markup[0].count("\n")
            self._seam = True
            if markup[2]:
                self._add_tag(markup[2].lower(), markup[3], closes=bool(markup[1]))
        self._add_html_text(raw[at:])

    def _add_html_text(self, raw: str) -> None:
        shown = raw.lstrip()
        margin = raw[: len(raw) - len(shown)]
        for part in (margin, shown):
            self._add(_decode(part))
            self.line += part.count("\n")

    def _add_tag(self, name: str, attributes: str, *, closes: bool) -> None:
        if name in _BLOCK_TAGS:
            self.end_block()
        if name in _HIDDEN_TAGS:
            if not closes:
                if name not in _BLOCK_TAGS:
                    self._add_object()
                self._hidden[name] += 1
            elif self._hidden[name]:
                self._hidden[name] -= 1
        elif name == "br":
            self._add("\n")
        elif name == "img":
            self._add_object()
        elif name == "a":
            href = None if closes else _HREF.search(attributes)
            self._href = _decode(href[1] or href[2] or href[3] or "") if href else None

    def _add_object(self) -> None:
        self._seam = True
        self._add(OBJECT)
        self._seam = True

    def _add(self, text: str) -> None:
        if self._hidden.total():
            return
        if not self._parts:
            text = text.lstrip()
            self._line = self.line
        if not text:
            return
        start = self._length if self._seam else self._nodes.pop().start
        self._length += len(text)
        self._nodes.append(Node(start, self._length, self._href))
        self._parts.append(text)
        self._seam = False


def _decode(raw: str) -> str:
    return _ENTITY.sub(lambda entity: html.unescape(entity[0]), raw)


def _stop_endless_work(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Swallow the rest of a text, as a block rule, once the others have run often enough."""
    state.env["work"] -= 1
    if state.env["work"] >= 0:
        return False
    if not silent:
        state.line = end
    return True


def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    parser.block.ruler.before(
        "table",
        "work",
        _stop_endless_work,
        {"alt": ["paragraph", "reference", "blockquote", "list"]},
    )
    return parser


_PARSER = _parser()


_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")


@dataclass(frozen=True, slots=True)
class ExcerptBlock:
    """A part of a text: prose, or code between fences."""

    text: str
    code: bool
    info: str = ""
    """Info string of the opening fence, such as the language."""


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A text in two parts, of which the second is shown on request; the end may be left out."""

    shown: tuple[ExcerptBlock, ...]
    more: tuple[ExcerptBlock, ...]
    left_out: int
    """Characters in neither part."""


def excerpt(text: str | None, shown: int = 1200, most: int = 8000) -> Excerpt:
    """Cut a text into a part shown at once and one on request, at line ends where possible."""
    whole = text or ""
    visible_text = visible(whole[:most].replace("\r\n", "\n")).rstrip()
    # Written out, one character takes eight: hostile texts may not grow that much.
    text_read = visible_text[: 2 * most]
    left_out = max(0, len(whole) - most) + len(visible_text) - len(text_read)
    front: list[ExcerptBlock] = []
    back: list[ExcerptBlock] = []
    room = shown if len(text_read) > shown * 5 // 4 else len(text_read)
    for block in _blocks(text_read):
        if back or room <= 0:
            back.append(block)
        elif len(block.text) <= room:
            front.append(block)
            room -= len(block.text)
        else:
            at = _break(block.text, room)
            front.append(replace(block, text=block.text[:at].rstrip("\n")))
            back.append(replace(block, text=block.text[at:].lstrip("\n")))
    return Excerpt(tuple(front), tuple(back), left_out)


def _break(text: str, near: int) -> int:
    """Return where to cut: after the last line, else the last word, before `near`."""
    for mark in ("\n", " "):
        at = text.rfind(mark, near // 2, near)
        if at > 0:
            return at + 1
    return near


def _blocks(text: str) -> list[ExcerptBlock]:
    blocks: list[ExcerptBlock] = []
    lines: list[str] = []
    fence = info = ""
    for row in text.split("\n"):
        mark = _FENCE.match(row)
        fence_info = row[mark.end() :].strip() if mark else ""
        if fence and mark and mark[1].startswith(fence) and not fence_info:
            blocks.append(ExcerptBlock("\n".join(lines), code=True, info=info))
            lines, fence = [], ""
        elif not fence and mark and "`" not in fence_info:
            blocks.append(ExcerptBlock("\n".join(lines).strip("\n"), code=False))
            lines, fence, info = [], mark[1], fence_info
        else:
            lines.append(row)
    if fence:
        blocks.append(ExcerptBlock("\n".join(lines), code=True, info=info))
    else:
        blocks.append(ExcerptBlock("\n".join(lines).strip("\n"), code=False))
    return [block for block in blocks if block.text.strip() or block.info]
