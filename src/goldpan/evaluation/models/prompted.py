"""Language models behind an OpenAI-compatible endpoint, asked by prompts of the task's file.

An archive of replies outlives the run, so nothing is paid for twice. A row is done when its last
request has a reply that asking again would only repeat. What failed on the way, such as a server
that did not answer, is no answer of the model: then the run is not finished, and the same command
goes on.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from goldpan.core.errors import UsageError
from goldpan.core.result import count
from goldpan.core.terminal import Reporter
from goldpan.datasets.tasks.task import Task
from goldpan.datasets.tasks.wording import find_method, wording_of
from goldpan.evaluation.model import (
    Answer,
    Answers,
    Costs,
    Model,
    ModelEntry,
    TrainingContext,
    UnansweredError,
    model_settings,
)
from goldpan.evaluation.models.prompt_answers import PromptRow, Read, answer_schema, read_answer
from goldpan.evaluation.models.prompt_settings import (
    REQUEST_SETTINGS,
    RUN_SETTINGS,
    PromptSettings,
    check_settings,
    in_settings,
    prompt_settings,
)
from goldpan.evaluation.models.prompts import (
    PromptExample,
    Requests,
    Script,
    own_examples,
    prompt_digest,
    train_examples,
)
from goldpan.llm.answer_text import READING
from goldpan.llm.budget import CostBudget, RequestEstimate, cost_of
from goldpan.llm.dialect import LIMITS, SCHEMA, Dialect
from goldpan.llm.planner import Attempt, Planner
from goldpan.llm.response_store import ResponseStore, open_responses
from goldpan.llm.settings import EndpointSettings

_NAME = "prompted"
_SPOKEN = (None, "truncated")
"""Failures of an answer that was still given; others say nothing of the row."""


@dataclass(frozen=True, slots=True)
class _Prompted:
    """A model with the prompts for a task."""

    context: TrainingContext
    requests: Requests

    def answer(self, rows: pa.Table) -> Answers:
        """Ask for all rows; costs are what their replies cost, whenever they were paid for.

        Raises `UnansweredError` where money ran out, batches are under way or requests failed, and
        `EvaluationError` where the endpoint serves nobody; what was answered until then is kept.
        """
        with _open_replies(self.context, self.requests) as store:
            requests = _ask(store, self.requests, rows, self.context.reporter)
            planner, tally = _planner(store, requests, rows), _RowTally()
            values = [
                tally.read(requests, planner.last(requests.question(row)))
                for row in _row_dicts(rows)
            ]
            _require(store, requests, tally)
            _count(store, requests.settings, tally, self.context.costs)
        return Answers(values, raw=tally.raw, notes=dict(sorted(tally.notes.items())))


def _requests(settings: Mapping[str, Any], context: TrainingContext) -> Requests:
    """Return the prompts, which is all that fitting makes."""
    prompting = prompt_settings(settings, context.protocol, context.task.type)
    wording = wording_of(context.task)
    method, prompt, seed = prompting.method, context.task.prompt, context.seed
    script = Script(
        wording,
        method,
        _positive(prompting, context),
        own_examples(wording, prompt.negative_examples, method.negative, seed),
    )
    structured = prompting.structured != "no" and answer_schema(wording) is not None
    return Requests(script, prompting, seed, structured)


def _positive(prompting: PromptSettings, context: TrainingContext) -> tuple[PromptExample, ...]:
    wording, count = wording_of(context.task), prompting.method.positive("evaluation")
    if prompting.from_train and count:
        # The row itself may take half of the characters, all examples together the other half.
        most = prompting.asking.max_characters // 2 // count
        return train_examples(wording, context.train, count, context.seed, most)
    examples = own_examples(wording, context.task.prompt.examples, count, context.seed)
    if len(examples) < count:
        raise UsageError(
            f"{context.task.name} has {len(examples)} examples in its file, not {count}",
            "Add them, or set another method, or examples=train",
        )
    return examples


def _open_replies(
    context: TrainingContext, requests: Requests, *, write: bool = True
) -> AbstractContextManager[ResponseStore]:
    directory = context.replies or context.directory / "prompts"
    return open_responses(archive_of(directory, requests.settings), "evaluation", write=write)


def _make(options: Mapping[str, Any]) -> Model:
    settings = model_settings(_NAME, {**RUN_SETTINGS, **REQUEST_SETTINGS}, options)
    check_settings(settings)

    def fit(context: TrainingContext) -> _Prompted:
        return _Prompted(context, _requests(settings, context))

    def estimate(context: TrainingContext, rows: pa.Table) -> RequestEstimate:
        requests = _requests(settings, context)
        with _open_replies(context, requests, write=False) as store:
            return _planner(store, requests, rows).estimate(CostBudget(requests.settings.asking))

    def task_facts(task: Task) -> Mapping[str, Any]:
        return {"prompt": prompt_digest(task, find_method(settings["method"])), "reading": READING}

    return Model(
        _NAME,
        fit,
        {name: settings[name] for name in RUN_SETTINGS},
        needs_train=settings["examples"] == "train",
        predict_train=False,
        task_facts=task_facts,
        estimate=estimate,
    )


MODELS = (
    ModelEntry(
        _NAME,
        "A language model behind an OpenAI-compatible endpoint, asked zero-shot, with examples or "
        "instructions; model=NAME and base_url=URL say which. It costs money: see --dry-run.",
        _make,
    ),
)


_BATCH = 256
_NO_WORD = re.compile(r"[^a-z0-9.]+")


def archive_of(directory: Path, settings: PromptSettings) -> Path:
    """Return the directory of the replies of a model at an endpoint."""
    address = f"{settings.asking.base_url.rstrip('/')}\n{settings.model}"
    digest = hashlib.sha256(address.encode()).hexdigest()[:8]
    name = _NO_WORD.sub("-", settings.model.lower()).strip("-.")[:60]
    return directory / f"{name}-{digest}"


@dataclass(slots=True)
class _RowTally:
    """Rows by the outcome of their requests, and notes on the answers."""

    rows: int = 0
    missing: int = 0
    """Rows that were not asked about."""
    served: bool = False
    """True if the endpoint answered any request."""
    failed: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Failures that asking again might mend, with a line for people."""
    keys: set[str] = field(default_factory=set)
    """Keys of the requests that were answered."""
    raw: list[str] = field(default_factory=list)
    """Texts of the model, verbatim."""
    notes: Counter[str] = field(default_factory=Counter)

    def read(self, requests: Requests, attempt: Attempt[PromptRow, str]) -> Answer:
        """Count a row, and return its answer."""
        self.rows += 1
        outcome = attempt.outcome
        if outcome is None:
            self.missing += 1
            return None
        if outcome.final:
            self.keys.add(attempt.request.key)
        if outcome.final and outcome.failure != "malformed":
            self.served = True
        else:
            self.failed[outcome.failure or "", outcome.detail or "no answer"] += 1
        text = outcome.text or outcome.detail or ""
        self.raw.append(text)
        read = Read(None)
        if outcome.failure in _SPOKEN:
            read = read_answer(
                requests.script.wording,
                attempt.shown,
                text,
                structured=requests.structured,
                longest=requests.settings.longest_label,
            )
        self.notes.update(_notes(requests, attempt, read.note))
        return read.value


def _notes(requests: Requests, attempt: Attempt[PromptRow, str], found: str) -> Iterator[str]:
    if not requests.structured and answer_schema(requests.script.wording) is not None:
        yield "without-schema"
    if attempt.shown.shortened:
        yield "text-shortened"
    if attempt.outcome and attempt.outcome.fields:
        left_out = attempt.request.body.keys() - {*attempt.outcome.fields, *LIMITS}
        yield from (f"without-{name}" for name in sorted(left_out))
    yield from filter(None, (attempt.outcome and attempt.outcome.failure, found))


def _row_dicts(rows: pa.Table) -> Iterator[Mapping[str, Any]]:
    """Yield the rows; memory follows a batch."""
    for batch in rows.to_batches(max_chunksize=_BATCH):
        yield from batch.to_pylist()


def _planner(
    store: ResponseStore, requests: Requests, rows: pa.Table, dialect: Dialect | None = None
) -> Planner[PromptRow, str]:
    return Planner(
        store, requests.settings.asking, lambda: map(requests.question, _row_dicts(rows)), dialect
    )


def _ask(store: ResponseStore, requests: Requests, rows: pa.Table, reporter: Reporter) -> Requests:
    """Ask for all rows; the requests that come back know whether by a schema.

    A server that takes none is asked for words: by another prompt, not only without the schema.
    """
    settings = requests.settings.asking
    dialect = Dialect((SCHEMA,))
    planner = _planner(store, requests, rows, dialect)
    with in_settings():
        if requests.structured and requests.settings.structured == "auto":
            first = planner.first_open()
            if first:
                several = (
                    planner
                    if settings.batch
                    else Planner(store, settings, lambda: [first], dialect)
                )
                several.ask(_budget(planner, settings), reporter)
            if SCHEMA in dialect.lacks:
                reporter.note(f"{settings.base_url} takes no schema: words are read instead")
                requests = replace(requests, structured=False)
                planner = _planner(store, requests, rows, dialect)
        planner.ask(_budget(planner, settings), reporter)
    return requests


def _budget(planner: Planner[PromptRow, str], settings: EndpointSettings) -> CostBudget:
    """Return what may still be spent after the replies that earlier requests paid for."""
    budget = CostBudget(settings)
    planner.estimate(budget)
    return budget


def _require(store: ResponseStore, requests: Requests, tally: _RowTally) -> None:
    """Raise `UnansweredError` unless every row has an answer, or a failure that would stay.

    A request that the endpoint does not take, or answers with thoughts alone, counts as such a
    failure where others were answered.
    """
    failed = Counter(
        {
            failure: n
            for failure, n in tally.failed.items()
            if not (tally.served and failure[0] in ("bad-request", "malformed"))
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
        f"{summary}, {count(failed.total(), 'request')} failed ({': '.join(worst).rstrip('.')})",
        "Run the same command again: it resumes where it stopped",
    )


def _count(store: ResponseStore, settings: PromptSettings, tally: _RowTally, costs: Costs) -> None:
    price = settings.asking.prices.get(settings.model)
    for key in sorted(tally.keys):
        spent = store.usage(key)
        if spent:
            usage, batch = spent
            tally.notes.update(["tokens-estimated"] * usage.estimated)
            costs.input_tokens += usage.input
            costs.output_tokens += usage.output
            costs.money += cost_of(usage, price, batch=batch) if price else 0.0
