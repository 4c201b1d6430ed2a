"""Compares models' verdicts with people's: `goldpan review --calibrate`."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from goldpan.annotation.agreement import bootstrap
from goldpan.annotation.review.stored import read_reviews
from goldpan.annotation.review.subjects import KINDS
from goldpan.core.errors import UsageError
from goldpan.core.proportions import Estimate, cohen_kappa, wilson
from goldpan.core.result import Result, Results
from goldpan.core.schemas import PAIRS
from goldpan.core.storage.parquet import connect, read_table, reading
from goldpan.core.storage.sealed import verify_parquet
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.filters.answers import named_comment
from goldpan.filters.basis import Basis, find_basis

Key = tuple[str, str, int, str | None, int | None]
"""A subject: repo, subject, issue, pull_repo, pull."""
_COLUMNS = ("repo", "subject", "issue", "pull_repo", "pull")
_NAMES = {True: "keep", False: "drop", None: "undecided"}


@dataclass(frozen=True, slots=True)
class CalibrationGroup:
    """The quality of models' verdicts on a part of the subjects."""

    name: str
    """``all``, or a trait and its value, such as ``language: C``."""
    subjects: int
    confusion: Mapping[str, Mapping[str, int]]
    """The model's verdict (keep, drop, undecided), then the people's, to subjects."""
    precision: Estimate
    """The share of the model's keeps that people keep, where they decided (Wilson)."""
    recall: Estimate
    """The share of people's keeps that the model keeps; undecided subjects are not kept."""
    kappa: Estimate
    """Where both decided, with a bootstrap interval."""

    @property
    def without_model(self) -> Estimate:
        """The share of all subjects that people keep, where they decided (Wilson)."""
        keep, drop = (
            sum(people[name] for people in self.confusion.values()) for name in ("keep", "drop")
        )
        return wilson(keep, keep + drop)

    @property
    def helps(self) -> bool:
        """True where even the low end of the precision is above the share without the model."""
        share = self.without_model.value
        return self.precision.low is not None and share is not None and self.precision.low > share

    @property
    def undecided(self) -> Estimate:
        """The share of the subjects that the model leaves to people (Wilson)."""
        return wilson(sum(self.confusion["undecided"].values()), self.subjects)


@dataclass(frozen=True, slots=True)
class Calibration(Result):
    """Models' verdicts beside people's, as a whole and by trait."""

    schema = 2
    criterion: str
    groups: tuple[CalibrationGroup, ...]
    only_model: int
    """Subjects that people did not judge."""
    only_people: int
    disagreements: tuple[Key, ...]
    """Subjects on which both decided, differently."""
    basis: tuple[Basis, ...] = ()
    """The pairing rules and the profile behind each repository."""


def calibrate(
    models: pa.Table,
    people: pa.Table,
    criterion: str,
    traits: Mapping[str, Mapping[Key, Sequence[str]]] | None = None,
    *,
    seed: int = 0,
    samples: int = 1_000,
) -> Calibration:
    """Compare the verdicts of one review with people's on the same subjects.

    Both have the columns of `verdicts`; people's may have any criterion, with one row for each
    subject. Issues are left out where people judged another reply than the one that the review
    names. `traits` are the languages and signals of subjects (`read_traits`). Raises `UsageError`
    where no subject has both.
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
    groups = {"all": shared}
    for trait, values in (traits or {}).items():
        parts: dict[str, list[Key]] = defaultdict(list)
        for key in shared:
            for value in values.get(key, ()):
                parts[f"{trait}: {value}"].append(key)
        groups |= dict(sorted(parts.items()))
    return Calibration(
        criterion,
        tuple(
            _group(name, [(ours[key].keep, theirs[key].keep) for key in keys], seed, samples)
            for name, keys in groups.items()
        ),
        len(ours.keys() - theirs.keys()),
        len(theirs.keys() - ours.keys()),
        tuple(key for key in shared if {ours[key].keep, theirs[key].keep} == {True, False}),
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
        raise UsageError(f"{people} lacks the column {missing[0]}", remedy)
    models = pa.concat_tables([read_reviews(workspace, repo, profile) for repo in repos])
    traits = read_traits(workspace, repos)
    criteria = sorted(set(models["criterion"].to_pylist()))
    subjects = set(verdicts["subject"].to_pylist())
    judged = {kind.prompt: subject for subject, kind in KINDS.items()}
    shared = [name for name in criteria if judged.get(name) in subjects]
    if not shared:
        raise UsageError(
            f"{people} has no verdict on a reviewed subject",
            "Review the subjects that these people judged",
        )
    basis = tuple(find_basis(workspace, repos, profile))
    calibrations = (
        calibrate(models, verdicts.filter(pc.field("subject") == judged[name]), name, traits)
        for name in shared
    )
    return Results(replace(calibration, basis=basis) for calibration in calibrations)


def read_traits(
    workspace: WorkspaceLayout, repos: Sequence[str]
) -> dict[str, dict[Key, tuple[str, ...]]]:
    """Return each fix pair's signals and each subject's language, by which to calibrate."""
    signals: dict[Key, tuple[str, ...]] = {}
    languages: dict[Key, tuple[str, ...]] = {}
    with connect() as connection:
        for repo in repos:
            for name in ("repositories", "entries", "pairs"):
                path = workspace.table(repo, name)
                empty = PAIRS.schema.empty_table()
                relation = (
                    connection.read_parquet(str(verify_parquet(path))) if path.exists() else empty
                )
                connection.register(name, relation)
            facts = connection.execute("SELECT repo, language FROM repositories").fetchall()
            name, language = facts[0] if facts else (repo, None)
            groups = (language or "unknown",)
            pairs = connection.execute("SELECT issue, pull_repo, pull, signals FROM pairs")
            for issue, pull_repo, pull, pair_signals in pairs.fetchall():
                key = (name, "pair", issue, pull_repo, pull)
                signals[key], languages[key] = tuple(pair_signals or ()), groups
            issues = connection.execute("SELECT number FROM entries WHERE kind = 'issue'")
            for (number,) in issues.fetchall():
                languages[(name, "issue", number, None, None)] = groups
    return {"language": languages, "signal": signals}


def _group(
    name: str, votes: Sequence[tuple[bool | None, bool | None]], seed: int, samples: int
) -> CalibrationGroup:
    counts = Counter(votes)
    confusion = {
        _NAMES[ours]: {_NAMES[theirs]: counts[ours, theirs] for theirs in (True, False, None)}
        for ours in (True, False, None)
    }
    both = counts[True, True]
    people_keep = both + counts[False, True] + counts[None, True]
    decided = [vote for vote in votes if None not in vote]
    both_decided = np.array(decided, dtype=int).reshape(-1, 2)
    kappa = bootstrap(
        lambda items: cohen_kappa(*both_decided[items].T),
        len(decided),
        np.random.default_rng(seed),
        samples,
    )
    return CalibrationGroup(
        name,
        len(votes),
        confusion,
        wilson(both, both + counts[True, False]),
        wilson(both, people_keep),
        kappa,
    )


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
                raise UsageError(f"{_subject_name(key)} has two verdicts", "Give one a subject")
            answers[key] = _Verdict(row["keep"], named_comment(row.get("evidence")))
    return answers


def _subject_name(key: Key) -> str:
    repo, _, issue, pull_repo, pull = key
    return f"{repo}#{issue}" + ("" if pull is None else f" with {pull_repo}#{pull}")
