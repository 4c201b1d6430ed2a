"""What people see of a built dataset."""

from __future__ import annotations

from collections.abc import Iterator

from goldpan.builders.build import NOT_DRAWN, BuildResult
from goldpan.builders.recipes import NOT
from goldpan.core.result import Block, Line, Title, renders
from goldpan.filters.basis import basis_sentences


@renders(BuildResult)
def built(result: BuildResult) -> Iterator[Block]:
    """Yield what the dataset holds, and what became of the rest."""
    written = result.written
    examples = "example" if written.rows == 1 else "examples"
    yield Title(written.family.name, f": {written.rows:,} {examples} in {result.seconds:.1f} s")
    yield written.table()
    yield Line(f"{result.considered:,} considered, {result.kept:,} kept by the filters")
    whole = written.rows + written.report.dropped
    if result.limit is not None and whole < result.limit:
        yield Line(f"  {whole:,} of the {result.limit:,} rows of --limit: no more were available")
    flagged = {name: count for name, count in result.dropped.items() if name.startswith(NOT)}
    looked_at = whole + result.dropped.get(NOT_DRAWN, 0) + sum(flagged.values())
    for reason, count in sorted(result.dropped.items()):
        if reason not in flagged:
            yield Line(f"  {count:,} without an example: {reason}")
    for reason, count in flagged.items():
        yield Line(f"  {count:,} of {looked_at:,} rows left out: {reason}")
    for name, verdicts in result.untold.items():
        counts = [f"{number:,} {verdict}" for verdict, number in sorted(verdicts.items())]
        finding = name.removeprefix(NOT)
        yield Line(f"  kept, though {finding} is not ruled out: {', '.join(counts)}")
    yield from map(Line, result.tiers)
    for score in written.scores:
        yield Line(f"  {score.summary}")
    yield from written.dropped_blocks()
    for kind, count in sorted(result.redacted.items()):
        yield Line(f"  {count:,} redacted in texts: {kind}")
    yield from map(Line, basis_sentences(result.basis))
    if result.replaced is not None:
        yield Line(f"It replaces {result.replaced}")
    yield Line(f"Written to {written.directory}")
