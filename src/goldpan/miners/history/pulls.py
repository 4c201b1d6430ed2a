"""What the tables say of the pull requests whose history is wanted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import duckdb

from goldpan.core.query import open_tables, second
from goldpan.core.sealed import verify_parquet
from goldpan.core.workspace import Workspace

_WANTED = """
SELECT number, merged, base_ref, base_sha, head_sha, merge_sha, changed_files, additions,
       deletions, coalesce(listed, 0) AS commits
FROM entries
LEFT JOIN (SELECT number, count(*) AS listed FROM commits GROUP BY number) USING (number)
WHERE kind = 'pull' AND (coalesce(merged, false) OR number IN (SELECT pull FROM paired))
ORDER BY number
"""

_PAIRED = "INSERT INTO paired SELECT pull FROM read_parquet($path) WHERE pull_repo = $repo"


@dataclass(frozen=True, slots=True)
class Counts:
    """How many files and lines a pull request changes; null where nobody said."""

    files: int | None
    additions: int | None
    deletions: int | None

    def agree(self, other: Counts) -> bool | None:
        """Tell whether two counts are the same as far as both are known; None for no count."""
        pairs = (
            (self.files, other.files),
            (self.additions, other.additions),
            (self.deletions, other.deletions),
        )
        comparisons = [first == another for first, another in pairs if None not in (first, another)]
        return all(comparisons) if comparisons else None


@dataclass(frozen=True, slots=True)
class Pull:
    """A pull request as the API told of it."""

    number: int
    merged: bool
    base_ref: str | None
    base_sha: str | None
    head_sha: str | None
    merge_sha: str | None
    announced: Counts
    commits: int
    """How many commits its timeline lists."""

    @property
    def shas(self) -> tuple[str, ...]:
        """The commits that the API names."""
        return tuple(sha for sha in (self.base_sha, self.head_sha, self.merge_sha) if sha)


@dataclass(frozen=True, slots=True)
class Tables:
    """An open connection to the tables of one repository, for the pull requests in them."""

    connection: duckdb.DuckDBPyConnection
    repo: str
    default_branch: str | None

    def pulls(self, at_once: int) -> Iterator[list[Pull]]:
        """Yield the merged pulls and those of fix pairs by any rules by number, so many at once."""
        cursor = second(self.connection).execute(_WANTED)
        while rows := cursor.fetchmany(at_once):
            yield [
                Pull(
                    row[0], bool(row[1]), row[2], row[3], row[4], row[5], Counts(*row[6:9]), row[9]
                )
                for row in rows
            ]


@contextmanager
def open_pulls(workspace: Workspace, repo: str) -> Iterator[Tables]:
    """Open a repository's tables; raises `WorkspaceError` where it has none."""
    names = ("repositories", "entries", "commits")
    with open_tables(workspace, repo, names) as connection:
        row = connection.execute("SELECT repo, default_branch FROM repositories").fetchall()
        name, branch = row[0] if row else (repo, None)
        connection.execute("CREATE TABLE paired (pull BIGINT)")
        for rules in workspace.paired_by(repo):
            path = verify_parquet(workspace.pairs(repo, rules))
            connection.execute(_PAIRED, {"path": str(path), "repo": name})
        yield Tables(connection, name, branch)
