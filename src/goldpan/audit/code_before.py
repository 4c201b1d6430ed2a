"""The code of a repository at the commit before a fix: which files have a name."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from posixpath import dirname

from goldpan.code.languages import language_of
from goldpan.code.substance import LARGEST
from goldpan.core.errors import GitError
from goldpan.git.objects import Objects
from goldpan.git.trees import TreeFile

_WORD = re.compile(r"\w{2,}")
_ENDS = re.compile(r"\r\n?")
_MOST_KEPT = 100_000
"""Files whose words are kept: what commits share is read once."""


class CodeHistory:
    """The code of a repository, commit by commit."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._words: dict[str, str] = {}

    def at(self, commit: str) -> CodeBefore | None:
        """Return the code at a commit, None where the history does not have it."""
        try:
            every = self._objects.files(commit)
        except GitError:
            return None
        files = [file for file in every if file.kind == "file" and language_of(file.path)]
        missing = list(dict.fromkeys(file.id for file in files if file.id not in self._words))
        if len(self._words) + len(missing) > _MOST_KEPT:
            needed = {file.id for file in files}
            self._words = {id: words for id, words in self._words.items() if id in needed}
        for id, object_ in zip(missing, self._objects.read(missing), strict=True):
            data = object_.data if object_ and object_.data and object_.size <= LARGEST else b""
            self._words[id] = words_of(data)
        return CodeBefore(tuple(files), self._words, self._objects.blob)


def words_of(data: bytes) -> str:
    """Return each word of a file once, between line feeds."""
    words = dict.fromkeys(_WORD.findall(data.decode("utf-8", "replace")))
    return "\n".join(["", *words, ""])


@dataclass(frozen=True, slots=True)
class CodeBefore:
    """The files of code at one commit."""

    files: tuple[TreeFile, ...]
    words: Mapping[str, str]
    """What `words_of` returns of each file, by its id."""
    read: Callable[[str], bytes | None]
    """Returns a file by its id."""

    def having(self, words: Sequence[str], near: Sequence[str]) -> list[TreeFile]:
        """Return the files that have all of these words, those beside `near` first."""
        seams = [f"\n{word}\n" for word in words]
        found = [f for f in self.files if all(seam in self.words[f.id] for seam in seams)]
        folders = set(map(dirname, near))
        return sorted(found, key=lambda file: dirname(file.path) not in folders)

    def beside(self, near: Sequence[str]) -> list[TreeFile]:
        """Return the files in the folders of these paths."""
        folders = set(map(dirname, near))
        return [file for file in self.files if dirname(file.path) in folders]

    def text(self, file: TreeFile) -> str:
        """Return a file's text; empty for a large one."""
        data = self.read(file.id) or b""
        return _ENDS.sub("\n", data.decode("utf-8", "replace")) if len(data) <= LARGEST else ""
