"""The preprocessing steps by name, the order in which they run, and many rows at once.

A task's file lists its steps in our order. Papers and plugins bring other orders, in which the same
steps run: one that collapses white space first leaves Markdown no blocks, so that headings, lists
and code run into the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, islice
from typing import Any

from goldpan.core.parallel.engine import open_engine
from goldpan.core.plugins.registry import Registry, unknown_name
from goldpan.core.values import LOCAL
from goldpan.text.markdown import CODE, URL, markdown_to_text

HASH, USER = "HASH", "USER"
"""Placeholders for masked hashes and user names."""

_MASKED = re.compile(r"`{3,}+|^[ \t]*+~{3,}+|<pre\b|</pre\s*+>", re.M | re.I)
_HASHES = re.compile(r"\b[0-9a-fA-F]{40}\b")
_URLS = re.compile(r"(?<![A-Za-z0-9])(?:(?:https?|ftp)://|www\.)[^\s<>\"'`\[\]{}|\\^]++")
_AFTER_URLS = ".,;:!?*_)"
_MENTIONS = re.compile(r"(?<![\w@/.`-])@[A-Za-z0-9][A-Za-z0-9_-]{0,99}+")


def mask_code(text: str) -> str:
    """Mask fenced code, and HTML between ``<pre>`` tags.

    A fence at the start of a line that nothing closes reaches to the end, as in Markdown.
    """
    parts: list[str] = []
    end = 0
    opened: re.Match[str] | None = None
    for mark in _MASKED.finditer(text):
        if opened is None:
            opened = None if mark[0].startswith("</") else mark
        elif _closes_mask(mark, opened):
            parts += [text[end : opened.start()], CODE]
            end = mark.end()
            opened = None
    if opened is not None and not text[: opened.start()].rpartition("\n")[2].strip():
        parts += [text[end : opened.start()], CODE]
        end = len(text)
    return "".join([*parts, text[end:]])


def _closes_mask(mark: re.Match[str], opened: re.Match[str]) -> bool:
    if opened[0].startswith("<"):
        return mark[0].startswith("</")
    return mark[0].strip()[0] == opened[0].strip()[0]


def mask_hashes(text: str) -> str:
    """Mask hashes of 40 hexadecimal digits, such as those of commits."""
    return _HASHES.sub(HASH, text)


def mask_urls(text: str) -> str:
    """Mask web addresses; the punctuation after one stays."""

    def masked(match: re.Match[str]) -> str:
        return URL + match[0][len(match[0].rstrip(_AFTER_URLS)) :]

    return _URLS.sub(masked, text)


def mask_mentions(text: str) -> str:
    """Mask mentions of users, such as ``@octocat``, but not what follows an @ in an address."""
    return _MENTIONS.sub(USER, text)


# Turns the markup of Jira into Markdown, line by line.
#
# Only what changes how Markdown reads a text is turned: blocks of code, headings, quotes, lists,
# links, users, images and bold text. The rest stays as it is. The time grows with the length of
# the text alone: no expression reaches over the end of a line, and what repeats is possessive.

_MACROS = re.compile(r"\{(code|noformat|quote)(?::[^{}\n]*+)?\}")
_HEADING = re.compile(r"[ \t]*+h([1-6])\.[ \t]++")
_QUOTE = re.compile(r"[ \t]*+bq\.[ \t]++")
_ITEM = re.compile(r"[ \t]*+([*#-]{1,6})[ \t]++")
_RULE = re.compile(r"[ \t]*+-{4,5}[ \t]*+")
_INLINE = re.compile(
    r"\{\{(?P<code>[^{}\n]++)\}\}"
    r"|\[~(?P<user>[^\[\]\s]++)\]"
    r"|\[(?P<link>[^\[\]|\n]++)(?:\|(?P<to>[^\[\]|\s]++)(?:\|[^\[\]\n]*+)?)?\]"
    r"|!(?P<image>[^!\s|]++)(?:\|[^!\n]*+)?!"
    r"|(?P<macro>\{(?:color|panel|anchor)(?::[^{}\n]*+)?\})"
    r"|(?<![\w*])\*(?=\S)(?P<bold>[^*\n]++)(?<=\S)\*(?![\w*])"
)
_TICKS = re.compile(r"`++")
_ADDRESS = re.compile(r"(?:https?|ftp)://|mailto:|www\.")


def jira_to_markdown(text: str) -> str:
    """Return a text in Jira's markup as Markdown that reads the same."""
    return "".join(_pieces(text.replace("\r\n", "\n")))


def _pieces(text: str) -> Iterator[str]:
    end = 0
    opened: re.Match[str] | None = None
    for mark in _MACROS.finditer(text):
        if opened is None:
            opened = mark
        elif mark[1] == opened[1]:
            yield _lines(text[end : opened.start()])
            yield _block(opened[1], text[opened.end() : mark.start()])
            end = mark.end()
            opened = None
    yield _lines(text[end:])


def _block(kind: str, content: str) -> str:
    if kind == "quote":
        quoted = "\n".join(f"> {line}" for line in _lines(content.strip("\n")).split("\n"))
        return f"\n\n{quoted}\n\n"
    longest = max((len(run[0]) for run in _TICKS.finditer(content)), default=0)
    fence = "`" * max(3, longest + 1)
    return "\n".join(["", fence, content.strip("\n"), fence, ""])


def _lines(text: str) -> str:
    return "\n".join(_line(line) for line in text.split("\n"))


def _line(line: str) -> str:
    if match := _HEADING.match(line):
        start = "#" * int(match[1]) + " "
    elif match := _QUOTE.match(line):
        start = "> "
    elif _RULE.fullmatch(line):
        return "\n---"
    elif match := _ITEM.match(line):
        numbered = match[1].endswith("#")
        start = "    " * (len(match[1]) - 1) + ("1. " if numbered else "- ")
    else:
        return _INLINE.sub(_inline, line)
    return start + _INLINE.sub(_inline, line[match.end() :])


def _inline(match: re.Match[str]) -> str:
    match match.lastgroup:
        case "code":
            return f"`{match['code']}`"
        case "user":
            return f"@{match['user']}"
        case "to":
            return f"[{match['link']}]({match['to']})"
        case "link":
            return f"<{match['link']}>" if _ADDRESS.match(match["link"]) else match[0]
        case "image":
            return f"![]({match['image']})" if "." in match["image"] else match[0]
        case "bold":
            return f"**{match['bold']}**"
        case _:
            return ""


# White space, collapsed.


def white_space(text: str) -> str:
    """Collapse every run of white space to one blank, and strip both ends."""
    return " ".join(text.split())


STEPS: Mapping[str, Callable[[str], str]] = {
    step.__name__: step
    for step in (
        white_space,
        jira_to_markdown,
        markdown_to_text,
        mask_code,
        mask_hashes,
        mask_urls,
        mask_mentions,
    )
}
"""Every step by its name."""
_OWN: Mapping[str, Sequence[str] | None] = {"default": None, "none": ()}
ORDERS = Registry("order of steps", lambda: _OWN, "step order")
"""The steps that run where a task names them, in their order; None stands for the task's own."""


def ordered_steps(names: Sequence[str], order: str) -> tuple[str, ...]:
    """Return a task's steps in the order of that name; `none` runs none.

    Raises `UsageError` for an unknown order or step.
    """
    wanted = ORDERS.find(order)
    if unknown := [name for name in (*names, *(wanted or ())) if name not in STEPS]:
        raise unknown_name("preprocessing step", unknown[0], STEPS)
    return tuple(names if wanted is None else (name for name in wanted if name in names))


def run_steps(texts: Iterable[str], names: Sequence[str]) -> list[str]:
    """Return texts after these steps, in this order."""
    for name in names:
        texts = map(STEPS[name], texts)
    return list(texts)


_ROWS = 2_048
"""Rows in memory at once; fewer are not worth other processes."""
_UNIT = 128
"""Rows that a process gets at once."""


def preprocess_rows(
    rows: Iterable[dict[str, Any]], steps: Sequence[str], processes: int
) -> Iterator[dict[str, Any]]:
    """Yield the rows in order, their column `text` after these steps."""
    remaining = iter(rows)
    block = list(islice(remaining, _ROWS))
    if not steps or processes == 1 or len(block) < _ROWS:
        for row in chain(block, remaining):
            (text,) = run_steps([row["text"]], steps)
            yield {**row, "text": text}
        return
    with open_engine(LOCAL, processes) as engine:
        while block:
            texts = [row["text"] for row in block]
            units = [texts[start : start + _UNIT] for start in range(0, len(texts), _UNIT)]
            processed = engine.map(partial(run_steps, names=tuple(steps)), units)
            for row, text in zip(block, chain.from_iterable(processed), strict=True):
                yield {**row, "text": text}
            block = list(islice(remaining, _ROWS))
