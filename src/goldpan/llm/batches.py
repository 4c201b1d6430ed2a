"""Asks through the Batch API: submit, wait, collect; a later run takes up what one left.

A batch is archived before it is submitted, under a token that goes with it as metadata. So a run
that was killed between the two finds it again at the endpoint, instead of paying for another.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any

import orjson

from goldpan.core.result import count
from goldpan.core.sanitize import line
from goldpan.core.secrets import mask
from goldpan.llm.budget import CostBudget
from goldpan.llm.dialect import named_parameters
from goldpan.llm.endpoint import Endpoint
from goldpan.llm.exchange import (
    EndpointError,
    Failure,
    ModelReply,
    ModelRequest,
    PendingRequest,
    understand,
    unsupported,
)
from goldpan.llm.response_store import Batch, ResponseStore
from goldpan.llm.settings import EndpointSettings

if TYPE_CHECKING:
    from openai.types import Batch as RemoteBatch

Readers = Mapping[str, Callable[[str], object]]
"""By the key of a request, the function that reads its answer."""

_ENDED = ("completed", "failed", "expired", "cancelled")
_LARGEST = 100 * 2**20
"""Bytes of one batch; OpenAI allows 200 MB."""
_LABEL = "goldpan"
_PAGE, _NEWEST = 100, 1_000
"""Batches of an endpoint among which a lost one is looked for."""


class Batcher:
    """Sends requests as batches and archives what comes of them."""

    def __init__(
        self,
        endpoint: Endpoint,
        store: ResponseStore,
        budget: CostBudget,
        settings: EndpointSettings,
        done: Callable[[], None],
        note: Callable[[str], None],
    ) -> None:
        self._endpoint = endpoint
        self._store = store
        self._budget = budget
        self._settings = settings
        self._done = done
        self._note = note
        self.sent = 0

    def ask(self, requests: Iterable[PendingRequest], readers: Readers) -> bool:
        """Collect open batches, submit the requests and collect these.

        Returns False where the money did not suffice for all, and where `wait` is off and
        batches are still under way.
        """
        if not self.take_up(readers):
            return False
        enough = True
        chunk: list[ModelRequest] = []
        size = 0
        for request in (pending.request for pending in requests):
            if not self._budget.admits(request):
                enough = False
                break
            self._budget.reserve(request)
            size += len(request.data)
            is_full = len(chunk) >= self._settings.batch_requests or size > _LARGEST
            if chunk and (is_full or chunk[0].model != request.model):
                self._submit(chunk)
                chunk, size = [], len(request.data)
            chunk.append(request)
        if chunk:
            self._submit(chunk)
        return self._collect(readers) and enough

    def take_up(self, readers: Readers) -> bool:
        """Collect the batches that earlier runs left, before anything is paid for twice.

        Returns False where `wait` is off and some are still under way.
        """
        self._adopt()
        return self._collect(readers)

    def _adopt(self) -> None:
        """Find the batches that were submitted just before an earlier run was killed."""
        batches = self._store.batches(self._endpoint.base_url)
        unnamed = [batch for batch in batches if not batch.id]
        if unnamed:
            with self._telling():
                remotes = self._by_token()
        for batch in unnamed:
            if batch.token in remotes:
                self._store.name_batch(replace(batch, id=remotes[batch.token].id))
            else:  # it never reached the endpoint
                self._store.end_batch(batch)

    def _by_token(self) -> dict[str, RemoteBatch]:
        """Return the endpoint's newest batches by the tokens that they bear."""
        newest = islice(self._endpoint.client.batches.list(limit=_PAGE), _NEWEST)
        return {(batch.metadata or {}).get(_LABEL, ""): batch for batch in newest}

    def _collect(self, readers: Readers) -> bool:
        """Archive the replies of open batches with wanted requests; tell whether all ended."""
        open_batches = [
            batch
            for batch in self._store.batches(self._endpoint.base_url)
            if any(key in readers for key in batch.keys)
        ]
        while open_batches:
            left = []
            for batch in open_batches:
                with self._telling():
                    remote = self._endpoint.client.batches.retrieve(batch.id)
                    has_ended = _named(remote.status) in _ENDED
                if has_ended:
                    self._take(batch, remote, readers)
                else:
                    left.append(batch)
            open_batches = left
            if open_batches and not self._settings.wait:
                return False
            if open_batches:
                time.sleep(self._settings.poll_seconds)
        return True

    def _submit(self, requests: list[ModelRequest]) -> None:
        token = secrets.token_hex(16)
        keys = tuple(request.key for request in requests)
        bodies = [self._endpoint.dialect.spoken(request.body) for request in requests]
        fields = tuple(sorted(bodies[0]))
        batch = Batch(token, "", self._endpoint.base_url, requests[0].model, keys, fields)
        lines = b"".join(map(_line, keys, bodies))
        client = self._endpoint.client
        with self._telling():
            content = (f"goldpan-{token}.jsonl", lines)
            file = _named(client.files.create(file=content, purpose="batch").id)
        self._store.begin_batch(batch, requests)
        with self._telling():
            remote = self._create(file, token)
            self._store.name_batch(replace(batch, id=_named(remote.id)))
        self.sent += len(requests)
        self._note(f"Batch {remote.id} holds {count(len(requests), 'request')}")

    def _create(self, file: str, token: str) -> RemoteBatch:
        """Make a batch of a file; one whose reply was lost is not made, and paid for, twice."""
        import openai

        try:
            return self._endpoint.client.with_options(max_retries=0).batches.create(
                input_file_id=file,
                endpoint="/v1/chat/completions",
                completion_window="24h",
                metadata={_LABEL: token},
            )
        except (openai.APIConnectionError, openai.InternalServerError):
            if made := self._by_token().get(token):
                return made
            raise

    def _take(self, batch: Batch, remote: RemoteBatch, readers: Readers) -> None:
        """Archive the replies of a batch that ended, in whatever order, from both its files."""
        unanswered = {key for key in batch.keys if self._store.usage(key) is None}
        dialect, again = self._endpoint.dialect, set[str]()
        sent = dict.fromkeys(batch.fields, batch.model)
        for file in (remote.output_file_id, remote.error_file_id):
            if not file:
                continue
            with self._telling():
                content = self._endpoint.client.files.content(file).content
            for row in mask(content).split(b"\n"):
                key, reply = _read(row)
                if key in unanswered:
                    unanswered.remove(key)
                    if dialect.learn(unsupported(reply, sent)):
                        again.add(key)
                    else:
                        self._keep(batch, key, replace(reply, fields=batch.fields), readers)
        problem: Failure = "batch-failed" if remote.status == "failed" else "batch-expired"
        errors = remote.errors.data if remote.errors and remote.errors.data else []
        message = line("; ".join(str(error.message) for error in errors) or remote.status)
        if dialect.learn(named_parameters(message, sent)):
            again |= unanswered
            unanswered = set()
        for key in sorted(unanswered):
            self._keep(batch, key, ModelReply(0, message.encode(), problem, batch=True), readers)
        for key in again:
            self._budget.release(key)
        self._store.end_batch(batch)
        lost = len(unanswered) + len(again)
        self._note(
            f"Batch {batch.id} is {remote.status}; {count(lost, 'request')} without an answer"
        )

    def _keep(self, batch: Batch, key: str, reply: ModelReply, readers: Readers) -> None:
        outcome = understand(reply, readers.get(key, str))
        usage = self._store.keep_reply(key, batch.model, reply, outcome)
        self._budget.settle(key, batch.model, usage, batch=True)
        self._done()

    @contextmanager
    def _telling(self) -> Iterator[None]:
        """Raise `EndpointError` where a call fails, however often the SDK tries it again."""
        import openai

        try:
            yield
        except openai.APIError as error:
            raise self._endpoint.failure(error) from None
        except (AttributeError, TypeError, ValueError):
            # The SDK hands out a page as it is, and objects that lack what was not sent.
            raise EndpointError(
                f"{self._endpoint.base_url} does not answer like a Batch API",
                "Check --base-url, or ask without --batch",
            ) from None


def _named(told: object) -> str:
    """Return a text of the endpoint; raises `TypeError` where it is something else."""
    if not isinstance(told, str):
        raise TypeError(told)
    return told


def _line(key: str, body: dict[str, Any]) -> bytes:
    return b'{"custom_id":"%s","method":"POST","url":"/v1/chat/completions","body":%s}\n' % (
        key.encode(),
        orjson.dumps(body, option=orjson.OPT_SORT_KEYS),
    )


def _read(line: bytes) -> tuple[str, ModelReply]:
    """Return the key and the reply of a line of an output or error file."""
    try:
        data = orjson.loads(line)
        key = str(data["custom_id"])
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return "", ModelReply(0, b"", "batch-failed", batch=True)
    response, error = data.get("response"), data.get("error")
    if isinstance(response, dict) and isinstance(response.get("body"), (dict, list)):
        status = response.get("status_code")
        body = orjson.dumps(response["body"])
        return key, ModelReply(status if isinstance(status, int) else 200, body, batch=True)
    code = error.get("code") if isinstance(error, dict) else None
    failure: Failure = "batch-expired" if code == "batch_expired" else "batch-failed"
    return key, ModelReply(0, orjson.dumps(error), failure, batch=True)
