"""GitHub's own diffs of pull requests, for where git cannot tell what changed: one request each.

Replies are archived like all others, whatever they say, so none is asked for twice and the
tables stay a function of what is on disk. They go into the newest run of the archive, ended or
not: they say nothing that a later run would have to go on with.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping, Sequence

from goldpan.core.archive import Archive, Record
from goldpan.core.errors import MiningError
from goldpan.core.progress import Reporter
from goldpan.core.workspace import Workspace
from goldpan.miners.github.batches import together
from goldpan.miners.github.client import GitHub
from goldpan.miners.github.request import NoAnswerError
from goldpan.miners.history.pulls import Pull
from goldpan.miners.journal import Journal

PART = "diff"
"""What records of diffs are called in the archive."""
MEDIA = "application/vnd.github.diff"

_ASKING = threading.Lock()
"""Held while GitHub is asked: each client knows the limits of its own requests alone."""

Connect = Callable[[], GitHub]
"""Makes a client when one is needed."""


def read_diffs(
    workspace: Workspace,
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
