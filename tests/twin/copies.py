"""Worlds of many repositories that have one history: other names, ids and wording, the same code.

The commits keep their hashes, so that one git repository serves them all.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

from .store import World
from .world import Account, Entry, File, Label, Repository

_WORD = re.compile(r"(?<![\w/.#`@:-])[a-z]{5,}(?![\w/.#`@:(-])")
_KEYWORD = re.compile(r"(?:clos|fix|resolv)(?:e|es|ed|ing)?", re.IGNORECASE)
_CHANGED = 40
"""Percent of words that differ from copy to copy, which makes no text a near duplicate."""


@dataclass(frozen=True, slots=True)
class Copy:
    """What a copy of the main repository is called and said to be."""

    full_name: str
    language: str
    stars: int


def copied_world(world: World, copies: Sequence[Copy]) -> World:
    """Return a world of copies of another world's main repository, beside its other ones."""
    main = world.main
    texts = " ".join(f"{entry.title} {entry.body}" for entry in main.entries.values())
    words = sorted(set(_WORD.findall(texts)))
    made = [_copy(main, copy, number, words) for number, copy in enumerate(copies, 1)]
    others = [
        repository for repository in world.repositories if repository.full_name != main.full_name
    ]
    return World(*made, *others)


def _copy(main: Repository, copy: Copy, number: int, words: Sequence[str]) -> Repository:
    owner, _, name = copy.full_name.partition("/")

    def other(value: Any, key: str = "") -> Any:
        if isinstance(value, Account | Label | File):
            return value
        if isinstance(value, str):
            if key == "node_id":
                return f"{value}{number:03}"
            text = value.replace(main.full_name, copy.full_name)
            return _reworded(text, number, words) if key in ("title", "body") else text
        if isinstance(value, tuple):
            return tuple(other(part) for part in value)
        if isinstance(value, Mapping):
            return {name: other(part) for name, part in value.items()}
        if is_dataclass(value) and not isinstance(value, type):
            changed = {
                field.name: other(getattr(value, field.name), field.name) for field in fields(value)
            }
            return replace(value, **changed)
        if isinstance(value, int) and key in ("id", "review", "reply_to", "pinned_comment"):
            return value + number * 100_000_000
        return value

    entries: dict[int, Entry] = {at: other(entry) for at, entry in main.entries.items()}
    return replace(
        main,
        owner=owner,
        name=name,
        id=main.id + 1_000 + number,
        language=copy.language,
        stars=copy.stars,
        entries=entries,
        moved=other(main.moved),
    )


def _reworded(text: str, number: int, words: Sequence[str]) -> str:
    def other(match: re.Match[str]) -> str:
        word = match[0]
        if _KEYWORD.fullmatch(word):
            return word
        drawn = zlib.crc32(f"{number} {word}".encode())
        return words[drawn // 100 % len(words)] if drawn % 100 < _CHANGED else word

    return _WORD.sub(other, text)
