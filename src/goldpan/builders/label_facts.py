"""How the labels of a card were made and reviewed, and how right they are, in tiers of answers.

The shares were measured by reading (docs/labels.md), those of tiers on nine repositories that the
points were not made on: ``python -m tests.gold.by_repository`` prints them, and a test compares.
They are printed for the very choice that was measured, and for no other: the criteria of the
profile `default` with their settings.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

import pyarrow.compute as pc

from goldpan.core.proportions import Estimate, wilson
from goldpan.core.storage.parquet import read_table
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.filters.answers import LEAST
from goldpan.filters.criterion import Subject
from goldpan.filters.profile import Profile, load_profile

LIKELY = "likely"


@dataclass(frozen=True, slots=True)
class Tier:
    """Answers with so many points, and what became of such answers in the gold set."""

    name: str
    least: int
    """The points from which on an answer belongs to it."""
    whole: int
    """Gold rows that answer in whole."""
    at_least_partly: int
    rows: int
    """All gold rows of the tier."""
    points: str
    """Its points in words."""


TIERS = (
    Tier(LIKELY, 12, 35, 45, 50, "12 points or more"),
    Tier("possible", LEAST, 27, 58, 69, "9 to 11 points"),
)
"""The tiers, the best first; their names sort in this order, too."""

BY_REPOSITORY = (0.13, 0.75)
"""The least and the greatest share of whole answers, of repositories with ten gold rows or more."""

_ALONE = "goldpan build qa --answer likely"
_REVIEW = "goldpan review --model NAME --subject issue"
_REVIEWED = "goldpan build qa --require question-answer --answer reviewed"


def tier_of(points: int | None) -> str | None:
    """Return the tier of an answer with these points; None for fewer than any tier has."""
    return next((t.name for t in TIERS if points is not None and points >= t.least), None)


def expected_share(rows: Mapping[str, int], right: Callable[[Tier], int]) -> Estimate:
    """Return which share of rows of these tiers is right, if they are as those of the gold set.

    `right` returns how many gold rows of a tier are. The interval puts together those of the tiers
    by the squares of their distances (Zou & Donner, 2008), as their samples are independent.
    """
    total = sum(rows.values())
    value, below, above = 0.0, 0.0, 0.0
    for tier in TIERS:
        share = wilson(right(tier), tier.rows)
        if share.value is None or share.low is None or share.high is None:
            continue
        weight = rows.get(tier.name, 0) / total
        value += weight * share.value
        below += (weight * (share.value - share.low)) ** 2
        above += (weight * (share.high - share.value)) ** 2
    return Estimate(value, value - sqrt(below), value + sqrt(above))


def tier_lines(rows: Mapping[str, int]) -> Iterator[str]:
    """Yield how many rows each tier has, and the commands for better ones."""
    for tier in TIERS:
        share = wilson(tier.whole, tier.rows).short()
        yield (
            f"  {rows.get(tier.name, 0):,} {tier.name} ({tier.points}): "
            f"on held-out repositories, {share} of these answers were complete"
        )
    if rows.get(LIKELY, 0) < sum(rows.values()):
        yield f"  {_ALONE} keeps only the likely ones; {_REVIEW} asks a model"


def mix_accuracy(rows: Mapping[str, int]) -> str:
    """Return how right rows of these tiers are expected to be, for a card."""
    named = [
        f"{rows[tier.name]:,} {tier.name} ({tier.points}; "
        f"{wilson(tier.whole, tier.rows).short()} complete)"
        for tier in TIERS
        if rows.get(tier.name)
    ]
    whole = expected_share(rows, lambda tier: tier.whole).short()
    at_least_partly = expected_share(rows, lambda tier: tier.at_least_partly).short()
    low, high = BY_REPOSITORY
    return (
        f"Answer tiers (`answer_tier`): {' and '.join(named)}, measured on nine held-out "
        f"repositories. For this mix, expect {whole} complete answers and {at_least_partly} at "
        f"least partial ones; in single repositories {low:.0%} to {high:.0%} were complete. "
        f"`{_ALONE}` keeps only the likely rows; `{_REVIEW}`, then `{_REVIEWED}`, asks a model"
    )


_PAIRS = (76, 77)
"""Pairs that fix, and all that the profile keeps."""


def _is_measured(profile: Profile) -> bool:
    """Return whether a profile decides as the one whose labels were measured."""
    default = load_profile("default")
    return profile.decide == default.decide and all(
        profile.settings[name] == default.settings[name] for name in default.decide
    )


def tiers_are_measured(profile: Profile, chosen: str | None, reviews: Collection[str]) -> bool:
    """Return whether answers of issues are chosen as those were whose tiers were measured."""
    settings = profile.settings["answer"]
    return (
        not reviews
        and (chosen or settings.choice) in ("best", LIKELY)
        and settings.least in {tier.least for tier in TIERS}
        and _is_measured(profile)
    )


def label_accuracy(
    subjects: Sequence[Subject],
    profile: Profile,
    chosen: str | None,
    reviews: Collection[str],
    tiers: Mapping[str, int],
) -> str:
    """Return how right labels are expected to be; empty where no such ones were measured.

    `tiers` are how many rows each tier of answers has.
    """
    if "pair" not in subjects:
        return mix_accuracy(tiers) if tiers and tiers_are_measured(profile, chosen, reviews) else ""
    if reviews or not _is_measured(profile):
        return ""
    return (
        f"On seven other repositories, {wilson(*_PAIRS).short()} of the pairs kept by the criteria "
        "merged, says-fixes, issue-closed and one-to-one were fixes"
    )


def described_reviews(
    workspace: WorkspaceLayout, repos: Sequence[str], profile: str, names: Sequence[str]
) -> dict[str, dict[str, Any]]:
    """Return who did the required reviews, by review.

    Of models their names, prompt and samples, and how many subjects they kept; of people, by
    project, how many annotators there were and how their decisions came about.
    """
    if not names:  # what knows of models and people takes long to import
        return {}
    from goldpan.annotation.review.stored import read_reviewers, read_reviews, review_path
    from goldpan.annotation.studio.project import open_project, projects

    reviews: dict[str, dict[str, Any]] = {name: {} for name in names}
    for repo in repos:
        if review_path(workspace, repo, profile).exists():
            verdicts = read_reviews(workspace, repo, profile)
            for name, who in read_reviewers(workspace, repo, profile).items():
                if name in reviews:
                    keeps = verdicts.filter(pc.equal(verdicts["criterion"], name))["keep"]
                    models = reviews[name].setdefault("models", {**who, "subjects": 0, "kept": 0})
                    models["subjects"] += len(keeps)
                    models["kept"] += pc.sum(keeps).as_py() or 0
    for title in projects(workspace):
        project = open_project(workspace, title)
        path = project.path("decisions.parquet")
        if project.facts.form in reviews and path.exists():
            table = read_table(path, columns=["how", "annotators"])
            people = {login for logins in table["annotators"].to_pylist() for login in logins}
            reviews[project.facts.form].setdefault("people", {})[project.name] = {
                "annotators": len(people),
                "subjects": len(table),
                **dict(sorted(Counter(table["how"].to_pylist()).items())),
            }
    return reviews
