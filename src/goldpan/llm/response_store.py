"""Every request and reply, kept as they came, and the answers in them.

A directory holds them in the archive's format (`goldpan.core.storage.archive`), a request and its
reply as two records under one key: WORKSPACE/reviews/ those of reviews, WORKSPACE/prompts/ those of
evaluations. A reply counts once it is safe on disk, so a run that is killed goes on without paying
twice, and a later run pays only for what is new. Batches of the Batch API are records too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from goldpan.core.errors import WorkspaceError
from goldpan.core.locks import hold_lock
from goldpan.core.storage.archive import Archive
from goldpan.core.storage.run_file import Record, Seal
from goldpan.core.storage.workspace import make_directory
from goldpan.llm.budget import BYTES_A_TOKEN
from goldpan.llm.exchange import ModelReply, ModelRequest, RequestOutcome, Usage


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch that was begun: `id` is the endpoint's, empty until it is known."""

    token: str
    id: str
    base_url: str
    model: str
    keys: tuple[str, ...]
    fields: tuple[str, ...] = ()
    """What is sent of each request; empty where earlier versions sent all."""


class ResponseStore:
    """The requests and replies of all runs so far."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        self._replies: dict[str, Record] = {}
        self._unanswered: dict[str, ModelReply] = {}
        self._requests: dict[str, int] = {}
        self._batches: dict[str, Batch] = {}
        for record in archive.records:
            self._learn(record)

    def seals(self) -> dict[str, Seal]:
        """Return the seal of each file as it stands."""
        return self._archive.seals()

    def reply(self, key: str) -> ModelReply | None:
        """Return the final reply to a request, or what failed in this run."""
        record = self._replies.get(key)
        if record is None:
            return self._unanswered.get(key)
        meta = record.meta
        fields = tuple(meta.get("fields", ()))
        return ModelReply(
            meta["status"], record.read(), None, meta["seconds"], meta["batch"], fields
        )

    def usage(self, key: str) -> tuple[Usage, bool] | None:
        """Return the tokens of a final reply, and whether it came in a batch."""
        record = self._replies.get(key)
        if record is None:
            return None
        return Usage(*record.meta["usage"]), record.meta["batch"]

    def begin_batch(self, batch: Batch, requests: Sequence[ModelRequest]) -> None:
        """Archive a batch and its requests before it is submitted."""
        for request in requests:
            self.keep_request(request)
        self._append({**asdict(batch), "part": "batch"})

    def name_batch(self, batch: Batch) -> None:
        """Archive the id that the endpoint gave a batch."""
        self._append({**asdict(batch), "keys": [], "part": "batch"})

    def end_batch(self, batch: Batch) -> None:
        """Archive that nothing more comes of a batch."""
        self._append({"part": "batch-end", "token": batch.token})

    def batches(self, base_url: str) -> list[Batch]:
        """Return the batches at an endpoint that were begun and not ended, oldest first."""
        return [batch for batch in self._batches.values() if batch.base_url == base_url]

    def keep_request(self, request: ModelRequest) -> None:
        """Archive a request, once."""
        if request.key not in self._requests:
            meta = {"part": "request", "key": request.key, "prompt": request.prompt}
            self._append(meta, request.data, sync=False)

    def keep(
        self, key: str, model: str, reply: ModelReply, outcome: RequestOutcome[object]
    ) -> Usage:
        """Archive a reply, whose request was archived before; return what it used.

        Only a final one spares asking again.
        """
        usage = outcome.usage
        if reply.status == 200 and outcome.final and not (usage.input and usage.output):
            usage = Usage(
                usage.input or self._requests[key] // BYTES_A_TOKEN,
                usage.output or len(reply.body) // BYTES_A_TOKEN,
                usage.cached,
                estimated=True,
            )
        meta = {
            "part": "reply",
            "key": key,
            "model": model,
            "status": reply.status,
            "failure": outcome.failure,
            "final": outcome.final,
            "usage": [usage.input, usage.output, usage.cached, usage.estimated],
            "seconds": round(reply.seconds, 3),
            "batch": reply.batch,
            "fields": reply.fields,
        }
        self._append(meta, reply.body)
        if not outcome.final:
            self._unanswered[key] = reply
        return usage

    def _append(self, meta: dict[str, Any], body: bytes = b"", *, sync: bool = True) -> None:
        at = datetime.now(UTC).isoformat(timespec="seconds")
        self._learn(self._archive.append({**meta, "at": at}, body, sync=sync))

    def _learn(self, record: Record) -> None:
        meta = record.meta
        if meta["part"] == "request":
            self._requests[meta["key"]] = record.size
        elif meta["part"] == "reply" and meta["final"]:
            self._replies[meta["key"]] = record
        elif meta["part"] == "batch":
            batch = self._batches.get(meta["token"])
            keys = batch.keys if batch else tuple(meta["keys"])
            token, model = meta["token"], meta["model"]
            fields = tuple(meta.get("fields", ()))
            self._batches[token] = Batch(token, meta["id"], meta["base_url"], model, keys, fields)
        elif meta["part"] == "batch-end":
            self._batches.pop(meta["token"], None)


@contextmanager
def open_responses(
    directory: Path, activity: str, *, write: bool = True
) -> Iterator[ResponseStore]:
    """Open the requests and replies in a directory, to go on with them where `write` is set.

    Raises `WorkspaceError` where another process writes there; `activity` names its work.
    """
    if not write:
        yield ResponseStore(Archive(directory))
        return
    make_directory(directory)
    busy = WorkspaceError(f"Another {activity} works in {directory.parent}", "Wait for it to end")
    with hold_lock(directory / "lock", busy), Archive(directory) as archive:
        archive.begin(resume=archive.runs > 0)
        yield ResponseStore(archive)
