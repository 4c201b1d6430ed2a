"""Says why a dataset would be empty, and by which choices it would not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from goldpan.builders.label_facts import ANSWERS
from goldpan.builders.recipes import Recipe
from goldpan.builders.repository_rows import RepositoryRows, RowsRequest
from goldpan.core.errors import DatasetError, GoldpanError
from goldpan.datasets.examples import QA
from goldpan.filters.basis import Basis
from goldpan.filters.funnel import PLURAL, Funnel, FunnelRow
from goldpan.filters.issues.license import UNKNOWN
from goldpan.filters.profile import Profile, change_settings

_MOST = 3
"""Reasons and repositories that the error names."""
_NO_HISTORY = "no-history"
_BY_LICENSE = ("license", "issue-kept")
"""Criteria that drop all of a repository whose license is not known: its issues, and its pairs."""


def empty_dataset(
    recipe: Recipe,
    profile: Profile,
    funnel: Funnel,
    dropped: Counter[str],
    explained: Mapping[str, str],
    basis: Sequence[Basis],
    count: Callable[[str], int],
    answers: Mapping[str, int],
    unlicensed: Sequence[str],
    uncloned: Sequence[str],
) -> DatasetError:
    """Return the error that names what emptied a dataset.

    `count` returns how many rows another profile gives that filtered all of the repositories, and
    `answers` are the rows by what makes other replies answers. `unlicensed` repositories have no
    known license, of `uncloned` the history was not cloned.
    """
    profiles = set(basis[0].other_profiles).intersection(*(item.other_profiles for item in basis))
    counts = {name: _count(name, count) for name in sorted(profiles)}
    fuller = [(name, rows) for name, rows in counts.items() if rows]
    empty = [name for name, rows in counts.items() if rows == 0]
    why = _why(recipe, profile, funnel, dropped, explained)
    problem = f"The dataset {recipe.family.name} would be empty: {why}"
    if fuller:
        choices = [f"--profile {name} ({rows:,} rows)" for name, rows in fuller]
        return DatasetError(problem, f"Give {' or '.join(choices)}")
    if any(answers.values()):
        choices = [f"{words} ({number:,} rows)" for words, number in answers.items() if number]
        return DatasetError(problem, f"Run {', or '.join(choices)}")
    last = None if funnel.kept else _last_step(funnel)
    lacking = dropped if last is None else last.reasons
    if uncloned and _NO_HISTORY in lacking:
        return DatasetError(problem, "Run goldpan clone, then goldpan filter, and build again")
    if unlicensed and last is not None and last.criterion in _BY_LICENSE:
        return DatasetError(
            f"{problem}; no license of {' or '.join(unlicensed[:_MOST])} is known",
            f"If you know it, run goldpan normalize --repo {unlicensed[0]} --license SPDX, then "
            "goldpan pair and goldpan filter",
        )
    if not funnel.rows and funnel.subject == "discussion":
        return DatasetError(
            problem, "Run goldpan mine with --include discussions, then goldpan filter"
        )
    if empty:
        problem += f"; by {' and '.join(empty)} it would be empty, too"
    rules = "".join({f" --rules {item.rules}" for item in basis if item.rules})
    return DatasetError(
        problem, f"Run goldpan funnel {profile.option}{rules} to see what is dropped"
    )


def other_answers(request: RowsRequest) -> Iterator[tuple[str, RowsRequest]]:
    """Yield what makes other replies the answers to issues, and the rows that it asks for."""
    settings, profile = request.chosen.settings["answer"], request.profile
    if request.family != QA.name or request.by_review or settings.choice != "best":
        return
    required = tuple(name for name in request.required if name != "answer")
    named = "" if profile.name == "default" else f" --profile {profile.name}"
    choices: dict[str, Mapping[str, Any]] = {
        f"goldpan build qa{named} --answer first": {"choice": "first"}
    }
    if settings.least > (least := min(ANSWERS)):
        lower = change_settings(profile, {"answer.least": least})
        options = lower.option.removeprefix("--profile default ")
        words = f"goldpan filter {options}, then goldpan build qa --profile {lower.name}"
        choices[words] = {"least": least}
    for words, values in choices.items():
        answered = {**request.chosen.settings, "answer": replace(settings, **values)}
        chosen = replace(request.chosen, settings=answered)
        yield words, replace(request, chosen=chosen, required=required)


def has_license(rows: RepositoryRows) -> bool:
    """Say whether the license of a repository is known."""
    return (rows.source.license or UNKNOWN[0]).lower() not in UNKNOWN


def _why(
    recipe: Recipe,
    profile: Profile,
    funnel: Funnel,
    dropped: Counter[str],
    explained: Mapping[str, str],
) -> str:
    subjects = PLURAL[funnel.subject]
    if not funnel.rows:
        return f"there are no {subjects}"
    if not funnel.kept and (step := _last_step(funnel)) is not None:
        before = min((other.left for other in funnel.steps if other.left), default=funnel.rows)
        why = f"drops the last {before:,}"
        if step.undecided:
            reasons = _counted(Counter(step.reasons), explained)
            why = f"drops or cannot judge the last {before:,}: {reasons}"
        return (
            f"of {funnel.rows:,} {subjects} the profile {profile.name} keeps none; "
            f"the criterion {step.criterion} {why}"
        )
    return (
        f"the profile {profile.name} keeps {funnel.kept:,} of {funnel.rows:,} {subjects}, "
        f"none of which gives a row: {_counted(dropped, explained)}"
    )


def _last_step(funnel: Funnel) -> FunnelRow | None:
    """Return the criterion that dropped the last ones."""
    return next((step for step in funnel.steps if step.left == 0), None)


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
