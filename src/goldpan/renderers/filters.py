"""What people see of filters and their funnels."""

from __future__ import annotations

from collections.abc import Iterator

from goldpan.core.result import Hint, Piece, Table, Title, count, renders
from goldpan.filters.basis import basis_sentences
from goldpan.filters.funnel import PLURAL, Funnel, FunnelRow, Funnels
from goldpan.filters.pipeline import CriterionList, FilterResult
from goldpan.filters.profile import criteria

_BAR = 24
_COLUMNS = ("criterion", "out", "undecided", "only", "left", "share", "most frequent reason")
_LEGEND = (
    "out: the criterion drops it; only: no other does; left: still kept after it; no number: the"
    " criterion does not decide"
)


@renders(FilterResult)
def _filtered(result: FilterResult) -> Iterator[Piece]:
    rows = result.issues.rows + result.discussions.rows + result.pairs.rows
    yield Title(
        result.repo,
        f" by profile {result.profile}: {count(rows, 'subject')} in {result.seconds:.1f} s, "
        f"criteria: {len(result.judged)} judged, {len(result.reused)} reused",
    )
    yield from basis_sentences([result.basis])
    yield from _funnel(result.issues)
    if result.discussions.rows:
        yield from _funnel(result.discussions)
    yield from _funnel(result.pairs)
    if result.pairs.rows and not result.cloned:
        yield Hint(
            "Some criteria need the history of the code: "
            f"run goldpan clone --repo {result.repo}, then goldpan filter again"
        )
    if result.changed:
        yield (
            f"Later commands use these verdicts, by {', '.join(result.changed)}, "
            f"with --profile {result.profile}"
        )


@renders(CriterionList)
def _listed(result: CriterionList) -> Iterator[Piece]:
    yield Table(
        ("criterion", "judges", "decides", "definition", "source"),
        [
            (each.name, each.subject, name in result.profile.decide, each.definition, each.source)
            for name, each in criteria().items()
        ],
    )


@renders(Funnels)
def _counted(result: Funnels) -> Iterator[Piece]:
    yield from basis_sentences(result.basis)
    for funnel in result.shown:
        yield from _funnel(funnel)
    yield _LEGEND


def _funnel(result: Funnel) -> Iterator[Piece]:
    """Yield how many subjects are kept, and a row for each criterion."""
    yield Title(PLURAL[result.subject], f": {result.rows:,} in, {result.kept:,} kept")
    if result.rows:
        yield Table(
            _COLUMNS,
            [_cells(step, result.rows) for step in result.steps],
            dim=frozenset(n for n, step in enumerate(result.steps) if not step.decides),
            wide=frozenset(_COLUMNS[-2:]),
        )


def _cells(step: FunnelRow, rows: int) -> tuple[object, ...]:
    only = step.only if step.decides else None
    bar = "" if step.left is None else "█" * round(_BAR * step.left / rows)
    reasons = sorted(step.reasons.items(), key=lambda item: (item[1], item[0]))
    reason = f"{reasons[-1][0]} {reasons[-1][1]:,}" if reasons else ""
    return step.criterion, step.out, step.undecided or None, only, step.left, bar, reason
