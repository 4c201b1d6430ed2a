"""The git repository that belongs to a made-up history, and the world that agrees with it.

Two things cannot be as on GitHub. A path that climbs out of the repository, which the world
lists for one pull request, cannot be in git: the API's list holds it, git does not. And a pull
request whose fork was deleted has no ``refs/pull/N/head``, although GitHub would keep it, so
that there is a head commit that cannot be had; it was merged by squashing.
"""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from .code import Change, Code, Tree, Work
from .sluice import SLUICE
from .store import World
from .synthetic import demo_world
from .world import Commit, Entry, Event, File, Item, Pull, Review

_STATUS = {"A": "added", "C": "copied", "D": "removed", "M": "modified", "R": "renamed"}
_MAINTAINER = "wheelwright <wheelwright@example.org>"
_GITHUB = "GitHub <noreply@github.com>"


def git(*arguments: str | Path, stdin: bytes = b"") -> bytes:
    """Run git as if nobody had ever configured it, and return what it prints."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    quiet = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C"}
    command = ["git", *map(str, arguments)]
    return subprocess.run(
        command, input=stdin, stdout=subprocess.PIPE, env=inherited | quiet, check=True
    ).stdout


@dataclass(frozen=True, slots=True, eq=False)
class _Node:
    """A commit that git is yet to be told of."""

    mark: int
    tree: Tree
    parents: tuple[_Node, ...]


@dataclass(frozen=True, slots=True)
class _Opened:
    """Where a pull request began, and what it brings."""

    base: _Node
    fork: _Node
    commits: tuple[_Node, ...]
    squash: bool


@dataclass(slots=True)
class _Writer:
    """Writes commits as a stream for `git fast-import`."""

    stream: bytearray = field(default_factory=bytearray)
    tips: dict[str, _Node] = field(default_factory=dict)
    _count: int = 0

    def commit(
        self,
        ref: str,
        message: str,
        at: str,
        tree: Tree,
        parents: tuple[_Node, ...],
        *,
        author: str = _MAINTAINER,
        committer: str | None = None,
    ) -> _Node:
        """Add a commit to a branch or other ref."""
        self._count += 1
        seconds = int(datetime.fromisoformat(at).timestamp())
        text = message.encode()
        self.stream += (
            f"commit {ref}\nmark :{self._count}\nauthor {author} {seconds} +0000\n"
            f"committer {committer or author} {seconds} +0000\ndata {len(text)}\n"
        ).encode()
        self.stream += text + b"\n"
        for word, parent in zip(("from", *["merge"] * len(parents)), parents, strict=False):
            self.stream += f"{word} :{parent.mark}\n".encode()
        before = parents[0].tree if parents else {}
        for path in sorted(before.keys() - tree.keys()):
            self.stream += f"D {path}\n".encode()
        for path in sorted(path for path in tree if before.get(path) != tree[path]):
            self.stream += f"M 100644 inline {path}\ndata {len(tree[path])}\n".encode()
            self.stream += tree[path] + b"\n"
        node = self.tips[ref] = _Node(self._count, tree, parents)
        return node


def history_world(repository: Path) -> World:
    """Make the bare git repository of `sluice`; return the world whose hashes and files it has."""
    return with_history(demo_world(), SLUICE, repository)


def with_history(world: World, code: Code, repository: Path) -> World:
    """Make a bare git repository and return the world with hashes and files of its own."""
    writer, opened, merged, strays = _write(world, code)
    git("init", "--quiet", "--bare", "--initial-branch=main", "--template=", repository)
    marks = repository / "marks"
    git(
        f"--git-dir={repository}",
        "fast-import",
        "--quiet",
        f"--export-marks={marks}",
        stdin=bytes(writer.stream),
    )
    named = (line.split() for line in marks.read_text().splitlines())
    hashes = {int(mark[1:]): sha for mark, sha in named}
    marks.unlink()
    renamed = {old: hashes[node.mark] for old, node in strays.items()}
    for number, work in opened.items():
        commits = world.main.entries[number].commits
        renamed |= {
            commit.sha: hashes[node.mark]
            for commit, node in zip(commits, work.commits, strict=True)
        }
    for number, node in merged.items():
        if old := _pull(world, number).merge_sha:
            renamed[old] = hashes[node.mark]
    for number, entry in list(world.main.entries.items()):
        pull = entry.pull
        if pull is not None:
            pull = _true_pull(repository, pull, hashes[opened[number].base.mark], renamed)
            if pull.head_repo is None:
                git(f"--git-dir={repository}", "update-ref", "-d", f"refs/pull/{number}/head")
        timeline = tuple(_true_item(item, renamed) for item in entry.timeline)
        replies = tuple(_true_review(review, renamed) for review in entry.replies)
        world.put(replace(entry, pull=pull, timeline=timeline, replies=replies))
    return world


def _write(
    world: World, code: Code
) -> tuple[_Writer, dict[int, _Opened], dict[int, _Node], dict[str, _Node]]:
    """Replay what happened in order of time: pull requests, merges, commits without either."""
    writer = _Writer()
    tree = code.first
    main = "refs/heads/main"
    first = writer.commit(main, "First version", "2022-12-01T09:00:00Z", tree, ())
    title = "Mention the tutorial"
    tree = _changed(tree, code.work_on(title, 0, 1).commits[0])
    second = writer.commit(main, title, "2022-12-02T09:00:00Z", tree, (first,))
    opened: dict[int, _Opened] = {}
    merged: dict[int, _Node] = {}
    strays: dict[str, _Node] = {}
    shas = {commit.sha for entry in world.main.entries.values() for commit in entry.commits}
    steps: list[tuple[str, int, str]] = []
    for entry in world.main.entries.values():
        if entry.pull is not None:
            steps.append((entry.created_at, entry.number, "open"))
            if entry.pull.merged_at is not None:
                steps.append((entry.pull.merged_at, entry.number, "merge"))
        steps += [
            (event.created_at or "", entry.number, event.closer)
            for event in entry.timeline
            if isinstance(event, Event)
            and isinstance(event.closer, str)
            and event.closer not in shas
        ]
    for at, number, step in sorted(steps):
        entry = world.main.entries[number]
        if step == "open":
            branch = f"refs/heads/{_pull(world, number).base_ref}"
            if branch not in writer.tips:
                title = "Begin a release"
                tree = _changed(second.tree, code.work_on(title, 0, 1).commits[0])
                writer.commit(branch, title, "2022-12-03T09:00:00Z", tree, (second,))
            opened[number] = _open(writer, entry, _work(code, entry), writer.tips[branch])
        elif step == "merge":
            merged[number] = _merge(writer, entry, opened[number])
        else:
            tip = writer.tips[main]
            work = code.work_on(entry.title, number, 1)
            tree = _changed(tip.tree, work.commits[0])
            strays[step] = writer.commit(main, f"Fixes #{number}", at, tree, (tip,))
    return writer, opened, merged, strays


def _open(writer: _Writer, entry: Entry, work: Work, base: _Node) -> _Opened:
    fork = base
    for _ in range(work.behind):
        fork = fork.parents[0]
    node, nodes = fork, []
    for commit, change in zip(entry.commits, work.commits, strict=True):
        node = writer.commit(
            f"refs/pull/{entry.number}/head",
            commit.message,
            commit.committed_at,
            _changed(node.tree, change),
            (node,),
            author=f"{commit.name} <{commit.email}>",
        )
        nodes.append(node)
    return _Opened(base, fork, tuple(nodes), work.squash)


def _merge(writer: _Writer, entry: Entry, work: _Opened) -> _Node:
    """Merge as GitHub's button does; nothing in this history conflicts."""
    pull, head = entry.pull, work.commits[-1]
    if pull is None or pull.merged_at is None:
        raise ValueError(f"#{entry.number} was not merged")
    tip = writer.tips[f"refs/heads/{pull.base_ref}"]
    tree = dict(tip.tree)
    for path in work.fork.tree.keys() | head.tree.keys():
        before, after = work.fork.tree.get(path), head.tree.get(path)
        if before == after:
            continue
        if tip.tree.get(path) != before:
            raise ValueError(f"#{entry.number} conflicts in {path}")
        if after is None:
            del tree[path]
        else:
            tree[path] = after
    squash, title = work.squash, entry.title
    owner = (pull.head_repo or "ghost").partition("/")[0]
    came = f"Merge pull request #{entry.number} from {owner}/{pull.head_ref}"
    message = f"{title} (#{entry.number})" if squash else f"{came}\n\n{title}"
    return writer.commit(
        f"refs/heads/{pull.base_ref}",
        message,
        pull.merged_at,
        tree,
        (tip,) if squash else (tip, head),
        committer=_GITHUB,
    )


def _true_pull(repository: Path, pull: Pull, base: str, renamed: dict[str, str]) -> Pull:
    head = renamed[pull.head_sha]
    listed = [file for file in pull.files if ".." in file.path.split("/")]
    files = sorted([*changed_files(repository, base, head), *listed], key=lambda file: file.path)
    return replace(
        pull,
        base_sha=base,
        head_sha=head,
        merge_sha=renamed[pull.merge_sha] if pull.merge_sha else None,
        additions=sum(file.additions for file in files),
        deletions=sum(file.deletions for file in files),
        changed_files=len(files),
        files=tuple(files),
    )


def changed_files(repository: Path, base: str, head: str) -> list[File]:
    """Return what git says that a head changes since it branched off from a base."""
    inside = f"--git-dir={repository}"
    fork = git(inside, "merge-base", base, head).decode().strip()
    compare = (inside, "diff", "--find-renames")
    counts = git(*compare, "--numstat", "-z", fork, head).decode().split("\0")
    words = git(*compare, "--name-status", "-z", fork, head).decode().split("\0")
    files: list[File] = []
    while counts[0]:
        added, deleted, path = counts.pop(0).split("\t", 2)
        letter, previous = words.pop(0)[0], None
        if not path:  # a rename: the two paths follow
            previous, path = counts.pop(0), counts.pop(0)
            words.pop(0)
        if words.pop(0) != path:
            raise ValueError(f"git lists {path!r} in two orders")
        plus, minus = (0 if number == "-" else int(number) for number in (added, deleted))
        files.append(File(path, _STATUS[letter], plus, minus, previous))
    return files


def _true_item(item: Item, renamed: dict[str, str]) -> Item:
    if isinstance(item, Commit):
        return replace(item, sha=renamed[item.sha])
    if isinstance(item, Review):
        return _true_review(item, renamed)
    if isinstance(item, Event):
        closer = renamed[item.closer] if isinstance(item.closer, str) else item.closer
        commit = renamed[item.commit_sha] if item.commit_sha else None
        return replace(item, closer=closer, commit_sha=commit)
    return item


def _true_review(review: Review, renamed: dict[str, str]) -> Review:
    return replace(review, commit_sha=renamed[review.commit_sha] if review.commit_sha else None)


def _changed(tree: Tree, change: Change) -> Tree:
    made = dict(tree)
    change(made)
    return made


def _work(code: Code, entry: Entry) -> Work:
    return code.work_on(entry.title, entry.number, len(entry.commits))


def _pull(world: World, number: int) -> Pull:
    pull = world.main.entries[number].pull
    if pull is None:
        raise ValueError(f"#{number} is an issue")
    return pull
