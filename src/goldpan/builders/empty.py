"""Says what emptied a dataset."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from goldpan.builders.request import BuildRequest
from goldpan.core.errors import DatasetError
from goldpan.filters.basis import Basis
from goldpan.filters.funnel import PLURAL, Funnel

_MOST = 3
"""Reasons that the error names."""


def empty_dataset(
    request: BuildRequest,
    funnel: Funnel,
    dropped: Counter[str],
    explained: Mapping[str, str],
    basis: Sequence[Basis],
) -> DatasetError:
    """Return the error that names what emptied a dataset."""
    profile, subjects = request.profile, PLURAL[funnel.subject]
    rules = "".join({f" --rules {item.rules}" for item in basis if item.rules})
    remedy = f"Run goldpan funnel {profile.option}{rules} to see what is dropped"
    last = next((step for step in funnel.steps if step.left == 0), None)
    if not funnel.rows:
        why = f"there are no {subjects}"
        if funnel.subject == "discussion":
            remedy = "Run goldpan mine with --include discussions, then goldpan filter"
    elif not funnel.kept and last is not None:
        left = [funnel.rows, *(step.left for step in funnel.steps if step.left is not None)]
        drops, reasons = "drops", ""
        if last.undecided:
            drops = "drops or cannot judge"
            reasons = f": {_counted(Counter(last.reasons), explained)}"
        why = (
            f"of {funnel.rows:,} {subjects} the profile {profile.name} keeps none; the criterion "
            f"{last.criterion} {drops} the last {left[left.index(0) - 1]:,}{reasons}"
        )
    else:
        why = (
            f"the profile {profile.name} keeps {funnel.kept:,} of {funnel.rows:,} {subjects}, "
            f"none of which gives a row: {_counted(dropped, explained)}"
        )
    return DatasetError(f"The dataset {request.family} would be empty: {why}", remedy)


def _counted(reasons: Counter[str], explained: Mapping[str, str]) -> str:
    """Return how many subjects the most frequent reasons drop, and what the reasons mean."""
    return ", ".join(
        f"{number:,} {reason}" + (f" ({explained[reason]})" if reason in explained else "")
        for reason, number in reasons.most_common(_MOST)
    )
