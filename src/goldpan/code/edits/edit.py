"""Edits, and what can be wrong with them.

    EditError
    ├── MalformedError    a text does not hold blocks as the grammar wants them
    ├── NoMatchError      a block's SEARCH occurs nowhere in the file
    ├── AmbiguousError    a block's SEARCH stands at several places
    ├── OverlapError      two blocks change the same lines
    └── FileError         a file cannot be edited: not there, outside the root, not text

A score can tell them apart; each names the block or the line.
"""

from __future__ import annotations

from dataclasses import dataclass

from goldpan.core.errors import GoldpanError


class EditError(GoldpanError):
    """Edits cannot be read from a text, or cannot be applied to a file."""


class MalformedError(EditError):
    """A text does not hold blocks as the grammar wants them."""


class NoMatchError(EditError):
    """A block's SEARCH occurs nowhere in the file."""


class AmbiguousError(EditError):
    """A block's SEARCH stands at several places of the file."""


class OverlapError(EditError):
    """Two blocks change the same lines."""


class FileError(EditError):
    """A file cannot be edited: it is not there, outside the root, not text or not writable."""


@dataclass(frozen=True, slots=True)
class Edit:
    """One SEARCH/REPLACE block: whole lines of the file before, and those in their place.

    `search` is empty only where the file before is.
    """

    search: str
    replace: str


@dataclass(frozen=True, slots=True)
class FileEdits:
    """The edits of one file; `removes` says that the file goes away instead of being emptied."""

    path: str | None
    """Where the file lies, with slashes; None where a text does not say."""
    edits: tuple[Edit, ...]
    removes: bool = False
