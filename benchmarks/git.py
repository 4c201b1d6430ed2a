"""Speed of reading a real repository's history, against one git process a commit.

Three figures: both versions of the one file that 500 pull requests change, all paths of 500
commits, and fetching the files that a partial clone lacks all at once instead of one by one.
What comes out of both ways is compared byte for byte.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from operator import itemgetter
from pathlib import Path
from typing import Any

from benchmarks.scale import REPO, scratch
from goldpan.core.settings.config import Settings
from goldpan.core.storage.parquet import open_tables
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.core.terminal import Reporter
from goldpan.git.ancestry import read_ancestry
from goldpan.git.clone import clone, prefetch
from goldpan.git.objects import Objects
from goldpan.git.process import environment
from goldpan.git.refs import read_refs
from goldpan.git.trees import CommitPair, Depth, compare, path_bytes, path_text
from goldpan.miners.backup import mine_backup
from goldpan.miners.history.revisions import read_history

PULLS = 500
LAZY = 50
WANTED_RATIO = 5

_PULLS = "SELECT base_sha, head_sha FROM entries WHERE kind = 'pull' ORDER BY number"


def main() -> None:
    """Read the real repository both ways and print the ratios."""
    folder = Path(os.environ.get("GOLDPAN_REAL_DATA", "../shared/data"))
    source = folder / "github" / "bitcoin-core__secp256k1"
    if not source.exists():
        raise SystemExit(f"{source} is missing; set GOLDPAN_REAL_DATA to the real data's folder")
    with scratch() as directory:
        workspace = WorkspaceLayout(Path(directory))
        mine_backup(
            Settings(workspace.root), source / "entries.jsonl.xz", REPO, Reporter(quiet=True)
        )
        whole = clone(workspace, REPO, Reporter(quiet=True), source=source / "repo.bundle").path
        seconds, history = timed(lambda: read_history(workspace, REPO, Reporter(quiet=True)))
        print(
            f"{REPO}: {history.pulls:,} pulls, {history.changes:,} changed files "
            f"in {seconds:.1f} s ({history.pulls / seconds:.0f} pulls/s)"
        )
        singles = single_file_pulls(workspace, whole)
        compare_blobs(whole, singles)
        compare_trees(whole, [before for before, _, _ in singles])
        compare_fetching(Path(directory), whole, singles, Reporter(quiet=True))


def single_file_pulls(workspace: WorkspaceLayout, path: Path) -> list[tuple[str, str, str]]:
    """Return the commits before and after, and the path, of pulls that edit one file."""
    with open_tables(workspace, REPO, ["entries"]) as connection:
        pulls = connection.execute(_PULLS).fetchall()
    ancestry = read_ancestry(path, (), read_refs(path)["refs/heads/master"])
    pairs = []
    for base, head in pulls:
        if ancestry.find(base) and ancestry.find(head):
            fork = ancestry.fork(base, head)
            pairs += [CommitPair(fork[0], head)] if fork else []
    compared = zip(pairs, compare(path, pairs, Depth.FILES), strict=True)
    changed = [(pair, touched[0]) for pair, touched in compared if touched and len(touched) == 1]
    edited = [(pair, file) for pair, file in changed if file.letter == "M"]
    return [(pair.before, pair.after, path_text(file.path)) for pair, file in edited[:PULLS]]


def compare_blobs(path: Path, singles: list[tuple[str, str, str]]) -> None:
    """Read both versions of each file through one git, and through two processes each."""

    def ours() -> list[bytes | None]:
        with Objects(path) as objects:
            entries = [
                objects.find(commit, path_bytes(name))
                for before, after, name in singles
                for commit in (before, after)
            ]
            blobs = objects.read(entry.id if entry else "" for entry in entries)
            return [blob.data if blob else None for blob in blobs]

    def theirs() -> list[bytes | None]:
        return [
            plain_git(path, "show", f"{commit}:{name}")
            for before, after, name in singles
            for commit in (before, after)
        ]

    fast, slow = versus(f"both versions of {len(singles)} single files", ours, theirs)
    assert fast == slow


def compare_trees(path: Path, commits: list[str]) -> None:
    """List all files of each commit."""

    def ours() -> list[list[str]]:
        with Objects(path) as objects:
            return [[file.path for file in objects.files(commit)] for commit in commits]

    def theirs() -> list[list[str]]:
        listed = (
            plain_git(path, "ls-tree", "-r", "-z", "--name-only", commit) for commit in commits
        )
        return [[path_text(name) for name in names.split(b"\0")[:-1]] for names in listed]

    fast, slow = versus(f"trees of {len(commits)} commits", ours, theirs)
    assert fast == slow


def compare_fetching(
    directory: Path, whole: Path, singles: list[tuple[str, str, str]], reporter: Reporter
) -> None:
    """Fetch the same files at once, and as git does by itself: one by one when they are read."""
    plain_git(whole, "config", "uploadpack.allowFilter", "true")
    with Objects(whole) as objects:
        entries = [objects.find(after, path_bytes(name)) for _, after, name in singles]
    blobs = list(dict.fromkeys(entry.id for entry in entries if entry))
    url = whole.as_uri()
    partial = clone(WorkspaceLayout(directory / "partial"), REPO, reporter, source=url)
    at_once, came = timed(lambda: prefetch(partial.path, blobs, reporter))
    assert came.fetched == len(blobs)
    lazy = directory / "lazy.git"
    command = ["git", "clone", "--quiet", "--bare", "--filter=blob:none", url, str(lazy)]
    settings = environment() | {"GIT_ALLOW_PROTOCOL": "file", "GIT_NO_LAZY_FETCH": "0"}
    subprocess.run(command, env=settings, check=True)
    some = blobs[:: max(1, len(blobs) // LAZY)][:LAZY]

    def one_by_one() -> None:
        for blob in some:
            show = ["git", f"--git-dir={lazy}", "cat-file", "blob", blob]
            subprocess.run(show, env=settings, check=True, stdout=subprocess.DEVNULL)

    slow, _ = timed(one_by_one)
    batched, single = at_once / len(blobs), slow / len(some)
    print(
        f"files of a partial clone: {len(blobs)} at once in {at_once:.2f} s "
        f"({batched * 1e3:.1f} ms each), one by one {single * 1e3:.0f} ms each: "
        f"{single / batched:.0f} x"
    )


def versus(what: str, ours: Callable[[], Any], theirs: Callable[[], Any]) -> tuple[Any, Any]:
    """Time two ways to the same result, each at its best of three, and print their ratio."""
    fast, mine = min((timed(ours) for _ in range(3)), key=itemgetter(0))
    slow, other = min((timed(theirs) for _ in range(3)), key=itemgetter(0))
    ratio = slow / fast
    verdict = "" if ratio >= WANTED_RATIO else f"  BELOW {WANTED_RATIO} x"
    print(f"{what}: {fast:.2f} s, one process a commit {slow:.2f} s: {ratio:.0f} x{verdict}")
    return mine, other


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return how many seconds something takes, and its result."""
    started = time.perf_counter()
    result = work()
    return time.perf_counter() - started, result


def plain_git(path: Path, *arguments: str) -> bytes:
    """Run one git on a clone."""
    command = ["git", f"--git-dir={path}", *arguments]
    done = subprocess.run(command, env=environment(), check=True, stdout=subprocess.PIPE)
    return done.stdout


if __name__ == "__main__":
    main()
