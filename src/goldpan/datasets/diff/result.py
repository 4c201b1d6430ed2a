"""Results of comparing two versions of a dataset."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from goldpan.core.result import Block, Line, Result, Table

Kind = Literal["added", "gone", "changed", "moved"]
KINDS: tuple[Kind, ...] = ("added", "gone", "changed", "moved")


@dataclass(frozen=True, slots=True)
class VersionFacts:
    """A version that was compared."""

    directory: str
    content: str
    """The start of the digest that its card asks to cite."""
    goldpan: str
    """The version of Goldpan that built it."""
    rows: int


@dataclass(frozen=True, slots=True)
class Cause:
    """A fact of the provenance that differs between the two versions."""

    what: str
    old: str | None
    new: str | None


@dataclass(frozen=True, slots=True)
class Reason:
    """Why rows came or went."""

    change: str
    """added or gone."""
    reason: str
    rows: int


@dataclass(frozen=True, slots=True)
class RowChange:
    """A row that is not the same in both versions."""

    id: str
    change: str
    """added, gone, changed, or moved where it lies in another split and is else the same."""
    columns: tuple[str, ...]
    """The columns of a changed row that differ."""
    old_split: str | None
    new_split: str | None
    reason: str | None


@dataclass(frozen=True, slots=True)
class DiffResult(Result):
    """Differences between two versions of a dataset, and their reasons."""

    family: str
    old: VersionFacts
    new: VersionFacts
    same: int
    """Rows that are equal in all columns and lie in the same split."""
    added: int
    gone: int
    changed: int
    """Rows of which some column differs."""
    changed_in_task: int | None
    """Changed rows whose input or target differs, where these columns are known."""
    moved: int
    """Rows that lie in another split, changed or not."""
    columns: Mapping[str, int]
    """How many rows differ in a column, the most first."""
    columns_added: tuple[str, ...]
    columns_gone: tuple[str, ...]
    columns_retyped: tuple[str, ...]
    """Columns of another type, which are not compared."""
    causes: tuple[Cause, ...]
    reasons: tuple[Reason, ...]
    """The most rows first."""
    notes: tuple[str, ...]
    """Reasons that could not be found."""
    examples: Mapping[str, tuple[RowChange, ...]]
    """The first rows of each kind, by id."""

    def blocks(self) -> Iterator[Block]:
        """Yield what changed, and why."""
        for age, version in (("old", self.old), ("new", self.new)):
            yield Line(
                f"{age}: {version.directory} ({version.rows:,} examples, content {version.content})"
            )
        is_counted = self.changed and self.changed_in_task is not None
        in_task = f" ({self.changed_in_task:,} of them in input or target)" if is_counted else ""
        yield Line(
            f"{self.added:,} added, {self.gone:,} gone, {self.changed:,} changed{in_task}, "
            f"{self.moved:,} in another split, {self.same:,} the same"
        )
        reasons = [(reason.change, reason.rows, reason.reason) for reason in self.reasons]
        yield from _table(("change", "rows", "why"), reasons)
        for note in self.notes:
            yield Line(f"{note[:1].upper()}{note[1:]}.")
        yield from _table(("column", "rows"), list(self.columns.items()))
        for verb, names in (
            ("New columns", self.columns_added),
            ("Columns that are gone", self.columns_gone),
            ("Columns of another type, not compared", self.columns_retyped),
        ):
            if names:
                yield Line(f"{verb}: {', '.join(names)}")
        causes = [(cause.what, cause.old or "none", cause.new or "none") for cause in self.causes]
        yield from _table(("made with", "before", "now"), causes)
        for kind, rows in self.examples.items():
            for row in rows:
                columns = f": {', '.join(row.columns)}" if row.columns else ""
                yield Line(f"  {kind} {row.id}{columns}")


def _table(columns: tuple[str, ...], cells: Sequence[Sequence[object]]) -> Iterator[Block]:
    if cells:
        yield Table(columns, cells)
