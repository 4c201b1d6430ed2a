"""Judges what came of a disturbance, and counts it for the table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from tests.program import Done

PARTIAL = 3
"""The exit code that says that something is missing."""

Outcome = Literal["same", "named", "forbidden"]
_ERRORS = (1, PARTIAL)
_LAST = 400


@dataclass(slots=True)
class Tally:
    """What came of all trials, by what was disturbed and how."""

    counts: Counter[tuple[str, str, Outcome]] = field(default_factory=Counter)
    forbidden: list[str] = field(default_factory=list)
    kills: int = 0

    def add(self, what: str, how: str, outcome: Outcome, problem: str = "") -> None:
        """Count a trial; what is forbidden is kept with what was told."""
        self.counts[what, how, outcome] += 1
        if outcome == "forbidden":
            self.forbidden.append(f"{what}, {how}: {problem}")

    def merge(self, other: Tally) -> None:
        """Add what another process counted."""
        self.counts += other.counts
        self.forbidden += other.forbidden
        self.kills += other.kills

    def table(self) -> str:
        """Return the counts as a Markdown table."""
        lines = [
            "| stage or files | disturbance | trials | same bytes | named errors | forbidden |",
            "|---|---|---:|---:|---:|---:|",
        ]
        pairs = sorted({(how, what) for what, how, _ in self.counts})
        for how, what in pairs:
            lines.append(self._line(what, how, [(what, how)]))
        lines.append(self._line("all", "all", [(what, how) for how, what in pairs]))
        return "\n".join(lines)

    def _line(self, what: str, how: str, pairs: Iterable[tuple[str, str]]) -> str:
        outcomes: tuple[Outcome, ...] = ("same", "named", "forbidden")
        sums = [sum(self.counts[*pair, outcome] for pair in pairs) for outcome in outcomes]
        return f"| {what} | {how} | {sum(sums)} | {sums[0]} | {sums[1]} | {sums[2]} |"


def defect(done: Done) -> str | None:
    """Return what shows a failure of Goldpan itself, None where it said well what went wrong."""
    text = done.err + done.out
    if "Traceback" in text or "itself failed" in text:
        return f"a defect: {tail(done)}"
    if done.code and done.code not in _ERRORS:
        return f"it ended with {done.code}: {tail(done)}"
    if done.code and not text.strip():
        return f"it ended with {done.code} and no word"
    return None


def names(done: Done, files: Iterable[str]) -> bool:
    """Whether a failed command told of one of the files."""
    text = (done.err + done.out).replace("\n", "").replace(" ", "")
    return any(name.replace(" ", "") in text for name in files)


def tail(done: Done) -> str:
    """Return the end of what a command said."""
    return f"[{done.code}] {f'{done.err}{done.out}'.strip()[-_LAST:]!r}"
