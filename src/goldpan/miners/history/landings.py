"""Finds the commits on the default branch that landed pull requests which were closed, not merged.

Some projects push: the work comes to the branch in a commit of its own, and GitHub sees a pull
request that was closed. The commit tells which one it was by a line that the project's tool
writes, by a closing keyword, or at the end of its subject; else git tells whether all commits of
the pull request have an equal patch on the branch. What a merged pull request brought is its own.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

import duckdb

from goldpan.core.errors import GitError
from goldpan.git.process import git, stream
from goldpan.text.keywords import ClosingKeyword, find_closing_keywords, find_mentions

LATE = 7 * 24 * 60 * 60
"""How long after a pull request was closed a commit may still land it, in seconds."""
_FORMAT = "%H%x00%ct%x00%B%x00%x00"
_END = b"\0\0\n"
# node, PyTorch, Angular, TensorFlow and others, each by its tool; `Merge-request` is GitLab's.
_TRAILER = re.compile(
    r"^(?:PR[- ]URL|PR[- ]Close|PR|(?:GitHub[- ])?(?:Pull|Merge)[- ]?(?:Request)?(?:[- ](?:URL"
    r"|Resolved))?|GitHub[- ]PR|Imported from GitHub PR)\s*:?\s+(\S+?)\.?\s*$",
    re.IGNORECASE | re.MULTILINE,
)
_SUBJECT_END = re.compile(r"\((#[1-9]\d*)\)\s*\Z")
_REVERT = re.compile(r"(?:re-?)?revert\b", re.IGNORECASE)


_CLOSED_PULLS = """
SELECT number, head_sha, epoch(created_at), epoch(closed_at) FROM entries
WHERE kind = 'pull' AND NOT merged AND state = 'closed' AND closed_at IS NOT NULL
  AND base_ref = (SELECT max(default_branch) FROM repositories)
ORDER BY number
"""
_CLAIMS = """
SELECT DISTINCT number, target_number, NULL::VARCHAR AS sha FROM refs
WHERE target_repo = $repo AND repo = $repo
  AND (signal IN ('will_close', 'closing_reference') OR signal = 'keyword' AND stance = 'stated')
UNION
SELECT DISTINCT NULL, target_number, commit_sha FROM refs
WHERE target_repo = $repo AND signal = 'closed_by' AND commit_sha IS NOT NULL
"""
"""The issues that pull requests name, and those that commits closed."""
_BROUGHT = """
SELECT sha FROM commits JOIN entries USING (number) WHERE merged
UNION SELECT merge_sha FROM entries WHERE merged AND merge_sha IS NOT NULL
"""


@dataclass(frozen=True, slots=True)
class ClosedPull:
    """A pull request that was closed, and not merged."""

    number: int
    head: str | None
    opened: float
    closed: float
    """Seconds since 1970, as git counts them."""


@dataclass(frozen=True, slots=True)
class Landing:
    """A commit on the default branch that landed a pull request."""

    pull: int
    sha: str
    subject: str
    keywords: tuple[ClosingKeyword, ...]
    """What its message closes."""


def landed_issues(
    connection: duckdb.DuckDBPyConnection, repo: str, clone: Path
) -> Iterator[tuple[object, ...]]:
    """Yield pull request and issue, each with its repository as the signals of a plugin have it.

    The issues are those that a landed pull request, or the commit that landed it, names or closes:
    rows of `pull_repo`, `pull`, `issue`, `source_id` and `excerpt`. Raises `GitError` where the
    clone cannot be read.
    """
    ((branch,),) = connection.execute("SELECT max(default_branch) FROM repositories").fetchall()
    rows = connection.execute(_CLOSED_PULLS).fetchall()
    pulls = {row[0]: ClosedPull(*row) for row in rows}
    claims: dict[object, set[int]] = defaultdict(set)
    for pull, issue, sha in connection.execute(_CLAIMS, {"repo": repo}).fetchall():
        claims[pull or sha].add(issue)
    claimed = [number for number in pulls if number in claims]
    brought = {sha for (sha,) in connection.execute(_BROUGHT).fetchall()}
    if not branch or not pulls:
        return
    for landing in find_landings(clone, repo, branch, pulls, claimed, brought):
        issues = claims.get(landing.pull, set()) | claims.get(landing.sha, set())
        for word in landing.keywords:
            if word.stance == "stated" and (word.repo or repo).lower() == repo.lower():
                issues = issues | {word.number}
        for issue in sorted(issues):
            yield repo, landing.pull, issue, landing.sha, landing.subject[:160]


def find_landings(
    clone: Path,
    repo: str,
    branch: str,
    pulls: Mapping[int, ClosedPull],
    claimed: Sequence[int],
    brought: Container[str] = (),
) -> Iterator[Landing]:
    """Yield the commits that land `pulls`; only those of `claimed` are compared by their patches.

    `brought` are the commits of merged pull requests, which land no other. Raises `GitError` where
    the clone cannot be read.
    """
    trunk: list[tuple[float, str]] = []
    found = set()
    for sha, time, message in _commits(clone, branch):
        trunk.append((time, sha))
        subject = message.partition("\n")[0].strip()
        if sha in brought or _REVERT.match(subject):
            continue
        keywords = tuple(find_closing_keywords(message, markdown=False))
        for number in sorted(_named(message, subject, keywords, repo) & pulls.keys()):
            pull = pulls[number]
            if pull.opened <= time <= pull.closed + LATE:
                found.add(number)
                yield Landing(number, sha, subject, keywords)
    trunk.sort()
    times = [time for time, _ in trunk]
    for number in claimed:
        pull = pulls[number]
        before = bisect_right(times, pull.closed + LATE)
        if number not in found and pull.head and before:
            tip = trunk[before - 1][1]
            picked = _picked(clone, tip, pull.head)
            if picked and not any(sha in brought for sha in picked):
                yield Landing(number, picked[0], "the same patch is on the default branch", ())


def _commits(clone: Path, branch: str) -> Iterator[tuple[str, float, str]]:
    """Yield the commits of a branch with the time and message of each, newest first."""
    options = ("log", f"--format={_FORMAT}", "--encoding=UTF-8", f"refs/heads/{branch}", "--")
    with stream(*options, clone=clone) as process:
        pending = b""
        output = cast(IO[bytes], process.stdout)
        while block := output.read(1 << 20):
            *records, pending = (pending + block).split(_END)
            for record in records:
                sha, time, message = record.split(b"\0", 2)
                yield sha.decode(), float(time), message.decode("utf-8", "replace")
        if process.wait():
            raise GitError(f"The branch {branch} in {clone} cannot be read", "Clone it again")


def _named(
    message: str, subject: str, keywords: Sequence[ClosingKeyword], repo: str
) -> frozenset[int]:
    """Return the numbers of this repository that a commit says it lands or closes."""
    written = [match[1] for match in (*_TRAILER.finditer(message), *_SUBJECT_END.finditer(subject))]
    mentions = (mention for text in written for mention in find_mentions(text)[:1])
    named = [
        *((mention.repo, mention.number) for mention in mentions),
        *((word.repo, word.number) for word in keywords if word.stance == "stated"),
    ]
    return frozenset(number for place, number in named if (place or repo).lower() == repo.lower())


def _picked(clone: Path, tip: str, head: str) -> list[str]:
    """Return the commits of a branch that have the patches of a head, none unless all are there."""
    options = ("rev-list", "--no-merges", "--cherry-mark", "--left-right", f"{tip}...{head}")
    ours = ("rev-list", "--no-merges", f"{tip}..{head}")
    try:
        marked = git(*options, clone=clone, subject=str(clone)).decode().split()
        commits = set(git(*ours, clone=clone, subject=str(clone)).decode().split())
    except GitError:  # the head, or a file that a partial clone lacks, is not there
        return []
    equal = [line[1:] for line in marked if line[0] == "="]
    return [sha for sha in equal if sha not in commits] if commits <= set(equal) else []
