"""Sends requests and archives the replies: one by one from threads, or through the Batch API.

A batch is archived before it is submitted, under a token that goes with it as metadata. So a run
that was killed between the two finds it again at the endpoint, instead of paying for another; a
later run takes up what one left.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

import orjson

from goldpan.core.result import count
from goldpan.core.sanitize import line
from goldpan.core.secrets import mask
from goldpan.llm.body import read_json
from goldpan.llm.budget import CostBudget
from goldpan.llm.dialect import named_parameters
from goldpan.llm.endpoint import Endpoint
from goldpan.llm.exchange import (
    EndpointError,
    Failure,
    GivenUpError,
    ModelReply,
    ModelRequest,
    RequestOutcome,
    answer_to,
    understand,
    unsupported,
)
from goldpan.llm.response_store import Batch, ResponseStore
from goldpan.llm.settings import EndpointSettings

if TYPE_CHECKING:
    from openai.types import Batch as RemoteBatch

_PATIENCE = 10
"""Failures in a row, before any success, after which the endpoint is given up."""
_DEAD = 30
"""Requests in a row, after a success, that never came through, after which it is given up."""
_UNHEARD = ("timeout", "no-connection")


@dataclass
class Sender:
    """Where requests go, and what is counted and kept of the replies; `sent` says how many."""

    endpoint: Endpoint
    store: ResponseStore
    budget: CostBudget
    settings: EndpointSettings
    done: Callable[[], None]
    note: Callable[[str], None]
    sent: int = 0

    def keep(
        self, key: str, model: str, reply: ModelReply, outcome: RequestOutcome[object]
    ) -> None:
        """Archive a reply and count what it costs."""
        usage = self.store.keep(key, model, reply, outcome)
        self.budget.settle(key, model, usage, batch=reply.batch)
        self.done()


@dataclass
class Asker(Sender):
    """Sends requests from threads; this thread alone archives and counts."""

    _under_way: dict[Future[ModelReply], ModelRequest] = field(default_factory=dict)
    _failed: int = 0
    _unheard: int = 0
    _succeeded: bool = False

    def ask(self, requests: Iterable[ModelRequest]) -> bool:
        """Send requests and archive the replies.

        Returns False where the money did not suffice for all. Raises `EndpointError` where the
        endpoint serves nobody. However it ends, replies under way are waited for and kept: they
        are paid for.
        """
        most = self.settings.concurrency
        with ThreadPoolExecutor(most) as pool:
            try:
                for request in requests:
                    while self._under_way and (
                        len(self._under_way) >= most or not self.budget.admits(request)
                    ):
                        self._collect()
                    if not self.budget.admits(request):
                        return False
                    self.budget.reserve(request)
                    self._under_way[pool.submit(self.endpoint.ask, request)] = request
                    self.sent += 1
                while self._under_way:
                    self._collect()
            finally:
                while self._under_way:
                    self._collect(ending=True)
        return True

    def _collect(self, *, ending: bool = False) -> None:
        """Keep the replies that came; `ending` raises nothing more."""
        for future in wait(self._under_way, return_when=FIRST_COMPLETED).done:
            request = self._under_way.pop(future)
            if ending and future.exception() is not None:
                continue
            reply = future.result()
            outcome = answer_to(request, reply, str, self.settings.answers_as)
            self.store.keep_request(request)
            self.keep(request.key, request.model, reply, outcome)
            self._failed = 0 if outcome.final else self._failed + 1
            self._unheard = self._unheard + 1 if outcome.failure in _UNHEARD else 0
            self._succeeded = self._succeeded or outcome.final
            is_dead = self._failed >= _PATIENCE and not self._succeeded
            if not ending and (is_dead or self._unheard >= _DEAD):
                last = "the last " if self._succeeded else ""
                raise GivenUpError(
                    f"{self.endpoint.base_url} answered none of {last}{self._failed} requests "
                    f"({outcome.failure}: {outcome.detail.rstrip('.') or 'no answer'})",
                    "Check --base-url, --model and the settings, and run the same command again",
                )


_ENDED = ("completed", "failed", "expired", "cancelled")
_LARGEST = 100 * 2**20
"""Bytes of one batch; OpenAI allows 200 MB."""
_LABEL = "goldpan"
_PAGE, _NEWEST = 100, 1_000
"""Batches of an endpoint among which a lost one is looked for."""


class Batcher(Sender):
    """Sends requests as batches and archives what comes of them."""

    def ask(self, requests: Iterable[ModelRequest]) -> bool:
        """Submit requests and collect their replies.

        Returns False where the money did not suffice for all, and where `wait` is off and
        batches are still under way.
        """
        enough = True
        chunk: list[ModelRequest] = []
        keys: set[str] = set()
        size = 0
        for request in requests:
            if not self.budget.admits(request):
                enough = False
                break
            self.budget.reserve(request)
            keys.add(request.key)
            size += len(request.data)
            is_full = len(chunk) >= self.settings.batch_requests or size > _LARGEST
            if chunk and (is_full or chunk[0].model != request.model):
                self._submit(chunk)
                chunk, size = [], len(request.data)
            chunk.append(request)
        if chunk:
            self._submit(chunk)
        return self._collect(keys) and enough

    def take_up(self, keys: Collection[str]) -> bool:
        """Collect the batches of earlier runs with these requests, to pay for none twice.

        Returns False where `wait` is off and some are still under way.
        """
        self._adopt()
        return self._collect(keys)

    def _adopt(self) -> None:
        """Find the batches that were submitted just before an earlier run was killed."""
        batches = self.store.batches(self.endpoint.base_url)
        unnamed = [batch for batch in batches if not batch.id]
        if unnamed:
            with self._telling():
                remotes = self._by_token()
        for batch in unnamed:
            if batch.token in remotes:
                self.store.name_batch(replace(batch, id=remotes[batch.token].id))
            else:  # it never reached the endpoint
                self.store.end_batch(batch)

    def _by_token(self) -> dict[str, RemoteBatch]:
        """Return the endpoint's newest batches by the tokens that they bear."""
        newest = islice(self.endpoint.client.batches.list(limit=_PAGE), _NEWEST)
        return {(batch.metadata or {}).get(_LABEL, ""): batch for batch in newest}

    def _collect(self, wanted: Collection[str]) -> bool:
        """Archive the replies of open batches with wanted requests; tell whether all ended."""
        open_batches = [
            batch
            for batch in self.store.batches(self.endpoint.base_url)
            if not set(batch.keys).isdisjoint(wanted)
        ]
        while open_batches:
            left = []
            for batch in open_batches:
                with self._telling():
                    remote = self.endpoint.client.batches.retrieve(batch.id)
                    has_ended = _named(remote.status) in _ENDED
                if has_ended:
                    self._take(batch, remote)
                else:
                    left.append(batch)
            open_batches = left
            if open_batches and not self.settings.wait:
                return False
            if open_batches:
                time.sleep(self.settings.poll_seconds)
        return True

    def _submit(self, requests: list[ModelRequest]) -> None:
        token = secrets.token_hex(16)
        keys = tuple(request.key for request in requests)
        bodies = [self.endpoint.dialect.spoken(request.body) for request in requests]
        fields = tuple(sorted(bodies[0]))
        batch = Batch(token, "", self.endpoint.base_url, requests[0].model, keys, fields)
        lines = b"".join(map(_line, keys, bodies))
        client = self.endpoint.client
        with self._telling():
            content = (f"goldpan-{token}.jsonl", lines)
            file = _named(client.files.create(file=content, purpose="batch").id)
        self.store.begin_batch(batch, requests)
        with self._telling():
            remote = self._create(file, token)
            self.store.name_batch(replace(batch, id=_named(remote.id)))
        self.sent += len(requests)
        self.note(f"Batch {remote.id} holds {count(len(requests), 'request')}")

    def _create(self, file: str, token: str) -> RemoteBatch:
        """Make a batch of a file; one whose reply was lost is not made, and paid for, twice."""
        import openai

        try:
            return self.endpoint.client.with_options(max_retries=0).batches.create(
                input_file_id=file,
                endpoint="/v1/chat/completions",
                completion_window="24h",
                metadata={_LABEL: token},
            )
        except (openai.APIConnectionError, openai.InternalServerError):
            if made := self._by_token().get(token):
                return made
            raise

    def _take(self, batch: Batch, remote: RemoteBatch) -> None:
        """Archive the replies of a batch that ended, in whatever order, from both its files."""
        unanswered = {key for key in batch.keys if self.store.usage(key) is None}
        dialect, again = self.endpoint.dialect, set[str]()
        sent = dict.fromkeys(batch.fields, batch.model)
        for file in (remote.output_file_id, remote.error_file_id):
            if not file:
                continue
            with self._telling():
                content = self.endpoint.client.files.content(file).content
            for row in mask(content).split(b"\n"):
                key, reply = _read(row)
                if key in unanswered:
                    unanswered.remove(key)
                    if dialect.learn(unsupported(reply, sent)):
                        again.add(key)
                    else:
                        self._keep(batch, key, replace(reply, fields=batch.fields))
        problem: Failure = "batch-failed" if remote.status == "failed" else "batch-expired"
        errors = remote.errors.data if remote.errors and remote.errors.data else []
        message = line("; ".join(str(error.message) for error in errors) or remote.status)
        if dialect.learn(named_parameters(message, sent)):
            again |= unanswered
            unanswered = set()
        for key in sorted(unanswered):
            self._keep(batch, key, ModelReply(0, message.encode(), problem, batch=True))
        for key in again:
            self.budget.release(key)
        self.store.end_batch(batch)
        lost = len(unanswered) + len(again)
        self.note(
            f"Batch {batch.id} is {remote.status}; {count(lost, 'request')} without an answer"
        )

    def _keep(self, batch: Batch, key: str, reply: ModelReply) -> None:
        self.keep(key, batch.model, reply, understand(reply, str))

    @contextmanager
    def _telling(self) -> Iterator[None]:
        """Raise `EndpointError` where a call fails, however often the SDK tries it again."""
        import openai

        try:
            yield
        except openai.APIError as error:
            raise self.endpoint.failure(error) from None
        except (AttributeError, TypeError, ValueError):
            # The SDK hands out a page as it is, and objects that lack what was not sent.
            raise EndpointError(
                f"{self.endpoint.base_url} does not answer like a Batch API",
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
    data = read_json(line)
    if not isinstance(data, dict):
        return "", ModelReply(0, b"", "batch-failed", batch=True)
    key = str(data.get("custom_id"))
    response, error = data.get("response"), data.get("error")
    if isinstance(response, dict) and isinstance(response.get("body"), (dict, list)):
        status = response.get("status_code")
        body = orjson.dumps(response["body"])
        return key, ModelReply(status if isinstance(status, int) else 200, body, batch=True)
    code = error.get("code") if isinstance(error, dict) else None
    failure: Failure = "batch-expired" if code == "batch_expired" else "batch-failed"
    return key, ModelReply(0, orjson.dumps(error), failure, batch=True)
