"""What stands around a text: its document's name and the texts before and after it.

No answer is read, so the texts of test rows may be used: a tool that classifies a sentence of a
comment has the whole comment before it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import pyarrow as pa

_Place = tuple[str | None, str | None, int | None]
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")
_LONGEST = 200
"""Characters of a name that are read."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What stands around a text; texts are empty at the ends of a document."""

    document: str
    before: str
    after: str
    position: int
    """In the document, from 0."""
    size: int
    """Texts in the document."""


class Documents:
    """The documents of a task, put together from all its rows."""

    def __init__(self, unlabelled: pa.Table) -> None:
        columns = (unlabelled[name].to_pylist() for name in ("repo", "document", "position"))
        places: list[_Place] = list(zip(*columns, strict=True))
        texts = unlabelled["text"].to_pylist()
        order = sorted(
            (index for index in range(len(places)) if places[index][1] is not None),
            key=lambda index: (
                places[index][0] or "",
                places[index][1] or "",
                places[index][2] or 0,
                index,
            ),
        )
        self._found: dict[_Place, Surroundings] = {}
        start = 0
        while start < len(order):
            end = start
            while end < len(order) and places[order[end]][:2] == places[order[start]][:2]:
                end += 1
            self._add(
                [places[index] for index in order[start:end]],
                [texts[index] for index in order[start:end]],
            )
            start = end

    def around(self, rows: pa.Table) -> list[Surroundings]:
        """Return what stands around each row; nothing for rows that name no document."""
        columns = (rows[name].to_pylist() for name in ("repo", "document", "position"))
        nothing = Surroundings("", "", "", 0, 1)
        return [self._found.get(key, nothing) for key in zip(*columns, strict=True)]

    def _add(self, places: list[_Place], texts: list[str]) -> None:
        for index, key in enumerate(places):
            before = texts[index - 1] if index else ""
            after = texts[index + 1] if index + 1 < len(texts) else ""
            name = key[1] or ""
            self._found[key] = Surroundings(name, before, after, index, len(texts))


def spoken(name: str) -> str:
    """Return the words in a document's name: `FileSystem.java` is ``File System``."""
    return " ".join(_WORD.findall(name[:_LONGEST].rpartition(".")[0] or name[:_LONGEST]))
