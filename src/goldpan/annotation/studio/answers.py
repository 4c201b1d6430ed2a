"""The table of annotations, and questions to it in SQL.

It has a row an answered question (`core.schemas.ANNOTATIONS`). DuckDB reads, settles and sorts it
with a limit of memory and a folder to spill to.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from goldpan.annotation.studio.project import Project, SubjectKey
from goldpan.core.schemas import ANNOTATIONS, TableSchema
from goldpan.core.storage.parquet import connect_alone, write, writer
from goldpan.core.storage.workspace import WorkspaceLayout, replacing_file

if TYPE_CHECKING:
    import duckdb

TABLE = "annotations.parquet"
SUBJECTS = "subjects"
"""The metadata of the table that counts the subjects on the server, answered or not."""
_AT_ONCE = 10_000
_MEMORY = "256MB"


def table_of(project: Project) -> Path:
    """Return the file of a project's answers; raises `WorkspaceError` before the first pull."""
    return project.table(TABLE, ANNOTATIONS, f"Nothing was pulled of the project {project.name}")


@contextmanager
def sorting(workspace: WorkspaceLayout) -> Iterator[duckdb.DuckDBPyConnection]:
    """Give a database that keeps on disk what does not fit into its share of memory."""
    with workspace.scratch() as scratch, connect_alone() as database:
        database.execute(f"SET memory_limit = '{_MEMORY}'; SET preserve_insertion_order = false")
        database.execute("SET temp_directory = $1", [str(scratch)])
        yield database


def insert(database: duckdb.DuckDBPyConnection, name: str, rows: pa.Table) -> None:
    """Add rows to a table of a database, which is made by the first."""
    database.register("new_rows", rows)
    database.execute(f"CREATE TABLE IF NOT EXISTS {name} AS FROM new_rows LIMIT 0")
    database.execute(f"INSERT INTO {name} FROM new_rows")
    database.unregister("new_rows")


def write_sorted(
    database: duckdb.DuckDBPyConnection,
    name: str,
    path: Path,
    table: TableSchema,
    metadata: Mapping[str, str] | None = None,
) -> None:
    """Write a table of a database to a file, in the table's order, some rows at a time."""
    ordered = database.sql(f"FROM {name} ORDER BY {', '.join(table.order)}")
    with replacing_file(path) as draft, writer(draft, table) as target:
        target.add_key_value_metadata(metadata or {})
        for batch in ordered.to_arrow_reader(_AT_ONCE):
            write(target, table, "", pa.Table.from_batches([batch]))


_ANSWERS = """
CREATE VIEW {view} AS SELECT
    annotation,
    {key},
    any_value(annotator) AS annotator,
    bool_and(counts) AS counts,
    any_value(problem) AS problem,
    list_sort(any_value("values") FILTER (field = '{decides}')) AS chosen,
    coalesce(bool_or(field = 'doubt' AND len("values") > 0), false) AS doubt,
    coalesce(array_to_string(any_value("values") FILTER (field = 'reason'), ' '), '') AS reason,
    any_value(seconds) AS seconds,
    any_value(created_at) AS created_at,
    any_value(updated_at) AS updated_at
FROM {fields} GROUP BY annotation
"""


@contextmanager
def asking(
    workspace: WorkspaceLayout, project: Project, decides: str, third: Iterable[Project] = ()
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Give a database with what people answered in a project.

    The view `fields` has a row an answered question, `answers` a row an answer, with what was
    `chosen` for the field that `decides`, and `third` the same of the projects given so. Raises
    `WorkspaceError` before the first pull.
    """
    key = ", ".join(f"any_value({name}) AS {name}" for name in SubjectKey.__struct_fields__)
    paths = [str(table_of(each)) for each in third]
    with sorting(workspace) as database:
        database.read_parquet(str(table_of(project))).create_view("fields")
        if paths:
            database.read_parquet(paths).create_view("third_fields")
        else:
            database.execute("CREATE VIEW third_fields AS FROM fields LIMIT 0")
        for view, fields in (("answers", "fields"), ("third", "third_fields")):
            database.execute(_ANSWERS.format(view=view, key=key, decides=decides, fields=fields))
        yield database


def rows(
    database: duckdb.DuckDBPyConnection, query: str, **values: object
) -> Iterator[dict[str, Any]]:
    """Yield the rows that a query gives, some in memory at a time."""
    for batch in database.sql(query, params=values).to_arrow_reader(_AT_ONCE):
        yield from batch.to_pylist()
