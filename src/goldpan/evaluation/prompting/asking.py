"""Has a model answer rows, by an archive that outlives the run: nothing is paid for twice.

A row is done when its last request has a reply that asking again would only repeat. What failed
on the way, such as a server that did not answer, is no answer of the model: then the run is not
finished, and the same command goes on.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa

from goldpan.core.errors import EvaluationError, UsageError
from goldpan.core.progress import Reporter
from goldpan.evaluation.model import Costs, Estimate
from goldpan.evaluation.prompting.errors import UnansweredError
from goldpan.evaluation.prompting.inputs import Shown
from goldpan.evaluation.prompting.requests import Requests
from goldpan.evaluation.prompting.settings import PromptSettings, in_settings
from goldpan.llm.budget import BYTES_A_TOKEN, Budget, cost_of
from goldpan.llm.dispatch import ask_all
from goldpan.llm.errors import EndpointError
from goldpan.llm.executor import PendingRequest
from goldpan.llm.outcome import Outcome, understand
from goldpan.llm.request import CUTS, Request
from goldpan.llm.response_store import ResponseStore, open_responses

T = TypeVar("T")

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
    structured: bool
    """Whether the server was to hold the model to the form of the answer."""


def archive_of(place: Path, settings: PromptSettings) -> Path:
    """Return where what a model at an endpoint said is kept."""
    told = f"{settings.asking.base_url.rstrip('/')}\n{settings.model}"
    digest = hashlib.sha256(told.encode()).hexdigest()[:8]
    name = _NO_WORD.sub("-", settings.model.lower()).strip("-.")[:60]
    return place / f"{name}-{digest}"


def ask_rows(
    place: Path,
    requests: Requests,
    rows: pa.Table,
    read: Callable[[Reply], T],
    reporter: Reporter,
    costs: Costs,
) -> list[T]:
    """Ask for all rows and return what `read` makes of each reply, in the order of the rows.

    `costs` get what these replies cost, whenever they were paid for. Raises `UnansweredError`
    where money ran out, batches are under way or requests failed, and `EvaluationError` where
    the endpoint serves nobody; what was answered until then is kept.
    """
    with open_responses(archive_of(place, requests.settings), "evaluation") as memory:
        walk = _Walk(memory, requests, rows)
        try:
            walk = _ask(walk, reporter)
        except EndpointError as error:
            raise EvaluationError(in_settings(error.problem), in_settings(error.remedy)) from None
        except UsageError as error:
            raise UsageError(in_settings(error.problem), in_settings(error.remedy)) from None
        tally = _Tally()
        found = [read(walk.reply(tally.add(walk.last(row)))) for row in walk.rows()]
        _require(walk, tally)
        _count(walk, tally.keys, costs)
        return found


def estimate_rows(place: Path, requests: Requests, rows: pa.Table) -> Estimate:
    """Count what asking for rows would send and cost; nothing is sent or written."""
    settings = requests.settings.asking
    with open_responses(archive_of(place, requests.settings), "evaluation", write=False) as memory:
        walk = _Walk(memory, requests, rows)
        ledger = Budget(settings)
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


@dataclass(slots=True)
class _Tally:
    """What became of all rows."""

    rows: int = 0
    missing: int = 0
    """Rows that were not asked about."""
    served: bool = False
    """Whether the endpoint answered anything."""
    failed: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Failures that asking again might mend, with a line for people."""
    keys: set[str] = field(default_factory=set)
    """Of the requests that were answered."""

    def add(self, last: _Last) -> _Last:
        """Count a row."""
        self.rows += 1
        outcome = last.outcome
        if outcome is None:
            self.missing += 1
        elif outcome.final:
            self.served = True
            self.keys.add(last.request.key)
        else:
            self.failed[outcome.failure or "", outcome.detail or "no answer"] += 1
        return last


@dataclass(frozen=True, slots=True)
class _Walk:
    """Goes through rows by what the archive knows."""

    memory: ResponseStore
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

    def reply(self, last: _Last) -> Reply:
        """Return what came back for a row."""
        outcome, structured = last.outcome, self.requests.structured
        if outcome is None:
            return Reply(last.shown, None, None, structured)
        said = outcome.text or outcome.detail or None
        return Reply(last.shown, said, outcome.failure, structured)

    def open(self) -> Iterator[PendingRequest]:
        """Yield what is still to be asked, each request once."""
        seen: set[str] = set()
        for row in self.rows():
            last = self.last(row)
            if last.outcome is None and last.request.key not in seen:
                seen.add(last.request.key)
                yield PendingRequest(last.request, str)

    def count_before(self, ledger: Budget) -> int:
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
    ledger = Budget(settings)
    walk.count_before(ledger)

    def ask(still_open: Callable[[], Iterable[PendingRequest]]) -> None:
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


def _require(walk: _Walk, tally: _Tally) -> None:
    """Raise `UnansweredError` unless every row has an answer, or a failure that would stay.

    A request that the endpoint does not take counts as such a failure where it takes others.
    """
    failed = Counter(
        {told: n for told, n in tally.failed.items() if not (tally.served and told[0] == _REFUSED)}
    )
    if not failed and not tally.missing:
        return
    settings = walk.requests.settings.asking
    answered = tally.rows - failed.total() - tally.missing
    task = walk.requests.script.wording.task.name
    done = f"{answered:,} of {tally.rows:,} rows of {task} are answered"
    if walk.memory.batches(settings.base_url.rstrip("/")):
        raise UnansweredError(
            f"{done}, batches are under way", "Run the same command later: it collects them"
        )
    if tally.missing:
        raise UnansweredError(
            f"{done}, and max_cost = {settings.max_cost} does not suffice for the others",
            "Allow more and run the same command again: it pays for nothing twice",
        )
    worst = min(failed, key=lambda told: (-failed[told], told))
    raise UnansweredError(
        f"{done}, {failed.total():,} requests failed ({': '.join(worst).rstrip('.')})",
        "Run the same command again: it goes on where it was",
    )


def _count(walk: _Walk, keys: Iterable[str], costs: Costs) -> None:
    settings = walk.requests.settings
    price = settings.asking.prices.get(settings.model)
    for key in sorted(keys):
        known = walk.memory.usage(key)
        if known:
            usage, batch = known
            costs.input_tokens += usage.input
            costs.output_tokens += usage.output
            costs.money += cost_of(usage, price, batch=batch) if price else 0.0
