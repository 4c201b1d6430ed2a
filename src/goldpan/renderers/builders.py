"""What people see of a built dataset."""

from __future__ import annotations

from collections.abc import Iterator

from goldpan.builders.build import NOT_DRAWN, BuildResult
from goldpan.builders.recipes import find_recipe
from goldpan.builders.request import NOT
from goldpan.core.result import Hint, Piece, Title, count, renders
from goldpan.filters.basis import basis_sentences


@renders(BuildResult)
def _built(result: BuildResult) -> Iterator[Piece]:
    written = result.written
    examples = count(written.rows, "example")
    yield Title(written.family.name, f": {examples} in {result.seconds:.1f} s")
    yield written.table()
    yield f"{result.considered:,} considered, {result.kept:,} kept by the filters"
    whole = written.rows + written.report.dropped
    if result.limit is not None and whole < result.limit:
        yield f"  only {count(whole, 'row')} available, fewer than --limit {result.limit}"
    flagged = {name: number for name, number in result.dropped.items() if name.startswith(NOT)}
    looked_at = whole + result.dropped.get(NOT_DRAWN, 0) + sum(flagged.values())
    drawn = f"--limit {result.limit} draws rows by the seed"
    explained = {**find_recipe(written.family.name).explained, NOT_DRAWN: drawn}
    for reason, number in sorted(result.dropped.items()):
        if reason not in flagged:
            why = f" ({explained[reason]})" if reason in explained else ""
            yield f"  {number:,} without an example: {reason}{why}"
    for reason, number in flagged.items():
        yield f"  {number:,} of {count(looked_at, 'row')} left out: {reason}"
    for name, verdicts in result.undecided.items():
        counts = [f"{number:,} {verdict}" for verdict, number in sorted(verdicts.items())]
        yield f"  kept, though {name.removeprefix(NOT)} is not ruled out: {', '.join(counts)}"
    yield from map(Hint, result.tiers)
    yield from (f"  {score.summary}" for score in written.scores)
    yield from written.dropped_blocks()
    kinds = (f"{number:,} {kind}" for kind, number in sorted(result.redacted.items()))
    yield "" if not result.redacted else f"  redacted in texts: {', '.join(kinds)}"
    yield from basis_sentences(result.basis)
    yield written.place()
