"""Writes a dataset: Parquet files, card, Croissant metadata and provenance, all or nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from pathlib import Path, PurePosixPath
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from goldpan.core.errors import DatasetError
from goldpan.core.plugins import digests
from goldpan.core.resources import unwritable
from goldpan.core.workspace import Workspace
from goldpan.datasets.card import CARD, write_card
from goldpan.datasets.croissant import CROISSANT, write_croissant
from goldpan.datasets.diff.changelog import changelog
from goldpan.datasets.diff.compare import compare_versions
from goldpan.datasets.family import GROUP, REPO, Family
from goldpan.datasets.gold import Gold, score_labels
from goldpan.datasets.kind import described_family
from goldpan.datasets.manifest import CardInputs, DataFile, Extras, Origin, Split, Written
from goldpan.datasets.provenance import (
    Provenance,
    digest,
    read_provenance,
    write_provenance,
)
from goldpan.datasets.shards import SHARD_BYTES, Shards, write_shards
from goldpan.datasets.splits import Candidate, SplitPlan, assign_splits, strata
from goldpan.datasets.spool import spooled


def write_dataset(
    workspace: Workspace,
    directory: Path,
    family: Family,
    rows: pa.Table | Iterable[pa.RecordBatch],
    plan: SplitPlan,
    provenance: Provenance,
    card: CardInputs,
    *,
    since: Path | None = None,
    shard_bytes: int = SHARD_BYTES,
    golds: Sequence[Gold] = (),
    extras: Extras | None = None,
) -> Written:
    """Write the rows as a dataset to a directory, in place of an earlier dataset there.

    Card and provenance tell how the rows fare against each of `golds`.

    `rows` have the family's columns in any order, and may have `group`: rows that share it are
    near duplicates. Memory follows the batch, beside a few light columns. The directory appears
    by a rename when all is written. Mappings in `provenance` are read after the last row. The card
    tells what changed since the older version in `since`, which may be `directory` itself.
    `extras` has what the family has beside that.

    Raises `DatasetError` where there are no rows, an id stands twice or is missing, or the
    directory holds something else than a dataset.
    """
    refuse_foreign(directory)
    batches = rows.to_batches() if isinstance(rows, pa.Table) else rows
    built_by = digests(("builder", family.name))
    provenance = replace(provenance, plugins={**provenance.plugins, **built_by})
    more = extras or Extras()
    try:
        with workspace.replacing(directory) as building:
            spool_path = building.with_name("rows.arrow")
            written = _write_data(building, spool_path, family, batches, plan, shard_bytes)
            paths = [building / file.path for file in written.files]
            written = replace(written, scores=tuple(score_labels(paths, gold) for gold in golds))
            written = replace(written, origins=_with_quoted(written.origins, more.quoted))
            for name, content in more.files.items():
                path = building / PurePosixPath(name)
                path.parent.mkdir(exist_ok=True)
                path.write_bytes(content)
            _describe(written, card, provenance, more)
            if since is not None:
                changes = changelog(compare_versions(since, building, workspace))
                _describe(written, replace(card, changes=changes), provenance, more)
    except OSError as error:
        raise unwritable(directory, error, DatasetError) from None
    return replace(written, directory=directory)


def _describe(written: Written, card: CardInputs, provenance: Provenance, extras: Extras) -> None:
    write_card(written, card, provenance)
    write_croissant(written, card, provenance)
    _write_provenance(written, provenance, extras)


def _write_data(
    building: Path,
    spool_path: Path,
    family: Family,
    batches: Iterable[pa.RecordBatch],
    plan: SplitPlan,
    shard_bytes: int,
) -> Written:
    data = building / "data"
    data.mkdir(parents=True)
    facts = dict.fromkeys(
        ("id", GROUP, REPO, family.moment, "license", *family.order, *family.subject)
    )
    facts |= dict.fromkeys(
        name for name in (family.stratum, family.partition, family.works) if name
    )
    schema = family.schema.append(pa.field(GROUP, pa.string()))
    with spooled(spool_path, schema, map(_with_group, batches), list(facts)) as spool:
        splits = assign_splits(_candidates(spool.facts, family), plan)
        by = [(name, "ascending") for name in (*family.order, "id")]
        order = pc.sort_indices(spool.facts, sort_keys=by).to_pylist()
        written = []
        for name in plan.names:
            mine = [index for index in order if splits.names[index] == name]
            tables = (table.drop_columns(GROUP) for table in spool.read(mine))
            shards = write_shards(data, name, family.schema, tables, shard_bytes)
            if shards.rows:
                moments = spool.facts.take(pa.array(mine))[family.moment] if family.moment else None
                written.append(_split(building, shards, moments))
        has_split = pa.array([name is not None for name in splits.names])
        origins = _origins(spool.facts.filter(has_split), family)
    return Written(building, family, tuple(written), splits.report, origins)


def _with_group(batch: pa.RecordBatch) -> pa.RecordBatch:
    if GROUP in batch.schema.names:
        return batch
    return batch.append_column(GROUP, pa.nulls(len(batch), pa.string()))


def _candidates(facts: pa.Table, family: Family) -> list[Candidate]:
    """Return what splitting needs; rows about one subject are a group, whatever else they share.

    Raises `ValueError` where rows about one subject bear different groups.
    """
    if not len(facts):
        raise DatasetError(
            f"The dataset {family.name} would be empty",
            "See goldpan funnel for what the filters drop, or choose another profile",
        )
    groups: dict[str, str] = {}
    candidates = []
    seen: set[str | None] = {None}
    subjects = zip(*(facts.column(name).to_pylist() for name in family.subject), strict=True)
    rows = (facts.column(name).to_pylist() for name in ("id", GROUP, REPO, family.moment))
    labels = strata(facts, family.stratum)
    partitions = facts.column(family.partition or "id").to_pylist()
    for about, name, answer, repo, moment, label, partition in zip(
        subjects, *rows, labels, partitions, strict=True
    ):
        if name in seen:
            raise DatasetError(
                f"An example of {family.name} "
                + (f"occurs twice: {name}" if name else "has no id"),
                "Make the tables again with goldpan normalize; if that does not help, report it",
            )
        seen.add(name)
        subject = "#".join(map(str, about))
        group = answer or subject
        if groups.setdefault(subject, group) != group:
            raise ValueError(f"{subject} is in the groups {groups[subject]} and {group}")
        candidates.append(
            Candidate(
                name,
                group,
                repo or name,
                moment,
                stratum=label,
                partition=partition if family.partition else None,
            )
        )
    return candidates


def _split(building: Path, shards: Shards, moments: pa.ChunkedArray | None) -> Split:
    files = tuple(
        DataFile(path.relative_to(building).as_posix(), path.stat().st_size, digest(path))
        for path in shards.paths
    )
    dates = pc.min_max(moments).as_py() if moments is not None else {"min": None, "max": None}
    return Split(shards.name, shards.rows, shards.size, files, dates["min"], dates["max"])


def _origins(facts: pa.Table, family: Family) -> tuple[Origin, ...]:
    names = (REPO, family.works or REPO, "license")
    columns = (facts.column(name).to_pylist() for name in names)
    counts = Counter(
        (repo or work or family.origin, license)
        for repo, work, license in zip(*columns, strict=True)
    )
    return _sorted(Origin(*origin, rows) for origin, rows in counts.items())


def _with_quoted(origins: Iterable[Origin], quoted: Iterable[Origin]) -> tuple[Origin, ...]:
    """Add those that have no row of their own, with no rows."""
    by_name = {(origin.repo, origin.license): origin for origin in origins}
    for origin in quoted:
        by_name.setdefault((origin.repo, origin.license), replace(origin, rows=0))
    return _sorted(by_name.values())


def _sorted(origins: Iterable[Origin]) -> tuple[Origin, ...]:
    return tuple(sorted(origins, key=lambda origin: (origin.repo, origin.license or "")))


def _write_provenance(written: Written, provenance: Provenance, extras: Extras) -> None:
    directory = written.directory
    files: dict[str, Any] = {
        file.path: {"sha256": file.sha256, "bytes": file.size} for file in written.files
    }
    for name in (CARD, CROISSANT, *extras.files):
        path = directory / name
        files[name] = {"sha256": digest(path), "bytes": path.stat().st_size}
    about = {
        **described_family(written.family),
        "examples": written.rows,
        "splits": {
            **asdict(written.report),
            "bytes": {split.name: split.size for split in written.splits},
        },
        "repositories": [asdict(origin) for origin in written.origins],
        **({"gold": [asdict(score) for score in written.scores]} if written.scores else {}),
        **extras.about,
    }
    write_provenance(directory, provenance, about, files)


def refuse_foreign(directory: Path) -> None:
    """Raise `DatasetError` where the directory holds what Goldpan did not write."""
    remedy = "Choose another directory, or empty this one"
    try:
        if not directory.exists() or not any(directory.iterdir()):
            return
    except OSError as error:
        raise DatasetError(f"{directory} cannot be read: {error.strerror}", remedy) from None
    try:
        read_provenance(directory)
    except DatasetError as error:
        raise DatasetError(
            f"{directory} is not replaced, as it is not a dataset: {error.problem}", remedy
        ) from None
