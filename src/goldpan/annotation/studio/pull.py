"""Pulls annotators' answers: one export, kept as the server sent it, and the table made of it.

The newest export alone is what the table is made of, so a changed rule needs no server. It is read
some tasks at a time, so memory does not grow with it. An adjudication is pulled after its project,
whose answers in dispute say who may not decide.

A pseudonym is a keyed hash of the account's number and the moment at which it was made, so it
stays when an annotator is renamed and is the same in every project on that server. The key is a
random salt in the workspace that is never published.

Label Studio enforces neither its labels nor how many people answer, so this table does. Every
answer stays, with the reason why it does not count (the column `problem` of
`core.schemas.stages.ANNOTATIONS`).
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import orjson
import pyarrow as pa

from goldpan.annotation.studio.answers import (
    SUBJECTS,
    TABLE,
    ExportedTask,
    ExportError,
    Progress,
    insert,
    new_export,
    progress,
    read_export,
    rows,
    sorting,
    table_of,
    write_sorted,
)
from goldpan.annotation.studio.client import Server, Studio, StudioError, User
from goldpan.annotation.studio.configuration import check, digest, parse
from goldpan.annotation.studio.decisions import write_decisions
from goldpan.annotation.studio.project import (
    Project,
    adjudications,
    check_server,
    locked,
    open_project,
    read_stored,
)
from goldpan.core.errors import UsageError, WorkspaceError
from goldpan.core.result import Result
from goldpan.core.schemas.stages import ANNOTATIONS
from goldpan.core.secrets import mask
from goldpan.core.storage.parquet import open_file, reading
from goldpan.core.storage.workspace import WorkspaceLayout, write_whole
from goldpan.core.terminal import Reporter

if TYPE_CHECKING:
    import duckdb

_AT_ONCE = 250
_LENGTH = 10
_UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class PullResult:
    """How far a project is after a pull, and what was odd."""

    progress: Progress
    foreign: int
    """Tasks on the server that Goldpan did not push."""
    lost: tuple[int, ...]
    """The numbers of tasks that the server cannot export; their answers are not here."""
    configuration_changed: bool
    """The server asks something else than was pushed."""
    seconds: float


def pull(
    workspace: WorkspaceLayout,
    server: Server,
    name: str,
    reporter: Reporter,
    *,
    accept_configuration: bool = False,
) -> PullResult:
    """Fetch an export, and make the table of annotations of it.

    `accept_configuration` takes over what the server asks now, where somebody changed it there.
    Raises `StudioError` where the server fails; what was pulled before stays.
    """
    started, lost = time.monotonic(), list[int]()
    project = open_project(workspace, name)
    with Studio(server) as studio, locked(project):
        project = check_server(project, studio)
        configuration = studio.project(project.number).label_config or ""
        changed = digest(configuration) != project.configuration.digest
        if changed and accept_configuration:
            project = _accept(project, configuration)
            changed = False
        people = pseudonyms(project, studio.users())
        with (
            reporter.task(f"{name}: answers", 1) as task,
            new_export(project, studio.export(project.number, lost)) as export,
            sorting(workspace) as database,
        ):
            try:
                _read(database, read_export(export), project, people)
            except ExportError as error:
                raise StudioError(
                    f"Label Studio at {studio.url} sent something other than an export ({error})",
                    "Check that the server is healthy, and pull again",
                ) from None
            before = _table_before(project)
            if before is not None:
                database.execute(_REMEMBERED, {"before": str(before), "unknown": _UNKNOWN})
            of = project.facts.of
            judged = table_of(open_project(workspace, of)) if of else None
            settle(database, project.facts.annotators, judged)
            (counts,) = rows(database, _COUNTED)
            subjects = {SUBJECTS: str(counts["subjects"])}
            write_sorted(database, "settled", project.path(TABLE), ANNOTATIONS, subjects)
            task.advance(1)
    return PullResult(
        progress(workspace, name),
        counts["foreign"],
        tuple(sorted(lost)),
        changed,
        time.monotonic() - started,
    )


def pseudonyms(project: Project, users: Sequence[User]) -> dict[int, str]:
    """Return the pseudonyms of all who ever had an account, by number, and keep them."""
    path, salt = project.path("people.json"), _salt(project.root.parent / "salt")
    stored = read_stored(path, dict[int, dict[str, str | None]], "Remove it and pull again") or {}
    known = {number: each.get("annotator") or "" for number, each in stored.items()}
    for user in users:
        joined = user.date_joined.isoformat().replace("+00:00", "Z")
        known.setdefault(user.id, _pseudonym(salt, f"account {user.id} {joined}"))
    people = {number: {"annotator": name} for number, name in sorted(known.items())}
    options = orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS
    write_whole(path, orjson.dumps(people, option=options), private=True)
    return known


def _pseudonym(salt: bytes, account: str) -> str:
    return hmac.new(salt, account.encode(), hashlib.sha256).hexdigest()[:_LENGTH]


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


def _read(
    database: duckdb.DuckDBPyConnection,
    exported: Iterable[ExportedTask],
    project: Project,
    people: Mapping[int, str],
) -> None:
    """Fill the tables `tasks` and `answers` of an export."""
    columns = pa.schema([("task", pa.int64()), ("subject_id", pa.string())])
    insert(database, "tasks", columns.empty_table())
    insert(database, "answers", ANNOTATIONS.schema.empty_table())
    while tasks := list(islice(exported, _AT_ONCE)):
        found = [
            {"task": task.id, "subject_id": task.key and task.key.subject_id} for task in tasks
        ]
        insert(database, "tasks", pa.Table.from_pylist(found, schema=columns))
        answers = chain.from_iterable(answer_rows(task, project, people) for task in tasks)
        insert(database, "answers", ANNOTATIONS.of_rows(answers))


def answer_rows(
    task: ExportedTask, project: Project, people: Mapping[int, str]
) -> Iterator[dict[str, Any]]:
    """Yield the rows, one a field, of an exported task's answers, each checked by itself."""
    key, configuration = task.key, project.configuration
    if key is None:
        return
    asked = configuration.digest
    for answer in task.annotations:
        values, problem = check(configuration, answer.result)
        if answer.was_cancelled:
            problem = "skipped"
        elif problem is None and answer.author is None:
            problem = "unknown-annotator"
        author = _UNKNOWN
        if answer.author is not None:  # or an account that was removed before the first pull
            author = people.get(answer.author) or f"account {answer.author}"
        for question in configuration.questions:
            yield {
                **msgspec.structs.asdict(key),
                "project": project.name,
                "form": configuration.name,
                "configuration": asked,
                "task": task.id,
                "annotation": answer.id,
                "annotator": author,
                "field": question.field,
                "values": list(values[question.field]),
                "counts": problem is None,
                "problem": problem,
                "seconds": answer.lead_time,
                "created_at": answer.created_at,
                "updated_at": answer.updated_at,
            }


# Label Studio keeps the answers of an account that was removed, and forgets whose they are.
_REMEMBERED = """
UPDATE answers SET annotator = before.annotator, problem = nullif(problem, 'unknown-annotator')
FROM (
    SELECT DISTINCT annotation, annotator FROM read_parquet($before)
    WHERE annotator <> $unknown AND annotator NOT LIKE '%@%'
) AS before
WHERE answers.annotator = $unknown AND answers.annotation = before.annotation
"""


def _table_before(project: Project) -> Path | None:
    """Return the table of the pull before; None where there is none that can be read."""
    path = project.path(TABLE)
    try:
        with reading(path, "Pull again"), open_file(path):
            return path
    except WorkspaceError:
        return None


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


_COUNTED = """
SELECT count(DISTINCT subject_id) AS subjects, count(*) FILTER (subject_id IS NULL) AS foreign
FROM tasks
"""


def _accept(project: Project, xml: str) -> Project:
    configuration = parse(project.facts.form, xml)
    kept = {question.field for question in configuration.questions}
    lost = {question.field for question in project.configuration.questions} - kept
    if lost:
        raise UsageError(
            f"The configuration on the server is missing the fields {', '.join(sorted(lost))}",
            "Restore them there, or begin another project",
        )
    write_whole(project.path("configuration.xml"), mask(xml.encode()))
    return replace(project, configuration=configuration)


@dataclass(frozen=True, slots=True)
class CollectedAnswers(Result):
    """The answers fetched of a project and its adjudications, and the decisions they make."""

    schema = 5
    project: str
    """The project that was named, which may be an adjudication."""
    pulls: tuple[PullResult, ...]
    """Those of the project that is decided and of its adjudications."""
    decisions: Mapping[str, int]
    """How many subjects were decided how."""

    @property
    def exit_code(self) -> int:
        """0, or 3 where the server could not export a task."""
        return 3 if any(pull.lost for pull in self.pulls) else 0


def collect(
    workspace: WorkspaceLayout,
    server: Server,
    name: str,
    reporter: Reporter,
    *,
    accept_configuration: bool = False,
) -> CollectedAnswers:
    """Pull a project with its adjudications, and write what people decided.

    An adjudication may be named in the place of its project. Raises `UsageError`, before anything
    is fetched, where one of them lives on another server; else as `pull`.
    """
    original = open_project(workspace, open_project(workspace, name).facts.of or name)
    # One that was never pushed to the end holds nothing to fetch.
    third = [
        adjudication
        for adjudication in adjudications(workspace, original.name)
        if adjudication.facts.number is not None
    ]
    with Studio(server) as studio:
        for project in (original, *third):
            check_server(project, studio)
    pulls = tuple(
        pull(workspace, server, each.name, reporter, accept_configuration=accept_configuration)
        for each in (original, *third)
    )
    return CollectedAnswers(name, pulls, write_decisions(workspace, original.name))
