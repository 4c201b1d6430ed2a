"""What a search for contamination says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from goldpan.core.result import Block, Line, Result, Title

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
class ContaminationResult(Result):
    """Which rows of a dataset stand in other data."""

    dataset: str
    total: int
    """Rows of the dataset."""
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

    def plain(self) -> dict[str, Any]:
        """Return what was found as plain data."""
        plain = asdict(self)
        return {"rows": plain.pop("total"), **plain}

    def blocks(self) -> Iterator[Block]:
        """Yield which rows stand in other data."""
        yield Line(
            f"{self.dataset}: {self.contaminated:,} of {self.total:,} rows ({self.share:.1%}) also "
            "occur in what it was compared with"
        )
        yield Line(f"  compared: {', '.join(self.columns)}")
        for other in self.against:
            yield Title(other.against, f": {other.rows:,} rows, {other.items:,} items")
            yield Line(f"  compared: {', '.join(other.columns)}")
            for kind, rows in other.kinds.items():
                yield Line(f"  {rows:,} by {kind}")
            if other.same_repository is not None:
                yield Line(
                    f"  {other.same_repository:,} are of a repository that occurs there, which "
                    "alone is no evidence"
                )
            if other.common:
                yield Line(f"  {other.common:,} n-grams left out as common")
        if self.evidence:
            yield Title("Rows, by which evidence and with which item:")
        for item in self.evidence:
            shared = f" ({item.shared:,})" if item.shared else ""
            yield Line(f"  {item.id}: {item.kind} {item.value:.2f}{shared}, {item.item}")
        yield Title("Not seen:")
        for line in self.unseen:
            yield Line(f"  {line}")
