"""Versions of a dataset, and which of their rows differ: compared by hashes, no text is kept."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from goldpan.core.errors import DatasetError, UsageError
from goldpan.core.parquet import connect_alone
from goldpan.core.resources import told_otherwise
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
        """The provenance of each mined repository, by its name in lower case."""
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


_NUMBERS = ("issue", "pull")


@dataclass(frozen=True, slots=True)
class SharedColumns:
    """The columns that two versions share, and those that differ."""

    same: tuple[str, ...]
    added: tuple[str, ...]
    gone: tuple[str, ...]
    retyped: tuple[str, ...]


def shared_columns(old: DatasetVersion, new: DatasetVersion) -> SharedColumns:
    """Return which columns can be compared."""
    before, after = old.schema, new.schema
    both = [name for name in after.names if name in before.names]
    same = [name for name in both if before.field(name).type == after.field(name).type]
    return SharedColumns(
        tuple(same),
        tuple(name for name in after.names if name not in before.names),
        tuple(name for name in before.names if name not in after.names),
        tuple(name for name in both if name not in same),
    )


@contextmanager
def open_differences(
    old: DatasetVersion, new: DatasetVersion, columns: SharedColumns
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a database with the table `differences`: rows that are not the same in both versions.

    Its columns are id, change, columns, old_split, new_split, repo, issue, pull, moment and an
    empty reason. Memory follows the number of rows, 8 bytes a column, not the length of their
    texts. Raises `DatasetError` for a file that cannot be read.
    """
    with (
        tempfile.TemporaryDirectory(prefix="goldpan-diff-") as scratch,
        connect_alone() as connection,
    ):
        connection.execute(f"SET temp_directory = {_quoted(scratch)}")
        connection.execute("SET preserve_insertion_order = false")
        try:
            connection.execute(_comparison(old, new, columns))
            yield connection
        except duckdb.Error as error:
            if told_otherwise(error):
                raise
            raise DatasetError(
                f"{old.directory} and {new.directory} cannot be compared "
                f"({str(error).splitlines()[0]})",
                "Build both with this version of Goldpan",
            ) from error


def parquet_scan(paths: Sequence[Path]) -> str:
    """Return SQL that reads Parquet files, whatever signs their names have."""
    return f"read_parquet([{', '.join(map(_path, paths))}], hive_partitioning = false)"


def _path(path: Path) -> str:
    return _quoted("".join(f"[{sign}]" if sign in "*?[" else sign for sign in str(path)))


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _name(column: str) -> str:
    return '"' + column.replace('"', '""') + '"'


def _comparison(old: DatasetVersion, new: DatasetVersion, columns: SharedColumns) -> str:
    compared = [name for name in columns.same if name != "id"]
    differing = ", ".join(
        f"CASE WHEN o.h{at} IS DISTINCT FROM n.h{at} THEN {_quoted(name)} END"
        for at, name in enumerate(compared)
    )
    either = ", ".join(
        f"coalesce(n.{name}, o.{name}) AS {name}" for name in ("repo", *_NUMBERS, "moment")
    )
    differ = f"list_filter([{differing}]::VARCHAR[], lambda x: x IS NOT NULL)"
    return f"""
        CREATE TABLE differences AS
        WITH o AS ({_side(old, compared)}), n AS ({_side(new, compared)}), joined AS (
            SELECT coalesce(n.id, o.id) AS id, o.split AS old_split, n.split AS new_split,
                   CASE WHEN o.id IS NULL OR n.id IS NULL THEN [] ELSE {differ} END AS columns,
                   {either}
            FROM o FULL JOIN n ON o.id = n.id
        )
        SELECT *,
               CASE WHEN old_split IS NULL THEN 'added'
                    WHEN new_split IS NULL THEN 'gone'
                    WHEN len(columns) > 0 THEN 'changed'
                    ELSE 'moved' END AS change,
               NULL::VARCHAR AS reason
        FROM joined
        WHERE old_split IS DISTINCT FROM new_split OR len(columns) > 0
    """  # noqa: S608 - names of columns and files are quoted


def _side(version: DatasetVersion, compared: Sequence[str]) -> str:
    names = version.schema.names
    hashes = "".join(f", hash({_name(name)}) AS h{at}" for at, name in enumerate(compared))
    repo = "repo::VARCHAR" if "repo" in names else "NULL::VARCHAR"
    numbers = ", ".join(
        f"{f'TRY_CAST({name} AS BIGINT)' if name in names else 'NULL::BIGINT'} AS {name}"
        for name in _NUMBERS
    )
    timed = "created_at" in names and str(version.schema.field("created_at").type).startswith(
        "timestamp"
    )
    moment = "created_at::TIMESTAMPTZ" if timed else "NULL::TIMESTAMPTZ"
    return " UNION ALL ".join(
        f"SELECT id::VARCHAR AS id, {_quoted(split)} AS split, {repo} AS repo, {numbers}, "  # noqa: S608 - quoted
        f"{moment} AS moment{hashes} FROM {parquet_scan(paths)}"
        for split, paths in sorted(version.shards.items())
    )
