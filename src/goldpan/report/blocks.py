"""Turns SEARCH/REPLACE blocks into a unified diff, for datasets that hold none."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import SequenceMatcher

_MOST_LINES = 2_000


def blocks_as_diff(before: str, blocks: Iterable[tuple[str, str]]) -> str | None:
    """Return blocks, each SEARCH with its REPLACE, as hunks of a unified diff.

    None where a SEARCH does not stand in the file, or a block is too large to compare.
    """
    hunks = []
    for search, replace in blocks:
        at = before.find(search)
        olds, news = _lines(search), _lines(replace)
        if at < 0 or max(len(olds), len(news)) > _MOST_LINES:
            return None
        hunks.append((before.count("\n", 0, at) + 1, olds, news))
    text: list[str] = []
    grown = 0
    for line, olds, news in sorted(hunks):
        text.append(f"@@ -{line},{len(olds)} +{line + grown},{len(news)} @@\n")
        grown += len(news) - len(olds)
        for tag, a, b, c, d in SequenceMatcher(None, olds, news).get_opcodes():
            if tag == "equal":
                text += [_told(" ", one) for one in olds[a:b]]
            else:
                text += [_told("-", one) for one in olds[a:b]]
                text += [_told("+", one) for one in news[c:d]]
    return "".join(text)


def _lines(text: str) -> list[str]:
    lines = [f"{line}\n" for line in text.split("\n")]
    last = lines.pop().removesuffix("\n")
    return [*lines, last] if last else lines


def _told(sign: str, line: str) -> str:
    return sign + line if line.endswith("\n") else f"{sign}{line}\n\\ No newline at end of file\n"
