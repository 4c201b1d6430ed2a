"""A version of a dataset: its verified files by split, and what its provenance tells."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from goldpan.core.errors import DatasetError, UsageError
from goldpan.datasets.provenance import read_provenance, shard_paths
from goldpan.datasets.splits import SplitPlan


@dataclass(frozen=True, slots=True)
class Version:
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


def read_version(directory: Path) -> Version:
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
    return Version(
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
