"""How far text similarity is from resolving an issue, for runs whose patches were run by tests."""

from __future__ import annotations

from collections.abc import Iterator

from goldpan.core.proportions import wilson
from goldpan.evaluation.comparison.question import ComparisonResult
from goldpan.evaluation.resolved import (
    RESOLVED,
    StoredResolved,
    read_resolved,
    separation,
    similarity,
)
from goldpan.report.document import Cell, Section, Table, cut

_COLUMNS = (
    "model",
    "seed",
    "issues",
    "resolved",
    "95 % interval",
    "exact match",
    "CodeBLEU",
    "CodeBLEU, resolved",
    "CodeBLEU, not resolved",
    "resolved, not exact",
    "exact, not resolved",
    "separation",
)
_NOTE = (
    "An issue is resolved where all tests of its fix pass with the patch. Exact match and CodeBLEU"
    " compare the lines that a patch writes with those of the merged fix. Separation is how often"
    " CodeBLEU puts a patch that resolves its issue above one that does not: 0.5 is guessing."
)


def resolved_section(compared: ComparisonResult) -> Section | None:
    """Return what execution says beside similarity, None where no run was scored by tests."""
    tables = []
    for task in compared.tasks:
        rows = tuple(_rows(compared, task))
        if rows:
            tables.append(cut(Table(task, _COLUMNS, rows)))
    if not tables:
        return None
    return Section("resolved", "Resolved, by running tests", tuple(tables), _NOTE)


def _rows(compared: ComparisonResult, task: str) -> Iterator[tuple[Cell, ...]]:
    for system in compared.ranked:
        for run in system.runs.get(task, ()):
            stored = read_resolved(run.directory)
            if stored is not None:
                yield (system.name, run.seed, *_cells(stored))


def _cells(stored: StoredResolved) -> tuple[Cell, ...]:
    right = [patch for patch in stored.patches if patch.outcome == RESOLVED]
    wrong = [patch for patch in stored.patches if patch.outcome != RESOLVED]
    share = wilson(len(right), stored.instances)
    exact = sum(patch.exact for patch in stored.patches)
    return (
        stored.instances,
        share.value,
        None if share.value is None else f"{share.low:.3f} to {share.high:.3f}",
        exact / stored.instances if stored.instances else None,
        similarity(stored.patches).codebleu,
        similarity(right).codebleu,
        similarity(wrong).codebleu,
        sum(not patch.exact for patch in right),
        sum(patch.exact for patch in wrong),
        separation(stored.patches),
    )
