"""What people see of reports."""

from __future__ import annotations

from collections.abc import Iterator

from goldpan.core.result import Piece, Table, count, renders
from goldpan.evaluation.compare.result import Comparison
from goldpan.filters.basis import basis_sentences
from goldpan.report.compared import ComparisonReport
from goldpan.report.comparison import words
from goldpan.report.comparison.picture import MOST_DRAWN, text_picture
from goldpan.report.page import ReportFacts, RowFacts


@renders(ComparisonReport)
def _compared(result: ComparisonReport) -> Iterator[Piece]:
    yield result.heading
    if result.comparison is not None:
        yield from _picture(result.comparison)
    yield from (*result.summary, *result.warnings)
    for file in result.files:
        yield f"Wrote {file}"


@renders(ReportFacts)
def _page(result: ReportFacts) -> Iterator[Piece]:
    yield (
        f"Shows {count(result.examples, 'example')} and "
        f"{count(result.dropped, 'dropped subject')} of "
        f"{count(len(result.repos), 'repository')}, {result.size / 1e6:.1f} MB"
    )
    yield from basis_sentences(result.basis)
    yield f"Open {result.output} in a browser"


@renders(RowFacts)
def _row(result: RowFacts) -> Iterator[Piece]:
    yield f"{result.id} of {result.dataset}"
    yield f"Open {result.output} in a browser"


def _picture(comparison: Comparison) -> Iterator[Piece]:
    """Yield a table with places, scores, their intervals drawn, and who is better than whom."""
    scale, lines = text_picture(comparison)
    better = words.beaten(comparison)
    middle = "median" if comparison.central == "median" else "mean"
    who = words.decision_words(comparison.test)["better"]
    standings = comparison.standings
    yield Table(
        ("place", "model", f"{middle} {comparison.metric}", scale, who),
        [
            (
                words.rank_range(standing),
                standing.model,
                comparison.shown(standing),
                drawn,
                better[standing.model],
            )
            for standing, drawn in zip(standings, lines, strict=False)
        ],
        wide=frozenset({scale}),
    )
    if len(standings) > MOST_DRAWN:
        yield f"and {len(standings) - MOST_DRAWN} more"
