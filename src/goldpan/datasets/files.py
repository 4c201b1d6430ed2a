"""Writes a dataset: Parquet files, card, Croissant metadata and provenance, all or nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path, PurePosixPath
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from goldpan.core.errors import DatasetError
from goldpan.core.plugins.loading import digests
from goldpan.core.resources import unwritable
from goldpan.core.storage.sealed import file_digest
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.datasets.card import CARD, write_card
from goldpan.datasets.compare.diff import changelog, compare_versions
from goldpan.datasets.croissant import CROISSANT, write_croissant
from goldpan.datasets.family import GROUP, REPO, TIER, Family, described_family
from goldpan.datasets.gold import Gold, score_labels
from goldpan.datasets.manifest import (
    CardInputs,
    DataFile,
    DatasetRecord,
    Extras,
    Origin,
    Written,
    WrittenSplit,
)
from goldpan.datasets.provenance import PROVENANCE, Provenance, read_provenance, write_provenance
from goldpan.datasets.splits import SplitCandidate, SplitPlan, assign_splits, strata
from goldpan.datasets.spool import Spool, write_spool

# Writes the Parquet files of a split: the same rows give the same bytes.

_GROUP_ROWS = 1_000
_GROUP_BYTES = 32 * 2**20
SHARD_BYTES = 512 * 2**20
"""The largest size of a Parquet file, before compression."""


def _write_shards(
    directory: Path, split: str, schema: pa.Schema, tables: Iterable[pa.Table]
) -> tuple[list[Path], int, int]:
    """Write small sorted tables as SPLIT-00000-of-0000N.parquet; return paths, rows and bytes.

    A row group ends after 1,000 rows or 32 MiB, a file after `SHARD_BYTES`, both counted
    before compression, so that both depend on the rows alone. Data pages are cut by content:
    storage that keeps equal chunks once then keeps little for a new version.
    """
    parts: list[Path] = []
    rows = size = filled = 0
    target: pq.ParquetWriter | None = None
    try:
        for group in _row_groups(tables):
            if target is None or filled >= SHARD_BYTES:
                if target:
                    target.close()
                parts.append(directory / f"{split}-{len(parts):05}.part")
                target = _writer(parts[-1], schema)
                filled = 0
            target.write_table(group, row_group_size=len(group))
            rows += len(group)
            size += group.nbytes
            filled += group.nbytes
    finally:
        if target:
            target.close()
    paths = []
    for number, part in enumerate(parts):
        paths.append(directory / f"{split}-{number:05}-of-{len(parts):05}.parquet")
        part.rename(paths[-1])
    return paths, rows, size


def _row_groups(tables: Iterable[pa.Table]) -> Iterable[pa.Table]:
    waiting: list[pa.Table] = []
    rows = size = 0
    for table in tables:
        waiting.append(table)
        rows += len(table)
        size += table.nbytes
        if rows >= _GROUP_ROWS or size >= _GROUP_BYTES:
            yield pa.concat_tables(waiting).combine_chunks()
            waiting, rows, size = [], 0, 0
    if waiting:
        yield pa.concat_tables(waiting).combine_chunks()


def _writer(path: Path, schema: pa.Schema) -> pq.ParquetWriter:
    return pq.ParquetWriter(
        path,
        schema,
        compression="zstd",
        compression_level=3,
        use_content_defined_chunking=True,
        write_page_index=True,
        write_page_checksum=True,
    )


def write_dataset(
    workspace: WorkspaceLayout,
    directory: Path,
    family: Family,
    rows: Spool | pa.Table | Iterable[pa.RecordBatch],
    plan: SplitPlan,
    provenance: Provenance,
    card: CardInputs,
    *,
    since: Path | None = None,
    golds: Sequence[Gold] = (),
    extras: Extras | None = None,
) -> Written:
    """Write the rows as a dataset to a directory, in place of an earlier dataset there.

    `rows` have the family's columns in any order, and may have `group`: rows that share it are
    near duplicates. A spool has the columns `facts_of` as its facts. Memory follows the batch,
    beside a few light columns. The directory appears by a rename when all is written. Mappings in
    `provenance` are read after the last row. Card and provenance have the scores of the rows
    against each of `golds`; the card has the changes since the older version in `since`, which may
    be `directory` itself. `extras` are further files and facts.

    Raises `DatasetError` where there are no rows, an id stands twice or is missing, or the
    directory holds something else than a dataset.
    """
    refuse_foreign(directory)
    replaced = (directory / PROVENANCE).exists()
    built_by = digests(("builder", family.name))
    provenance = replace(provenance, plugins={**provenance.plugins, **built_by})
    extras = extras or Extras()
    try:
        with workspace.replacing(directory) as building:
            spool = rows if isinstance(rows, Spool) else _spooled(building, family, rows)
            written = _write_data(building, spool, family, plan)
            paths = [building / file.path for file in written.files]
            written = replace(written, scores=tuple(score_labels(paths, gold) for gold in golds))
            quoted = {(origin.repo, origin.license): 0 for origin in extras.quoted}
            counted = {(origin.repo, origin.license): origin.rows for origin in written.origins}
            written = replace(written, origins=_origins(quoted | counted))
            for name, content in extras.files.items():
                path = building / PurePosixPath(name)
                path.parent.mkdir(exist_ok=True)
                path.write_bytes(content)
            record = DatasetRecord(written, card, provenance, extras)
            _describe(record)
            if since is not None:
                changes = changelog(compare_versions(since, building))
                _describe(replace(record, card=replace(card, changes=changes)))
    except OSError as error:
        raise unwritable(directory, error, DatasetError) from None
    return replace(written, directory=directory, replaced=replaced)


def _describe(record: DatasetRecord) -> None:
    write_card(record)
    write_croissant(record)
    _write_provenance(record)


def facts_of(family: Family) -> list[str]:
    """Return the light columns by which rows are split, sorted and counted."""
    further = (family.moment, family.stratum, family.partition, family.works)
    names = ("id", GROUP, REPO, "license", *family.order, *family.subject, *further)
    counted = (name for name in ("verification", TIER) if name in family.schema.names)
    return list(dict.fromkeys(filter(None, (*names, *counted))))


def _spooled(building: Path, family: Family, rows: pa.Table | Iterable[pa.RecordBatch]) -> Spool:
    path = building.with_name("rows.arrow")
    batches = rows.to_batches() if isinstance(rows, pa.Table) else rows
    write_spool(path, family.spooled, batches)
    return Spool([path], facts_of(family))


def _write_data(building: Path, spool: Spool, family: Family, plan: SplitPlan) -> Written:
    data = building / "data"
    data.mkdir(parents=True)
    splits = assign_splits(_candidates(spool.facts, family), plan)
    by = [(name, "ascending") for name in (*family.order, "id")]
    order = pc.sort_indices(spool.facts, sort_keys=by).to_pylist()
    written = []
    for name in plan.names:
        chosen = [index for index in order if splits.names[index] == name]
        tables = (table.drop_columns(GROUP) for table in spool.read(chosen))
        paths, rows, size = _write_shards(data, name, family.schema, tables)
        if rows:
            dates = {"min": None, "max": None}
            if family.moment:
                dates = pc.min_max(spool.facts.take(pa.array(chosen))[family.moment]).as_py()
            shards = tuple(_data_file(building, path) for path in paths)
            written.append(WrittenSplit(name, rows, size, shards, dates["min"], dates["max"]))
    has_split = pa.array([name is not None for name in splits.names])
    kept = spool.facts.filter(has_split)
    proofs = kept["verification"].to_pylist() if "verification" in kept.schema.names else ()
    of_rows = (kept[name].to_pylist() for name in (REPO, family.works or REPO, "license"))
    origins = Counter(
        (repo or work or family.origin, name) for repo, work, name in zip(*of_rows, strict=True)
    )
    tiers = Counter(kept[TIER].drop_null().to_pylist() if TIER in kept.schema.names else ())
    return Written(
        building,
        family,
        tuple(written),
        splits.report,
        _origins(origins),
        proved=list(proofs).count("verified"),
        tiers=dict(sorted(tiers.items())),
    )


def _candidates(facts: pa.Table, family: Family) -> list[SplitCandidate]:
    """Return the rows as split candidates; rows about one subject are always one group.

    Raises `ValueError` where rows about one subject have different groups.
    """
    if not len(facts):
        raise DatasetError(
            f"The dataset {family.name} would be empty: nothing that was read gives a row",
            "Give more repositories, or other options",
        )
    groups: dict[str, str] = {}
    candidates = []
    seen: set[str | None] = {None}
    batches = facts.to_batches(max_chunksize=_GROUP_ROWS)
    rows = (row for batch in batches for row in batch.to_pylist())
    for row, labels in zip(rows, strata(facts, family.stratum), strict=True):
        name = row["id"]
        if name in seen:
            raise DatasetError(
                f"An example of {family.name} "
                + (f"occurs twice: {name}" if name else "has no id"),
                "Make the tables again with goldpan normalize; if that does not help, report it",
            )
        seen.add(name)
        subject = "#".join(str(row[column]) for column in family.subject)
        group = row[GROUP] or subject
        if groups.setdefault(subject, group) != group:
            raise ValueError(f"{subject} is in the groups {groups[subject]} and {group}")
        moment, partition = row.get(family.moment), row.get(family.partition)
        candidates.append(SplitCandidate(name, group, row[REPO] or name, moment, labels, partition))
    return candidates


def _data_file(building: Path, path: Path) -> DataFile:
    name = path.relative_to(building).as_posix()
    return DataFile(name, path.stat().st_size, file_digest(path))


def _origins(counts: Mapping[tuple[str, str | None], int]) -> tuple[Origin, ...]:
    """Return how many rows each repository or work gave under each license, sorted."""
    ordered = sorted(counts, key=lambda origin: (origin[0], origin[1] or ""))
    return tuple(Origin(repo, license, counts[repo, license]) for repo, license in ordered)


def _write_provenance(record: DatasetRecord) -> None:
    written, extras, labels = record.written, record.extras, record.labels
    directory = written.directory
    names = (CARD, CROISSANT, *extras.files)
    further = (_data_file(directory, directory / name) for name in names)
    files = {
        file.path: {"sha256": file.sha256, "bytes": file.size}
        for file in (*written.files, *further)
    }
    about = {
        **described_family(written.family),
        "examples": written.rows,
        "splits": {
            **asdict(written.report),
            "bytes": {split.name: split.size for split in written.splits},
        },
        "repositories": [asdict(origin) for origin in written.origins],
        **({"gold": [asdict(score) for score in written.scores]} if written.scores else {}),
        **({"labels": asdict(labels)} if labels else {}),
        **extras.about,
    }
    write_provenance(directory, record.provenance, about, files)


def refuse_foreign(directory: Path, family: str = "") -> Mapping[str, Any]:
    """Return the provenance of the dataset in a directory; empty where there is nothing yet.

    Raises `DatasetError` where it is not a dataset of Goldpan, or not of `family`.
    """
    remedy = "Choose another directory, or empty this one"
    if directory.is_file():
        raise DatasetError(f"{directory} is a file", "Choose a directory")
    try:
        if not directory.exists() or not any(directory.iterdir()):
            return {}
    except OSError as error:
        raise DatasetError(f"{directory} cannot be read: {error.strerror}", remedy) from None
    try:
        provenance = read_provenance(directory)
    except DatasetError as error:
        raise DatasetError(
            f"{directory} is not replaced, as it is not a dataset: {error.problem}", remedy
        ) from None
    if family and provenance.get("family") != family:
        raise DatasetError(f"{directory} is not replaced: it holds something else", remedy)
    return provenance
