"""Changes to the files of pull requests: rows of `changes`, and GitHub's own diffs.

GitHub is asked for a diff where git cannot tell what changed: one request each.
Replies are archived like all others, failures too, so none is asked for twice and the tables stay
a function of the archive. They go into the newest run of the archive, ended or not: a later run
has nothing to resume of them.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

from goldpan.core.errors import MiningError
from goldpan.core.storage.archive import Archive, Record
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.core.terminal import Reporter
from goldpan.git.objects import (
    Object,
    Objects,
    ends_its_line,
    is_pointer,
    line_ends,
    shared_encoding,
)
from goldpan.git.trees import SUBMODULE, SYMLINK, Touched, path_text
from goldpan.miners.github.batches import together
from goldpan.miners.github.client import GitHub
from goldpan.miners.history.commit_pairs import Pull
from goldpan.miners.journal import Journal
from goldpan.miners.replies import NoAnswerError

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


PART = "diff"
"""The part of records of diffs in the archive."""
MEDIA = "application/vnd.github.diff"

_ASKING = threading.Lock()
"""Held while GitHub is asked: each client knows the limits of its own requests alone."""

Connect = Callable[[], GitHub]
"""Makes a client when one is needed."""


def read_diffs(
    workspace: WorkspaceLayout,
    repo: str,
    pulls: Sequence[Pull],
    connect: Connect | None,
    reporter: Reporter,
) -> Mapping[int, Record]:
    """Return the archived replies for these pull requests, asking for those that lack.

    Without a client, and where GitHub does not answer, there are only those that are archived.
    Asking writes the archive, so it needs the workspace's lock and no event loop around it.
    """
    with Archive(workspace.raw(repo)) as archive:
        journal = Journal(archive)
        unread = [pull for pull in pulls if journal.find(_key(pull)) is None]
        if unread and connect is not None and archive.runs:
            archive.begin(resume=True)
            try:
                with _ASKING:
                    asyncio.run(_ask(journal, repo, unread, connect, reporter))
            except MiningError as error:
                reporter.note(f"Some diffs could not be fetched: {error}")
        records = {pull.number: journal.find(_key(pull)) for pull in pulls}
    return {number: record for number, record in records.items() if record is not None}


async def _ask(
    journal: Journal, repo: str, pulls: Sequence[Pull], connect: Connect, reporter: Reporter
) -> None:
    with reporter.task("Diffs", len(pulls)) as task:
        async with connect() as github:

            async def ask(pull: Pull) -> None:
                url = f"/repos/{repo}/pulls/{pull.number}"
                try:
                    reply = await github.get(url, text=True)
                except NoAnswerError as error:  # of this one: "taking too long", say
                    reporter.note(
                        f"The diff of #{pull.number} could not be fetched: {error.reason}"
                    )
                    task.advance()
                    return
                request = {"url": url, "accept": MEDIA}
                journal.keep(PART, [_key(pull)], request, reply, number=pull.number)
                task.advance()

            await together(*(ask(pull) for pull in pulls))


def _key(pull: Pull) -> str:
    return f"{PART}|{pull.number}|{pull.head_sha}"
