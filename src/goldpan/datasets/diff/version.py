"""A version of a dataset: its verified files by split, and what its provenance tells."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from goldpan.core.errors import DatasetError, UsageError
from goldpan.datasets.card import escape
from goldpan.datasets.diff.result import DiffResult
from goldpan.datasets.provenance import read_provenance, shard_paths
from goldpan.datasets.splits import SplitPlan

# The changes between two versions as a section of the newer one's card, in Markdown.

_MOST = 20


def changelog(difference: DiffResult) -> str:
    """Return Markdown without a heading; whatever came from GitHub is escaped."""
    return "\n\n".join(part for part in _parts(difference) if part)


def _parts(difference: DiffResult) -> Iterator[str]:
    in_task = (
        f", {difference.changed_in_task:,} of them in what a model is given or should answer"
        if difference.changed and difference.changed_in_task is not None
        else ""
    )
    yield (
        f"Compared with the version whose content is `{escape(difference.old.content)}` "
        f"({difference.old.rows:,} examples, Goldpan {escape(difference.old.goldpan)}): "
        f"{difference.added:,} added, {difference.gone:,} gone, "
        f"{difference.changed:,} changed{in_task}, {difference.moved:,} in another split, "
        f"{difference.same:,} the same."
    )
    yield _table(
        ("change", "why", "examples"),
        ((item.change, item.reason, f"{item.rows:,}") for item in difference.reasons),
    )
    yield " ".join(f"{escape(note[:1].upper() + note[1:])}." for note in difference.notes)
    yield _table(
        ("column", "examples that differ in it"),
        ((name, f"{rows:,}") for name, rows in difference.columns.items()),
    )
    for verb, names in (
        ("New columns", difference.columns_added),
        ("Columns that are gone", difference.columns_gone),
        ("Columns of another type", difference.columns_retyped),
    ):
        if names:
            yield f"{verb}: {', '.join(map(escape, names))}."
    yield _table(
        ("made with", "before", "now"),
        ((item.what, item.old or "none", item.new or "none") for item in difference.causes),
    )
    if removed := difference.examples["gone"][:_MOST]:
        more = difference.gone - len(removed)
        named = ", ".join(escape(row.id) for row in removed)
        yield f"Gone: {named}{f' and {more:,} more' if more else ''}."


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = ["| " + " | ".join(map(escape, row)) + " |" for row in rows]
    if not lines:
        return ""
    return "\n".join([f"| {' | '.join(head)} |", f"|{'---|' * len(head)}", *lines])


@dataclass(frozen=True, slots=True)
class DatasetVersion:
    """A dataset as `goldpan build` wrote it."""

    directory: Path
    provenance: Mapping[str, Any]
    shards: Mapping[str, tuple[Path, ...]]
    """The Parquet files of each split."""
    schema: pa.Schema

    @property
    def family(self) -> str:
        """The kind of dataset."""
        return str(self.provenance.get("family"))

    @property
    def content(self) -> str:
        """The start of the digest over all rows, by which the dataset's card asks to be cited."""
        return content_digest(self.provenance)

    @property
    def decide(self) -> tuple[str, ...]:
        """The criteria that took subjects out, in their order, those of the family last."""
        criteria = tuple(self.provenance.get("profile", {}).get("decide", ()))
        digests = self.provenance.get("digests", {})
        required = (name for name in self.provenance.get("counts", {}) if name in digests)
        return tuple(dict.fromkeys((*criteria, *required)))

    @property
    def sources(self) -> Mapping[str, Mapping[str, Any]]:
        """What is told of each repository that was mined, by its name in lower case."""
        return {
            str(source["repo"]).lower(): source for source in self.provenance.get("sources", ())
        }


def read_version(directory: Path) -> DatasetVersion:
    """Read a version; raises `DatasetError` where a directory holds none, or damaged files."""
    provenance = read_provenance(directory)
    shards: dict[str, list[Path]] = {}
    for path in shard_paths(directory):
        shards.setdefault(path.name.rsplit("-", 3)[0], []).append(path)
    try:
        schemas = [pq.read_schema(path) for paths in shards.values() for path in paths[:1]]
    except (OSError, pa.ArrowException) as error:
        raise DatasetError(
            f"{directory} cannot be read ({error})", "Build the dataset again"
        ) from None
    if not schemas or "id" not in schemas[0].names:
        raise DatasetError(
            f"{directory} holds no rows with an id", "Give a dataset that goldpan build wrote"
        )
    return DatasetVersion(
        directory,
        provenance,
        {split: tuple(paths) for split, paths in shards.items()},
        schemas[0],
    )


def content_digest(provenance: Mapping[str, Any]) -> str:
    """Return the digest of the rows that the card's citation names, out of the provenance."""
    files = {
        name: about["sha256"]
        for name, about in provenance["files"].items()
        if name.startswith("data/")
    }
    splits = provenance.get("splits", {})
    try:
        order = SplitPlan.parse(str(splits.get("plan")), int(splits.get("seed", 0))).names
    except UsageError:
        order = ()

    def order_of(name: str) -> tuple[int, str]:
        split = name.removeprefix("data/").rsplit("-", 3)[0]
        return (order.index(split) if split in order else len(order), name)

    whole = "".join(files[name] for name in sorted(files, key=order_of))
    return hashlib.sha256(whole.encode()).hexdigest()[:12]
