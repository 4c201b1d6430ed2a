"""Asks one request after another, a bounded number under way at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass

from goldpan.llm.budget import Budget
from goldpan.llm.endpoint import Endpoint
from goldpan.llm.outcome import Outcome, Reply, understand
from goldpan.llm.request import EndpointError, Request
from goldpan.llm.response_store import ResponseStore

_PATIENCE = 10
"""Failures in a row, before any success, after which the endpoint is given up."""


@dataclass(frozen=True, slots=True)
class PendingRequest:
    """A request, and how what it is answered is read."""

    request: Request
    read: Callable[[str], object]
    """Raises `ValueError` where a text is no answer."""


class Asker:
    """Sends requests from threads; this thread alone archives and counts."""

    def __init__(
        self,
        endpoint: Endpoint,
        store: ResponseStore,
        budget: Budget,
        concurrency: int,
        done: Callable[[], None],
    ) -> None:
        self._endpoint = endpoint
        self._store = store
        self._budget = budget
        self._concurrency = concurrency
        self._done = done
        self._under_way: dict[Future[Reply], PendingRequest] = {}
        self._failed = 0
        self._succeeded = False
        self.sent = 0

    def ask(self, requests: Iterable[PendingRequest]) -> bool:
        """Send requests and archive the replies.

        Returns False where the money did not suffice for all. Raises `EndpointError` where the
        endpoint serves nobody. However it ends, replies under way are waited for and kept: they
        are paid for.
        """
        with ThreadPoolExecutor(self._concurrency) as pool:
            try:
                for pending in requests:
                    request = pending.request
                    while self._under_way and (
                        len(self._under_way) >= self._concurrency
                        or not self._budget.admits(request)
                    ):
                        self._collect()
                    if not self._budget.admits(request):
                        return False
                    self._budget.reserve(request)
                    self._under_way[pool.submit(self._endpoint.ask, request)] = pending
                    self.sent += 1
                while self._under_way:
                    self._collect()
            finally:
                self._drain()
        return True

    def _collect(self) -> None:
        for future in wait(self._under_way, return_when=FIRST_COMPLETED).done:
            outcome = self._keep(future)
            self._failed = 0 if outcome.final else self._failed + 1
            self._succeeded = self._succeeded or outcome.final
            if self._failed >= _PATIENCE and not self._succeeded:
                raise EndpointError(
                    f"{self._endpoint.base_url} answered none of {self._failed} requests "
                    f"({outcome.failure}: {outcome.detail.rstrip('.') or 'no answer'})",
                    "Check --base-url, --model and the settings, and run the same command again",
                )

    def _keep(self, future: Future[Reply]) -> Outcome[object]:
        pending = self._under_way.pop(future)
        request, reply = pending.request, future.result()
        outcome = understand(reply, pending.read)
        self._store.keep(request, reply, outcome)
        self._budget.settle(request.key, request.model, outcome.usage, batch=False)
        self._done()
        return outcome

    def _drain(self) -> None:
        while self._under_way:
            for future in wait(self._under_way, return_when=FIRST_COMPLETED).done:
                if future.exception() is None:
                    self._keep(future)
                else:
                    self._under_way.pop(future)
