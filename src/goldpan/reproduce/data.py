"""Finds the authors' files in a folder of the user's, checks them, and fetches when asked to."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, ClassVar, Literal
from urllib.parse import quote

import httpx

from goldpan.core.errors import DatasetError, UsageError, WorkspaceError
from goldpan.core.result import NAME_IN_JSON
from goldpan.core.storage.workspace import make_directory, replacing_file
from goldpan.core.unpacked import PACKED
from goldpan.datasets.table_files import open_bytes, table_rows
from goldpan.reproduce.recipe import SourceFile

State = Literal["as published", "differs", "not checked"]
"""State of the content: one that the recipe knows or not; `not checked` without a digest."""
RAW = "https://raw.githubusercontent.com"
LFS = "https://media.githubusercontent.com/media"
_BLOCK = 2**20
_LARGEST = 4 * 2**30
"""Bytes of a file that is fetched."""
_PATIENCE = 60.0
_NAMED = 3
"""Files that a sentence names."""


class MissingFileError(UsageError):
    """A file of the recipe is not in the data folder."""


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file of the recipe as it lies on this machine."""

    shown_in_json: ClassVar[tuple[str, ...]] = ("license",)

    source: SourceFile = field(metadata={"json": "{}.key"})
    path: Path = field(metadata=NAME_IN_JSON)
    sha256: str
    """SHA-256 of its content, decompressed."""
    state: State

    @property
    def license(self) -> str:
        """The SPDX identifier of its license, or `unknown`."""
        return self.source.license


@dataclass
class DataFolder:
    """Where the user keeps the authors' files: copies, or clones of their repositories."""

    root: Path
    server: str = RAW
    """Where files of repositories are fetched from."""
    lfs_server: str = LFS
    """Where files in Git LFS are fetched from."""
    files: dict[str, FoundFile] = field(default_factory=dict)
    """Files that were asked for and are there, by key."""
    _index: dict[str, list[Path]] = field(default_factory=dict)
    """Paths below the folder, by file name without compression."""

    def find(self, source: SourceFile) -> FoundFile:
        """Return a file with its digest; of several that fit, one whose digest is known.

        Raises `MissingFileError` where there is none, `DatasetError` where it lacks a column.
        """
        if source.key not in self.files:
            found = []
            for path in self.candidates(source):
                sha256 = _content_digest(path)
                known: State = "as published" if sha256 in source.sha256 else "differs"
                found.append(
                    FoundFile(source, path, sha256, known if source.sha256 else "not checked")
                )
            if not found:
                raise MissingFileError(*_how_to_get(source, self.root))
            best = next((file for file in found if file.state == "as published"), found[0])
            _check_columns(best)
            self.files[source.key] = best
        return self.files[source.key]

    def candidates(self, source: SourceFile) -> list[Path]:
        """Return the paths that end as the recipe says, the best first."""
        if not self._index:
            for folder, folders, names in os.walk(self.root):
                folders[:] = [name for name in folders if not name.startswith(".")]
                for name in names:
                    self._index.setdefault(_plain(name), []).append(Path(folder, name))
        fitting: list[Path] = []
        for end in map(_plain, source.paths):
            named = self._index.get(end.rpartition("/")[2], ())
            ends = [path for path in named if f"/{_plain(path.as_posix())}".endswith(f"/{end}")]
            fitting += sorted(ends, key=lambda path: (len(str(path)), str(path)))
        return list(dict.fromkeys(fitting))

    def fetch(self, source: SourceFile) -> FoundFile:
        """Fetch a file from its authors' repository into the folder, unless it is there.

        Raises `UsageError` where the recipe knows no address of its bytes, or it cannot be
        reached, and `DatasetError` where its digest is not one of the recipe's.
        """
        if self.candidates(source) or not source.raw_path:
            return self.find(source)
        target = self.root / source.paths[0]
        address = f"{self.lfs_server if source.lfs else self.server}/{quote(source.raw_path)}"
        by_hand = f"Download {source.title} by hand, and put it at {target}"
        make_directory(target.parent)
        try:
            with replacing_file(target) as draft:
                _download(address, draft)
                digest = _content_digest(draft)
                if source.sha256 and digest not in source.sha256:
                    unknown = f"{address} has the SHA-256 {digest}, which the recipe does not know"
                    raise DatasetError(unknown, by_hand)
        except httpx.HTTPError as error:
            cause = str(error) or type(error).__name__
            raise MissingFileError(f"{address} cannot be fetched ({cause})", by_hand) from None
        except OSError as error:
            raise WorkspaceError(
                f"{target} cannot be written: {error.strerror or error}", "Choose another --data"
            ) from None
        self._index.clear()
        return self.find(source)


def other_content(files: Iterable[FoundFile]) -> tuple[str, ...]:
    """Return, in at most one sentence, which files have other content than their authors'."""
    names = [file.path.name for file in files if file.state == "differs"]
    if len(names) < 2:
        return tuple(f"{name} is not as published" for name in names)
    last = names[-1] if len(names) <= _NAMED else f"{len(names) - _NAMED + 1:,} more"
    return (f"{', '.join(names[: min(len(names), _NAMED) - 1])} and {last} are not as published",)


def _how_to_get(source: SourceFile, root: Path) -> tuple[str, str]:
    """Return that a file is missing, and where it is published and where to put it."""
    where = source.address or "where its authors publish it (the recipe knows no address)"
    more = f" ({source.note.removesuffix('.')})" if source.note else ""
    return (
        f"A file is missing: {source.title}, {source.paths[0]}",
        f"Get it from {where} and put it at {root / source.paths[0]}{more}",
    )


@contextmanager
def _content(path: Path) -> Iterator[IO[bytes]]:
    """Open a file, decompressed; raises `DatasetError` where it cannot be read."""
    try:
        with open_bytes(path) if path.suffix in PACKED else path.open("rb") as content:
            yield content
    except (OSError, EOFError, ValueError) as error:
        raise DatasetError(f"{path} cannot be read ({error})", "Download the file again") from None


def _content_digest(path: Path) -> str:
    digest = hashlib.sha256()
    with _content(path) as content:
        while block := content.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


def read_text(file: FoundFile) -> str:
    """Return the text of a small file of the authors; raises `DatasetError`."""
    with _content(file.path) as content:
        return content.read(_BLOCK).decode("utf-8-sig")


def _check_columns(file: FoundFile) -> None:
    source = file.source
    first = next(iter(table_rows(file.path)), None) if source.columns else None
    if first and (missing := [name for name in source.columns if name not in first]):
        raise DatasetError(
            f"{file.path} has no column {missing[0]!r}; it has {', '.join(map(str, first))}",
            f"Give {source.title} as its authors publish it: {source.address}",
        )


def _plain(path: str) -> str:
    for ending in PACKED:
        path = path.removesuffix(ending)
    return path


def _download(url: str, target: Path) -> None:
    with (
        httpx.stream("GET", url, timeout=_PATIENCE, follow_redirects=True) as reply,
        target.open("wb") as file,
    ):
        reply.raise_for_status()
        for block in reply.iter_bytes(_BLOCK):
            file.write(block)
            if file.tell() > _LARGEST:
                raise httpx.HTTPError(f"it is larger than {_LARGEST:,} bytes")
