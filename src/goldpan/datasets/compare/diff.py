"""Differences between two versions of a dataset: rows by a join of hashes, and their causes."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from itertools import groupby
from pathlib import Path
from typing import Any, Literal

import duckdb
import orjson
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from goldpan.core.errors import DatasetError, UsageError
from goldpan.core.resources import told_otherwise
from goldpan.core.result import Result
from goldpan.core.storage.parquet import connect_alone
from goldpan.datasets.card import markdown
from goldpan.datasets.examples import known_family
from goldpan.datasets.provenance import content_digest, read_provenance, shard_paths
from goldpan.datasets.table_files import check_form, write_rows

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
    """Rows that came or went with their repository, or are newer."""

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

    schema = 2

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
    examples: Mapping[str, tuple[RowChange, ...]]
    """The first rows of each kind, by id."""


_MOST_NAMED = 20


def changelog(difference: DiffResult) -> str:
    """Return Markdown without a heading; texts from GitHub are escaped."""
    values = {item.name: getattr(difference, item.name) for item in fields(difference)}
    removed = difference.examples["gone"][:_MOST_NAMED]
    return markdown("changes.md.jinja", **values, removed=removed).strip()


@dataclass(frozen=True, slots=True)
class _Version:
    """A dataset as `goldpan build` wrote it."""

    directory: Path
    provenance: Mapping[str, Any]
    shards: tuple[Path, ...]
    """Its Parquet files, whose names begin with the split."""
    schema: pa.Schema

    @property
    def facts(self) -> VersionFacts:
        """The version as results name it."""
        rows, program = self.provenance.get("examples", 0), self.provenance["goldpan"]
        content = content_digest(self.provenance)
        return VersionFacts(str(self.directory), content, str(program.get("version")), int(rows))

    @property
    def sources(self) -> Mapping[str, Mapping[str, Any]]:
        """The provenance of each mined repository, by its name in lower case."""
        sources = self.provenance.get("sources", ())
        return {str(source["repo"]).lower(): source for source in sources}

    @property
    def settings(self) -> dict[str, Any]:
        """What it was made of and with: values and lists by the names of their keys."""
        made = {"goldpan": self.provenance["goldpan"].get("version")}
        for source in self.sources.values():
            made |= {f"{source['repo']}: {name}": source.get(name) for name in _OF_SOURCES}
        for name in _SETTINGS:
            made |= _flat(name, self.provenance.get(name, {}))
        return made


def _read_version(directory: Path) -> _Version:
    provenance = read_provenance(directory)
    shards = tuple(shard_paths(directory))
    try:
        schema = pq.read_schema(shards[0]) if shards else pa.schema([])
    except (OSError, pa.ArrowException) as error:
        raise DatasetError(
            f"{directory} cannot be read ({error})", "Build the dataset again"
        ) from None
    if "id" not in schema.names:
        raise DatasetError(
            f"{directory} holds no rows with an id", "Give a dataset that goldpan build wrote"
        )
    return _Version(directory, provenance, shards, schema)


_SETTINGS = ("profile", "settings", "plugins", "versions")
_OF_SOURCES = ("rules", "mined_from", "mined_until")
_NOT_SETTINGS = ("profile.description", "settings.since")
_LONGEST = 200
"""Characters of a value that are shown."""


def _flat(name: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        return {name: value}
    inner = [_flat(f"{name}.{key}", item) for key, item in value.items()]
    return {key: item for values in inner for key, item in values.items()}


def _causes(old: _Version, new: _Version) -> Iterator[Cause]:
    """Yield the settings that differ; of lists the items that the other has not."""
    before, after = old.settings, new.settings
    for what in dict.fromkeys((*before, *after)):
        one, two = before.get(what), after.get(what)
        if one == two or what in _NOT_SETTINGS:
            continue
        if isinstance(one, list) and isinstance(two, list):
            gone, added = ([x for x in a if x not in b] for a, b in ((one, two), (two, one)))
            one, two = (gone, added) if gone or added else (one, two)
        yield Cause(what, _shown(one), _shown(two))


def _shown(value: Any) -> str | None:
    if isinstance(value, list):
        value = ", ".join(map(_plain, value))
    text = "" if value is None else _plain(value)
    return text[:_LONGEST] + "…" * (len(text) > _LONGEST) if text else None


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else orjson.dumps(value, default=str).decode()


_DIFFERENCES = """
CREATE TABLE differences AS
WITH o AS ({old}), n AS ({new}), joined AS (
  SELECT coalesce(n.id, o.id) AS id, o.split AS old_split, n.split AS new_split,
         CASE WHEN o.id IS NULL OR n.id IS NULL THEN []
              ELSE list_filter([{columns}]::VARCHAR[], lambda x: x IS NOT NULL) END AS columns,
         lower(coalesce(n.repo, o.repo)) AS repo, coalesce(n.moment, o.moment) AS moment
  FROM o FULL JOIN n ON o.id = n.id
), changed AS (
  SELECT *, CASE WHEN old_split IS NULL THEN 'added' WHEN new_split IS NULL THEN 'gone'
                 WHEN len(columns) > 0 THEN 'changed' ELSE 'moved' END AS change
  FROM joined WHERE old_split IS DISTINCT FROM new_split OR len(columns) > 0
)
SELECT * EXCLUDE (repo, moment), CASE
  WHEN change = 'added' AND $older <> [] AND NOT list_contains($older, repo)
    THEN 'its repository is a new source'
  WHEN change = 'gone' AND $newer <> [] AND NOT list_contains($newer, repo)
    THEN 'its repository is no longer a source'
  WHEN change = 'added' AND moment > $until[list_position($older, repo)]::TIMESTAMPTZ
    THEN 'it was opened after the older version was mined'
END AS reason FROM changed
"""
_COUNTED = """
SELECT count(*) FILTER (change = 'changed' AND len(list_intersect(columns, $1)) > 0),
       count(*) FILTER (old_split <> new_split) FROM differences
"""
_SELECT = "SELECT id, change, columns, old_split, new_split, reason FROM differences"


@contextmanager
def _open_differences(
    old: _Version, new: _Version, columns: Sequence[str]
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a database with the table `differences`: the rows that are not the same in both.

    Memory follows the number of rows, 8 bytes a column, not the length of their texts. Raises
    `DatasetError` for a file that cannot be read.
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
            query = _DIFFERENCES.format(
                old=_side(connection, "older", old, compared),
                new=_side(connection, "newer", new, compared),
                columns=differing,
            )
            until = [source.get("mined_until") for source in old.sources.values()]
            known = {"older": list(old.sources), "newer": list(new.sources), "until": until}
            connection.execute(query, known)
            yield connection
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


def _side(
    connection: duckdb.DuckDBPyConnection, name: str, version: _Version, compared: Sequence[str]
) -> str:
    """Return a query for a version's ids, splits, moments and the hashes of its columns."""
    names = version.schema.names
    timed = "created_at" in names and pa.types.is_timestamp(version.schema.field("created_at").type)
    repo, moment = "repo" if "repo" in names else "NULL", "created_at" if timed else "NULL"
    hashes = [
        'hash("' + column.replace('"', '""') + f'") AS h{at}' for at, column in enumerate(compared)
    ]
    facts = f"id::VARCHAR AS id, {repo}::VARCHAR AS repo, {moment}::TIMESTAMPTZ AS moment"
    selected = ", ".join((facts, *hashes))
    queries = []
    for at, (split, paths) in enumerate(groupby(version.shards, _split_of)):
        connection.register(f"{name}_{at}", ds.dataset(list(paths), format="parquet"))
        queries.append(f"SELECT {_quoted(split)} AS split, {selected} FROM {name}_{at}")  # noqa: S608 - quoted
    return " UNION ALL ".join(queries)


def _split_of(path: Path) -> str:
    return path.name.rsplit("-", 3)[0]


def compare_versions(
    old: Path, new: Path, *, most: int = 20, output: Path | None = None
) -> DiffResult:
    """Return the changes from one version of a dataset to another, and their reasons.

    At most `most` rows of each kind are named; `output` takes all of them, as Parquet, JSON lines
    or CSV. Raises `DatasetError` where a
    directory holds no dataset, and `UsageError` where the two are of different families.
    """
    if output is not None:
        check_form(output)
    before, after = _read_version(old), _read_version(new)
    families = [str(version.provenance.get("family")) for version in (before, after)]
    if families[0] != families[1]:
        raise UsageError(
            f"{old} is a dataset of {families[0]}, and {new} of {families[1]}",
            "Compare two versions of one dataset",
        )
    old_columns, new_columns = before.schema, after.schema
    both = [name for name in new_columns.names if name in old_columns.names]
    same = [name for name in both if old_columns.field(name).type == new_columns.field(name).type]
    with _open_differences(before, after, same) as connection:

        def ask(query: str, *values: object) -> list[tuple[Any, ...]]:
            return connection.execute(query, list(values)).fetchall()

        counts = dict(ask("SELECT change, count(*) FROM differences GROUP BY change"))
        if output is not None:
            write_rows(connection.sql(f"{_SELECT} ORDER BY change, id").to_arrow_reader(), output)
        family = known_family(after.provenance, after.schema)
        task = [*family.inputs, family.target] if family and family.target else []
        ((in_task, moved),) = ask(_COUNTED, task)
        differing = ask(
            "SELECT unnest(columns) AS name, count(*) FROM differences GROUP BY name "
            "ORDER BY count(*) DESC, name"
        )
        reasons = ask(
            "SELECT change, reason, count(*) FROM differences WHERE reason IS NOT NULL "
            "GROUP BY ALL ORDER BY change, count(*) DESC, reason"
        )
        examples = {
            kind: ask(f"{_SELECT} WHERE change = $1 ORDER BY id LIMIT $2", kind, most)
            for kind in KINDS
        }
    return DiffResult(
        family=families[1],
        old=before.facts,
        new=after.facts,
        same=before.facts.rows - sum(counts.get(kind, 0) for kind in ("gone", "changed", "moved")),
        added=counts.get("added", 0),
        gone=counts.get("gone", 0),
        changed=counts.get("changed", 0),
        changed_in_task=in_task if task else None,
        moved=moved,
        columns=dict(differing),
        columns_added=tuple(name for name in new_columns.names if name not in old_columns.names),
        columns_gone=tuple(name for name in old_columns.names if name not in new_columns.names),
        columns_retyped=tuple(name for name in both if name not in same),
        causes=tuple(_causes(before, after)),
        reasons=tuple(Reason(*reason) for reason in reasons),
        examples={
            kind: tuple(
                RowChange(name, change, tuple(columns), *rest)
                for name, change, columns, *rest in rows
            )
            for kind, rows in examples.items()
        },
    )
