"""Lines that come from an issue template and not from the one who filled it in."""

from __future__ import annotations

import re
from collections.abc import Iterable
from importlib import resources

_WORDS = re.compile(r"[^\W_]+")
_MARKS = re.compile(r"[\s#>*_+-]*(?:[0-9]{1,2}[.)]\s+)?")
_LONGEST = 200

# Headings, instructions and empty answers of GitHub's own templates and of the forms that
# thousands of repositories made from them, as `_words_of` gives them.
_KNOWN = frozenset(
    resources.files(__package__).joinpath("template_lines.txt").read_text("utf-8").splitlines()
)


def _words_of(line: str) -> str:
    """Return a line's words in lower case, without list, heading and emphasis marks."""
    marks = _MARKS.match(line)
    return " ".join(_WORDS.findall(line[marks.end() if marks else 0 :].lower()))


def is_known(line: str) -> bool:
    """Say whether a line is a heading, an instruction or an empty answer of common templates."""
    return len(line) <= _LONGEST and line[:1] != "<" and _words_of(line) in _KNOWN


def template_lines(
    texts: Iterable[str], min_share: float = 0.05, *, least: int = 3, window: int = 10_000
) -> frozenset[str]:
    """Return the lines, stripped, that stand in at least `min_share` of a repository's issues.

    At least `least` issues must have a line, and a line must have a letter. After each `window`
    texts the rare lines are forgotten, so memory follows the window (lossy counting). None that
    is due is ever missed; beyond one window, lines with half the share may come along.
    """
    counts: dict[str, int] = {}
    seen = lost = 0
    for text in texts:
        seen += 1
        for line in {line for raw in text.splitlines() if _is_candidate(line := raw.strip())}:
            # A forgotten line may have stood in as many texts as cost others their place.
            counts[line] = counts.get(line, lost) + 1
        if seen % window == 0:
            lost = int(min_share * seen / 2)
            counts = {line: count for line, count in counts.items() if count > lost}
    needed = max(least, min_share * seen)
    return frozenset(line for line, count in counts.items() if count >= needed)


def _is_candidate(line: str) -> bool:
    return 2 < len(line) <= _LONGEST and any(map(str.isalpha, line))
