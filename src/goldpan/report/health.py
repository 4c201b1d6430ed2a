"""The health of a dataset: its stored audit as a table, and findings with their evidence marked."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
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


def summarize(audit: StoredAudit | GoldpanError) -> dict[str, Any]:
    """Return the table of an audit, without examples, or the reason why there is none."""
    if isinstance(audit, GoldpanError):
        return {"lacking": f"{audit.problem}. {audit.remedy}", "findings": ()}
    findings = [_row(audit, name) for name in audit.names]
    return {"lacking": "", "sentence": audit.sentence, "findings": findings}


def _row(audit: StoredAudit, name: FindingName) -> dict[str, Any]:
    of_rows = {row_id: row[name] for row_id, row in audit.rows.items() if name in row}
    verdicts = Counter(finding["verdict"] for finding in of_rows.values())
    cases = Counter(finding["case"] for finding in of_rows.values() if finding["case"])
    untold = Counter(
        f"{finding['why']}. {finding['remedy'] or ''}".strip()
        for finding in of_rows.values()
        if finding["verdict"] == "cannot-tell"
    )
    share = wilson(verdicts["found"], verdicts["found"] + verdicts["not-found"])
    return {
        "name": name,
        "found": verdicts["found"],
        "not_found": verdicts["not-found"],
        "cannot_tell": verdicts["cannot-tell"],
        "share": share.short(),
        "cases": ", ".join(f"{case} {count:,}" for case, count in sorted(cases.items())),
        "untold": untold.most_common(_MOST_REASONS),
        "ids": sorted(i for i, finding in of_rows.items() if finding["verdict"] == "found"),
    }


def examples_of(health: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the rows that stand for each finding, as pairs of its name and an id."""
    return [
        (row["name"], row_id) for row in health["findings"] for row_id in row["ids"][:_MOST_ROWS]
    ]


def show_findings(
    audit: StoredAudit | GoldpanError, row: Mapping[str, Any], names: Sequence[str] = ()
) -> list[dict[str, Any]]:
    """Return the findings on a row of the dataset, or those of these names, with passages."""
    if isinstance(audit, GoldpanError):
        return []
    found = audit.rows.get(row["id"], {})
    return [
        _shown(found[name], row)
        for name in audit.names
        if name in found and (not names or name in names)
    ]


def _shown(finding: Mapping[str, Any], row: Mapping[str, Any]) -> dict[str, Any]:
    spans = finding["evidence"] or []
    return {
        **finding,
        "name": finding["finding"],
        "passages": list(_passages(spans[:_MOST_SPANS], row)),
        "left_out": max(0, len(spans) - _MOST_SPANS),
    }


def _passages(
    spans: Sequence[Mapping[str, Any]], row: Mapping[str, Any]
) -> Iterator[dict[str, Any]]:
    """Yield each part of a text that holds evidence; what lies close together is one."""
    waiting: list[Mapping[str, Any]] = []
    for span in sorted(spans, key=lambda span: (span["source"], span["start"] or 0)):
        if waiting:
            gap = (span["start"] or 0) - (waiting[-1]["end"] or 0)
            if waiting[-1]["source"] != span["source"] or gap >= 2 * _AROUND:
                yield _passage(waiting, row)
                waiting = []
        waiting.append(span)
    if waiting:
        yield _passage(waiting, row)


def _passage(spans: Sequence[Mapping[str, Any]], row: Mapping[str, Any]) -> dict[str, Any]:
    first, time = spans[0], spans[0]["time"]
    value = row.get(first["source"])
    text = _ENDS.sub("\n", value) if isinstance(value, str) else ""
    is_there = all(
        text.startswith(span["text"], span["start"]) for span in spans if span["start"] is not None
    )
    pieces = _pieces(spans, text) if text and is_there else _quoted(spans)
    return {
        "source": first["source"] or "",
        "at": f"{time:%Y-%m-%d}" if time else "",
        "kinds": ", ".join(dict.fromkeys(span["kind"] for span in spans)),
        "pieces": [(piece, marked) for piece, marked in pieces if piece],
    }


def _pieces(spans: Sequence[Mapping[str, Any]], text: str) -> Iterator[tuple[str, bool]]:
    at = max(0, spans[0]["start"] - _AROUND)
    yield ("… " if at else ""), False
    for span in spans:
        if span["end"] > at:  # one that another holds is marked with it
            start, end = max(at, span["start"]), min(span["end"], span["start"] + _LONGEST)
            yield text[at:start], False
            yield text[start:end], True
            at = max(at, end)
    yield text[at : at + _AROUND], False
    yield (" …" if at + _AROUND < len(text) else ""), False


def _quoted(spans: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, bool]]:
    """Yield evidence that no column of the row holds, such as the name of a test."""
    for number, span in enumerate(spans):
        yield ("\n" if number else ""), False
        yield span["text"][:_LONGEST], True
