"""Reads the Test Anything Protocol, versions 12 to 14."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from goldpan.execution.outcomes import Case, Outcome, ReportError, lines_of

_POINT = re.compile(
    r"( *+)(not )?ok(?:[ \t]++(\d++)(?=[ \t]|$))?(?:[ \t]++|$)(?:-[ \t]*+)?(.*?)(?:(?<!\S)(\{))?"
)
_PLAN = re.compile(r"( *+)1\.\.(\d++)[ \t]*+(?:#.*)?")
_BEGUN = re.compile(r"( *+)# Subtest: ")
_DIRECTIVE = re.compile(r"(?:^|\s)#\s*+(skip\w*|todo|time)\b", re.I)
"""A sign that follows no space is part of the name; Node's runner writes a backslash before it."""

_DURATION = re.compile(r" in \d+ms\Z|(?<= - )\[\d+ ms\] - ")
"""Bats and Testem write how long a test took into its name."""


@dataclass(slots=True)
class _Stream:
    """The test points at one depth."""

    plan: int | None = None
    count: int = 0
    cases: list[Case] = field(default_factory=list)
    is_whole: bool = True
    """False where a plan disagreed, or without one a number."""
    is_numbered: bool = True
    is_begun: bool = False
    """True where a comment begins a subtest."""

    @property
    def is_subtest(self) -> bool:
        """False of what a test printed, which looks like test points."""
        return self.plan is not None or (self.is_begun and self.count > 0)

    def end(self) -> None:
        """End a stream at its plan; another may follow it."""
        self.is_whole &= self.is_numbered if self.plan is None else self.plan == self.count
        self.plan, self.count, self.is_numbered = None, 0, True


def read_tap(content: bytes) -> Iterator[Case]:
    """Read the Test Anything Protocol; subtests stand below their test."""
    streams = {0: _Stream()}
    opened: dict[int, str] = {}
    is_whole, block, last = True, "", ""
    for line in lines_of(content):
        before, last = last, ""
        if block:  # diagnostics of a test
            block = "" if line.rstrip() == block else block
        elif before and line.rstrip() == f"{before[1:]}  ---":
            block = f"{before[1:]}  ..."
        elif match := _PLAN.fullmatch(line):
            stream = streams.setdefault(len(match[1]), _Stream())
            if stream.plan is not None:
                stream.end()
            stream.plan = int(match[2])
        elif match := _POINT.fullmatch(line):
            last, depth = f"|{match[1]}", len(match[1])
            stream = streams.setdefault(depth, _Stream())
            if match[3] == "1" and stream.count == stream.plan:
                stream.end()
            stream.count += 1
            stream.is_numbered &= match[3] in (None, str(stream.count))  # Node's: within a file
            name, outcome = _point(match)
            is_whole &= _adopt(streams, depth, name)
            stream.cases.append((name, outcome))
            if match[5]:
                opened[depth] = name
        elif line.strip() == "{" and streams.get(len(line) - 1, _Stream()).cases:
            opened[len(line) - 1] = streams[len(line) - 1].cases[-1][0]  # behind diagnostics
        elif line.strip() == "}" and len(line) - 1 in opened:
            is_whole &= _adopt(streams, len(line) - 1, opened.pop(len(line) - 1))
        elif match := _BEGUN.match(line):
            is_whole &= _drop(streams, len(match[1]))
            streams[len(match[1]) + 4] = _Stream(is_begun=True)
        elif line.startswith("Bail out!"):
            is_whole = False
    yield from streams[0].cases
    is_whole &= _drop(streams, 0) and not block
    streams[0].end()
    if not (is_whole and streams[0].is_whole):
        raise ReportError("the report has other tests than its plan announces")


def _point(match: re.Match[str]) -> Case:
    text = match[4]
    outcome: Outcome = "failed" if match[2] else "passed"
    if directive := _DIRECTIVE.search(text):
        text = text[: directive.start()]
        outcome = outcome if directive[1].lower() == "time" else "skipped"
    return _DURATION.sub("", text.strip()) or f"test {match[3] or ''}".strip(), outcome


def _adopt(streams: dict[int, _Stream], depth: int, name: str) -> bool:
    """Put the points below a depth under a test's name; tell whether they are as announced."""
    below = streams.pop(depth + 4, None)
    is_whole = _drop(streams, depth)
    if below is None or not below.is_subtest:
        return is_whole
    below.end()
    streams[depth].cases += [(f"{name} > {test}", outcome) for test, outcome in below.cases]
    return below.is_whole and is_whole


def _drop(streams: dict[int, _Stream], depth: int) -> bool:
    """Drop what tests printed below a depth; tell whether none of it was a subtest."""
    dropped = [streams.pop(other) for other in list(streams) if other > depth]
    return not any(stream.is_subtest for stream in dropped)
