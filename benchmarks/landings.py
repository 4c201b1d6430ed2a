"""Measures how often a commit that is said to land a pull request did.

``python -m benchmarks.landings WORKSPACE OWNER/NAME`` wants a mined repository with its clone, of a
project that merges. Each eighth merge is written anew as a push of one commit that names nothing,
so which pull request it landed is known; all that were closed within a week of it then count as
closed unmerged, as some of them were.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from goldpan.core.errors import GitError
from goldpan.core.proportions import wilson
from goldpan.core.storage.parquet import open_tables
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.git.process import git
from goldpan.miners.history.landings import LATE, ClosedPull, find_landings

_PULLS = """
SELECT number, head_sha, epoch(created_at), epoch(closed_at), merge_sha,
       (SELECT count(*) FROM commits c WHERE c.number = e.number) AS commits
FROM entries e
WHERE kind = 'pull' AND state = 'closed'
  AND base_ref = (SELECT max(default_branch) FROM repositories)
ORDER BY number
"""
_EVERY = 8


def push_anew(clone: Path, merge: str, branch: str) -> str | None:
    """Put the tree of a merge on its first parent as one commit; return it."""
    try:
        shown = git("show", "-s", "--format=%T %ct %P", merge, clone=clone, subject=str(clone))
    except GitError:  # the merge is lost
        return None
    tree, time, *parents = shown.decode().split()
    if len(parents) < 2:
        return None
    who = f"a <a@example.org> {time} +0000"
    data = f"tree {tree}\nparent {parents[0]}\nauthor {who}\ncommitter {who}\n\nPushed\n"
    options = ("hash-object", "-t", "commit", "-w", "--stdin")
    made = git(*options, clone=clone, subject=str(clone), stdin=data.encode()).decode().strip()
    git("update-ref", f"refs/heads/{branch}", made, clone=clone, subject=str(clone))
    return made


def main(root: Path, repo: str) -> None:
    """Print how many landings are right, and how many pushes of one commit are found."""
    workspace = WorkspaceLayout(root)
    with open_tables(workspace, repo, ("repositories", "entries", "commits")) as connection:
        ((branch,),) = connection.execute("SELECT default_branch FROM repositories").fetchall()
        rows = connection.execute(_PULLS).fetchall()
    pulls = {row[0]: ClosedPull(*row[:4]) for row in rows}
    said = right = single = found = 0
    with tempfile.TemporaryDirectory() as scratch:
        clone, source = Path(scratch) / "pushed.git", workspace.clone(repo)
        options = ("--quiet", "--bare", "--shared")
        git(
            "clone",
            *options,
            source,
            clone,
            subject=repo,
            reach=(("protocol.file.allow", "always"),),
        )
        for number, _, _, closed, merge, commits in [row for row in rows if row[4]][::_EVERY]:
            pushed = push_anew(clone, merge, branch)
            if pushed is None:
                continue
            near = {n: pull for n, pull in pulls.items() if abs(pull.closed - closed) < LATE}
            landings = {
                (landing.pull, landing.sha)
                for landing in find_landings(clone, repo, branch, near, list(near))
            }
            said += len(landings)
            right += (number, pushed) in landings
            single += commits == 1
            found += commits == 1 and (number, pushed) in landings
            for pull, sha in landings - {(number, pushed)}:
                sys.stdout.write(f"  #{pull} by {sha[:10]} beside #{number}\n")
    for what, part, whole in (("right", right, said), ("found of one commit", found, single)):
        share = wilson(part, whole)
        sys.stdout.write(f"{what}: {part} of {whole} [{share.low:.1%}, {share.high:.1%}]\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
