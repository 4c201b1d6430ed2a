"""Compares models' verdicts with people's: `goldpan review --calibrate`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from goldpan.annotation.agreement import kappa
from goldpan.annotation.review.stored import read_reviews
from goldpan.annotation.review.subjects import KINDS
from goldpan.core.errors import UsageError
from goldpan.core.proportions import Estimate, wilson
from goldpan.core.result import Result, Results
from goldpan.core.storage.parquet import read_table, reading
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.filters.answers import named_comment
from goldpan.filters.basis import Basis, find_basis

Key = tuple[str, str, int, str | None, int | None]
"""A subject: repo, subject, issue, pull_repo, pull."""
_COLUMNS = ("repo", "subject", "issue", "pull_repo", "pull")
_NAMES = {True: "keep", False: "drop", None: "undecided"}


@dataclass(frozen=True, slots=True)
class Calibration(Result):
    """Models' verdicts beside people's."""

    schema = 3
    criterion: str
    subjects: int
    confusion: Mapping[str, Mapping[str, int]]
    """The model's verdict (keep, drop, undecided), then the people's, to subjects."""
    precision: Estimate
    """The share of the model's keeps that people keep, where they decided (Wilson)."""
    recall: Estimate
    """The share of people's keeps that the model keeps; undecided subjects are not kept."""
    kappa: Estimate
    """Where both decided, with a bootstrap interval."""
    without_model: Estimate
    """The share of all subjects that people keep, where they decided (Wilson)."""
    undecided: Estimate
    """The share of the subjects that the model leaves to people (Wilson)."""
    only_model: int
    """Subjects that people did not judge."""
    only_people: int
    disagreements: tuple[Key, ...]
    """Subjects on which both decided, differently."""
    basis: tuple[Basis, ...] = ()
    """The pairing rules and the profile behind each repository."""

    @property
    def helps(self) -> bool:
        """True where even the low end of the precision is above the share without the model."""
        share = self.without_model.value
        return self.precision.low is not None and share is not None and self.precision.low > share


def calibrate(
    models: pa.Table, people: pa.Table, criterion: str, *, samples: int = 1_000
) -> Calibration:
    """Compare the verdicts of one review with people's on the same subjects.

    Both have the columns of `verdicts`; people's may have any criterion, with one row for each
    subject. Issues are left out where people judged another reply than the one that the review
    names. Raises `UsageError` where no subject has both.
    """
    ours, theirs = _by_key(models, criterion), _by_key(people, None)
    shared = sorted(
        (key for key in ours.keys() & theirs.keys() if _same_reply(ours[key], theirs[key])), key=str
    )
    if not shared:
        raise UsageError(
            f"No subject has a verdict of {criterion} and one of people",
            "Review the subjects that people judged",
        )
    votes = [(ours[key].keep, theirs[key].keep) for key in shared]
    counts, peoples = Counter(votes), Counter(vote for _, vote in votes)
    both = counts[True, True]
    decided = {vote: counts[vote] for vote in counts if None not in vote}
    return Calibration(
        criterion,
        len(shared),
        {_NAMES[our]: {_NAMES[their]: counts[our, their] for their in _NAMES} for our in _NAMES},
        precision=wilson(both, both + counts[True, False]),
        recall=wilson(both, peoples[True]),
        kappa=kappa(decided, np.random.default_rng(0), samples),
        without_model=wilson(peoples[True], peoples[True] + peoples[False]),
        undecided=wilson(sum(our is None for our, _ in votes), len(shared)),
        only_model=len(ours.keys() - theirs.keys()),
        only_people=len(theirs.keys() - ours.keys()),
        disagreements=tuple(
            key for key in shared if {ours[key].keep, theirs[key].keep} == {True, False}
        ),
    )


def calibrate_reviews(
    workspace: WorkspaceLayout, repos: Sequence[str], profile: str, people: Path
) -> Results[Calibration]:
    """Compare each review of repositories with the people's verdicts in a Parquet file.

    Raises `UsageError` where the file does not hold verdicts or no subject has both,
    `WorkspaceError` where a repository was not reviewed.
    """
    remedy = "Give a Parquet file with the columns of verdicts"
    with reading(people, remedy, UsageError):
        verdicts = read_table(people)
    if missing := sorted({*_COLUMNS, "keep"} - set(verdicts.column_names)):
        raise UsageError(f"{people} has no column {missing[0]}", remedy)
    models = pa.concat_tables([read_reviews(workspace, repo, profile) for repo in repos])
    subjects = set(verdicts["subject"].to_pylist())
    judged = {kind.prompt: subject for subject, kind in KINDS.items()}
    criteria = sorted(set(models["criterion"].to_pylist()))
    shared = [name for name in criteria if judged.get(name) in subjects]
    if not shared:
        raise UsageError(
            f"{people} has no verdict on a reviewed subject",
            "Review the subjects that these people judged",
        )
    basis = tuple(find_basis(workspace, repos, profile))
    calibrations = (
        calibrate(models, verdicts.filter(pc.field("subject") == judged[name]), name)
        for name in shared
    )
    return Results(replace(calibration, basis=basis) for calibration in calibrations)


class _Verdict(NamedTuple):
    keep: bool | None
    reply: int | None
    """The reply that it is about, where it names one."""


def _same_reply(ours: _Verdict, theirs: _Verdict) -> bool:
    return None in (ours.reply, theirs.reply) or ours.reply == theirs.reply


def _by_key(verdicts: pa.Table, criterion: str | None) -> dict[Key, _Verdict]:
    answers: dict[Key, _Verdict] = {}
    for row in verdicts.to_pylist():
        if criterion in (None, row["criterion"]):
            key: Key = tuple(row[name] for name in _COLUMNS)
            if key in answers:
                raise UsageError(f"{row['repo']}#{row['issue']} has two verdicts", "Give one each")
            answers[key] = _Verdict(row["keep"], named_comment(row.get("evidence")))
    return answers
