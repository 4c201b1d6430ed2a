"""The table of annotations: exported answers, who gave them, and which of them count.

A pseudonym is a keyed hash of the account's number and the moment at which it was made, so it
stays when an annotator is renamed and is the same in every project on that server. The key is a
random salt in the workspace that is never published.

Label Studio enforces neither its labels nor how many people answer, so this table does. Every
answer stays, with the reason why it does not count:

=====================  ===========================================================================
`skipped`              the annotator passed the task over
`superseded`           the same annotator answered again: the later answer counts
`surplus`              enough others had answered before
`unknown-choice`       a choice that the configuration does not have
`unknown-name`         a field that the configuration does not have
`several-choices`      more than one choice where the question allows one
`contradiction`        "none" together with another choice
`missing-answer`       nothing where an answer is required
`malformed`            not an answer at all
`unknown-annotator`    its author is unknown
`own-case`             in an adjudication, by somebody whose own answer is in dispute
=====================  ===========================================================================

DuckDB settles and sorts them, with a limit of memory and a folder to spill to.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from sys import intern
from typing import TYPE_CHECKING, Any

import msgspec
import orjson
import pyarrow as pa

from goldpan.annotation.studio.client import User
from goldpan.annotation.studio.configuration import Configuration, check
from goldpan.annotation.studio.exports import ExportedAnswer, ExportedTask
from goldpan.annotation.studio.project import Project, SubjectKey, read_rows, read_stored
from goldpan.core.errors import WorkspaceError
from goldpan.core.schemas import ANNOTATIONS, TableSchema
from goldpan.core.storage.parquet import connect_alone, write, writer
from goldpan.core.storage.workspace import WorkspaceLayout, replacing_file, write_whole

if TYPE_CHECKING:
    import duckdb

TABLE = "annotations.parquet"
SUBJECTS = "subjects"
"""The metadata of the table that counts the subjects on the server, answered or not."""
_LENGTH = 10
_AT_ONCE = 10_000
_MEMORY = "256MB"


@dataclass(frozen=True, slots=True)
class Annotator:
    """An annotator as this project knows them."""

    annotator: str
    """The pseudonym."""
    address: str | None = None
    """Kept where the answers were pulled with names."""


class People:
    """The annotators of one project, by their number on the server."""

    def __init__(self, project: Project) -> None:
        self._path = project.path("people.json")
        self._salt = _salt(project.root.parent / "salt")
        remedy = "Remove it and pull again"
        self._by_number = read_stored(self._path, dict[int, Annotator], remedy) or {}

    def meet(self, users: Sequence[User], *, named: bool = False) -> None:
        """Add the users who have an account now, and store them; `named` with their addresses."""
        for number, known in self._by_number.items():
            self._by_number[number] = replace(known, address=known.address if named else None)
        for user in users:
            joined = user.date_joined.isoformat().replace("+00:00", "Z")
            earlier = self._by_number.get(user.id)
            pseudonym = earlier.annotator if earlier else self._hash(f"account {user.id} {joined}")
            self._by_number[user.id] = Annotator(pseudonym, user.email if named else None)
        options = orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS
        stored = orjson.dumps(dict(sorted(self._by_number.items())), option=options)
        write_whole(self._path, stored, private=True)

    @property
    def pseudonyms(self) -> Mapping[str, str]:
        """The pseudonyms by the addresses that the table holds; empty where it holds none."""
        known = self._by_number.values()
        return {person.address: person.annotator for person in known if person.address}

    def annotator(self, number: int | None) -> str:
        """Return an annotator's pseudonym, or their address where names are wanted."""
        if number is None:
            return "unknown"
        if (known := self._by_number.get(number)) is not None:
            return known.address or known.annotator
        # An account that was removed before the first pull.
        return self._hash(f"account {number}")

    def _hash(self, text: str) -> str:
        return hmac.new(self._salt, text.encode(), hashlib.sha256).hexdigest()[:_LENGTH]


def _salt(path: Path) -> bytes:
    """Return the workspace's salt, made on first use and readable by its owner alone."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        salt = path.read_bytes()
        if len(salt) < 16:
            raise WorkspaceError(
                f"{path} is damaged", "Restore it, because pseudonyms change without it"
            ) from None
        return salt
    with os.fdopen(descriptor, "wb") as file:
        salt = secrets.token_bytes(32)
        file.write(salt)
    return salt


@dataclass(frozen=True, slots=True)
class Annotation:
    """One person's answer to one task."""

    number: int
    task: int
    key: SubjectKey
    annotator: str
    values: Mapping[str, tuple[str, ...]]
    """By field; empty where nothing was said."""
    problem: str | None
    """Why it does not count; None where it does."""
    suggested: bool
    """True where something was filled in before the person looked."""
    origins: Mapping[str, str]
    """By field for which something was filled in, `accepted` or `changed`."""
    seconds: float | None
    created_at: datetime
    updated_at: datetime

    @property
    def doubt(self) -> bool:
        """Tell whether the annotator was in doubt."""
        return bool(self.values.get("doubt"))

    @property
    def reason(self) -> str:
        """Return the reason in the annotator's words."""
        return " ".join(self.values.get("reason", ()))

    def chosen(self, field: str) -> tuple[str, ...]:
        """Return the sorted values of a field."""
        return tuple(sorted(self.values.get(field, ())))


def read_annotations(
    task: ExportedTask, configuration: Configuration, people: People
) -> Iterator[Annotation]:
    """Yield the answers of an exported task, each checked by itself."""
    key = task.key
    if key is None:
        return
    for answer in task.annotations:
        checked = check(configuration, answer.result)
        filled_in = _filled_in(answer, configuration)
        problem = "skipped" if answer.was_cancelled else checked.problem
        yield Annotation(
            answer.id,
            task.id,
            key,
            people.annotator(answer.author),
            checked.values,
            problem or ("unknown-annotator" if answer.author is None else None),
            bool(filled_in) or bool(task.total_predictions),
            {
                name: "accepted" if set(values) == set(checked.values[name]) else "changed"
                for name, values in filled_in.items()
            },
            answer.lead_time,
            answer.created_at,
            answer.updated_at,
        )


def _filled_in(
    answer: ExportedAnswer, configuration: Configuration
) -> Mapping[str, tuple[str, ...]]:
    """Return the suggestion that an answer was begun from, by field; empty without one."""
    prediction = answer.prediction
    result = prediction.get("result") if isinstance(prediction, dict) else None
    if not result:
        return {}
    return {name: values for name, values in check(configuration, result).values.items() if values}


def table(
    annotations: Iterable[Annotation], configuration: Configuration, project: str
) -> pa.Table:
    """Return the rows, one a field, of answers."""
    digest = configuration.digest
    rows = (
        {
            **msgspec.structs.asdict(annotation.key),
            "project": project,
            "form": configuration.name,
            "configuration": digest,
            "task": annotation.task,
            "annotation": annotation.number,
            "annotator": annotation.annotator,
            "field": question.field,
            "values": list(annotation.values[question.field]),
            "counts": annotation.problem is None,
            "problem": annotation.problem,
            "suggested": annotation.suggested,
            "origin": annotation.origins.get(question.field),
            "seconds": annotation.seconds,
            "created_at": annotation.created_at,
            "updated_at": annotation.updated_at,
        }
        for annotation in annotations
        for question in configuration.questions
    )
    return ANNOTATIONS.of_rows(rows)


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


_SETTLED = """
CREATE TABLE settled AS
WITH judged AS (
    SELECT * REPLACE (
        CASE WHEN problem IS NULL AND (subject_id, annotator) IN (FROM barred) THEN 'own-case'
        ELSE problem END AS problem
    )
    FROM answers
), first_and_last AS (
    SELECT
        subject_id, annotator,
        min((created_at, annotation)) AS first,
        arg_max(annotation, (updated_at, annotation)) AS last
    FROM judged WHERE problem IS NULL GROUP BY ALL
), placed AS (
    SELECT *, row_number() OVER (PARTITION BY subject_id ORDER BY first) AS place
    FROM first_and_last
)
SELECT judged.* REPLACE (
    coalesce(problem, CASE
        WHEN annotation <> last THEN 'superseded' WHEN place > $annotators THEN 'surplus'
    END) AS problem,
    problem IS NULL AND annotation = last AND place <= $annotators AS counts
)
FROM judged LEFT JOIN placed USING (subject_id, annotator)
"""


def settle(database: duckdb.DuckDBPyConnection, annotators: int, judged: Path | None) -> None:
    """Make the table `settled` of `answers`, with those marked that do not count for others.

    Of one person's answers the last counts, of several people those who answered first. Nobody
    answers a subject about which their own answer in `judged` is in dispute.
    """
    database.execute("CREATE TABLE barred (subject_id VARCHAR, annotator VARCHAR)")
    if judged is not None:
        query = "SELECT DISTINCT subject_id, annotator FROM read_parquet($path) WHERE counts"
        database.execute(f"INSERT INTO barred {query}", {"path": str(judged)})
    database.execute(_SETTLED, {"annotators": annotators})


def table_of(project: Project) -> Path:
    """Return the file of a project's answers; raises `WorkspaceError` before the first pull."""
    return project.table(TABLE, ANNOTATIONS, f"Nothing was pulled of the project {project.name}")


_BY_ANSWER = """
CREATE VIEW answers AS SELECT
    annotation,
    any_value(subject_id) AS subject_id,
    any_value(annotator) AS annotator,
    any_value(problem) AS problem,
    bool_or(field = 'doubt' AND len("values") > 0) AS doubt,
    max(origin) AS origin,
    any_value(seconds) AS seconds,
    any_value(created_at) AS created_at,
    any_value(updated_at) AS updated_at
FROM fields GROUP BY annotation
"""


@contextmanager
def asking(project: Project) -> Iterator[Callable[..., list[dict[str, Any]]]]:
    """Give what answers queries on `answers`, a row an answer, with values for their parameters.

    One changed field makes the `origin` of an answer changed. Raises `WorkspaceError` before the
    first pull.
    """
    path = table_of(project)

    def ask(query: str, **values: object) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = database.sql(query, params=values).to_arrow_table().to_pylist()
        return rows

    with connect_alone() as database:
        database.read_parquet(str(path)).create_view("fields")
        database.execute(_BY_ANSWER)
        yield ask


def stored_annotations(project: Project, *, counting: bool = True) -> Iterator[Annotation]:
    """Yield the answers that count, or all of them, in a project's table, by subject.

    Raises `WorkspaceError` before the first pull.
    """
    for _, own in groupby(read_rows(table_of(project)), itemgetter("annotation")):
        fields = list(own)
        if fields[0]["counts"] or not counting:
            yield _of_rows(fields)


def _of_rows(rows: Sequence[Mapping[str, Any]]) -> Annotation:
    row = rows[0]
    return Annotation(
        row["annotation"],
        row["task"],
        SubjectKey(*(row[name] for name in SubjectKey.__struct_fields__)),
        intern(row["annotator"]),
        {intern(row["field"]): tuple(row["values"]) for row in rows},
        row["problem"],
        row["suggested"],
        {row["field"]: row["origin"] for row in rows if row["origin"]},
        row["seconds"],
        row["created_at"],
        row["updated_at"],
    )
