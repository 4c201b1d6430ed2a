"""The world: its repositories, and finding things in them by name, node id or commit."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from .world import (
    Comment,
    Commit,
    Discussion,
    Entry,
    Event,
    Ref,
    Repository,
    Review,
    node_id,
    threads,
)

Node = Repository | Entry | Comment | Event | Discussion


@dataclass(frozen=True, slots=True)
class _Index:
    nodes: dict[str, Node] = field(default_factory=dict)
    closers: defaultdict[Ref, list[Ref]] = field(default_factory=lambda: defaultdict(list))
    commits: defaultdict[str, list[Commit]] = field(default_factory=lambda: defaultdict(list))


def repository_node_id(repository: Repository) -> str:
    """Return a repository's global id."""
    return node_id("R", repository.id)


class World:
    """All repositories of one GitHub; the first one given is the `main` one.

    Values are immutable: an edit swaps a whole entry, so that readers in other threads see
    either the old or the new one.
    """

    def __init__(self, *repositories: Repository) -> None:
        self._by_name = {repository.full_name.lower(): repository for repository in repositories}
        self._renames: dict[str, str] = {}
        self._main = repositories[0].full_name
        self._cached: _Index | None = None
        self._version = 0

    @property
    def main(self) -> Repository:
        """Return the repository that the world is about."""
        repository = self.repository(self._main)
        if repository is None:
            raise LookupError(f"{self._main} left the world")
        return repository

    @property
    def repositories(self) -> list[Repository]:
        """Return all repositories."""
        return list(self._by_name.values())

    def repository(self, full_name: str, follow: bool = True) -> Repository | None:
        """Find a repository by name, by default under its old names too."""
        key = full_name.lower()
        while follow and key not in self._by_name and key in self._renames:
            key = self._renames[key]
        return self._by_name.get(key)

    def repository_by_id(self, identity: int) -> Repository | None:
        """Find a repository by its database id."""
        return next(
            (repository for repository in self._by_name.values() if repository.id == identity), None
        )

    def entry(self, ref: Ref | None) -> Entry | None:
        """Find an entry by its address."""
        repository = None if ref is None else self.repository(ref.repo)
        return None if ref is None or repository is None else repository.entries.get(ref.number)

    def node(self, identity: str) -> Node | None:
        """Find a repository, entry, comment, review or thread by its global id."""
        return self._index().nodes.get(identity)

    def closers(self, ref: Ref) -> list[Ref]:
        """Return the pull requests whose closing references name the issue."""
        return self._index().closers.get(ref, [])

    def commit(self, sha: str) -> Commit | None:
        """Find a commit on any pull request's timeline."""
        commits = self._index().commits.get(sha)
        return commits[0] if commits else None

    def put(self, entry: Entry) -> None:
        """Add an entry or replace the one at its address."""
        repository = self.repository(entry.repo)
        if repository is None:
            raise LookupError(f"no repository {entry.repo}")
        repository.entries[entry.number] = entry
        self._changed()

    def put_repository(self, repository: Repository, replaces: str | None = None) -> None:
        """Add a repository, or replace the one of that or another name (then a rename)."""
        new = repository.full_name
        if replaces is not None and replaces.lower() != new.lower():
            del self._by_name[replaces.lower()]
            self.add_former_name(replaces, new)
            if self._main.lower() == replaces.lower():
                self._main = new
        self._by_name[new.lower()] = repository
        self._changed()

    def add_former_name(self, former: str, name: str) -> None:
        """Let both APIs find a repository under a name that it had before."""
        self._renames[former.lower()] = name.lower()
        self._renames.pop(name.lower(), None)

    def _changed(self) -> None:
        self._version += 1
        self._cached = None

    def _index(self) -> _Index:
        index = self._cached
        if index is not None:
            return index
        index, version = _Index(), self._version
        for repository in self.repositories:
            index.nodes[repository_node_id(repository)] = repository
            for entry in list(repository.entries.values()):
                _register(index, entry)
            for discussion in list(repository.discussions.values()):
                index.nodes[discussion.node_id] = discussion
                index.nodes.update((comment.node_id, comment) for comment in discussion.comments)
        if version == self._version:
            self._cached = index
        return index


def merge_commit(entry: Entry) -> Commit | None:
    """Return the commit by which a pull request was merged."""
    pull = entry.pull
    if pull is None or pull.merged_at is None or pull.merge_sha is None:
        return None
    return Commit(
        home=entry.ref,
        sha=pull.merge_sha,
        message=f"Merge pull request #{entry.number}\n\n{entry.title}",
        authored_at=pull.merged_at,
        committed_at=pull.merged_at,
    )


def _register(index: _Index, entry: Entry) -> None:
    nodes: list[Entry | Comment | Event] = [entry]
    for item in (*entry.timeline, *entry.replies):
        if isinstance(item, Commit):
            index.commits[item.sha].append(item)
            continue
        nodes.append(item)
        if isinstance(item, Review | Event):
            nodes += item.comments
    nodes += [thread for thread in threads(entry) if thread not in entry.timeline]
    for node in nodes:
        registered = index.nodes.setdefault(node.node_id, node)
        if registered is not node:
            raise ValueError(f"{node.node_id} names both {registered} and {node}")
    if entry.pull is not None:
        merge = merge_commit(entry)
        if merge is not None:
            index.commits[merge.sha].append(merge)
        for ref in entry.pull.closes:
            index.closers[ref].append(entry.ref)
