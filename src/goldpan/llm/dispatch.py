"""Asks all that is open, singly or in batches, until the archive answers it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from goldpan.core.progress import Task
from goldpan.llm.batches import Batcher
from goldpan.llm.budget import Budget
from goldpan.llm.endpoint import connect
from goldpan.llm.executor import Asker, PendingRequest
from goldpan.llm.response_store import ResponseStore
from goldpan.llm.settings import EndpointSettings


class SentRequest(NamedTuple):
    """What asking came to."""

    requests: int
    """How many were sent."""
    complete: bool
    """Whether that was all: else money ran out or a batch is under way."""


def ask_all(
    still_open: Callable[[], Iterable[PendingRequest]],
    store: ResponseStore,
    budget: Budget,
    settings: EndpointSettings,
    task: Task,
    note: Callable[[str], None],
) -> SentRequest:
    """Ask until nothing is open, in rounds: a text that was too long is cut for the next one.

    `still_open` yields what the archive does not answer, each request once. Raises `ReviewError`
    where the endpoint serves nobody; what was answered until then is kept.
    """
    with connect(settings) as endpoint:
        asker = Asker(endpoint, store, budget, settings.concurrency, task.advance)
        batcher = Batcher(endpoint, store, budget, settings, task.advance, note)
        while True:
            before = asker.sent + batcher.sent
            readers = {pending.request.key: pending.read for pending in still_open()}
            if settings.batch:
                enough = batcher.ask(still_open(), readers)
            else:
                enough = batcher.take_up(readers) and asker.ask(still_open())
            sent = asker.sent + batcher.sent
            # What a batch really cost may leave room for another one.
            if sent == before or not (enough or (settings.batch and settings.wait)):
                return SentRequest(sent, enough)
