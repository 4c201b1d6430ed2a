"""Where two texts differ, and how much; a change is told in one line for people."""

from __future__ import annotations

from collections import Counter

from goldpan.code.lexer import squeeze, tokens
from goldpan.core.sanitize import line

_WIDTH = 100


def shared_ends(first: bytes, other: bytes) -> tuple[int, int]:
    """Return how many bytes two texts share at their start, and how many more at their end."""
    start = _shared_start(first, other)
    most = min(len(first), len(other)) - start
    return start, min(most, _shared_start(first[::-1], other[::-1]))


def _shared_start(first: bytes, other: bytes) -> int:
    low, high = 0, min(len(first), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if first[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _changed_lines(first: bytes, other: bytes) -> tuple[bytes, bytes]:
    """Return the lines of each text from the first that changed to the last."""
    start, tail = shared_ends(first, other)
    start = first.rfind(b"\n", 0, start) + 1
    return _lines(first, start, tail), _lines(other, start, tail)


def _lines(text: bytes, start: int, tail: int) -> bytes:
    end = text.find(b"\n", len(text) - tail)
    return text[start:end] if end >= 0 else text[start:]


def changed_tokens(old_code: bytes, new_code: bytes) -> int:
    """Count the tokens of which one code has more than the other."""
    old, new = (Counter(lines.split(b"\n")) for lines in _changed_lines(old_code, new_code))
    change: Counter[bytes] = Counter()
    for changed, times in (new - old).items():
        for token in tokens(changed):
            change[token] += times
    for changed, times in (old - new).items():
        for token in tokens(changed):
            change[token] -= times
    return sum(map(abs, change.values()))


def first_change(old: bytes, new: bytes, old_code: bytes, new_code: bytes) -> str:
    """Tell the first line that changed, of the code if it did; codes have the lines of texts."""
    squeezed = squeeze(old_code), squeeze(new_code)
    if squeezed[0] == squeezed[1]:
        number = old.count(b"\n", 0, _shared_start(old, new))
        return f"{_line_text(old, number)} => {_line_text(new, number)}"
    left = _shared_start(*squeezed)
    line = old_code.rfind(b"\n", 0, _shared_start(old_code, new_code)) + 1
    left -= len(squeeze(old_code[:line]))
    number = old_code.count(b"\n", 0, line)
    lines = [number + _lines_to(code[line:], left) for code in (old_code, new_code)]
    return f"{_line_text(old, lines[0])} => {_line_text(new, lines[1])}"


def _lines_to(code: bytes, offset: int) -> int:
    """Return how many lines end before a place in the squeezed code."""
    number = start = 0
    while (end := code.find(b"\n", start)) >= 0:
        offset -= len(squeeze(code[start:end]))
        if offset < 0:
            break
        number, start = number + 1, end + 1
    return number


def _line_text(text: bytes, number: int) -> str:
    lines = text.split(b"\n", number + 1)
    if number >= len(lines) or lines[number:] == [b""]:
        return "the end"
    shown = lines[number][: 8 * _WIDTH].decode(errors="replace")
    return f"{number + 1}: {line(shown, _WIDTH)}"
