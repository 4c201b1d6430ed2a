"""Real git repositories for tests, built object by object so that they can be as odd as needed."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from goldpan.core.schemas.mined import COMMITS, ENTRIES, REPOSITORIES
from goldpan.core.schemas.stages import PAIRS
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.execution.records import FixInstance
from goldpan.git.clone import clone
from goldpan.git.trees import CommitPair, patches
from goldpan.miners.history.revisions import History, read_history
from tests.mining import Notes
from tests.table_rows import put_table
from tests.twin.history import git

REPO = "o/n"
LOST = "f" * 40
ONE = {"changed_files": 1, "additions": 1, "deletions": 1}
"""What GitHub announces of a pull request that changes one line."""
FILES = {b"a.py": b"a = 1\n", b"b.py": b"b = 1\n"}
_START = 1_600_000_000
_SECOND = 1_717_000_000  # in May 2024


@dataclass(frozen=True, slots=True)
class Odd:
    """What stands in a folder instead of an ordinary file: another mode, or another object."""

    mode: str
    id: str


Content = bytes | Odd
Files = Mapping[bytes, Content]


@dataclass(slots=True)
class Repository:
    """A bare repository; commits are a minute apart unless told otherwise."""

    path: Path
    _time: int = field(default=_START)

    @classmethod
    def create(cls, path: Path) -> Repository:
        """Make an empty repository that serves partial clones."""
        git("init", "--quiet", "--bare", "--template=", "--initial-branch=main", path)
        made = cls(path)
        made.git("config", "uploadpack.allowFilter", "true")
        return made

    def git(self, *arguments: str, stdin: bytes = b"") -> str:
        """Run git on the repository and return what it prints, stripped."""
        return git(f"--git-dir={self.path}", *arguments, stdin=stdin).decode().strip()

    def object(self, kind: str, data: bytes) -> str:
        """Write any object, however malformed, and return its id."""
        return self.git("hash-object", "-w", "--literally", "-t", kind, "--stdin", stdin=data)

    def tree(self, files: Files) -> str:
        """Write folders of files by whole path and return the outermost one's id."""
        entries: dict[bytes, tuple[str, str]] = {}
        below: dict[bytes, dict[bytes, Content]] = {}
        for path, content in files.items():
            name, slash, rest = path.partition(b"/")
            if slash:
                below.setdefault(name, {})[rest] = content
            elif isinstance(content, Odd):
                entries[name] = (content.mode, content.id)
            else:
                entries[name] = ("100644", self.object("blob", content))
        for name, inner in below.items():
            entries[name] = ("40000", self.tree(inner))
        return self.raw_tree((mode, name, id) for name, (mode, id) in entries.items())

    def raw_tree(self, entries: Iterable[tuple[str, bytes, str]]) -> str:
        """Write one folder as it is told, in git's order."""
        ordered = sorted(
            entries, key=lambda entry: entry[1] + (b"/" if entry[0] == "40000" else b"")
        )
        data = b"".join(
            mode.encode() + b" " + name + b"\0" + bytes.fromhex(id) for mode, name, id in ordered
        )
        return self.object("tree", data)

    def commit(
        self,
        files: Files | str,
        *parents: str,
        ref: str | None = None,
        time: int | None = None,
        message: str | None = None,
    ) -> str:
        """Write a commit of files, or of a tree by id, and point a ref at it."""
        self._time += 60
        tree = files if isinstance(files, str) else self.tree(files)
        who = f"a <a@example.org> {time or self._time} +0000"
        lines = [f"tree {tree}", *(f"parent {parent}" for parent in parents)]
        text = message or f"commit at {self._time}"
        lines += [f"author {who}", f"committer {who}", "", text, ""]
        made = self.object("commit", "\n".join(lines).encode())
        if ref is not None:
            self.point(ref, made)
        return made

    def point(self, ref: str, commit: str) -> None:
        """Move a ref, by force if need be."""
        self.git("update-ref", ref, commit)

    def bundle(self, path: Path) -> Path:
        """Write all refs into a bundle."""
        self.git("bundle", "create", "--quiet", str(path), "--all")
        return path


def edited(**new: str) -> dict[bytes, Any]:
    """Return the files that `main` starts with, some anew; names stand for paths in .py."""
    return {**FILES, **{f"{name}.py".encode(): text.encode() for name, text in new.items()}}


def pull_row(number: int, **facts: Any) -> dict[str, Any]:
    """Return a row of `entries` for a merged pull request."""
    moment = datetime(2024, 1, 1, tzinfo=UTC)
    return {
        "number": number,
        "kind": "pull",
        "title": "t",
        "state": "closed",
        "merged": True,
        "merged_at": moment,
        "created_at": moment,
        "base_ref": "main",
        **facts,
    }


def write_tables(
    workspace: WorkspaceLayout,
    pulls: Iterable[dict[str, Any]],
    *,
    commits: Mapping[int, int] | None = None,
    pairs: Iterable[int] = (),
) -> None:
    """Write the tables that reading a history needs; `commits` tells how many a pull lists."""
    put_table(workspace, REPO, REPOSITORIES, [{"default_branch": "main"}])
    put_table(workspace, REPO, ENTRIES, pulls)
    listed = [
        {"number": number, "sha": f"{number}-{index}"}
        for number, count in (commits or {}).items()
        for index in range(count)
    ]
    put_table(workspace, REPO, COMMITS, listed)
    paired = [{"issue": 1, "pull_repo": REPO, "pull": number} for number in pairs]
    put_table(workspace, REPO, PAIRS, paired)


def read_blobs(folder: Path, ids: Iterable[bytes]) -> Iterator[tuple[bytes, bytes]]:
    """Yield the files of a clone with these ids and their content."""
    out = git("-C", folder, "cat-file", "--batch", stdin=b"\n".join(ids) + b"\n")
    at = 0
    while at < len(out):
        end = out.index(b"\n", at)
        name, kind, *size = out[at:end].split()
        at = end + 1
        if kind == b"blob":
            yield name, out[at : at + int(size[0])]
        if size:
            at += int(size[0]) + 1


def fix_instance(
    repository: Repository,
    number: int,
    before: Mapping[str, str],
    fixed: Mapping[str, str],
    tests: Mapping[str, str],
    name: str = "",
) -> FixInstance:
    """Commit a project, its fix and its tests; return the fix of the pull request `number`."""
    base, after, tested = (
        repository.commit(
            {path.encode(): content.encode() for path, content in {**before, **change}.items()},
            ref=f"refs/heads/{number}-{place}",
            time=_SECOND,
        )
        for place, change in enumerate(({}, fixed, tests))
    )
    diffs = patches(repository.path, [CommitPair(base, after), CommitPair(base, tested)])
    fix, test_patch = (patch or "" for patch in diffs)
    identity = f"x:o/n#{name or number}"
    return FixInstance(identity, REPO, number, number, base, fix, test_patch, tuple(tests))


def fails(*command: str) -> bool:
    """Tell whether a command ends badly."""
    return subprocess.run(command, capture_output=True, check=False).returncode != 0


class Case:
    """A repository whose `main` starts with two files, and the pull requests told of it."""

    def __init__(self, tmp_path: Path) -> None:
        self.repository = Repository.create(tmp_path / "source.git")
        self.workspace = WorkspaceLayout(tmp_path / "workspace")
        self.start = self.repository.commit(FILES, ref="refs/heads/main")
        self.pulls: list[dict[str, Any]] = []
        self.source: str | Path = self.repository.path

    def main(self, files: dict[bytes, Any], *parents: str) -> str:
        """Commit to `main`, on its tip unless parents are given."""
        tip = self.repository.git("rev-parse", "main")
        return self.repository.commit(files, *(parents or (tip,)), ref="refs/heads/main")

    def head(self, number: int, files: dict[bytes, Any], *parents: str) -> str:
        """Commit to a pull request's head."""
        ref = f"refs/pull/{number}/head"
        return self.repository.commit(files, *(parents or (self.start,)), ref=ref)

    def tell(self, number: int, **facts: Any) -> None:
        """Take up what the API says of a pull request."""
        self.pulls.append(pull_row(number, **facts))

    def read(self, **more: Any) -> History:
        """Clone and read; `more` goes to `write_tables`."""
        clone(self.workspace, REPO, Notes(), source=self.source)
        write_tables(self.workspace, self.pulls, **more)
        return read_history(self.workspace, REPO, Notes())

    def rows(self, name: str) -> list[dict[str, Any]]:
        """Return a table's rows."""
        content: list[dict[str, Any]] = pq.read_table(self.workspace.table(REPO, name)).to_pylist()
        return content

    def row(self, **more: Any) -> dict[str, Any]:
        """Read the only pull request and return its row."""
        self.read(**more)
        (row,) = self.rows("revisions")
        return row
