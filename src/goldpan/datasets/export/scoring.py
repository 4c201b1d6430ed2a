"""Scores answers of models; it needs nothing but Python, since exports carry a copy of it.

- `qa`: F1 of the words that the answer and the reference have in common (SQuAD's F1).
- `fault-localization`: 1 where the answer is the path of the file that the fix changed.
- one `label`: 1 where the answer is the right one.
- several `labels`: 1 where they are all and only the right ones, and their F1.
- `code-edit`: 1 where the SEARCH/REPLACE blocks turn the file before into the file after.

These compare with one reference each: another answer may be as good and score lower.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

_WORD = re.compile(r"\w+")
_OPEN = re.compile(r"<{7,} ?SEARCH[ \t\r]*")
_MIDDLE = re.compile(r"={7,}[ \t\r]*")
_CLOSE = re.compile(r">{7,} ?REPLACE[ \t\r]*")
_NO_NEWLINE = re.compile(r"\\+ No newline at end of file[ \t\r]*")
_MOST = 1_000_000
"""Characters of an answer that are read."""


def score(kind: str, answer: str, target: str, facts: Mapping[str, Any]) -> dict[str, float]:
    """Return the metrics of an answer, each from 0 to 1."""
    answer = answer[:_MOST]
    if kind == "qa":
        return {"f1": f1(answer, target)}
    if kind == "fault-localization":
        return {"exact_path": float(named_path(answer) == target)}
    if kind == "label":
        return {"accuracy": float(named_labels(answer) == named_labels(target))}
    if kind == "labels":
        named, right = named_labels(answer), named_labels(target)
        return {
            "exact_match": float(named == right),
            "f1": 2 * len(named & right) / (len(named) + len(right) or 1),
        }
    before = str(facts["file_before"])
    after = apply_blocks(before, answer)
    applies = after not in (None, before)
    return {"exact_file": float(after == facts["file_after"]), "applies": float(applies)}


def f1(answer: str, target: str) -> float:
    """Return the F1 of words in common, whatever their case and order."""
    answer_words, target_words = (Counter(_WORD.findall(text.lower())) for text in (answer, target))
    if not answer_words or not target_words:
        return float(answer_words == target_words)
    common = (answer_words & target_words).total()
    return 2 * common / (answer_words.total() + target_words.total())


def named_path(answer: str) -> str:
    """Return the path that an answer is, without what models put around it."""
    lines = [line.strip() for line in answer.split("\n")]
    named = [line for line in lines if line and not line.startswith("```")]
    if len(named) != 1:
        return ""
    return named[0].strip("`*'\" ").removeprefix("./")


def named_labels(answer: str) -> frozenset[str]:
    """Return the labels that an answer names, separated by commas, whatever their case."""
    names = (name.strip("`*'\" .\n\r\t").lower() for name in answer.split(","))
    return frozenset(name for name in names if name)


def apply_blocks(before: str, answer: str) -> str | None:
    """Return the file after the blocks of an answer, None where they do not fit or are none.

    All blocks are looked up in the file before, by whole lines that stand at one place only.
    An empty SEARCH fits an empty file alone.
    """
    blocks = read_blocks(answer)
    if not blocks:
        return None
    changes = []
    for search, replace in blocks:
        start = _only(before, search)
        if start is None:
            return None
        changes.append((start, start + len(search), replace))
    position, after = 0, []
    for start, end, replace in sorted(changes):
        if start < position or (start == end and len(changes) > 1):
            return None
        after += [before[position:start], replace]
        position = end
    return "".join([*after, before[position:]])


def _only(text: str, lines: str) -> int | None:
    """Return where whole lines start that stand at exactly one place of a text."""
    if not lines:
        return None if text else 0
    starts: list[int] = []
    at = text.find(lines)
    while at >= 0 and len(starts) < 2:
        if _is_border(text, at) and _is_border(text, at + len(lines)):
            starts.append(at)
        at = text.find(lines, at + 1)
    return starts[0] if len(starts) == 1 else None


def _is_border(text: str, at: int) -> bool:
    """Return whether a line begins or the text ends at an offset."""
    if at in (0, len(text)):
        return True
    return text[at - 1] == "\n" or (text[at - 1] == "\r" and text[at] != "\n")


def read_blocks(answer: str) -> list[tuple[str, str]] | None:
    """Return SEARCH and REPLACE of each block, None where a block breaks off."""
    blocks = []
    lines = iter(answer.split("\n"))
    for line in lines:
        if not _OPEN.fullmatch(line):
            continue
        length = line.count("<")
        search = _content(lines, _MIDDLE, "=", length)
        replace = None if search is None else _content(lines, _CLOSE, ">", length)
        if search is None or replace is None:
            return None
        blocks.append((search, replace))
    return blocks


def _content(lines: Iterator[str], end: re.Pattern[str], sign: str, length: int) -> str | None:
    content: list[str] = []
    for line in lines:
        if end.fullmatch(line) and line.count(sign) == length:
            mark = content and _NO_NEWLINE.fullmatch(content[-1])
            if mark and content[-1].count("\\") == length - 6:
                return "\n".join(content[:-1])
            return "".join(f"{text}\n" for text in content)
        content.append(line)
    return None
