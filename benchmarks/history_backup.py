"""A metadata backup out of a git history, for measurements where no backup of a project is at hand.

Pull requests are the merges and squashed commits of the first parents that name them; issues are
those that their messages close. The texts are the commits' own: what was written on GitHub
is not in git. An issue therefore has the title and message of its fix, so such a backup measures
what runs, and makes no dataset for models.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from goldpan.git.process import environment

_MERGE = re.compile(r"Merge pull request #(\d+) from \S+\s*")
_SQUASH = re.compile(r"(.*\S)\s*\(#(\d+)\)$")
_CLOSES = re.compile(r"\b(?:fix(?:e[sd])?|close[sd]?|resolve[sd]?):?\s+#(\d+)", re.I)
_FORMAT = "%H%x00%P%x00%cI%x00%an%x00%B%x01"

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit as `git log` tells it."""

    sha: str
    parents: tuple[str, ...]
    date: str
    author: str
    message: str


@dataclass(frozen=True, slots=True)
class Pull:
    """A pull request as its merge tells it."""

    number: int
    title: str
    merge: Commit
    head: str
    commits: tuple[Commit, ...]

    @property
    def body(self) -> str:
        """What its commits say, and what was said when it was merged."""
        return "\n\n".join(
            dict.fromkeys(text for text in (self._said(), *self._told()) if text and text.strip())
        )

    @property
    def closes(self) -> tuple[int, ...]:
        """The issues that it closes, each once."""
        numbers = (int(number) for number in _CLOSES.findall(f"{self.title}\n{self.body}"))
        return tuple(dict.fromkeys(number for number in numbers if number != self.number))

    def _said(self) -> str:
        return "\n".join(self.merge.message.split("\n")[1:]).strip()

    def _told(self) -> Iterator[str]:
        if len(self.merge.parents) > 1:
            yield from (commit.message for commit in reversed(self.commits))


def read_pulls(clone: Path) -> list[Pull]:
    """Return the pull requests that the first parents of HEAD name, oldest first."""
    pulls = []
    for commit in reversed(_log(clone, "--first-parent", "HEAD")):
        subject = commit.message.partition("\n")[0]
        if len(commit.parents) > 1 and (merged := _MERGE.match(subject)):
            own = _log(clone, "-100", f"{commit.parents[0]}..{commit.parents[1]}")
            lines = [line for line in commit.message.split("\n")[1:] if line.strip()]
            title = lines[0] if lines else (own[0].message.partition("\n")[0] if own else subject)
            pulls.append(Pull(int(merged[1]), title.strip(), commit, commit.parents[1], tuple(own)))
        elif len(commit.parents) == 1 and (squashed := _SQUASH.match(subject)):
            number = int(squashed[2])
            pulls.append(Pull(number, squashed[1], commit, commit.sha, (commit,)))
    return list({pull.number: pull for pull in pulls}.values())


def entries(clone: Path, repo: str) -> Iterator[Json]:
    """Yield the entries of the pull requests that close issues, and of these issues."""
    pulls = read_pulls(clone)
    numbers = {pull.number for pull in pulls}
    closed: dict[int, Pull] = {}
    for pull in pulls:
        if not pull.closes:
            continue
        yield _pull(clone, repo, pull)
        for number in pull.closes:
            if number not in numbers:
                closed.setdefault(number, pull)
    for number, pull in closed.items():
        yield _issue(number, pull)


def _issue(number: int, pull: Pull) -> Json:
    opened, merged = pull.commits[-1].date if pull.commits else pull.merge.date, pull.merge.date
    person = _person(pull.merge.author)
    return {
        "type": "issue",
        "issue": {
            "number": number,
            "title": pull.title,
            "body": pull.body,
            "state": "closed",
            "state_reason": "completed",
            "user": person,
            "author_association": "NONE",
            "labels": [],
            "comments": 0,
            "created_at": opened,
            "updated_at": merged,
            "closed_at": merged,
        },
        "events": [
            {
                "event": "cross-referenced",
                "actor": person,
                "created_at": opened,
                "source": {"type": "issue", "issue": {"number": pull.number}},
            },
            {"event": "closed", "actor": person, "created_at": merged},
        ],
    }


def _pull(clone: Path, repo: str, pull: Pull) -> Json:
    base = pull.merge.parents[0]
    added, deleted, files = _sizes(clone, base, pull.head)
    opened = pull.commits[-1].date if pull.commits else pull.merge.date
    return {
        "type": "pull",
        "pull": {
            "number": pull.number,
            "title": pull.title,
            "body": pull.body,
            "state": "closed",
            "user": _person(pull.commits[-1].author if pull.commits else pull.merge.author),
            "author_association": "CONTRIBUTOR",
            "base": {
                "ref": "main",
                "sha": base,
                "repo": {"full_name": repo, "default_branch": "main", "language": "Python"},
            },
            "head": {"ref": "fix", "sha": pull.head},
            "merged_at": pull.merge.date,
            "merge_commit_sha": pull.merge.sha,
            "comments": 0,
            "commits": len(pull.commits),
            "additions": added,
            "deletions": deleted,
            "changed_files": files,
            "created_at": opened,
            "updated_at": pull.merge.date,
            "closed_at": pull.merge.date,
        },
        "events": [
            {
                "event": "committed",
                "sha": commit.sha,
                "message": commit.message,
                "author": {"name": commit.author, "date": commit.date},
                "committer": {"name": commit.author, "date": commit.date},
            }
            for commit in reversed(pull.commits)
        ],
        "comments": [],
    }


def _person(name: str) -> Mapping[str, object]:
    login = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "someone"
    return {"login": login, "id": sum(login.encode()), "type": "User"}


def _sizes(clone: Path, base: str, head: str) -> tuple[int, int, int]:
    lines = _git(clone, "diff", "--numstat", "--no-renames", f"{base}...{head}").splitlines()
    counts = [line.split("\t")[:2] for line in lines]
    added = sum(int(plus) for plus, _ in counts if plus.isdigit())
    deleted = sum(int(minus) for _, minus in counts if minus.isdigit())
    return added, deleted, len(counts)


def _log(clone: Path, *arguments: str) -> list[Commit]:
    commits = []
    for record in _git(clone, "log", f"--format={_FORMAT}", *arguments).split("\x01"):
        if record.strip():
            sha, parents, date, author, message = record.lstrip("\n").split("\0")
            commits.append(Commit(sha, tuple(parents.split()), date, author, message.strip()))
    return commits


def _git(clone: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments],
        env=environment(clone=clone),
        cwd=clone,
        capture_output=True,
        check=True,
    )
    return done.stdout.decode("utf-8", "replace")


def main() -> None:
    """Write the backup of a clone as JSON lines."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("clone", type=Path)
    parser.add_argument("repo", help="OWNER/NAME")
    parser.add_argument("output", type=Path)
    options = parser.parse_args()
    with options.output.open("w", encoding="utf-8") as file:
        for entry in entries(options.clone, options.repo):
            file.write(json.dumps(entry) + "\n")


if __name__ == "__main__":
    main()
