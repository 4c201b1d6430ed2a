"""Says why a dataset would be empty, and what helps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

import pyarrow as pa
import pyarrow.compute as pc

from goldpan.builders.request import BuildRequest
from goldpan.core.errors import DatasetError
from goldpan.core.result import count as number_of
from goldpan.core.settings.file import toml_value
from goldpan.filters.funnel import PLURAL, Funnel

_REMEDIES = {
    "no-history": "Run goldpan clone, then goldpan filter{options}",
    "no-known-license": "If the license is known, run goldpan normalize --repo OWNER/NAME "
    "--license SPDX and goldpan pair, then goldpan filter{options}",
    "license-not-allowed": "If you may share these texts, run goldpan filter{options} "
    "--set 'license.allowed={licenses}'",
}
"""What helps by reason, before the dataset is built again."""
_MOST = 3
"""Reasons that the error names."""


def empty_dataset(
    request: BuildRequest,
    verdicts: pa.Table,
    funnel: Funnel,
    dropped: Counter[str],
    explained: Mapping[str, str],
    choices: Mapping[str, int],
    licenses: Iterable[str | None],
    options: str,
) -> DatasetError:
    """Return the error that names what emptied a dataset.

    `choices` are the rows that other choices of answers give, by what to do; `licenses` are those
    of the repositories; `options` are a command's for rules and profile.
    """
    why = _why(request.profile.name, funnel, dropped, explained)
    problem = f"The dataset {request.family} would be empty: {why}"
    stages = [dropped, *(step.reasons for step in funnel.steps if step.left == 0)]
    reasons = sum(map(Counter[str], stages), Counter[str]())
    if reasons["issue-dropped"]:  # the license of the issue may be what drops the pair
        rows = verdicts.filter(
            pc.and_(
                pc.equal(verdicts["criterion"], "license"), pc.equal(verdicts["subject"], "issue")
            )
        )
        told = rows["reason"].drop_null().unique().to_pylist()
        reasons.update(dict.fromkeys(told, reasons["issue-dropped"]))
    allowed = toml_value(sorted({name for name in licenses if name}))
    reason = max(_REMEDIES, key=lambda name: reasons[name])
    remedy = f"Run goldpan funnel{options} to see what is dropped"
    if reasons[reason]:
        help = _REMEDIES[reason].format(options=options, licenses=allowed)
        remedy = f"{help}, and build again"
    elif ways := [f"{way} ({number_of(rows, 'row')})" for way, rows in choices.items() if rows]:
        told = " or ".join(ways)
        remedy = told[0].upper() + told[1:]
    elif not funnel.rows and funnel.subject == "pair":
        remedy = f"Run goldpan pair, then goldpan filter{options}"
    elif not funnel.rows and funnel.subject == "discussion":
        remedy = "Run goldpan mine with --include discussions, then goldpan filter"
    return DatasetError(problem, remedy)


def _why(profile: str, funnel: Funnel, dropped: Counter[str], explained: Mapping[str, str]) -> str:
    subjects = PLURAL[funnel.subject]
    if not funnel.rows:
        return f"there are no {subjects}"
    if funnel.kept:
        return (
            f"the profile {profile} keeps {funnel.kept:,} of {funnel.rows:,} {subjects}, "
            f"none of which gives a row: {_counted(dropped, explained)}"
        )
    lefts = [funnel.rows, *(step.left for step in funnel.steps if step.left is not None)]
    last = next(step for step in funnel.steps if step.left == 0)
    before = lefts[lefts.index(0) - 1]
    how = f"drops the last {before:,}"
    if last.undecided:
        reasons = _counted(Counter(last.reasons), explained)
        how = f"drops or cannot judge the last {before:,}: {reasons}"
    return (
        f"of {funnel.rows:,} {subjects} the profile {profile} keeps none; "
        f"the criterion {last.criterion} {how}"
    )


def _counted(reasons: Counter[str], explained: Mapping[str, str]) -> str:
    """Return how many subjects the most frequent reasons drop, and what the reasons mean."""
    return ", ".join(
        f"{number:,} {reason}" + (f" ({explained[reason]})" if reason in explained else "")
        for reason, number in reasons.most_common(_MOST)
    )
