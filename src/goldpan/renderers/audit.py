"""What people see of an audit."""

from __future__ import annotations

import re
from collections.abc import Iterator

from goldpan.audit.audit import AuditResult
from goldpan.audit.finding import VERDICTS, share_of_judged
from goldpan.core.result import Piece, Table, Title, counts_text, renders
from goldpan.core.sanitize import line


@renders(AuditResult)
def _audited(result: AuditResult) -> Iterator[Piece]:
    yield Title(result.dataset, f": audited in {result.seconds:.1f} s")
    have = "has" if result.counts.flagged == 1 else "have"
    told = f"{result.counts.sentence}, and {result.counts.flagged:,} {have} a finding"
    yield result.counts.sentence and told
    yield Table(
        ("finding", "found", "not found", "cannot tell", "share of rows [95%]", "cases"),
        [
            (
                count.name,
                *(count.verdicts[verdict] for verdict in VERDICTS),
                share_of_judged(count.verdicts),
                counts_text(count.cases),
            )
            for count in result.findings
        ],
        wide=frozenset({"cases"}),
    )
    for count in result.findings:
        for why, rows in count.undecided.items():
            yield f"{count.name} cannot judge {rows:,}: {why}"
    for example in result.examples:
        yield f"{example.id}: {example.finding.name}: {example.finding.why}"
        for span in example.finding.evidence[:2]:
            yield f"  {span.kind} in {span.source}: {line(_changed(span.text), 100)}"
    yield from result.notes
    yield f"All findings are in {result.file}"


def _changed(text: str) -> str:
    """Return the changed lines of a diff; another text as it is."""
    marked = [part for part in text.split("\n") if re.match(r"[-+](?!-- |\+\+ )", part)]
    return " ".join(marked) if text.startswith("--- ") else text
