"""What a search for contamination says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Kind = Literal["pull", "issue", "commit", "exact", "near", "ngram"]
KINDS: tuple[Kind, ...] = ("pull", "issue", "commit", "exact", "near", "ngram")
"""The strongest evidence first."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """Why a row of the dataset counts as standing in other data."""

    id: str
    """Of the row."""
    against: str
    item: str
    """The row of the other data that shares the most, by its id."""
    kind: Kind
    column: str | None
    """The other data's column, of a text that is the same or nearly so."""
    value: float
    """The similarity of texts, or the share of the row's n-grams; 1 for the rest."""
    shared: int | None
    """How many n-grams are shared with that item."""


@dataclass(frozen=True, slots=True)
class AgainstResult:
    """What one file or dataset has of the rows."""

    against: str
    items: int
    columns: tuple[str, ...]
    """Whose texts were compared."""
    rows: int
    """Rows of the dataset with any evidence."""
    kinds: Mapping[str, int]
    """Rows by kind of evidence; a row may have several."""
    same_repository: int | None
    """Rows of a repository that stands there, which alone is no evidence; None where none does."""
    common: int
    """n-grams that were left out, as too many rows or items share them."""


@dataclass(frozen=True, slots=True)
class ContaminationResult:
    """Which rows of a dataset stand in other data."""

    dataset: str
    rows: int
    columns: tuple[str, ...]
    """Whose texts were compared."""
    contaminated: int
    """Rows with any evidence, whatever the other data."""
    share: float
    against: tuple[AgainstResult, ...]
    evidence: tuple[Evidence, ...]
    """Of the first rows that have any."""
    unseen: tuple[str, ...]
    """What such a search cannot see."""
