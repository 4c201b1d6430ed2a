"""Facts that a card gives first: how its labels were made and reviewed, and how right they are.

The shares were measured by reading (docs/labels.md). They are printed for the very choice that was
measured, and for no other: the criteria of the profile `default` with their settings.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import pyarrow.compute as pc

from goldpan.core.proportions import wilson
from goldpan.core.storage.parquet import read_table
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.filters.criterion import Subject
from goldpan.filters.funnel import Funnel
from goldpan.filters.profile import Profile, load_profile

ANSWERS: Mapping[int, tuple[int, int, int]] = MappingProxyType({9: (42, 78, 92), 12: (37, 47, 52)})
"""Rows that answer in whole, at least in part, and all rows, by the points required."""
_PAIRS = (76, 77)
"""Pairs that fix, and all that the profile keeps."""
_FIX = "the change of the merged pull request that says it fixes the issue"


def is_measured(profile: Profile) -> bool:
    """Return whether a profile decides as the one whose labels were measured."""
    default = load_profile("default")
    return profile.decide == default.decide and all(
        profile.settings[name] == default.settings[name] for name in default.decide
    )


def answer_accuracy(profile: Profile, chosen: str | None, reviews: Collection[str]) -> str:
    """Return how right answers of issues are; empty where this choice was not measured."""
    settings = profile.settings["answer"]
    measured = ANSWERS.get(settings.least)
    if (
        measured is None
        or reviews
        or (chosen or settings.choice) != "best"
        or not is_measured(profile)
    ):
        return ""
    whole, at_least_partly, rows = measured
    return (
        f"On nine held-out repositories, {_share(whole, rows)} of the answers chosen this way were "
        f"complete and {_share(at_least_partly, rows)} at least partial"
    )


def fix_accuracy(profile: Profile) -> str:
    """Return how right fix pairs are; empty where other criteria chose them."""
    if not is_measured(profile):
        return ""
    return (
        f"On seven other repositories, {_share(*_PAIRS)} of the pairs kept by the criteria merged, "
        "says-fixes, issue-closed and one-to-one were fixes"
    )


def label_facts(
    subjects: Sequence[Subject],
    profile: Profile,
    choice: str,
    chosen: str | None,
    reviews: Collection[str],
) -> tuple[str, str, str]:
    """Return the rule that made the labels, its threshold, and how right such labels are."""
    if "pair" in subjects:
        return _FIX, "", "" if reviews else fix_accuracy(profile)
    settings = profile.settings["answer"]
    by_points = "issue" in subjects and (chosen or settings.choice) == "best"
    of_issues = answer_accuracy(profile, chosen, reviews) if "issue" in subjects else ""
    return choice, f"{settings.least} points" if by_points else "", of_issues


def answered_issues(subjects: Sequence[Subject], funnel: Funnel) -> int | None:
    """Return how many issues were answered; None where rows are made of discussions as well."""
    steps = [step for step in funnel.steps if step.criterion == "answered"]
    if tuple(subjects) != ("issue",) or not steps:
        return None
    return funnel.rows - steps[0].out - steps[0].undecided


def _share(part: int, whole: int) -> str:
    share = wilson(part, whole)
    return f"{part / whole:.0%} [{share.low or 0:.0%}, {share.high or 0:.0%}]"


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
