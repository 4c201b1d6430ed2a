"""Has a model answer rows, by an archive that outlives the run: nothing is paid for twice.

A row is done when its last request has a reply that asking again would only repeat. What failed
on the way, such as a server that did not answer, is no answer of the model: then the run is not
finished, and the same command goes on.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from goldpan.annotation.llm.asking import Asked
from goldpan.annotation.llm.costs import BYTES_A_TOKEN, Ledger, cost_of
from goldpan.annotation.llm.errors import ReviewError
from goldpan.annotation.llm.memory import Memory, open_archive
from goldpan.annotation.llm.outcome import Outcome, understand
from goldpan.annotation.llm.request import CUTS, Request
from goldpan.annotation.llm.rounds import ask_all
from goldpan.errors import EvaluationError
from goldpan.evaluation.model import Costs, Estimate
from goldpan.evaluation.prompting.errors import UnansweredError
from goldpan.evaluation.prompting.inputs import Shown
from goldpan.evaluation.prompting.requests import Requests
from goldpan.evaluation.prompting.settings import PromptSettings, in_settings
from goldpan.progress import Reporter

_BATCH = 256
_NO_WORD = re.compile(r"[^a-z0-9.]+")
_REFUSED = "bad-request"


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back for a row."""

    shown: Shown
    said: str | None
    """What the model wrote, verbatim; None where nothing came."""
    failure: str | None


@dataclass(frozen=True, slots=True)
class Replies:
    """What came back for all rows, in their order."""

    replies: tuple[Reply, ...]
    structured: bool
    """Whether the server was to hold the model to the form of the answer."""


def archive_of(place: Path, settings: PromptSettings) -> Path:
    """Return where what a model at an endpoint said is kept."""
    told = f"{settings.asking.base_url.rstrip('/')}\n{settings.model}"
    digest = hashlib.sha256(told.encode()).hexdigest()[:8]
    name = _NO_WORD.sub("-", settings.model.lower()).strip("-.")[:60]
    return place / f"{name}-{digest}"


def ask_rows(
    place: Path, requests: Requests, rows: pa.Table, reporter: Reporter, costs: Costs
) -> Replies:
    """Ask for all rows and return what came back; `costs` get what these replies cost.

    Raises `UnansweredError` where money ran out, batches are under way or requests failed, and
    `EvaluationError` where the endpoint serves nobody; what was answered until then is kept.
    """
    with open_archive(archive_of(place, requests.settings), "evaluation", write=True) as memory:
        walk = _Walk(memory, requests, rows)
        try:
            walk = _ask(walk, reporter)
        except ReviewError as error:
            raise EvaluationError(in_settings(error.problem), in_settings(error.remedy)) from None
        found = [walk.last(row) for row in walk.rows()]
        _require(walk, found)
        _count(walk, found, costs)
        replies = tuple(_reply(one) for one in found)
        return Replies(replies, walk.requests.structured)


def estimate_rows(place: Path, requests: Requests, rows: pa.Table) -> Estimate:
    """Count what asking for rows would send and cost; nothing is sent or written."""
    settings = requests.settings.asking
    with open_archive(archive_of(place, requests.settings), "evaluation", write=False) as memory:
        walk = _Walk(memory, requests, rows)
        ledger = Ledger(settings)
        answered = walk.count_before(ledger)
        expected = at_most = 0.0
        count = tokens = 0
        for asked in walk.open():
            count += 1
            tokens += len(asked.request.data) // BYTES_A_TOKEN
            expected += ledger.expected(asked.request)
            at_most += ledger.most(asked.request)
        priced = requests.settings.model in settings.prices
        return Estimate(
            count,
            answered,
            tokens,
            expected if priced else None,
            at_most if priced else None,
            ledger.paid_before,
        )


@dataclass(frozen=True, slots=True)
class _Last:
    """The last request for a row, and what became of it."""

    shown: Shown
    request: Request
    outcome: Outcome[str] | None


@dataclass(frozen=True, slots=True)
class _Walk:
    """Goes through rows by what the archive knows."""

    memory: Memory
    requests: Requests
    table: pa.Table

    def rows(self) -> Iterator[Mapping[str, Any]]:
        """Yield the rows; memory follows a batch."""
        for batch in self.table.to_batches(max_chunksize=_BATCH):
            yield from batch.to_pylist()

    def last(self, row: Mapping[str, Any]) -> _Last:
        """Return the last request that was or is to be sent for a row."""
        for cuts in range(CUTS):
            shown = self.requests.show(row, cuts)
            request = self.requests.make(shown)
            outcome = self.reply_to(request)
            if outcome is None or outcome.failure != "context-overflow":
                break
        return _Last(shown, request, outcome)

    def reply_to(self, request: Request) -> Outcome[str] | None:
        """Return what became of a request, None where it was not asked."""
        reply = self.memory.reply(request.key)
        return None if reply is None else understand(reply, str)

    def open(self) -> Iterator[Asked]:
        """Yield what is still to be asked, each request once."""
        seen: set[str] = set()
        for row in self.rows():
            last = self.last(row)
            if last.outcome is None and last.request.key not in seen:
                seen.add(last.request.key)
                yield Asked(last.request, str)

    def count_before(self, ledger: Ledger) -> int:
        """Count the requests that the archive answers, their costs in the ledger."""
        answered: set[str] = set()
        for row in self.rows():
            request = self.last(row).request
            known = self.memory.usage(request.key)
            if known and request.key not in answered:
                answered.add(request.key)
                ledger.add(request.model, known[0], batch=known[1], before=True)
        return len(answered)


def _ask(walk: _Walk, reporter: Reporter) -> _Walk:
    """Ask for all that is open; the walk that comes back knows whether by a schema."""
    settings = walk.requests.settings.asking
    ledger = Ledger(settings)
    walk.count_before(ledger)

    def ask(still_open: Callable[[], Iterable[Asked]]) -> None:
        count = sum(1 for _ in still_open())
        if count:
            with reporter.task("requests", count) as task:
                ask_all(still_open, walk.memory, ledger, settings, task, reporter.note)

    if walk.requests.structured and walk.requests.settings.structured == "auto":
        first = None if settings.batch else next(walk.open(), None)
        if first:
            ask(lambda: [first] if walk.reply_to(first.request) is None else [])
            outcome = walk.reply_to(first.request)
            if outcome and outcome.failure == _REFUSED:
                reporter.note(f"{settings.base_url} takes no schema: words are read instead")
                walk = replace(walk, requests=replace(walk.requests, structured=False))
    ask(walk.open)
    return walk


def _require(walk: _Walk, found: Sequence[_Last]) -> None:
    """Raise `UnansweredError` unless every row has an answer, or a failure that would stay.

    A request that the endpoint does not take counts as such a failure where it takes others.
    """
    outcomes = [one.outcome for one in found]
    served = any(outcome and outcome.final for outcome in outcomes)
    failed = [
        outcome
        for outcome in outcomes
        if outcome and not outcome.final and not (served and outcome.failure == _REFUSED)
    ]
    missing = sum(outcome is None for outcome in outcomes)
    if not failed and not missing:
        return
    settings = walk.requests.settings.asking
    done = f"{len(found) - len(failed) - missing:,} of {len(found):,} rows are answered"
    if walk.memory.batches(settings.base_url.rstrip("/")):
        raise UnansweredError(
            f"{done}, batches are under way", "Run the same command later: it collects them"
        )
    if missing:
        raise UnansweredError(
            f"{done}, and max_cost = {settings.max_cost} does not suffice for the others",
            "Allow more and run the same command again: it pays for nothing twice",
        )
    counts = Counter(f"{one.failure}: {one.detail or 'no answer'}" for one in failed)
    worst = min(counts, key=lambda told: (-counts[told], told))
    raise UnansweredError(
        f"{done}, {len(failed):,} requests failed ({worst.rstrip('.')})",
        "Run the same command again: it goes on where it was",
    )


def _count(walk: _Walk, found: Sequence[_Last], costs: Costs) -> None:
    """Add what the replies cost, whenever they were paid for."""
    settings = walk.requests.settings
    price = settings.asking.prices.get(settings.model)
    for key in sorted({one.request.key for one in found}):
        known = walk.memory.usage(key)
        if known:
            usage, batch = known
            costs.input_tokens += usage.input
            costs.output_tokens += usage.output
            costs.money += cost_of(usage, price, batch=batch) if price else 0.0


def _reply(last: _Last) -> Reply:
    outcome = last.outcome
    if outcome is None:
        return Reply(last.shown, None, None)
    return Reply(last.shown, outcome.text or outcome.detail or None, outcome.failure)
