"""Versions of a dataset: the rows that differ, by hashes, and why rows were added or removed."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from goldpan.core.errors import DatasetError, WorkspaceError
from goldpan.core.resources import told_otherwise
from goldpan.core.storage.parquet import connect, connect_alone, read_metadata
from goldpan.core.storage.workspace import UNPAIRED, WorkspaceLayout
from goldpan.datasets.provenance import read_provenance, shard_paths
from goldpan.filters.stored import INPUTS_KEY


@dataclass(frozen=True, slots=True)
class DatasetVersion:
    """A dataset as `goldpan build` wrote it."""

    directory: Path
    provenance: Mapping[str, Any]
    shards: tuple[Path, ...]
    """Its Parquet files, whose names begin with the split."""
    schema: pa.Schema

    @property
    def family(self) -> str:
        """The kind of dataset."""
        return str(self.provenance.get("family"))

    @property
    def decide(self) -> tuple[str, ...]:
        """The criteria that dropped subjects, in their order, those of the family last."""
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
    shards = tuple(shard_paths(directory))
    try:
        schemas = [pq.read_schema(path) for path in shards[:1]]
    except (OSError, pa.ArrowException) as error:
        raise DatasetError(
            f"{directory} cannot be read ({error})", "Build the dataset again"
        ) from None
    if not schemas or "id" not in schemas[0].names:
        raise DatasetError(
            f"{directory} holds no rows with an id", "Give a dataset that goldpan build wrote"
        )
    return DatasetVersion(directory, provenance, shards, schemas[0])


_NUMBERS = ("issue", "pull")


@contextmanager
def open_differences(
    old: DatasetVersion, new: DatasetVersion, columns: Sequence[str]
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a database with the table `differences`: rows that are not the same in both versions.

    Its columns are id, change, columns, old_split, new_split, repo, issue, pull, moment and an
    empty reason; `columns` of both versions are compared. Memory follows the number of rows, 8
    bytes a column, not the length of their texts. Raises `DatasetError` for a file that cannot be
    read.
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
    """Return SQL that reads Parquet files by literal paths, with the column `file_of_row`."""
    files = ", ".join(map(_path, paths))
    return f"read_parquet([{files}], hive_partitioning = false, filename = 'file_of_row')"


def _path(path: Path) -> str:
    return _quoted("".join(f"[{sign}]" if sign in "*?[" else sign for sign in str(path)))


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _name(column: str) -> str:
    return '"' + column.replace('"', '""') + '"'


def _comparison(old: DatasetVersion, new: DatasetVersion, columns: Sequence[str]) -> str:
    compared = [name for name in columns if name != "id"]
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
    split = r"regexp_extract(file_of_row, '([^/]*)-\d+-of-\d+\.parquet$', 1)"
    return (
        f"SELECT id::VARCHAR AS id, {split} AS split, {repo} AS repo, {numbers}, "  # noqa: S608 - quoted
        f"{moment} AS moment{hashes} FROM {parquet_scan(version.shards)}"
    )


_KEPT = "the filters keep it, and it gave no row: see the counts in the provenance"


def explain_rows(
    connection: duckdb.DuckDBPyConnection,
    old: DatasetVersion,
    new: DatasetVersion,
    workspace: WorkspaceLayout | None,
) -> list[str]:
    """Set the reason of rows that were added or removed; return notes on the unexplained."""
    _new_sources(connection, old, new)
    paired = "pull" in new.schema.names
    judged = {}
    for age, version in (("older", old), ("newer", new)):
        judged[age] = dict(_verdicts(workspace, version))
        _open_verdicts(connection, f"{age}_verdicts", judged[age], paired=paired)
    former = [name for name in old.decide if name not in new.decide]
    recent = [name for name in new.decide if name not in old.decide]
    by = partial(_by_criterion, connection)
    by("added", "older_verdicts", " dropped it before", old.decide)
    by("added", "newer_verdicts", ", which would drop it, no longer decides", former)
    by("gone", "newer_verdicts", " drops it", new.decide, recent)
    lost = (
        "the pairing rules no longer name the pair"
        if paired
        else "its issue is no longer in the tables"
    )
    connection.execute(
        """
        UPDATE differences d SET reason = CASE
            WHEN EXISTS (SELECT 1 FROM newer_verdicts v WHERE v.id = d.id) THEN $kept ELSE $lost END
        WHERE change = 'gone' AND reason IS NULL AND issue IS NOT NULL
        AND list_contains($judged::VARCHAR[], lower(repo))
        """,
        {"kept": _KEPT, "lost": lost, "judged": list(judged["newer"])},
    )
    return _notes(connection, old, new, judged)


def _notes(
    connection: duckdb.DuckDBPyConnection,
    old: DatasetVersion,
    new: DatasetVersion,
    judged: Mapping[str, Mapping[str, Path]],
) -> list[str]:
    unexplained = dict(
        connection.execute(
            "SELECT change, count(*) FROM differences WHERE reason IS NULL "
            "AND change IN ('added', 'gone') GROUP BY change"
        ).fetchall()
    )
    notes = []
    for change, version, age in (("added", old, "older"), ("gone", new, "newer")):
        if rows := unexplained.get(change):
            cause = (
                "the verdicts do not say"
                if version.sources.keys() <= judged[age].keys()
                else f"the verdicts by which the {age} version was made are not in the workspace"
            )
            notes.append(f"why {rows:,} rows are {change} is not known: {cause}")
    return notes


def _new_sources(
    connection: duckdb.DuckDBPyConnection, old: DatasetVersion, new: DatasetVersion
) -> None:
    for change, other, text in (
        ("added", old, "its repository is a new source"),
        ("gone", new, "its repository is no longer a source"),
    ):
        if other.sources:
            connection.execute(
                "UPDATE differences SET reason = $text WHERE change = $change "
                "AND repo IS NOT NULL AND NOT list_contains($known::VARCHAR[], lower(repo))",
                {"text": text, "change": change, "known": list(other.sources)},
            )
    for repo, source in old.sources.items():
        if until := source.get("mined_until"):
            connection.execute(
                "UPDATE differences SET reason = 'it was opened after the older version was mined' "
                "WHERE change = 'added' AND reason IS NULL AND lower(repo) = $repo "
                "AND moment > $until",
                {"repo": repo, "until": datetime.fromisoformat(str(until))},
            )


def _verdicts(
    workspace: WorkspaceLayout | None, version: DatasetVersion
) -> Iterator[tuple[str, Path]]:
    """Yield a version's verdicts by repository, as far as the workspace still has them."""
    profile = version.provenance.get("profile", {}).get("name")
    if workspace is None or not profile:
        return
    for repo, source in version.sources.items():
        try:
            path = workspace.by_rules(source.get("rules") or UNPAIRED).verdicts(repo, str(profile))
            if path.exists() and _fits(path, version, source.get("inputs", {}).get("tables")):
                yield repo, path
        except (WorkspaceError, OSError, pa.ArrowException, duckdb.Error):
            continue  # damaged or gone: as if there were none


def _fits(path: Path, version: DatasetVersion, tables: str | None) -> bool:
    """Return whether a version was made from the tables and settings of these verdicts."""
    if tables is None or read_metadata(path).get(INPUTS_KEY) != tables.encode():
        return False
    digests = version.provenance.get("digests", {})
    with connect() as connection:
        row = connection.execute(
            f"SELECT DISTINCT criterion, settings FROM {parquet_scan([path])}"  # noqa: S608 - quoted
        ).fetchall()
    return all(digests.get(criterion) == settings for criterion, settings in row)


def _open_verdicts(
    connection: duckdb.DuckDBPyConnection, name: str, verdicts: Mapping[str, Path], *, paired: bool
) -> None:
    """Open a table of the verdicts on rows that differ, with the rows' ids."""
    connection.execute(
        f"CREATE TABLE {name} (id VARCHAR, criterion VARCHAR, keep BOOLEAN, reason VARCHAR)"
    )
    same = "v.issue = d.issue AND v.pull = d.pull" if paired else "v.issue = d.issue"
    for repo, path in verdicts.items():
        connection.execute(
            f"""
            INSERT INTO {name} SELECT d.id, v.criterion, v.keep, v.reason
            FROM differences d JOIN {parquet_scan([path])} v ON {same}
            WHERE lower(d.repo) = $repo AND v.subject = $subject
            """,  # noqa: S608 - the path is quoted, values are parameters
            {"repo": repo, "subject": "pair" if paired else "issue"},
        )


def _by_criterion(
    connection: duckdb.DuckDBPyConnection,
    change: str,
    verdicts: str,
    effect: str,
    decide: Sequence[str],
    recent: Sequence[str] = (),
) -> None:
    """Name the first of the criteria that does not keep a row's subject.

    `decide` are those that count, in their order, `recent` those that decide in the newer version
    alone.
    """
    connection.execute(
        f"""
        UPDATE differences SET reason = found.text FROM (
            SELECT id, arg_min('the criterion ' || criterion || recent || $effect || why, rank)
                   AS text
            FROM (
                SELECT id, criterion, list_position($decide::VARCHAR[], criterion) AS rank,
                       CASE WHEN list_contains($recent::VARCHAR[], criterion)
                            THEN ', which decides now,' ELSE '' END AS recent,
                       CASE WHEN keep IS NULL THEN ' (it could not judge)'
                            WHEN reason IS NULL THEN '' ELSE ' (' || reason || ')' END AS why
                FROM {verdicts} WHERE keep IS DISTINCT FROM true AND rank IS NOT NULL
            ) GROUP BY id
        ) found
        WHERE differences.id = found.id AND differences.change = $change
        AND differences.reason IS NULL
        """,  # noqa: S608 - the table is ours, values are parameters
        {"effect": effect, "decide": list(decide), "recent": list(recent), "change": change},
    )
