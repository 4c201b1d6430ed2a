"""Pairs issues with the pull requests that fix them (FAUN-Eval, section 3.2).

The references of a text are candidates (Algorithm 1, line 7); a candidate is confirmed when a
cross reference from the entry stands on the target's timeline (lines 8-13). Timelines are
mined, so the confirmation is a join. GitHub's other evidence of a fix gives further signals:

==================  =============================================================================
keyword             one of the nine closing keywords with the issue, in a text of the pull
will_close          GitHub's own reading of that, on the issue's timeline
closing_reference   the issue is linked as one that the pull closes
closed_by_pull      the issue was closed by merging the pull
closed_by_commit    the issue was closed by a commit that the pull brought, not before it was
                    opened, nor more than a week after it was merged
connected           somebody linked the two by hand, and nobody undid it
landed              a commit on the default branch landed the pull, which was closed unmerged, and
                    one of the two names or closes the issue; git tells, so it takes a clone
==================  =============================================================================
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from goldpan.core.errors import UsageError
from goldpan.core.plugins.loading import attribute_to_plugin, digests
from goldpan.core.plugins.parts import Kind
from goldpan.core.plugins.registry import Registry
from goldpan.core.result import Result, json_data
from goldpan.core.schemas.stages import PAIRS
from goldpan.core.storage.parquet import open_tables, replace_table
from goldpan.core.storage.sealed import seal_of_parquet, write_lineage
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.git.refs import verify_clone
from goldpan.miners.history.landings import landed_issues
from goldpan.text.keywords import STANCES

_OF_GITHUB = (
    *("keyword", "will_close", "closing_reference"),
    *("closed_by_pull", "closed_by_commit", "connected"),
)
SIGNALS = (*_OF_GITHUB, "landed")


_FILE_NAME = re.compile(r"[a-z0-9][a-z0-9_-]*")
TEXTS = ("title", "body", "commit", "comment", "review", "review_comment")


@dataclass(frozen=True, slots=True)
class Rules:
    """The signals that make a pair, and its other conditions."""

    name: str
    signals: tuple[str, ...]
    texts: tuple[str, ...] = TEXTS
    """The texts of a pull request whose closing keywords count."""
    confirm_keywords: bool = True
    """A keyword counts only beside a cross reference from the pull on the issue's timeline."""
    same_repository: bool = False
    default_branch: bool = False

    def parts(self) -> Iterable[tuple[Kind, str, object]]:
        """Return itself, as a plugin registers it; raises `UsageError` for a bad name."""
        if not _FILE_NAME.fullmatch(self.name):
            raise UsageError(
                f"The rules {self.name!r} cannot name a file",
                "Use lower-case letters, digits, hyphens and underscores",
            )
        return [("rules", self.name, self)]

    def plugins(self) -> dict[str, str]:
        """Return the digests of the plugins that brought them and their signals."""
        return digests(("rules", self.name), *(("signal", name) for name in self.signals))


_OWN: Mapping[str, Rules] = {
    rules.name: rules
    for rules in (
        Rules("default", _OF_GITHUB),
        # For sources without cross references, such as metadata backups.
        Rules("unconfirmed", _OF_GITHUB, confirm_keywords=False),
        # For projects that land pull requests by push.
        Rules("landed", SIGNALS),
    )
}


RULES = Registry("set of pairing rules", lambda: _OWN, "rules")
find_rules = RULES.find


@dataclass(frozen=True, slots=True)
class Signal:
    """A signal that a plugin adds; rules use it where they name it."""

    name: str
    query: str
    """SQL over `entries`, `commits`, `refs` and `repositories` that returns one row per pair:
    `pull_repo`, `pull` and `issue`, and optionally `source_id` and `excerpt`. ``$repo`` is the
    repository."""

    def parts(self) -> Iterable[tuple[Kind, str, object]]:
        """Return itself, as a plugin registers it."""
        return [("signal", self.name, self)]


_SIGNALS: Registry[Signal | None] = Registry("signal", lambda: dict.fromkeys(SIGNALS), "signal")


@dataclass(frozen=True, slots=True)
class PairResult(Result):
    """The result of pairing a repository."""

    repo: str
    rules: str
    pairs: int
    by_signal: Mapping[str, int]
    unconfirmed: int
    """Closing keywords for issues of this repository that no cross reference confirms."""
    elsewhere: int
    """Links from pulls here to issues of other repositories: pair those where they are mined."""
    other_rules: tuple[str, ...] = ()
    """By which other rules pairs are stored beside these."""
    lacks_history: bool = False
    """True where the signal `landed` needs a clone, and there is none."""


_ADDED = """
CREATE TEMP TABLE added (
  pull_repo VARCHAR NOT NULL, pull BIGINT NOT NULL, issue BIGINT NOT NULL,
  signal VARCHAR NOT NULL, "where" VARCHAR DEFAULT 'plugin', source_id VARCHAR, excerpt VARCHAR,
  confirmed BOOLEAN DEFAULT true
)
"""

_FOUND = """
CREATE TEMP TABLE found AS
WITH
confirmed AS (
  SELECT DISTINCT repo, number, target_number FROM refs
  WHERE signal = 'cross_referenced' AND target_repo = $repo
),
keywords AS (
  SELECT r.repo AS pull_repo, r.number AS pull, r.target_number AS issue, 'keyword' AS signal,
         r.keyword, r.stance, r.evidence.where AS "where", r.evidence.source_id AS source_id,
         r.evidence.excerpt AS excerpt, c.number IS NOT NULL AS confirmed
  FROM refs r LEFT JOIN confirmed c
    ON c.repo = r.repo AND c.number = r.number AND c.target_number = r.target_number
  WHERE r.signal = 'keyword' AND r.target_repo = $repo
),
links AS (
  SELECT repo AS pull_repo, number AS pull, target_number AS issue,
         CASE signal WHEN 'closed_by' THEN 'closed_by_pull' ELSE signal END AS signal,
         CASE signal WHEN 'closed_by' THEN "at" END AS closed_at
  FROM refs
  WHERE target_repo = $repo AND number IS NOT NULL
    AND signal IN ('will_close', 'closing_reference', 'closed_by')
  UNION
  SELECT repo, number, target_number, 'connected', NULL
  FROM refs WHERE signal IN ('connected', 'disconnected') AND target_repo = $repo
  GROUP BY repo, number, target_number
  HAVING max_by(signal, coalesce("at", TIMESTAMPTZ '1970-01-01')) = 'connected'
),
brought AS (
  SELECT number AS pull, merge_sha AS sha FROM entries WHERE kind = 'pull' AND merged
  UNION
  SELECT number, sha FROM commits JOIN entries USING (number) WHERE merged
),
commits_closing AS (
  SELECT DISTINCT $repo AS pull_repo, brought.pull, refs.target_number AS issue, refs.commit_sha,
         refs."at" AS closed_at
  FROM refs JOIN brought ON brought.sha = refs.commit_sha
  WHERE refs.signal = 'closed_by' AND refs.target_repo = $repo
),
signals AS (
  FROM keywords
  UNION ALL BY NAME SELECT *, 'timeline' AS "where", true AS confirmed FROM links
  UNION ALL BY NAME FROM added
  UNION ALL BY NAME
  SELECT pull_repo, pull, issue, 'closed_by_commit' AS signal, 'commit' AS "where",
         commit_sha AS source_id, closed_at, true AS confirmed FROM commits_closing
)
SELECT s.* EXCLUDE (closed_at),
       p.base_ref = (SELECT max(default_branch) FROM repositories) AS base_is_default,
       s.signal = 'landed' OR p.merged AS merged
FROM signals s
JOIN entries i ON i.number = s.issue AND i.kind = 'issue'
LEFT JOIN entries p ON s.pull_repo = $repo AND p.number = s.pull
WHERE (s.pull_repo IS DISTINCT FROM $repo OR p.kind = 'pull')
  -- what closed the issue before there was the pull, or long after its merge, was something else
  AND coalesce(s.closed_at BETWEEN p.created_at AND p.merged_at + INTERVAL 7 DAY, true)
"""

_PAIRS = """
WITH chosen AS (
  SELECT * FROM found
  WHERE list_contains($signals, signal)
    AND (signal <> 'keyword' OR confirmed OR NOT $confirm_keywords)
    AND (signal <> 'keyword' OR list_contains($texts, "where"))
    AND (pull_repo = $repo OR NOT $same_repository)
    AND (base_is_default OR NOT $default_branch)
),
seen AS (  -- whether the pull mentions the issue where the timeline shows it
  SELECT DISTINCT repo AS pull_repo, number AS pull, target_number AS issue FROM refs
  WHERE signal = 'cross_referenced' AND target_repo = $repo
)
SELECT $repo AS repo, issue, pull_repo, pull,
       list_sort(list_distinct(list(signal))) AS signals,
       list(keyword ORDER BY coalesce(list_position(['body', 'title', 'commit'], "where"), 9),
              source_id, excerpt, keyword) FILTER (keyword IS NOT NULL)[1] AS keyword,
       $stances[min(list_position($stances, stance))] AS stance,
       bool_or(seen.issue IS NOT NULL) AS confirmed,
       bool_or(base_is_default) AS base_is_default,
       bool_or(merged) AS merged,
       list_sort(list_distinct(list({'signal': signal, 'where': "where",
         'stance': stance, 'source_id': source_id, 'excerpt': excerpt}))) AS evidence,
       $rules AS rules
FROM chosen LEFT JOIN seen USING (pull_repo, pull, issue)
GROUP BY issue, pull_repo, pull
ORDER BY repo, issue, pull_repo, pull
"""


_UNCONFIRMED = """
SELECT count(DISTINCT (pull, issue)) FROM found WHERE signal = 'keyword' AND NOT confirmed
"""
_ELSEWHERE = """
SELECT count(DISTINCT (number, target_repo, target_number)) FROM refs
WHERE signal IN ('keyword', 'closing_reference') AND repo = $repo AND target_repo <> $repo
"""
_CLOSED = {
    "stated": "fixed by",
    "partial": "closed, though its text says fixed in part, by",
    "supposed": "closed, though its text only supposes a fix, by",
    "asked": "closed, though its text only asks, by",
    "negated": "closed, though its text says not fixed, by",
}
_NAMED = {
    "stated": "named as fixed by",
    "partial": "named as fixed in part by",
    "supposed": "supposed to be fixed by",
    "asked": "asked about as fixed by",
    "negated": "named as not fixed by",
}


def relation(pair: Mapping[str, Any]) -> str:
    """Return the wording that a pair's evidence bears out, from "fixed by" to a mere claim.

    "Fixed by" is a pull request that was merged, by whose merge GitHub closed the issue, and whose
    text does not hedge; the claim, doubt or denial of a text alone is worded as that.
    """
    closed = bool(pair["merged"]) and not {"closed_by_pull", "closed_by_commit"}.isdisjoint(
        pair["signals"]
    )
    return (_CLOSED if closed else _NAMED)[pair["stance"] or "stated"]


def pair(workspace: WorkspaceLayout, repo: str, rules: Rules) -> PairResult:
    """Write a repository's pairs by these rules, beside those by others, and count them.

    Raises `WorkspaceError` where the repository has no tables.
    """
    tables = ("repositories", "entries", "commits", "references")
    with open_tables(workspace, repo, tables) as connection:
        name = _scalar(connection, "SELECT max(repo) FROM repositories")
        has_history = _add_signals(connection, str(name), rules, workspace.clone(repo))
        connection.execute(_FOUND, {"repo": name})
        pairs: pa.Table = connection.sql(
            _PAIRS,
            params={
                "repo": name,
                "signals": list(rules.signals),
                "texts": list(rules.texts),
                "confirm_keywords": rules.confirm_keywords,
                "same_repository": rules.same_repository,
                "default_branch": rules.default_branch,
                "rules": rules.name,
                "stances": list(STANCES),
            },
        ).to_arrow_table()
        path = workspace.pairs(repo, rules.name)
        replace_table(path, PAIRS, pairs, str(name))
        seals = {
            f"{table}.parquet": seal_of_parquet(workspace.table(repo, table)) for table in tables
        }
        stage = f"pair.{rules.name}"
        write_lineage(path.parent, stage, seals, [path], rules.plugins(), json_data(rules))
        by_signal = dict.fromkeys(rules.signals, 0)
        for signals in pairs["signals"].to_pylist():
            for signal in signals:
                by_signal[signal] += 1
        unconfirmed = int(_scalar(connection, _UNCONFIRMED))
        elsewhere = int(_scalar(connection, _ELSEWHERE, {"repo": name}))
        return PairResult(
            str(name),
            rules.name,
            len(pairs),
            by_signal,
            unconfirmed,
            elsewhere,
            lacks_history=not has_history,
        )


def _add_signals(
    connection: duckdb.DuckDBPyConnection, repo: str, rules: Rules, clone: Path
) -> bool:
    """Fill the table `added` with the signals of plugins and of git that the rules name.

    False where a signal of git lacks a clone.
    """
    connection.execute(_ADDED)
    of_git = "landed" in rules.signals
    if of_git and clone.is_dir():
        verify_clone(clone)
        landed = list(landed_issues(connection, repo, clone))
        if landed:
            connection.executemany(_ADD_LANDED, landed)
    for name in rules.signals:
        signal = _SIGNALS.find(name, where=f"The rules {rules.name}")
        if signal is not None:
            with attribute_to_plugin("signal", name):
                references: pa.Table = connection.sql(
                    signal.query, params={"repo": repo} if "$repo" in signal.query else None
                ).to_arrow_table()
                references = references.append_column("signal", pa.repeat(name, len(references)))
                connection.register("rows", references)
                connection.execute('INSERT INTO added BY NAME FROM "rows"')
                connection.unregister("rows")
    return not of_git or clone.is_dir()


_ADD_LANDED = """
INSERT INTO added (pull_repo, pull, issue, signal, "where", source_id, excerpt)
VALUES (?, ?, ?, 'landed', 'commit', ?, ?)
"""


def _scalar(
    connection: duckdb.DuckDBPyConnection, query: str, values: dict[str, object] | None = None
) -> Any:
    return connection.execute(query, values or {}).fetchall()[0][0]
