"""Versions of a dataset: the rows that differ, by hashes, and why rows were added or removed."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from goldpan.core.errors import DatasetError, WorkspaceError
from goldpan.core.resources import told_otherwise
from goldpan.core.schemas import VERDICTS
from goldpan.core.storage.parquet import connect_alone, read_metadata, read_table
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
    def decide(self) -> list[str]:
        """The criteria that dropped subjects, in their order, those of the family last."""
        criteria = self.provenance.get("profile", {}).get("decide", ())
        digests = self.provenance.get("digests", {})
        required = (name for name in self.provenance.get("counts", {}) if name in digests)
        return list(dict.fromkeys((*criteria, *required)))

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


_DIFFERING = """
CREATE TABLE differing AS
WITH o AS ({old}), n AS ({new}), joined AS (
  SELECT coalesce(n.id, o.id) AS id, o.split AS old_split, n.split AS new_split,
         CASE WHEN o.id IS NULL OR n.id IS NULL THEN []
              ELSE list_filter([{columns}]::VARCHAR[], lambda x: x IS NOT NULL) END AS columns,
         coalesce(n.repo, o.repo) AS repo, coalesce(n.issue, o.issue) AS issue,
         coalesce(n.pull, o.pull) AS pull, coalesce(n.moment, o.moment) AS moment
  FROM o FULL JOIN n ON o.id = n.id
)
SELECT *, CASE WHEN old_split IS NULL THEN 'added' WHEN new_split IS NULL THEN 'gone'
               WHEN len(columns) > 0 THEN 'changed' ELSE 'moved' END AS change
FROM joined WHERE old_split IS DISTINCT FROM new_split OR len(columns) > 0
"""
_REASONS = """
CREATE TABLE differences AS
WITH judged AS (
  SELECT d.id, d.change, v.* EXCLUDE (repo, issue, pull)
  FROM differing d JOIN (
    SELECT 'older' AS age, * FROM older UNION ALL SELECT 'newer', * FROM newer
  ) v ON lower(v.repo) = lower(d.repo) AND v.issue = d.issue AND (NOT $paired OR v.pull = d.pull)
  WHERE v.subject = CASE WHEN $paired THEN 'pair' ELSE 'issue' END
), dropped AS (
  SELECT id, arg_min('the criterion ' || criterion || effect
                       || CASE WHEN keep IS NULL THEN ' (it could not judge)'
                               WHEN reason IS NULL THEN '' ELSE ' (' || reason || ')' END,
                     rank) AS why
  FROM judged JOIN effects USING (age, change, criterion)
  WHERE keep IS DISTINCT FROM true GROUP BY id
)
SELECT d.*, CASE
  WHEN change = 'added' AND $older <> [] AND NOT list_contains($older, lower(repo))
    THEN 'its repository is a new source'
  WHEN change = 'gone' AND $newer <> [] AND NOT list_contains($newer, lower(repo))
    THEN 'its repository is no longer a source'
  WHEN change = 'added' AND moment > $until[list_position($older, lower(repo))]::TIMESTAMPTZ
    THEN 'it was opened after the older version was mined'
  WHEN why IS NOT NULL THEN why
  WHEN change = 'gone' AND issue IS NOT NULL AND list_contains($judged, lower(repo)) THEN
    CASE WHEN id IN (SELECT id FROM judged WHERE age = 'newer')
         THEN 'the filters keep it, and it gave no row: see the counts in the provenance'
         WHEN $paired THEN 'the pairing rules no longer name the pair'
         ELSE 'its issue is no longer in the tables' END
END AS reason
FROM differing d LEFT JOIN dropped USING (id)
"""


@contextmanager
def open_differences(
    old: DatasetVersion,
    new: DatasetVersion,
    columns: Sequence[str],
    workspace: WorkspaceLayout | None,
) -> Iterator[tuple[duckdb.DuckDBPyConnection, list[str]]]:
    """Open a database with the table `differences`, and notes on rows that it does not explain.

    It has the rows that are not the same in both versions: id, change, columns, old_split,
    new_split, repo, issue, pull, moment, and for what came or went its reason, as far as the
    workspace has the verdicts. `columns` of both versions are compared. Memory follows the number
    of rows, 8 bytes a column, not the length of their texts. Raises `DatasetError` for a file that
    cannot be read.
    """
    compared = [name for name in columns if name != "id"]
    differing = ", ".join(
        f"CASE WHEN o.h{at} IS DISTINCT FROM n.h{at} THEN {_quoted(name)} END"
        for at, name in enumerate(compared)
    )
    with (
        tempfile.TemporaryDirectory(prefix="goldpan-diff-") as scratch,
        connect_alone() as connection,
    ):
        connection.execute(f"SET temp_directory = {_quoted(scratch)}")
        connection.execute("SET preserve_insertion_order = false")
        try:
            sides = [
                _side(connection, f"{age}_rows", version, compared)
                for age, version in (("older", old), ("newer", new))
            ]
            connection.execute(_DIFFERING.format(old=sides[0], new=sides[1], columns=differing))
            yield connection, _explain(connection, old, new, workspace)
        except duckdb.Error as error:
            if told_otherwise(error):
                raise
            raise DatasetError(
                f"{old.directory} and {new.directory} cannot be compared "
                f"({str(error).splitlines()[0]})",
                "Build both with this version of Goldpan",
            ) from error


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _name(column: str) -> str:
    return '"' + column.replace('"', '""') + '"'


def _side(
    connection: duckdb.DuckDBPyConnection,
    name: str,
    version: DatasetVersion,
    compared: Sequence[str],
) -> str:
    """Return a query for a version's ids, splits, subjects and the hashes of its columns."""
    names = version.schema.names
    timed = "created_at" in names and pa.types.is_timestamp(version.schema.field("created_at").type)
    numbers = (
        f"TRY_CAST({number} AS BIGINT) AS {number}" if number in names else f"NULL AS {number}"
        for number in ("issue", "pull")
    )
    selected = ", ".join(
        (
            "id::VARCHAR AS id",
            f"{'repo' if 'repo' in names else 'NULL'}::VARCHAR AS repo",
            *numbers,
            f"{'created_at' if timed else 'NULL'}::TIMESTAMPTZ AS moment",
            *(f"hash({_name(column)}) AS h{at}" for at, column in enumerate(compared)),
        )
    )
    shards: dict[str, list[Path]] = {}
    for path in version.shards:
        shards.setdefault(path.name.rsplit("-", 3)[0], []).append(path)
    queries = []
    for at, (split, paths) in enumerate(shards.items()):
        connection.register(f"{name}_{at}", ds.dataset(paths, format="parquet"))
        queries.append(f"SELECT {_quoted(split)} AS split, {selected} FROM {name}_{at}")  # noqa: S608 - quoted
    return " UNION ALL ".join(queries)


def _explain(
    connection: duckdb.DuckDBPyConnection,
    old: DatasetVersion,
    new: DatasetVersion,
    workspace: WorkspaceLayout | None,
) -> list[str]:
    """Give differences their reasons; return notes on those without one."""
    judged = {}
    for age, version in (("older", old), ("newer", new)):
        judged[age] = dict(_verdicts(workspace, version))
        paths = list(judged[age].values())
        verdicts = ds.dataset(paths, format="parquet") if paths else VERDICTS.schema.empty_table()
        connection.register(age, verdicts)
    former = [name for name in old.decide if name not in new.decide]
    recent = {name: ", which decides now," for name in new.decide if name not in old.decide}
    effects = [
        *(("older", "added", name, " dropped it before") for name in old.decide),
        *(("newer", "added", name, ", which would drop it, no longer decides") for name in former),
        *(("newer", "gone", name, f"{recent.get(name, '')} drops it") for name in new.decide),
    ]
    connection.execute(
        "CREATE TABLE effects (age VARCHAR, change VARCHAR, criterion VARCHAR, effect VARCHAR, "
        "rank INTEGER)"
    )
    for rank, effect in enumerate(effects):
        connection.execute("INSERT INTO effects VALUES (?, ?, ?, ?, ?)", [*effect, rank])
    connection.execute(
        _REASONS,
        {
            "paired": "pull" in new.schema.names,
            "older": list(old.sources),
            "newer": list(new.sources),
            "until": [source.get("mined_until") for source in old.sources.values()],
            "judged": list(judged["newer"]),
        },
    )
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


def _verdicts(
    workspace: WorkspaceLayout | None, version: DatasetVersion
) -> Iterator[tuple[str, Path]]:
    """Yield a version's verdicts by repository, as far as the workspace still has them."""
    profile = version.provenance.get("profile", {}).get("name")
    if workspace is None or not profile:
        return
    digests = version.provenance.get("digests", {})
    for repo, source in version.sources.items():
        tables = str(source.get("inputs", {}).get("tables"))
        try:
            path = workspace.by_rules(source.get("rules") or UNPAIRED).verdicts(repo, str(profile))
            if not path.exists() or read_metadata(path).get(INPUTS_KEY) != tables.encode():
                continue
            used = read_table(path, ["criterion", "settings"]).group_by(["criterion", "settings"])
            criteria = used.aggregate([]).to_pylist()
        except (WorkspaceError, OSError, pa.ArrowException):
            continue  # damaged or gone: as if there were none
        if all(digests.get(each["criterion"]) == each["settings"] for each in criteria):
            yield repo, path
