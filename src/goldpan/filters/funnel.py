"""Counts what each criterion drops, the funnel, and lists the dropped subjects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from goldpan.core.result import Result
from goldpan.core.storage.parquet import connect, open_tables
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.filters.basis import Basis, find_basis
from goldpan.filters.criterion import KEYS, Subject
from goldpan.filters.profile import Profile
from goldpan.filters.stored import profile_verdicts, read_verdicts

PLURAL: Mapping[Subject, str] = {
    "issue": "issues",
    "discussion": "discussions",
    "pair": "fix pairs",
}


@dataclass(frozen=True, slots=True)
class FunnelRow:
    """One criterion in the funnel."""

    criterion: str
    decides: bool
    out: int
    """Subjects that it drops by itself, whatever the others say."""
    undecided: int
    """Subjects that it could not judge: they count as dropped where it decides."""
    only: int
    """Subjects that would be kept, were it not for this criterion; 0 where it does not decide."""
    left: int | None
    """Subjects left after it and all deciding criteria before it; None where it does not decide."""
    reasons: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Funnel:
    """All criteria for one kind of subject, those that decide first, in the profile's order."""

    subject: Subject
    rows: int
    kept: int
    steps: tuple[FunnelRow, ...]


@dataclass(frozen=True, slots=True)
class Funnels(Result):
    """The funnels of issues, of discussions where there are any, and of fix pairs."""

    schema = 2

    issues: Funnel
    discussions: Funnel
    pairs: Funnel
    basis: tuple[Basis, ...]
    """The pairing rules and the profile behind each repository's verdicts."""

    @property
    def shown(self) -> tuple[Funnel, ...]:
        """The funnels that people see."""
        discussions = (self.discussions,) if self.discussions.rows else ()
        return (self.issues, *discussions, self.pairs)


_COUNTS = """
SELECT criterion, bool_or(decides), count(*) FILTER (NOT keep), count(*) FILTER (keep IS NULL)
FROM verdicts WHERE list_contains($subjects, subject) GROUP BY criterion ORDER BY criterion
"""
_REASONS = """
SELECT criterion, reason, count(*) FROM verdicts
WHERE list_contains($subjects, subject) AND keep IS DISTINCT FROM true
GROUP BY ALL ORDER BY ALL
"""
_DROPPED = """
WITH subjects AS (
  SELECT min(list_position($decide, criterion)) AS first, count(*) AS drops
  FROM verdicts
  WHERE list_contains($subjects, subject) AND decides AND keep IS DISTINCT FROM true
  GROUP BY repo, subject, issue, pull_repo, pull
)
SELECT first, count(*), count(*) FILTER (drops = 1) FROM subjects GROUP BY first
"""
_SIZE = """
SELECT count(*) FROM (
  SELECT DISTINCT repo, subject, issue, pull_repo, pull FROM verdicts
  WHERE list_contains($subjects, subject)
)
"""


def count_funnel(verdicts: pa.Table, subjects: Sequence[Subject], decide: Sequence[str]) -> Funnel:
    """Count the verdicts on some kinds of subjects together; `decide` gives the steps' order."""
    values = {"subjects": list(subjects)}
    with connect() as connection:
        connection.register("verdicts", verdicts)
        counts = connection.execute(_COUNTS, values).fetchall()
        reasons: dict[str, dict[str, int]] = {}
        for criterion, reason, count in connection.execute(_REASONS, values).fetchall():
            reasons.setdefault(criterion, {})[reason] = count
        ((rows,),) = connection.execute(_SIZE, values).fetchall()
        dropped = connection.execute(_DROPPED, {**values, "decide": list(decide)}).fetchall()
    first = {decide[position - 1]: count for position, count, _ in dropped}
    alone = {decide[position - 1]: count for position, _, count in dropped}
    by_name = {row[0]: row[1:] for row in counts}
    ordered = [name for name in decide if name in by_name]
    left = rows
    steps = []
    for name in (*ordered, *(name for name in by_name if name not in ordered)):
        decides, out, undecided = by_name[name]
        left -= first.get(name, 0)
        steps.append(
            FunnelRow(
                name,
                decides,
                out,
                undecided,
                alone.get(name, 0),
                left if decides else None,
                reasons.get(name, {}),
            )
        )
    return Funnel(subjects[0], rows, left, tuple(steps))


def count_funnels(verdicts: pa.Table, decide: Sequence[str]) -> tuple[Funnel, Funnel, Funnel]:
    """Count the verdicts on issues, on discussions and on fix pairs."""
    issues, discussions, pairs = (count_funnel(verdicts, [subject], decide) for subject in KEYS)
    return issues, discussions, pairs


def read_funnels(workspace: WorkspaceLayout, repos: Sequence[str], profile: Profile) -> Funnels:
    """Return the funnels of issues and of fix pairs over repositories, from stored verdicts.

    Raises `WorkspaceError` where a repository was not filtered by this profile, or other criteria
    decided then.
    """
    verdicts = pa.concat_tables([profile_verdicts(workspace, repo, profile) for repo in repos])
    return Funnels(
        *count_funnels(verdicts, profile.decide), tuple(find_basis(workspace, repos, profile.name))
    )


_REJECTS = """
SELECT v.repo, v.subject, v.issue, v.pull_repo, v.pull, e.title, e.author,
       list(v.criterion ORDER BY v.criterion) AS criteria,
       list(coalesce(v.reason, '') ORDER BY v.criterion) AS reasons,
       list(coalesce(v.evidence, '') ORDER BY v.criterion) AS evidence
FROM verdicts v LEFT JOIN entries e ON e.number = v.issue
WHERE v.decides AND v.keep IS DISTINCT FROM true
GROUP BY v.repo, v.subject, v.issue, v.pull_repo, v.pull, e.title, e.author
ORDER BY v.subject, v.issue, v.pull_repo, v.pull
"""


def rejects(workspace: WorkspaceLayout, repos: Sequence[str], profile: Profile) -> pa.Table:
    """Return the dropped subjects of repositories, with the criteria that drop them and why.

    Raises `WorkspaceError` where a repository was not filtered.
    """
    tables = []
    for repo in repos:
        verdicts = read_verdicts(workspace, repo, profile.name, option=profile.option)
        with open_tables(workspace, repo, ["entries"]) as connection:
            connection.register("verdicts", verdicts)
            tables.append(connection.sql(_REJECTS).to_arrow_table())
    return pa.concat_tables(tables)
