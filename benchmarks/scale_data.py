"""Makes many large repositories out of one: its replies under new numbers, in other words.

A repository holds copies of the real one, each with numbers, identifiers and commits of its own.
In every copy many words of the prose are others, so that copies are no near duplicates and nobody
seems to say the same twice; code, links and mentions stay as they are.
"""

from __future__ import annotations

import multiprocessing
import pickle
import random
import re
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import orjson

from benchmarks.scale import plain_meta, shift_meta, shift_numbers
from benchmarks.scale_history import repeat_history
from goldpan.core.storage.archive import Archive
from goldpan.core.storage.workspace import WorkspaceLayout

REPOSITORIES = 30
_RENAMED = "renamed.pickle"
_TEXTS = ("body", "title", "message", "previousTitle", "currentTitle")
_KEYWORDS = ("clos", "fix", "resolv")
"""How words begin that pair issues with pull requests: they stay where they are."""
_PROSE = re.compile(r"(?:(?<=[ \n])|\A)([a-z]{3,})(?=[ ,.:;?!\n]|\Z)")
_COMMIT = re.compile(rb'("(?:oid|baseRefOid|headRefOid)":")([0-9a-f]{40})')


@dataclass(slots=True)
class _Text:
    """A text, cut so that every other part is a word that may be another one."""

    parts: list[str]
    words: list[int]


@dataclass(slots=True)
class Source:
    """The replies that are repeated."""

    workspace: WorkspaceLayout
    repo: str
    head: list[tuple[dict[str, Any], bytes]] = field(default_factory=list)
    """What tells of the run and of the repository."""
    replies: list[tuple[dict[str, Any], Any]] = field(default_factory=list)
    numbers: set[int] = field(default_factory=set)
    words: list[str] = field(default_factory=list)
    _cut: dict[str, _Text] = field(default_factory=dict)

    @classmethod
    def read(cls, workspace: WorkspaceLayout, repo: str) -> Source:
        """Read the archive of a repository."""
        source = cls(workspace, repo)
        for record in Archive(workspace.raw(repo)).records:
            if record.meta["part"] in ("begin", "repository"):
                source.head.append((plain_meta(record.meta), record.read()))
            elif record.meta["part"] in ("entries", "more"):
                source.replies.append((record.meta, orjson.loads(record.read())))
        source.numbers = {
            node[1]
            for meta, _ in source.replies
            if meta["part"] == "entries"
            for node in meta["nodes"]
        }
        for _, reply in source.replies:
            source._collect(reply)
        source.words = sorted({word for text in source._cut.values() for word in _words(text)})
        return source

    @property
    def step(self) -> int:
        """How far the numbers of two copies lie apart."""
        return (max(self.numbers) // 100 + 1) * 100

    def copy(self, reply: Any, chance: random.Random) -> Any:
        """Return a reply in other words."""
        if isinstance(reply, dict):
            return {
                key: self._reworded(value, chance)
                if key in _TEXTS and isinstance(value, str)
                else self.copy(value, chance)
                for key, value in reply.items()
            }
        return [self.copy(item, chance) for item in reply] if isinstance(reply, list) else reply

    def _collect(self, reply: Any) -> None:
        if isinstance(reply, list):
            for item in reply:
                self._collect(item)
        elif isinstance(reply, dict):
            for key, value in reply.items():
                if key in _TEXTS and isinstance(value, str) and value not in self._cut:
                    parts = _PROSE.split(value)
                    free = [
                        at for at in range(1, len(parts), 2) if not parts[at].startswith(_KEYWORDS)
                    ]
                    self._cut[value] = _Text(parts, free)
                else:
                    self._collect(value)

    def _reworded(self, text: str, chance: random.Random) -> str:
        cut = self._cut[text]
        parts = cut.parts.copy()
        chosen = cut.words[chance.randrange(2) :: 2]
        for at, word in zip(chosen, chance.choices(self.words, k=len(chosen)), strict=True):
            parts[at] = word
        return "".join(parts)


def _words(text: _Text) -> list[str]:
    return [text.parts[at] for at in text.words]


def repository(index: int) -> str:
    """Return the name of a repository."""
    return f"bench-{index:02}/repository"


def write_repositories(
    source: Source,
    target: WorkspaceLayout,
    entries: int,
    repositories: int = REPOSITORIES,
    bundle: Path | None = None,
    workers: int = 1,
) -> int:
    """Write archives with at least so many entries together and return how many they hold.

    Copies are dealt out in turn, so that repositories differ in size by one copy at most. Of
    the `bundle` of the real repository, a history for all of them is made, and for each a link
    to it at `mirror`. With `workers` above 1, that many other processes write.
    """
    copies = -(-entries // len(source.numbers))
    longest = -(-copies // repositories)
    renamed: list[dict[bytes, bytes]] = [{} for _ in range(longest)]
    if bundle is not None:
        renamed = repeat_history(bundle, history(target), longest, source.step)
        for index in range(repositories):
            link = Path(mirror(target, *repository(index).split("/")))
            link.parent.mkdir(parents=True)
            link.symlink_to(history(target).resolve())
    dealt = [range(index, copies, repositories) for index in range(repositories)]
    if workers < 2:
        for index, its_copies in enumerate(dealt):
            _write(source, target, index, its_copies, renamed)
        return copies * len(source.numbers)
    target.root.mkdir(parents=True, exist_ok=True)
    (target.root / _RENAMED).write_bytes(pickle.dumps(renamed))
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, context) as pool:
        written = [
            pool.submit(_write_alone, source.workspace, source.repo, target, index, its_copies)
            for index, its_copies in enumerate(dealt)
        ]
        for done in written:
            done.result()
    return copies * len(source.numbers)


def mirror(target: WorkspaceLayout, owner: str = "{owner}", name: str = "{name}") -> str:
    """Return where the git repository of one or of any repository lies."""
    return str(target.root / "mirrors" / owner / f"{name}.git")


def history(target: WorkspaceLayout) -> Path:
    """Return the git repository that all clones are made of."""
    return target.root / "history.git"


def _write_alone(
    base: WorkspaceLayout, repo: str, target: WorkspaceLayout, index: int, copies: Sequence[int]
) -> None:
    """Write an archive in another process, which reads what it repeats once."""
    _write(_source_of(base, repo), target, index, copies, _renamed_in(target))


@cache
def _source_of(base: WorkspaceLayout, repo: str) -> Source:
    return Source.read(base, repo)


@cache
def _renamed_in(target: WorkspaceLayout) -> list[dict[bytes, bytes]]:
    renamed: list[dict[bytes, bytes]] = pickle.loads((target.root / _RENAMED).read_bytes())
    return renamed


def _write(
    source: Source,
    target: WorkspaceLayout,
    index: int,
    copies: Sequence[int],
    renamed: Sequence[Mapping[bytes, bytes]],
) -> None:
    """Write the archive of one repository; `copies` are counted over all of them."""
    old, new = source.repo.encode(), repository(index).encode()
    with Archive(target.raw(new.decode())) as archive:
        archive.begin(resume=False)
        for meta, body in source.head:
            named = orjson.loads(orjson.dumps(meta).replace(old, new))
            archive.append(named, body.replace(old, new), sync=False)
        for position, copy in enumerate(copies):
            chance = random.Random(copy)
            for meta, reply in source.replies:
                body = orjson.dumps(source.copy(reply, chance) if copy else reply)
                body = shift_numbers(body, position, source.step)
                body = _with_commits(body.replace(old, new), position, renamed[position])
                archive.append(shift_meta(meta, position, source.step), body, sync=False)
        archive.append({"part": "end", "run": 1, "keys": [], "at": "", "figures": {}})


def _with_commits(body: bytes, copy: int, renamed: Mapping[bytes, bytes]) -> bytes:
    """Return a reply whose commits are those of a copy; lost ones get names of its own as well."""
    return _COMMIT.sub(
        lambda match: match[1] + renamed.get(match[2], b"%05x" % copy + match[2][5:]), body
    )
