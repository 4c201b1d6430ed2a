"""The health of a dataset: its stored audit as a table, and findings with their evidence."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from goldpan.audit.finding import DEFECTS, FindingName, share_of_judged
from goldpan.audit.stored_audit import StoredAudit, find_audit, is_of_workspace
from goldpan.core.errors import GoldpanError
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.datasets.card import markdown, state_audit
from goldpan.datasets.provenance import PROVENANCE

_AROUND = 140
"""Characters that are shown beside evidence."""
_LONGEST = 1_200
"""Characters of evidence that are marked in one place."""
_MOST_SPANS = 12
_MOST_ROWS = 3
_MOST_REASONS = 4
_MOST_FLAGGED = 1_000
"""Rows with defects that the page beside a card shows."""
_ENDS = re.compile(r"\r\n?")


def state_in_dataset(workspace: WorkspaceLayout, dataset: Path) -> None:
    """Write an audit of exactly these rows into a dataset of the workspace, if there is one.

    Evidence that may be private is redacted.
    """
    audit = find_audit(workspace, dataset)
    is_ours = is_of_workspace(workspace, dataset) and (dataset / PROVENANCE).is_file()
    if not is_ours or not isinstance(audit, StoredAudit):
        return
    from goldpan.text.redaction import redact  # loading the detectors takes a second

    flagged = [
        list(row.values())
        for _, row in sorted(audit.rows.items())
        if any(name in DEFECTS and row[name]["verdict"] == "found" for name in row)
    ]
    page = markdown(
        "findings.md.jinja",
        "goldpan.report",
        sentence=audit.sentence,
        findings=summarize(audit)["findings"],
        rows=flagged[:_MOST_FLAGGED],
        left_out=len(flagged[_MOST_FLAGGED:]),
        most_spans=_MOST_ROWS,
    )
    state_audit(dataset, audit.sentence, redact(page).text)


def summarize(audit: StoredAudit | GoldpanError) -> dict[str, Any]:
    """Return the table of an audit, without examples, or the reason why there is none."""
    if isinstance(audit, GoldpanError):
        return {"lacking": f"{audit.problem}. {audit.remedy}", "findings": ()}
    findings = [_row(audit, name) for name in audit.names]
    return {"lacking": "", "sentence": audit.sentence, "findings": findings}


def _row(audit: StoredAudit, name: FindingName) -> dict[str, Any]:
    findings = {row_id: row[name] for row_id, row in audit.rows.items() if name in row}
    verdicts = Counter(finding["verdict"] for finding in findings.values())
    cases = Counter(finding["case"] for finding in findings.values() if finding["case"])
    undecided = Counter(
        f"{finding['why']}. {finding['remedy'] or ''}".strip()
        for finding in findings.values()
        if finding["verdict"] == "cannot-tell"
    )
    return {
        "name": name,
        "found": verdicts["found"],
        "not_found": verdicts["not-found"],
        "cannot_tell": verdicts["cannot-tell"],
        "share": share_of_judged(verdicts),
        "cases": ", ".join(f"{case} {count:,}" for case, count in sorted(cases.items())),
        "undecided": undecided.most_common(_MOST_REASONS),
        "ids": sorted(i for i, finding in findings.items() if finding["verdict"] == "found"),
    }


def examples_of(health: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return example rows of each finding, as pairs of its name and an id."""
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
        "passages": [_passage(span, row) for span in spans[:_MOST_SPANS]],
        "left_out": max(0, len(spans) - _MOST_SPANS),
    }


def _passage(span: Mapping[str, Any], row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a piece of evidence, with what stands around it where it is in a column of the row."""
    value, time = row.get(span["source"]), span["time"]
    text = _ENDS.sub("\n", value) if isinstance(value, str) else ""
    start, end = span["start"], span["end"]
    before = after = ""
    if text.startswith(span["text"], start):
        before = ("… " if start > _AROUND else "") + text[max(0, start - _AROUND) : start]
        after = text[end : end + _AROUND] + (" …" if end + _AROUND < len(text) else "")
    return {
        "source": span["source"] or "",
        "at": f"{time:%Y-%m-%d}" if time else "",
        "kinds": span["kind"],
        "before": before,
        "marked": span["text"][:_LONGEST],
        "after": after,
    }
