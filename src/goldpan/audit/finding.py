"""Findings: the verdict on one row, the reason, and the texts that show it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from itertools import chain
from typing import Any, ClassVar, Literal, get_args

from goldpan.core.plugins.registry import unknown_name
from goldpan.core.proportions import wilson

FindingName = Literal[
    "solution-in-issue",
    "place-in-issue",
    "demanding-tests",
    "weak-tests",
    "luck",
    "measures-nothing",
]
Verdict = Literal["found", "not-found", "cannot-tell"]
NAMES: tuple[FindingName, ...] = get_args(FindingName)
DEFECTS = frozenset(NAMES) - {"place-in-issue"}
"""The findings that speak against a row; a place that is named is a trait of it."""
VERDICTS: tuple[Verdict, ...] = ("found", "not-found", "cannot-tell")
LONGEST = 300
"""The most characters of a text that evidence holds."""


@dataclass(frozen=True, slots=True)
class Text:
    """A text that the row gives a model; its lines end in line feeds."""

    source: str
    """The row's column."""
    text: str
    time: datetime | None = None
    """When it was first written, where the row tells."""

    @property
    def of_issue(self) -> bool:
        """True for a text of the issue or its comments, False for one of the pull request."""
        return not self.source.startswith("pull_")


@dataclass(frozen=True, slots=True)
class Span:
    """A part of a text that is evidence."""

    source: str
    """The row's column that the text stands in, or the path of a file before the fix."""
    time: datetime | None
    """When it first appeared, by the edits of that text; null where that cannot be told."""
    kind: str
    """The kind of match, such as line, pull or base-name."""
    start: int
    end: int
    """In code points, with every line end of the text as one."""
    text: str


@dataclass(frozen=True, slots=True)
class Finding:
    """A verdict on one row."""

    name: FindingName
    verdict: Verdict
    why: str
    evidence: tuple[Span, ...] = ()
    case: str = ""
    """The case of the finding, such as fully, partly or not-named."""
    remedy: str = ""
    """A way to decide what is open: the verdict, or when a solution appeared."""
    value: float | None = None
    """A measure with its 95% interval, where the finding has one."""
    low: float | None = None
    high: float | None = None
    seconds: float | None = field(default=None, compare=False)
    """The time that running tests for it took."""

    def columns(self) -> dict[str, Any]:
        """Return its columns in the table of findings."""
        evidence = [asdict(span) for span in self.evidence]
        plain = {name: getattr(self, name) for name in Finding.__slots__ if name != "name"}
        texts = {"case": self.case or None, "remedy": self.remedy or None}
        return {"finding": self.name, **plain, **texts, "evidence": evidence}


def finding_of(plain: Mapping[str, Any]) -> Finding:
    """Return the finding that `Finding.plain` wrote."""
    values = {name: plain[name] for name in Finding.__slots__ if name != "name"}
    values |= {name: plain[name] or "" for name in ("case", "remedy")}
    evidence = tuple(Span(**span) for span in plain["evidence"])
    return Finding(plain["finding"], **{**values, "evidence": evidence})


def span_of(text: Text, kind: str, start: int, end: int) -> Span:
    """Return a part of a text as evidence."""
    return Span(
        text.source, text.time, kind, start, end, text.text[start : min(end, start + LONGEST)]
    )


def chosen_findings(names: Sequence[str]) -> tuple[FindingName, ...]:
    """Return the findings of these names in order; raises `UsageError` for an unknown one."""
    for name in names:
        if name not in NAMES:
            raise unknown_name("finding", name, NAMES)
    return tuple(name for name in NAMES if name in names)


@dataclass(frozen=True, slots=True)
class RowCounts:
    """How many rows have any of the defects that were looked for."""

    shown_in_json: ClassVar[tuple[str, ...]] = ("undecided",)

    names: tuple[FindingName, ...]
    """The defects that were looked for, and could be told of any row."""
    unjudged: tuple[FindingName, ...]
    """The others that were looked for: nothing here tells them of any row."""
    total: int
    flagged: int
    """Rows with any of them."""
    free: int
    """Rows for which each could be told, and none was found."""

    @property
    def undecided(self) -> int:
        """Rows for which none was found, and not each could be told."""
        return self.total - self.flagged - self.free

    @property
    def sentence(self) -> str:
        """How many rows are free of all, and for how many that is unknown; empty without names."""
        rows = f"Of {self.total:,} row{'' if self.total == 1 else 's'}"
        others = f"none could be judged for {' or '.join(self.unjudged)}"
        if not self.names:
            return f"{rows}, {others}" if self.unjudged else ""
        are, names = "is" if self.free == 1 else "are", ", ".join(self.names)
        sentence = (
            f"{rows}, {self.free:,} {are} free of all findings ({names}); "
            f"{self.undecided:,} cannot be judged"
        )
        return f"{sentence}; {others}" if self.unjudged else sentence


def count_rows(rows: Sequence[Mapping[FindingName, Verdict]]) -> RowCounts:
    """Return how many rows have defects, by the verdicts on each."""
    present = DEFECTS.intersection(chain.from_iterable(rows))
    judged = {name for row in rows for name in present & row.keys() if row[name] != "cannot-tell"}
    names = tuple(name for name in NAMES if name in judged)
    others = tuple(name for name in NAMES if name in present - judged)
    defects = [{row[name] for name in judged & row.keys()} for row in rows]
    flagged = sum("found" in row for row in defects)
    free = sum(row == {"not-found"} for row in defects)
    return RowCounts(names, others, len(rows), flagged, free)


def share_of_judged(verdicts: Mapping[Verdict, int]) -> str:
    """Return the share of rows with a finding: of all with its interval, or of those judged."""
    found, judged = verdicts["found"], verdicts["found"] + verdicts["not-found"]
    if verdicts["cannot-tell"]:
        return f"{found:,} of {judged:,} judged"
    return wilson(found, judged).short()
