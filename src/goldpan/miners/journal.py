"""The archive as the crawl's memory of what was fetched and what is still to be fetched.

A crawl keeps no state of its own. Each archived record names the keys that it answers and
what it left open, so a crawl that was killed goes on by running again: it asks for no key that the
journal finds.

A record's `meta` holds ``part`` (what it is), ``run``, ``keys``, ``at`` (when), ``request``,
``status``, ``headers``, and per part:

=============  ==================================================================================
begin, end     ``plan`` of the run and ``git_host``, with its port; the figures it ended with
document       a GraphQL document, once a run; requests name it by hash
repository     the repository's facts
license        ``license``: what the user states; ``mined`` takes an earlier statement back
former         ``names``: the repository's former names, each with the one it has now
sample         how long the lists of some entries are: ``issues``, ``pulls``
dialect        ``lacks``: what the server's GraphQL schema does not have
forbidden      ``what`` the token may not see, ``reason``, ``remedy``
sweep          ``kind``, ``items`` [[node id, number, fingerprint]], ``announced``, ``next``;
               ``off`` where discussions are turned off
entries        ``kind``, ``nodes`` [[index, number, owner]], ``more``; ``lists`` where not all
more           ``nodes`` [[index, number, owner, parent, connection]], ``more``
issues, ...    REST lists; ``number`` where they belong to one entry, ``next`` page's address
listed         ``of``, ``numbers``, ``begun``: a walk of a whole list reached its end
issue, pull    a single entry, ``number``
complete       ``number``, ``of`` (which part): its list was read to the end
gone           ``number``: GitHub says that the entry was deleted or transferred
unseen         ``since`` when references from elsewhere were not seen: no token, no sweep
off            ``of`` (which list): it is turned off in the repository
unchanged      ``of`` (which part), perhaps ``number``: an ETag showed that nothing changed
backup         one entry of a metadata backup, ``number``, ``kind``, ``updated``; ``half`` for a
               pull request without branches, ``bare`` without lists, ``named`` where it names
               another repository
elsewhere      ``names`` of other repositories whose entries a backup holds, too
failed         ``number`` (null for a list of the repository), ``of`` (which part), ``reason``,
               ``status``, ``withheld``, ``token`` from which it is
=============  ==================================================================================
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from goldpan.core.errors import UsageError
from goldpan.core.settings.trust import is_loopback
from goldpan.core.storage.archive import Archive
from goldpan.core.storage.run_file import Record
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.miners.journal_state import JournalState
from goldpan.miners.replies import HttpReply

UNSEEN = "references from other repositories since {since}"


class Journal:
    """The index of one repository's archive, and the run that is being written."""

    def __init__(self, archive: Archive) -> None:
        self.archive = archive
        self.run = archive.runs
        self.resumed = False
        self.state = JournalState(archive.records)
        self._by_key: dict[str, Record] = {}
        self._documents: set[str] = set()
        for record in archive.records:
            self._remember(record)

    def begin(self, plan: Mapping[str, object], git_host: str = "") -> None:
        """Go on with the newest run if it did not end and had the same plan, else start one.

        Raises `UsageError` where the archive is of a repository of that name on another host.
        """
        host, earlier = str(plan.get("host", "")), self.state.host
        if host and earlier is not None and host != earlier and not is_loopback(host):
            raise UsageError(
                f"{self.archive.directory} holds {plan['repo']} of {earlier}, not of {host}",
                "Mine each host into a workspace of its own, with --workspace",
            )
        newest = [record for record in self.archive.records if record.run == self.run]
        parts = {record.meta["part"]: record for record in newest}
        self.resumed = (
            "begin" in parts and "end" not in parts and (parts["begin"].meta["plan"] == dict(plan))
        )
        self.run = self.archive.begin(resume=self.resumed)
        if self.resumed:
            self._documents = {
                record.meta["sha256"] for record in newest if record.meta["part"] == "document"
            }
        else:
            self.mark("begin", plan=dict(plan), git_host=git_host)

    def end(self, figures: Mapping[str, object]) -> None:
        """Record that the run is complete."""
        self.mark("end", figures=dict(figures))
        self.archive.close()

    def find(self, key: str) -> Record | None:
        """Return the newest record that answers a key."""
        return self._by_key.get(key)

    def keep(
        self,
        part: str,
        keys: Sequence[str],
        request: Mapping[str, object],
        reply: HttpReply,
        *,
        sync: bool = True,
        **meta: Any,
    ) -> Record:
        """Archive a reply."""
        received = {"status": reply.status, "headers": reply.kept_headers}
        meta = {"request": dict(request), **received, **meta}
        return self.mark(part, keys, reply.body, sync=sync, **meta)

    def fail(
        self,
        number: int | None,
        part: str,
        reason: str,
        status: int | None = None,
        *,
        withheld: bool = False,
        token: str | None = None,
    ) -> None:
        """Record that a part of an entry, or a list of the repository, could not be fetched.

        A later run tries again, unless it is `withheld`: GitHub does not serve it. With a `token`,
        by its identity, it is not served to that one; others may see it, and later that one too.
        """
        why: dict[str, Any] = {"reason": reason, "status": status, "withheld": withheld}
        if token is not None:
            why["token"] = token
        self.mark("failed", number=number, of=part, **why)

    def document(self, text: str) -> str:
        """Archive a GraphQL document unless this run has it, and return its hash."""
        digest = hashlib.sha256(text.encode()).hexdigest()
        if digest not in self._documents:
            self._documents.add(digest)
            self.mark("document", body=text.encode())
        return digest

    def of_run(self, part: str) -> Iterator[Record]:
        """Yield this run's records of one part, oldest first."""
        for record in self.archive.records:
            if record.run == self.run and record.meta["part"] == part:
                yield record

    def mark(
        self,
        part: str,
        keys: Sequence[str] = (),
        body: bytes = b"",
        *,
        sync: bool = True,
        **meta: Any,
    ) -> Record:
        """Record a finding, which needs no body of its own."""
        at = datetime.now(UTC).isoformat(timespec="seconds")
        meta = {"part": part, "run": self.run, "keys": list(keys), "at": at, **meta}
        record = self.archive.append(meta, body, sync=sync)
        self.state.read(record)
        self._remember(record)
        return record

    def _remember(self, record: Record) -> None:
        for key in record.meta["keys"]:
            self._by_key[key] = record


def git_host(workspace: WorkspaceLayout, repo: str) -> str | None:
    """Return the host with its port that serves a mined repository; None where none is known."""
    return JournalState(Archive(workspace.raw(repo)).records).git_host


def sources(records: Iterable[Record]) -> Mapping[int, tuple[str, ...]]:
    """Return the names of replies by entry number, as ``run-0001.zst@OFFSET``, in order."""
    sources_of: defaultdict[int, dict[str, None]] = defaultdict(dict)
    for record in records:
        for number in _numbers(record):
            sources_of[number][record.name] = None
    return {number: tuple(names) for number, names in sources_of.items()}


def _numbers(record: Record) -> Iterator[int]:
    meta = record.meta
    if meta["part"] in ("entries", "more"):
        yield from (node[1] for node in meta["nodes"])
    elif meta["part"] in ("issues", "pulls"):
        yield from (item[0] for item in meta["items"])
    elif meta.get("number") is not None:
        yield meta["number"]
