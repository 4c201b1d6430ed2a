"""What people see of verification."""

from __future__ import annotations

from collections.abc import Iterator

from goldpan.core.result import Hint, Piece, Table, count, renders
from goldpan.execution.proof import EXPLAINED
from goldpan.execution.verify import Verification


@renders(Verification)
def _verified(result: Verification) -> Iterator[Piece]:
    yield result.dataset
    yield Table(
        ("verdict", "rows", "meaning"),
        [(verdict, rows, EXPLAINED[verdict]) for verdict, rows in result.counts.items()],
    )
    yield f"Isolated by: {result.isolation}"
    found = [record.environment for record in result.records]
    undated = sum(bool(each.get("fallback")) for each in found)
    refused = sum(bool(each.get("refused")) for each in found)
    unproved = [each.environment for each in result.records if each.proof.verdict != "verified"]
    lacking = sum("lacking_submodules" in each for each in unproved)
    skipped = sum("skipped" in each for each in unproved)
    for rows, what in (
        (undated, "built with current packages: build.log says why"),
        (refused, "asked for other hosts than the package index: --network full allows it"),
        (lacking, "failed because a submodule is not cloned: record.json names it"),
        (skipped, "not proved, with tests skipped even with the fix: record.json names these"),
    ):
        yield rows and f"{count(rows, 'row')} {what}"
    if result.counts.get("verified"):
        yield Hint(f"Next: goldpan build issue-resolution{result.choice} --require verified")
