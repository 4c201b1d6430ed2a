"""Writes out what a profile drops, with every reason, for people to look through."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import orjson
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from goldpan.core.errors import UsageError, WorkspaceError
from goldpan.core.query import open_tables
from goldpan.core.resources import explain
from goldpan.core.workspace import Workspace
from goldpan.filters.profile import Profile
from goldpan.filters.stored import read_verdicts

_REJECTS = """
SELECT v.repo, v.subject, v.issue, v.pull_repo, v.pull, e.title, e.author,
       list(v.criterion ORDER BY v.criterion) AS criteria,
       list(coalesce(v.reason, '') ORDER BY v.criterion) AS reasons,
       list(coalesce(v.evidence, '') ORDER BY v.criterion) AS evidence
FROM verdicts v LEFT JOIN entries e ON e.number = v.issue
WHERE v.decides AND v.keep IS DISTINCT FROM true
GROUP BY v.repo, v.subject, v.issue, v.pull_repo, v.pull, e.title, e.author
ORDER BY v.subject, v.issue, v.pull_repo, v.pull
"""
_FORMULA = re.compile(r"[=+\-@\t\r]")


def write_rejects(
    workspace: Workspace, repos: Sequence[str], profile: Profile, target: Path
) -> int:
    """Write the dropped subjects of repositories as .parquet, .jsonl or .csv; return how many.

    In CSV lists are joined by ``; ``, and an apostrophe leads a text that a spreadsheet would
    run as a formula. Raises `UsageError` for another suffix, `WorkspaceError` where a repository
    was not filtered or the file cannot be written.
    """
    if target.suffix not in (".parquet", ".jsonl", ".csv"):
        raise UsageError(
            f"--rejects {target} has no known format", "End it in .parquet, .jsonl or .csv"
        )
    rejects = pa.concat_tables([_rejects(workspace, repo, profile) for repo in repos])
    try:
        match target.suffix:
            case ".parquet":
                pq.write_table(rejects, target, compression="zstd", write_page_checksum=True)
            case ".csv":
                pyarrow.csv.write_csv(_for_spreadsheets(rejects), target)
            case _:
                with target.open("wb") as file:
                    for batch in rejects.to_batches(max_chunksize=4096):
                        file.writelines(orjson.dumps(row) + b"\n" for row in batch.to_pylist())
    except OSError as error:
        raise explain(error, target) or WorkspaceError(
            f"{target} cannot be written: {error.strerror or error}", "Choose another path"
        ) from None
    return len(rejects)


def _rejects(workspace: Workspace, repo: str, profile: Profile) -> pa.Table:
    verdicts = read_verdicts(workspace, repo, profile.name, option=profile.option)
    with open_tables(workspace, repo, ["entries"]) as connection:
        connection.register("verdicts", verdicts)
        return connection.sql(_REJECTS).to_arrow_table()


def _for_spreadsheets(rejects: pa.Table) -> pa.Table:
    columns = {}
    for name in rejects.column_names:
        values = rejects[name].to_pylist()
        if pa.types.is_list(rejects.schema.field(name).type):
            values = ["; ".join(value) for value in values]
        columns[name] = pa.array([_harmless(value) for value in values])
    return pa.table(columns)


def _harmless(value: object) -> object:
    return f"'{value}" if isinstance(value, str) and _FORMULA.match(value) else value
