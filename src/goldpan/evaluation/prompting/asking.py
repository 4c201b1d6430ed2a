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
from goldpan.evaluation.model import Costs
from goldpan.evaluation.prompting.inputs import PromptRow, UnansweredError
from goldpan.evaluation.prompting.prompts import Requests
from goldpan.evaluation.prompting.settings import PromptSettings, in_settings
from goldpan.llm.budget import CostBudget, CostEstimate, cost_of
from goldpan.llm.exchange import EndpointError
from goldpan.llm.planner import Attempt, Planner
from goldpan.llm.response_store import ResponseStore, open_responses

T = TypeVar("T")

_BATCH = 256
_NO_WORD = re.compile(r"[^a-z0-9.]+")
_REFUSED = "bad-request"


@dataclass(frozen=True, slots=True)
class RowReply:
    """Reply to the request for a row."""

    shown: PromptRow
    text: str | None
    """Text of the model, verbatim; None without a reply."""
    failure: str | None
    structured: bool
    """True if the server was asked to enforce the form of the answer."""


def archive_of(directory: Path, settings: PromptSettings) -> Path:
    """Return where what a model at an endpoint said is kept."""
    address = f"{settings.asking.base_url.rstrip('/')}\n{settings.model}"
    digest = hashlib.sha256(address.encode()).hexdigest()[:8]
    name = _NO_WORD.sub("-", settings.model.lower()).strip("-.")[:60]
    return directory / f"{name}-{digest}"


def ask_rows(
    directory: Path,
    requests: Requests,
    rows: pa.Table,
    read: Callable[[RowReply], T],
    reporter: Reporter,
    costs: Costs,
) -> list[T]:
    """Ask for all rows and return what `read` makes of each reply, in the order of the rows.

    `costs` get what these replies cost, whenever they were paid for. Raises `UnansweredError`
    where money ran out, batches are under way or requests failed, and `EvaluationError` where
    the endpoint serves nobody; what was answered until then is kept.
    """
    with open_responses(archive_of(directory, requests.settings), "evaluation") as store:
        try:
            requests = _ask(store, requests, rows, reporter)
        except EndpointError as error:
            raise EvaluationError(in_settings(error.problem), in_settings(error.remedy)) from None
        except UsageError as error:
            raise UsageError(in_settings(error.problem), in_settings(error.remedy)) from None
        planner, tally = _planner(store, requests, rows), _RowTally()
        answers = []
        for row in _row_dicts(rows):
            attempt = planner.last(requests.question(row))
            tally.add(attempt)
            answers.append(read(_reply(attempt, structured=requests.structured)))
        _require(store, requests, tally)
        _count(store, requests.settings, tally.keys, costs)
        return answers


def estimate_rows(directory: Path, requests: Requests, rows: pa.Table) -> CostEstimate:
    """Count what asking for rows would send and cost; nothing is sent or written."""
    with open_responses(
        archive_of(directory, requests.settings), "evaluation", write=False
    ) as store:
        return _planner(store, requests, rows).estimate(CostBudget(requests.settings.asking))


@dataclass(slots=True)
class _RowTally:
    """Counts of rows by what became of their requests."""

    rows: int = 0
    missing: int = 0
    """Rows that were not asked about."""
    served: bool = False
    """True if the endpoint answered any request."""
    failed: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Failures that asking again might mend, with a line for people."""
    keys: set[str] = field(default_factory=set)
    """Keys of the requests that were answered."""

    def add(self, attempt: Attempt[PromptRow, str]) -> None:
        """Count a row."""
        self.rows += 1
        outcome = attempt.outcome
        if outcome is None:
            self.missing += 1
        elif outcome.final:
            self.served = True
            self.keys.add(attempt.request.key)
        else:
            self.failed[outcome.failure or "", outcome.detail or "no answer"] += 1


def _row_dicts(rows: pa.Table) -> Iterator[Mapping[str, Any]]:
    """Yield the rows; memory follows a batch."""
    for batch in rows.to_batches(max_chunksize=_BATCH):
        yield from batch.to_pylist()


def _planner(store: ResponseStore, requests: Requests, rows: pa.Table) -> Planner[PromptRow, str]:
    return Planner(
        store, requests.settings.asking, lambda: map(requests.question, _row_dicts(rows))
    )


def _reply(attempt: Attempt[PromptRow, str], *, structured: bool) -> RowReply:
    """Return what came back for a row."""
    outcome = attempt.outcome
    if outcome is None:
        return RowReply(attempt.shown, None, None, structured)
    text = outcome.text or outcome.detail or None
    return RowReply(attempt.shown, text, outcome.failure, structured)


def _ask(store: ResponseStore, requests: Requests, rows: pa.Table, reporter: Reporter) -> Requests:
    """Ask for all rows; the requests that come back know whether by a schema."""
    settings = requests.settings.asking
    budget = CostBudget(settings)
    planner = _planner(store, requests, rows)
    planner.estimate(budget)
    if requests.structured and requests.settings.structured == "auto" and not settings.batch:
        first = planner.first_open()
        if first:
            Planner(store, settings, lambda: [first]).ask(budget, reporter)
            outcome = planner.last(first).outcome
            if outcome and outcome.failure == _REFUSED:
                reporter.note(f"{settings.base_url} takes no schema: words are read instead")
                requests = replace(requests, structured=False)
                planner = _planner(store, requests, rows)
                planner.estimate(budget)
    planner.ask(budget, reporter)
    return requests


def _require(store: ResponseStore, requests: Requests, tally: _RowTally) -> None:
    """Raise `UnansweredError` unless every row has an answer, or a failure that would stay.

    A request that the endpoint does not take counts as such a failure where it takes others.
    """
    failed = Counter(
        {
            failure: n
            for failure, n in tally.failed.items()
            if not (tally.served and failure[0] == _REFUSED)
        }
    )
    if not failed and not tally.missing:
        return
    settings = requests.settings.asking
    answered = tally.rows - failed.total() - tally.missing
    task = requests.script.wording.task.name
    summary = f"{answered:,} of {tally.rows:,} rows of {task} are answered"
    if store.batches(settings.base_url.rstrip("/")):
        raise UnansweredError(
            f"{summary}, batches are under way", "Run the same command later: it collects them"
        )
    if tally.missing:
        raise UnansweredError(
            f"{summary}, and max_cost = {settings.max_cost} is not enough for the others",
            "Raise it and run the same command again; nothing is paid for twice",
        )
    worst = min(failed, key=lambda failure: (-failed[failure], failure))
    raise UnansweredError(
        f"{summary}, {failed.total():,} requests failed ({': '.join(worst).rstrip('.')})",
        "Run the same command again: it resumes where it stopped",
    )


def _count(
    store: ResponseStore, settings: PromptSettings, keys: Iterable[str], costs: Costs
) -> None:
    price = settings.asking.prices.get(settings.model)
    for key in sorted(keys):
        spent = store.usage(key)
        if spent:
            usage, batch = spent
            costs.input_tokens += usage.input
            costs.output_tokens += usage.output
            costs.money += cost_of(usage, price, batch=batch) if price else 0.0
