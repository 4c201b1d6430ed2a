"""The health of a dataset: its stored audit as a table, and findings with their evidence marked."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from goldpan.audit.finding import FindingName
from goldpan.audit.stored_audit import StoredAudit
from goldpan.core.errors import GoldpanError
from goldpan.core.proportions import wilson

_AROUND = 140
"""Characters that are shown beside evidence."""
_LONGEST = 1_200
"""Characters of evidence that are marked in one place."""
_MOST_SPANS = 12
_MOST_ROWS = 3
_MOST_REASONS = 4
_ENDS = re.compile(r"\r\n?")


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a passage."""

    text: str
    marked: bool


@dataclass(frozen=True, slots=True)
class Passage:
    """A part of a row's text with the evidence in it."""

    source: str
    """The row's column."""
    at: str
    """The day on which that text was first written, where the row tells."""
    kinds: str
    """Kinds of the evidence, separated by commas."""
    pieces: tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class ShownFinding:
    """A verdict of an audit on a row."""

    id: str
    name: str
    verdict: str
    case: str
    why: str
    remedy: str
    passages: tuple[Passage, ...]
    left_out: int
    """Spans that are not shown."""


@dataclass(frozen=True, slots=True)
class FindingRow:
    """Counts of one finding's verdicts over all rows."""

    name: str
    found: int
    not_found: int
    cannot_tell: int
    share: str
    """Share of the decided rows that have the finding, with its 95 % interval."""
    cases: str
    untold: tuple[tuple[str, int], ...]
    """Reasons why rows are not decided, with the remedy, and the number of rows."""
    ids: tuple[str, ...]
    """The first rows that have it."""


@dataclass(frozen=True, slots=True)
class Health:
    """Summary of a dataset's audit, or the reason why there is none."""

    lacking: str
    sentence: str = ""
    findings: tuple[FindingRow, ...] = ()
    examples: tuple[ShownFinding, ...] = ()


def summarize(audit: StoredAudit | GoldpanError) -> Health:
    """Return the table of an audit, without examples."""
    if isinstance(audit, GoldpanError):
        return Health(f"{audit.problem}. {audit.remedy}")
    return Health("", audit.sentence, tuple(_row(audit, name) for name in audit.names))


def _row(audit: StoredAudit, name: FindingName) -> FindingRow:
    of_rows = {row_id: row[name] for row_id, row in audit.rows.items() if name in row}
    verdicts = Counter(finding["verdict"] for finding in of_rows.values())
    cases = Counter(finding["case"] for finding in of_rows.values() if finding["case"])
    untold = Counter(
        f"{finding['why']}. {finding['remedy'] or ''}".strip()
        for finding in of_rows.values()
        if finding["verdict"] == "cannot-tell"
    )
    share = wilson(verdicts["found"], verdicts["found"] + verdicts["not-found"])
    return FindingRow(
        name,
        verdicts["found"],
        verdicts["not-found"],
        verdicts["cannot-tell"],
        share.short(),
        ", ".join(f"{case} {count:,}" for case, count in sorted(cases.items())),
        tuple(untold.most_common(_MOST_REASONS)),
        tuple(sorted(i for i, finding in of_rows.items() if finding["verdict"] == "found")),
    )


def examples_of(health: Health) -> list[tuple[str, str]]:
    """Return the rows that stand for each finding, as pairs of its name and an id."""
    return [(row.name, row_id) for row in health.findings for row_id in row.ids[:_MOST_ROWS]]


def show_findings(
    audit: StoredAudit | GoldpanError, row: Mapping[str, Any], names: Sequence[str] = ()
) -> tuple[ShownFinding, ...]:
    """Return the findings on a row of the dataset, or those of these names."""
    if isinstance(audit, GoldpanError):
        return ()
    found = audit.rows.get(row["id"], {})
    return tuple(
        _shown(found[name], row)
        for name in audit.names
        if name in found and (not names or name in names)
    )


def _shown(finding: Mapping[str, Any], row: Mapping[str, Any]) -> ShownFinding:
    spans = finding["evidence"] or []
    return ShownFinding(
        finding["id"],
        finding["finding"],
        finding["verdict"],
        finding["case"] or "",
        finding["why"],
        finding["remedy"] or "",
        tuple(_passages(spans[:_MOST_SPANS], row)),
        max(0, len(spans) - _MOST_SPANS),
    )


def _passages(spans: Sequence[Mapping[str, Any]], row: Mapping[str, Any]) -> Iterator[Passage]:
    """Yield each part of a text that holds evidence; what lies close together is one."""
    waiting: list[Mapping[str, Any]] = []
    for span in sorted(spans, key=lambda span: (span["source"], span["start"] or 0)):
        if waiting and not _is_close(waiting[-1], span):
            yield _passage(waiting, row)
            waiting = []
        waiting.append(span)
    if waiting:
        yield _passage(waiting, row)


def _is_close(span: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    gap = (other["start"] or 0) - (span["end"] or 0)
    return span["source"] == other["source"] and gap < 2 * _AROUND


def _passage(spans: Sequence[Mapping[str, Any]], row: Mapping[str, Any]) -> Passage:
    first, time = spans[0], spans[0]["time"]
    value = row.get(first["source"])
    text = _ENDS.sub("\n", value) if isinstance(value, str) else ""
    is_there = all(
        text.startswith(span["text"], span["start"]) for span in spans if span["start"] is not None
    )
    pieces = _pieces(spans, text) if text and is_there else _quoted(spans)
    return Passage(
        first["source"] or "",
        f"{time:%Y-%m-%d}" if time else "",
        ", ".join(dict.fromkeys(span["kind"] for span in spans)),
        tuple(piece for piece in pieces if piece.text),
    )


def _pieces(spans: Sequence[Mapping[str, Any]], text: str) -> Iterator[Piece]:
    at = max(0, spans[0]["start"] - _AROUND)
    yield Piece("… " if at else "", marked=False)
    for span in spans:
        if span["end"] > at:  # one that another holds is marked with it
            start, end = max(at, span["start"]), min(span["end"], span["start"] + _LONGEST)
            yield Piece(text[at:start], marked=False)
            yield Piece(text[start:end], marked=True)
            at = max(at, end)
    yield Piece(text[at : at + _AROUND], marked=False)
    yield Piece(" …" if at + _AROUND < len(text) else "", marked=False)


def _quoted(spans: Sequence[Mapping[str, Any]]) -> Iterator[Piece]:
    """Yield evidence that no column of the row holds, such as the name of a test."""
    for number, span in enumerate(spans):
        yield Piece("\n" if number else "", marked=False)
        yield Piece(span["text"][:_LONGEST], marked=True)
