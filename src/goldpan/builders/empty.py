"""Says why a dataset would be empty, and by which stored profiles it would not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress

from goldpan.builders.request import BuildRequest
from goldpan.core.errors import DatasetError, GoldpanError
from goldpan.core.result import count as number_of
from goldpan.core.settings.file import toml_value
from goldpan.core.storage.workspace import DEFAULT_RULES
from goldpan.filters.basis import Basis
from goldpan.filters.funnel import PLURAL, Funnel
from goldpan.filters.profile import Profile

_DEFAULT = "default"
_REMEDIES = {
    "no-history": "Run goldpan clone",
    "no-known-license": "If the license is known, run goldpan normalize --repo OWNER/NAME "
    "--license SPDX and goldpan pair",
}
"""What helps before the filter runs again, by reason."""
_MOST = 3
"""Reasons that the error names."""


def empty_dataset(
    request: BuildRequest,
    funnel: Funnel,
    dropped: Counter[str],
    explained: Mapping[str, str],
    basis: Sequence[Basis],
    count: Callable[[str], int],
    choices: Mapping[str, int],
    issues: Funnel,
    licenses: Iterable[str | None],
) -> DatasetError:
    """Return the error that names what emptied a dataset.

    `count` returns how many rows another profile gives that filtered all of the repositories;
    `choices` are the rows that other choices of answers give, by what to do. `issues` says why the
    issue of a pair was dropped; `licenses` are those of the repositories.
    """
    profile = request.profile
    others = set(basis[0].other_profiles).intersection(*(item.other_profiles for item in basis))
    counts = {name: _count(name, count) for name in sorted(others)}
    fuller = {f"give --profile {name}": rows or 0 for name, rows in counts.items()}
    found = {**choices, **fuller}
    ways = [f"{way} ({number_of(rows, 'row')})" for way, rows in found.items() if rows]
    empty = [name for name, rows in counts.items() if rows == 0]
    why = _why(profile, funnel, dropped, explained)
    problem = f"The dataset {request.family} would be empty: {why}"
    named = {f" --rules {item.rules}" for item in basis if item.rules not in (None, DEFAULT_RULES)}
    option = "" if profile.name == _DEFAULT else f" {profile.option}"
    options = option + "".join(sorted(named))
    stages = [dropped, *(step.reasons for step in funnel.steps if step.left == 0)]
    reasons = sum(map(Counter[str], stages), Counter[str]())
    if with_issue := reasons["issue-dropped"]:
        of_issues = (step.reasons for step in issues.steps if step.criterion == "license")
        reasons.update(dict.fromkeys((reason for one in of_issues for reason in one), with_issue))
    allowed = toml_value(sorted({name for name in licenses if name}))
    helps = {
        **{name: f"{told}, then goldpan filter{options}" for name, told in _REMEDIES.items()},
        "license-not-allowed": "If you may share these texts, run goldpan filter"
        f"{options} --set 'license.allowed={allowed}'",
    }
    reason = max(helps, key=lambda name: reasons[name])
    if reasons[reason]:
        return DatasetError(problem, f"{helps[reason]}, and build again")
    if ways:
        told = " or ".join(ways)
        return DatasetError(problem, told[0].upper() + told[1:])
    if not funnel.rows and funnel.subject == "pair" and not any(item.rules for item in basis):
        return DatasetError(problem, f"Run goldpan pair, then goldpan filter{options}")
    if not funnel.rows and funnel.subject == "discussion":
        return DatasetError(
            problem, "Run goldpan mine with --include discussions, then goldpan filter"
        )
    if empty:
        problem += f"; by {' and '.join(empty)} it would be empty, too"
    return DatasetError(problem, f"Run goldpan funnel{options} to see what is dropped")


def _why(
    profile: Profile, funnel: Funnel, dropped: Counter[str], explained: Mapping[str, str]
) -> str:
    subjects = PLURAL[funnel.subject]
    if not funnel.rows:
        return f"there are no {subjects}"
    if not funnel.kept:
        before = funnel.rows
        for step in funnel.steps:
            if step.left == 0:
                why = f"drops the last {before:,}"
                if step.undecided:
                    reasons = _counted(Counter(step.reasons), explained)
                    why = f"drops or cannot judge the last {before:,}: {reasons}"
                return (
                    f"of {funnel.rows:,} {subjects} the profile {profile.name} keeps none; "
                    f"the criterion {step.criterion} {why}"
                )
            before = before if step.left is None else step.left
    return (
        f"the profile {profile.name} keeps {funnel.kept:,} of {funnel.rows:,} {subjects}, "
        f"none of which gives a row: {_counted(dropped, explained)}"
    )


def _counted(reasons: Counter[str], explained: Mapping[str, str]) -> str:
    """Return how many subjects the most frequent reasons drop, and what the reasons mean."""
    return ", ".join(
        f"{number:,} {reason}" + (f" ({explained[reason]})" if reason in explained else "")
        for reason, number in reasons.most_common(_MOST)
    )


def _count(name: str, count: Callable[[str], int]) -> int | None:
    with suppress(GoldpanError):  # its verdicts are older than the tables, or not reviewed
        return count(name)
    return None
