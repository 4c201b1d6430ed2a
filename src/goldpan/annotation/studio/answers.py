"""What was pulled: exports as the server sent them, the table made of the newest, and SQL on it.

Older exports stay below `raw/` for whoever asks what was answered before; nothing reads them. The
table has a row an answered question (`ANNOTATIONS` of `core.schemas.stages`). DuckDB reads, settles
and sorts it with a limit of memory and a folder to spill to.
"""

from __future__ import annotations

import filecmp
import io
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow as pa
import zstandard

from goldpan.annotation.studio.client import Number
from goldpan.annotation.studio.project import Project, SubjectKey, open_project
from goldpan.core.errors import WorkspaceError
from goldpan.core.imports import load
from goldpan.core.result import Result
from goldpan.core.schemas.stages import ANNOTATIONS
from goldpan.core.schemas.table import TableSchema
from goldpan.core.secrets import mask
from goldpan.core.storage.parquet import connect_alone, read_metadata, write, writer
from goldpan.core.storage.workspace import WorkspaceLayout, make_directory, replacing_file

if TYPE_CHECKING:
    import duckdb

_ENDING = ".json.zst"
_TIME = "%Y%m%dT%H%M%S.%fZ"
_LONGEST = 8_192
"""More than any spelling of a secret has."""


class ExportedAnswer(msgspec.Struct, frozen=True):
    """An answer as the server exports it."""

    id: Number
    was_cancelled: bool
    completed_by: int | dict[str, Any] | None
    lead_time: float | None
    result: Any
    """A list; null where a program answered with nothing."""
    created_at: datetime
    updated_at: datetime

    @property
    def author(self) -> int | None:
        """The number of the user who gave it; None where that is unknown."""
        by = self.completed_by
        return by.get("id") if isinstance(by, dict) else by


class ExportedTask(msgspec.Struct, frozen=True):
    """A task as the server exports it, with its answers."""

    id: Number
    data: dict[str, Any]
    annotations: list[ExportedAnswer]

    @property
    def key(self) -> SubjectKey | None:
        """The subject; None where somebody else made the task, or changed it on the server."""
        try:
            return msgspec.convert(self.data, SubjectKey)
        except msgspec.ValidationError:
            return None


class ExportError(ValueError):
    """A file is not an export that can be read."""


def newest_export(project: Project) -> Path | None:
    """Return the export of the last pull; None before the first."""
    return max(project.path("raw").glob(f"[0-9]*T*{_ENDING}"), default=None)


def pulled_at(project: Project) -> datetime | None:
    """Return when the last pull began; None before the first."""
    export = newest_export(project)
    if export is None:
        return None
    return datetime.strptime(export.name.removesuffix(_ENDING), _TIME).replace(tzinfo=UTC)


@contextmanager
def new_export(project: Project, parts: Iterable[bytes]) -> Iterator[Path]:
    """Give a file with what the server sends, which becomes the newest unless the block fails."""
    began = datetime.now(UTC)
    directory = project.path("raw")
    make_directory(directory)
    earlier = newest_export(project)
    with replacing_file(directory / f"{began:{_TIME}}{_ENDING}") as draft:
        with zstandard.ZstdCompressor(level=3).stream_writer(draft.open("wb")) as packed:
            for part in _masked(parts):
                packed.write(part)
        yield draft
        if earlier is not None and filecmp.cmp(earlier, draft, shallow=False):
            earlier.unlink()  # the same answers as of a later time


def _masked(parts: Iterable[bytes]) -> Iterator[bytes]:
    """Yield bytes with secrets masked, those too that lie across two parts."""
    left = b""
    for part in parts:
        masked = mask(left + part)
        yield masked[:-_LONGEST]
        left = masked[-_LONGEST:]
    yield left


def read_export(path: Path) -> Iterator[ExportedTask]:
    """Yield the tasks of an export, one at a time; raises `ExportError`."""
    ijson = load("ijson", "Reading exports of Label Studio")
    errors = (OSError, ValueError, zstandard.ZstdError, msgspec.MsgspecError, ijson.JSONError)
    try:
        with path.open("rb") as file, zstandard.ZstdDecompressor().stream_reader(file) as stream:
            content = io.BufferedReader(stream)
            if not content.peek(1).lstrip().startswith(b"["):
                raise ValueError("it is not a list of tasks")
            for task in ijson.items(content, "item", use_float=True, multiple_values=True):
                yield msgspec.convert(task, ExportedTask)
    except errors as error:
        raise ExportError(str(error)) from None


def stored_tasks(project: Project) -> Iterator[ExportedTask]:
    """Yield the tasks of the last pull; raises `WorkspaceError` where its file is damaged."""
    path = newest_export(project)
    try:
        yield from () if path is None else read_export(path)
    except ExportError as error:
        raise WorkspaceError(f"{path} is damaged ({error})", "Remove it and pull again") from None


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
    with replacing_file(path) as draft, writer(draft, table.schema) as target:
        target.add_key_value_metadata(metadata or {})
        for batch in ordered.to_arrow_reader(_AT_ONCE):
            write(target, pa.Table.from_batches([batch]))


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


@dataclass(frozen=True, slots=True)
class AnnotatorProgress:
    """One annotator's work."""

    annotator: str
    answers: int
    """Answers that count."""
    skipped: int
    other: int
    """Answers that do not count for another reason."""
    doubts: int
    seconds: float | None
    """Median time per task."""


@dataclass(frozen=True, slots=True)
class Progress(Result):
    """The progress of a project, as of its last pull."""

    schema = 3
    project: str
    form: str
    pulled_at: datetime | None
    """When the last pull began; what was answered later is not counted."""
    page: str
    subjects: int
    """Subjects on the server."""
    finished: int
    """Subjects with as many answers as are wanted."""
    begun: int
    """Subjects with some answers, but not enough."""
    passed_over: int
    """Subjects that lack answers and that somebody skipped: someone else has to answer them."""
    wanted: int
    """Answers of the whole project."""
    answers: int
    """Answers that count."""
    problems: Mapping[str, int]
    """Answers that do not count, by reason."""
    annotators: tuple[AnnotatorProgress, ...]


_BY_ANNOTATOR = """
SELECT
    annotator,
    count(*) FILTER (counts) AS answers,
    count(*) FILTER (problem = 'skipped') AS skipped,
    count(*) FILTER (problem <> 'skipped') AS other,
    count(*) FILTER (counts AND doubt) AS doubts,
    median(seconds) FILTER (counts) AS seconds
FROM answers GROUP BY ALL ORDER BY ALL
"""
_PROBLEMS = """
SELECT problem, count(*) FROM answers WHERE NOT counts GROUP BY ALL ORDER BY ALL
"""
_ALL = """
WITH subjects AS (
    SELECT count(*) FILTER (counts) AS answers, bool_or(problem = 'skipped') AS passed_over
    FROM answers GROUP BY subject_id
)
SELECT
    (SELECT count(*) FROM subjects WHERE answers >= $enough) AS finished,
    (SELECT count(*) FROM subjects WHERE answers > 0 AND answers < $enough) AS begun,
    (SELECT count(*) FROM subjects WHERE passed_over AND answers < $enough) AS passed_over,
    (SELECT coalesce(sum(answers), 0)::BIGINT FROM subjects) AS answers
"""


def progress(workspace: WorkspaceLayout, name: str) -> Progress:
    """Return how far a project is; raises `WorkspaceError` before the first pull."""
    project = open_project(workspace, name)
    with asking(workspace, project, "") as database:
        return progress_in(project, database)


def progress_in(project: Project, database: duckdb.DuckDBPyConnection) -> Progress:
    """Return how far a project is whose answers a database has, as `asking` gives it."""
    enough = project.facts.annotators
    (state,) = rows(database, _ALL, enough=enough)
    subjects = int(read_metadata(project.path(TABLE)).get(SUBJECTS.encode(), 0))
    return Progress(
        project=project.name,
        form=project.facts.form,
        pulled_at=pulled_at(project),
        page=project.page,
        subjects=subjects,
        wanted=enough * subjects,
        problems=dict(database.execute(_PROBLEMS).fetchall()),
        annotators=tuple(AnnotatorProgress(**row) for row in rows(database, _BY_ANNOTATOR)),
        **state,
    )
