"""Clones the history of a repository and reads it: `goldpan clone`.

The tables `revisions` and `changes` are a function of the clone and the mined tables alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import duckdb
import pyarrow as pa

from goldpan.core.errors import UsageError
from goldpan.core.locks import lock_repository
from goldpan.core.result import Result
from goldpan.core.schemas.stages import CHANGES, REVISIONS
from goldpan.core.settings.config import PUBLIC_API, Settings
from goldpan.core.storage.parquet import write, writer
from goldpan.core.storage.workspace import WorkspaceLayout, publish
from goldpan.core.terminal import Reporter
from goldpan.git.ancestry import Ancestry, read_ancestry
from goldpan.git.clone import CloneResult, clone
from goldpan.git.objects import (
    Object,
    Objects,
    ends_its_line,
    is_pointer,
    line_ends,
    shared_encoding,
)
from goldpan.git.refs import read_refs, verify_clone
from goldpan.git.remote import find_remote, source_of
from goldpan.git.trees import SUBMODULE, SYMLINK, Touched, path_text
from goldpan.miners.history.commit_pairs import (
    CommitReading,
    Reader,
    Refs,
    about_paths,
    find_state,
    open_pulls,
    read_pulls,
)
from goldpan.miners.journal import git_host

_AT_ONCE = 2_048  # pull requests; fixes the row groups, so never derive it


@dataclass(frozen=True, slots=True)
class History:
    """The result of reading a repository's history."""

    repo: str
    pulls: int
    changes: int
    states: Mapping[str, int]
    """How many pull requests start from each kind of state."""
    notes: Mapping[str, int]
    """How many pull requests bear each note."""
    disagreeing: tuple[int, ...]
    """Pull requests whose change is not as large as GitHub announced."""
    fetched: int
    """Files that a partial clone lacked."""


def read_history(
    workspace: WorkspaceLayout,
    repo: str,
    reporter: Reporter,
    *,
    token: str | None = None,
    host: str = "github.com",
    network: bool = True,
) -> History:
    """Write `revisions` and `changes` for all merged pulls and all pulls of fix pairs.

    A partial clone gets the files that it lacks first, from `host` with `token`, and without
    `network` none. Raises `WorkspaceError` without tables, `GitError` without a clone.
    """
    clone = workspace.clone(repo)
    verify_clone(clone)
    states, notes = Counter[str](), Counter[str]()
    disagreeing: list[int] = []
    changed_files = 0
    with (
        open_pulls(workspace, repo) as (connection, name, default_branch),
        Objects(clone) as objects,
        workspace.scratch() as scratch,
    ):
        refs = _read_refs(clone)
        trunk = refs.branches.get(default_branch or "")
        ancestry = read_ancestry(clone, _named_commits(connection, objects), trunk)
        reader = Reader(clone, refs, ancestry, objects, reporter, token, host, network)
        paths = {table.name: scratch / f"{table.name}.parquet" for table in (REVISIONS, CHANGES)}
        with (
            writer(paths[REVISIONS.name], REVISIONS.schema) as revisions,
            writer(paths[CHANGES.name], CHANGES.schema) as changes,
            reporter.task("Reading pull requests", 0) as task,
        ):
            for pulls in read_pulls(connection, _AT_ONCE):
                task.extend(len(pulls))
                readings = reader.read(pulls)
                settled = [settle(reading, ancestry, objects) for reading in readings]
                rows = [revision for revision, _ in settled]
                files = list(describe(_sorted_files(settled), objects))
                for target, table, table_rows in (
                    (revisions, REVISIONS, rows),
                    (changes, CHANGES, files),
                ):
                    arrow = pa.Table.from_pylist(table_rows, schema=table.schema_without_repo)
                    write(target, arrow, name)
                states.update(row["state"] for row in rows)
                notes.update(note for row in rows for note in row["notes"])
                disagreeing += [row["number"] for row in rows if row.get("agrees") is False]
                changed_files += len(files)
                task.advance(len(pulls))
        publish({path: workspace.table(repo, path.stem) for path in paths.values()})
    return History(
        name,
        states.total(),
        changed_files,
        dict(sorted(states.items())),
        dict(sorted(notes.items())),
        tuple(disagreeing),
        reader.fetched,
    )


def settle(
    reading: CommitReading, ancestry: Ancestry, objects: Objects
) -> tuple[dict[str, Any], Sequence[Touched]]:
    """Return a pull request's row of `revisions` and the files that it changes."""
    pull, candidate, touched = reading.pull, reading.candidate, reading.touched
    if candidate is None:
        commits = (("base_sha_missing", pull.base_sha), ("head_missing", pull.head_sha))
        missing = [note for note, sha in commits if ancestry.find(sha) is None]
        nothing = {"number": pull.number, "state": "none", "notes": missing}
        return {**nothing, "problem": reading.problem}, ()
    base = ancestry.find(pull.base_sha)
    state, before, state_notes = find_state(candidate, base, touched, objects)
    notes = {*candidate.notes, *state_notes, *about_paths(touched)}
    if reading.counts.files is None:
        notes.add("files_missing")
    revision = {
        "number": pull.number,
        "state": state,
        "before_sha": before,
        "after_sha": candidate.pair.after,
        "merge_base": candidate.pair.before,
        "commits_ahead": candidate.ahead,
        "agrees": reading.agrees,
        "notes": sorted(notes),
    }
    return revision, touched


def _read_refs(clone: Path) -> Refs:
    heads: dict[int, str] = {}
    branches: dict[str, str] = {}
    for name, value in read_refs(clone).items():
        kind, _, short_name = name.removeprefix("refs/").partition("/")
        number = short_name.removesuffix("/head")
        if kind == "heads":
            branches[short_name] = value
        elif kind == "pull" and number.isdecimal():
            heads[int(number)] = value
    return Refs(heads, branches)


def _named_commits(connection: duckdb.DuckDBPyConnection, objects: Objects) -> Iterator[str]:
    """Yield the commits of the clone that the API names: no ref may lead to them any more."""
    for pulls in read_pulls(connection, _AT_ONCE):
        shas = [sha for pull in pulls for sha in pull.shas]
        answers = zip(shas, objects.info(shas), strict=True)
        yield from (sha for sha, info in answers if info is not None and info.kind == "commit")


def _sorted_files(
    settled: Iterable[tuple[dict[str, Any], Sequence[Touched]]],
) -> Iterator[tuple[int, Touched]]:
    """Yield each file in the order of the table; a tree that names one twice is broken."""
    for revision, touched in settled:
        once = {path_text(file.path): file for file in reversed(touched)}
        yield from ((revision["number"], once[path]) for path in sorted(once))


@dataclass(frozen=True, slots=True)
class FetchedHistory(Result):
    """The clone of a repository, and what reading it found."""

    schema = 3

    clone: CloneResult
    history: History
    is_mined: bool = True
    """False for a repository that is only cloned, such as a submodule of another."""


def fetch_histories(
    settings: Settings,
    workspace: WorkspaceLayout,
    repos: Sequence[str],
    reporter: Reporter,
    *,
    source: str | None = None,
    network: bool | None = None,
) -> list[FetchedHistory]:
    """Clone or update repositories and, if they were mined, write `revisions` and `changes`.

    As many at once as settings allow processes. `source` is a git address, a local mirror or a
    bundle, instead of GitHub; ``{owner}`` and ``{name}`` in it stand for those of each repository.
    With a local one nothing else is asked of the network, unless `network` says so. Threads are
    enough: most of the work is git's, in processes of its own. The first failure ends what has not
    begun, and is raised when the rest has ended.
    """

    def fetch(repo: str) -> FetchedHistory:
        own = None if source is None else source_of(source, repo)
        named = reporter.named(repo) if len(repos) > 1 else reporter
        return _fetch_history(settings, workspace, repo, named, own, network)

    pool = ThreadPoolExecutor(min(settings.processes, len(repos)) or 1)
    try:
        return list(pool.map(fetch, repos))
    finally:
        pool.shutdown(cancel_futures=True)


def at_home(settings: Settings, workspace: WorkspaceLayout, repo: str) -> Settings:
    """Return settings for the host that a repository was mined from.

    Its tokens are those of the settings where these name that host, and none else: an archive may
    be anybody's. Raises `UsageError` where the settings name a third host.
    """
    host = git_host(workspace, repo)
    if host is None or host == settings.git_host:
        return settings
    if settings.api_url != PUBLIC_API:
        raise UsageError(
            f"{repo} was mined from {host}, and the settings name {settings.git_host}",
            "Leave out GOLDPAN_API_URL, or name the address of that host's API in it",
        )
    api_url = f"https://{host}/api/v3"
    reason = (
        f"Tokens are for {settings.git_host}: set GOLDPAN_API_URL={api_url} for those of {host}"
    )
    return replace(settings, api_url=api_url, tokens=(), token_command="", withheld=reason)


def _fetch_history(
    settings: Settings,
    workspace: WorkspaceLayout,
    repo: str,
    reporter: Reporter,
    source: str | None,
    network: bool | None,
) -> FetchedHistory:
    if source is None:
        settings.trust.require("api_url")
        settings = at_home(settings, workspace, repo)
    token = settings.tokens[0] if settings.tokens else None
    host = settings.git_host
    if network is None:
        network = not find_remote(repo, source, token, host).is_local
    with lock_repository(workspace, repo):
        cloned = clone(workspace, repo, reporter, source=source, token=token, host=host)
        if not workspace.table(repo, "entries").exists():
            return FetchedHistory(cloned, History(repo, 0, 0, {}, {}, (), 0), is_mined=False)
        history = read_history(workspace, repo, reporter, token=token, host=host, network=network)
    return FetchedHistory(cloned, history)


ChangeKind = Literal["text", "binary", "submodule", "symlink", "lfs", "large", "missing"]

_STATUS = {"A": "added", "C": "copied", "D": "removed", "R": "renamed", "T": "changed"}


def describe(touched: Iterable[tuple[int, Touched]], objects: Objects) -> Iterator[dict[str, Any]]:
    """Yield rows of `changes`: one for each changed file of the numbered pull requests."""
    numbered = list(touched)
    contents = objects.read(blob or "" for _, file in numbered for blob in file.blobs)
    for number, file in numbered:
        before, after = next(contents), next(contents)
        yield _describe(number, file, before, after)


def status_of(touched: Touched) -> str:
    """Return the word that GitHub has for a change; `changed` is one of the mode alone."""
    if touched.letter == "M":
        return "changed" if touched.blob_before == touched.blob_after else "modified"
    return _STATUS[touched.letter]


def _describe(
    number: int, touched: Touched, before: Object | None, after: Object | None
) -> dict[str, Any]:
    kind = _kind(touched, before, after)
    texts = [side.data for side in (before, after) if side and side.data is not None]
    encoding = shared_encoding(*texts) if kind == "text" else None
    if kind == "text" and encoding is None:
        kind = "binary"
    return {
        "number": number,
        "path": path_text(touched.path),
        "previous_path": None if touched.previous is None else path_text(touched.previous),
        "status": status_of(touched),
        "kind": kind,
        "mode_before": touched.mode_before,
        "mode_after": touched.mode_after,
        "blob_before": touched.blob_before,
        "blob_after": touched.blob_after,
        "size_before": before.size if before else None,
        "size_after": after.size if after else None,
        "additions": touched.additions,
        "deletions": touched.deletions,
        "encoding": encoding,
        "line_ends": line_ends(texts[0], encoding) if encoding else None,
        "final_newline": ends_its_line(texts[0], encoding) if encoding else None,
    }


def _kind(touched: Touched, before: Object | None, after: Object | None) -> ChangeKind:
    modes = (touched.mode_before, touched.mode_after)
    if SUBMODULE in modes:
        return "submodule"
    sides = [side for mode, side in zip(modes, (before, after), strict=True) if mode is not None]
    objects = [side for side in sides if side is not None and side.kind == "blob"]
    if len(objects) < len(sides):
        return "missing"
    if SYMLINK in modes:
        return "symlink"
    data = [side.data for side in objects if side.data is not None]
    if len(data) < len(objects):
        return "large"
    return "lfs" if any(map(is_pointer, data)) else "text"
