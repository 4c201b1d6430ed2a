"""What people see of verification."""

from __future__ import annotations

from collections.abc import Iterator

from goldpan.core.result import Block, Line, Table, count, renders
from goldpan.execution.proof import EXPLAINED
from goldpan.execution.verify import Verification


@renders(Verification)
def _verified(result: Verification) -> Iterator[Block]:
    if result.dataset:
        yield Line(result.dataset)
    yield Table(
        ("verdict", "rows", "meaning"),
        [(verdict, rows, EXPLAINED[verdict]) for verdict, rows in result.counts.items()],
    )
    yield Line(f"Isolated by: {result.isolation}")
    if undated := sum(bool(record.environment.get("fallback")) for record in result.records):
        yield Line(
            f"{count(undated, 'row')} built with current packages, because those of the commit's "
            "date cannot be installed (build.log says why)"
        )
    if refused := sum(bool(record.environment.get("refused")) for record in result.records):
        yield Line(
            f"{count(refused, 'row')} asked for other hosts than the package index during the "
            "build (refused in record.json); --network full allows it"
        )
    if lacking := sum(
        record.proof.verdict != "verified" and "lacking_submodules" in record.environment
        for record in result.records
    ):
        yield Line(
            f"{count(lacking, 'row')} failed because a submodule is not cloned (detail in "
            "record.json names it)"
        )
    if result.counts.get("verified"):
        yield Line(f"Next: goldpan build issue-resolution{result.choice} --require verified")
