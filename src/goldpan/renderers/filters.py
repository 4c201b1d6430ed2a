"""What people see of filters and their funnels."""

from __future__ import annotations

from collections.abc import Iterator

from goldpan.core.result import Block, Line, Table, Title, count, renders
from goldpan.filters.basis import basis_sentences
from goldpan.filters.funnel import PLURAL, Funnel, FunnelRow, Funnels
from goldpan.filters.pipeline import CriterionList, FilterResult
from goldpan.filters.profile import criteria


@renders(FilterResult)
def _filtered(result: FilterResult) -> Iterator[Block]:
    rows = result.issues.rows + result.discussions.rows + result.pairs.rows
    yield Title(
        result.repo,
        f" by profile {result.profile}: {count(rows, 'subject')} in {result.seconds:.1f} s, "
        f"criteria: {len(result.judged)} judged, {len(result.reused)} reused",
    )
    yield from map(Line, basis_sentences([result.basis]))
    yield from _funnel(result.issues)
    if result.discussions.rows:
        yield from _funnel(result.discussions)
    yield from _funnel(result.pairs)
    if result.pairs.rows and not result.cloned:
        yield Line(
            "Some criteria need the history of the code: "
            f"run goldpan clone --repo {result.repo}, then goldpan filter again"
        )
    if result.changed:
        yield Line(
            f"Later commands use these verdicts, by {', '.join(result.changed)}, "
            f"with --profile {result.profile}"
        )


@renders(CriterionList)
def _listed(result: CriterionList) -> Iterator[Block]:
    yield Table(
        ("criterion", "judges", "decides", "definition", "source"),
        [
            (each.name, each.subject, name in result.profile.decide, each.definition, each.source)
            for name, each in criteria().items()
        ],
    )


_BAR = 24
_COLUMNS = ("criterion", "out", "undecided", "only", "left", "share", "most frequent reason")


def _funnel(result: Funnel) -> Iterator[Block]:
    """Yield how many subjects are kept, and a row for each criterion."""
    yield Title(PLURAL[result.subject], f": {result.rows:,} in, {result.kept:,} kept")
    if result.rows:
        yield Table(
            _COLUMNS,
            [(*_counts(step), _bar(step, result.rows), _reason(step)) for step in result.steps],
            dim=frozenset(n for n, step in enumerate(result.steps) if not step.decides),
            wide=frozenset(_COLUMNS[-2:]),
        )


def _bar(step: FunnelRow, rows: int) -> str:
    return "" if step.left is None else "█" * round(_BAR * step.left / rows)


@renders(Funnels)
def _counted(result: Funnels) -> Iterator[Block]:
    yield from map(Line, basis_sentences(result.basis))
    for funnel in result.shown:
        yield from _funnel(funnel)


def _counts(step: FunnelRow) -> tuple[object, ...]:
    only = step.only if step.decides else None
    return step.criterion, step.out, step.undecided or None, only, step.left


def _reason(step: FunnelRow) -> str:
    if not step.reasons:
        return ""
    reason, count = max(step.reasons.items(), key=lambda item: (item[1], item[0]))
    return f"{reason} {count:,}"
