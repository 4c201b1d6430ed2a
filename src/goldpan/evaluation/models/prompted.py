"""Language models behind an OpenAI-compatible endpoint, asked by prompts of the task's file.

An archive of replies outlives the run, so nothing is paid for twice. A row is done when its last
request has a reply that asking again would only repeat. What failed on the way, such as a server
that did not answer, is no answer of the model: then the run is not finished, and the same command
goes on. What a model answers does not depend on how many requests are under way or what they may
cost, so a run that stopped for money is the same run when it may cost more.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import pyarrow as pa
from annotated_types import Ge
from pydantic import ConfigDict, TypeAdapter, ValidationError

from goldpan.core.errors import EvaluationError, GoldpanError, UsageError
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
from goldpan.evaluation.models.prompts import (
    Requests,
    Script,
    own_examples,
    prompt_digest,
    train_examples,
)
from goldpan.evaluation.protocol import Protocol
from goldpan.llm.answer_text import READING
from goldpan.llm.budget import CostBudget, RequestEstimate, cost_of
from goldpan.llm.dialect import LIMITS, SCHEMA, Dialect
from goldpan.llm.exchange import EndpointError, GivenUpError
from goldpan.llm.planner import Attempt, Planner
from goldpan.llm.response_store import ResponseStore, open_responses
from goldpan.llm.settings import OPENAI, EndpointSettings, load_prices, load_settings

_NAME = "prompted"
_PROTOCOL = "protocol"
"""Stands for what the protocol of the run says."""
_NONE = "none"
RUN_SETTINGS: Mapping[str, Any] = {
    "model": "",
    "base_url": OPENAI,
    "method": "zero-shot",
    "examples": "task",
    "structured": "auto",
    "temperature": _PROTOCOL,
    "max_tokens": _PROTOCOL,
    "limit_parameter": "max_completion_tokens",
    "send_seed": True,
    "max_characters": 48_000,
}
"""Settings that tell runs apart."""
_SENDING = (
    *("answers_as", "concurrency", "retries", "timeout"),
    *("batch", "batch_requests", "poll_seconds", "wait"),
)
_ENDPOINT = asdict(EndpointSettings(("any",)))
REQUEST_SETTINGS: Mapping[str, Any] = {
    **{name: _ENDPOINT[name] for name in _SENDING},
    "max_cost": _NONE,
    "prices": "",
}
"""Settings of requests alone."""
_KINDS = {
    "examples": Literal["task", "train"],
    "structured": Literal["auto", "yes", "no"],
    "limit_parameter": Literal["max_completion_tokens", "max_tokens"],
}
_LONG = ("ner", "mlm", "text-generation")
"""Types of tasks whose answers are long."""
_SPOKEN = (None, "truncated")
"""Failures of an answer that was still given; others say nothing of the row."""
_BATCH = 256
_NO_WORD = re.compile(r"[^a-z0-9.]+")


def endpoint_settings(
    settings: Mapping[str, Any], protocol: Protocol, task_type: str, seed: int
) -> EndpointSettings:
    """Return how a model is asked under a protocol; raises `UsageError` for bad settings."""
    whole, amount = Annotated[int, Ge(0)], Annotated[float, Ge(0)]
    tokens = protocol.text_tokens if task_type in _LONG else protocol.answer_tokens
    flags: dict[str, Any] = {
        name: settings[name]
        for name in ("base_url", "limit_parameter", "max_characters", *_SENDING)
    }
    flags["models"] = [settings["model"]]
    flags["max_tokens"] = _stated(settings, "max_tokens", whole, tokens)
    flags["max_cost"] = _stated(settings, "max_cost", amount, None)
    temperature = _stated(settings, "temperature", amount, protocol.temperature)
    with _in_settings():
        if settings["prices"]:
            flags["prices"] = load_prices(Path(settings["prices"]))
        asking = load_settings(EndpointSettings, "The model prompted", None, flags)
    return replace(asking, temperature=temperature, seed=seed if settings["send_seed"] else None)


def _stated(settings: Mapping[str, Any], name: str, kind: Any, of_protocol: Any) -> Any:
    text = settings[name]
    if text in (_PROTOCOL, _NONE):
        return of_protocol if text == _PROTOCOL else None
    try:
        return TypeAdapter(kind, config=ConfigDict(allow_inf_nan=False)).validate_python(text)
    except ValidationError:
        raise UsageError(
            f"{name} of the model prompted cannot be {text!r}", "Give a number from 0 on"
        ) from None


@contextmanager
def _in_settings() -> Iterator[None]:
    """Raise errors of an endpoint, which name flags of reviews, in terms of settings."""
    try:
        yield
    except (EndpointError, UsageError) as error:
        kind: type[GoldpanError] = UsageError if isinstance(error, UsageError) else EvaluationError
        if isinstance(error, GivenUpError):
            kind = UnansweredError
        told = [error.problem, error.remedy]
        for at, text in enumerate(told):
            for flag in ("base-url", "max-cost", "model", "batch"):
                text = text.replace(f"--{flag}", flag.replace("-", "_"))
            told[at] = text.replace("the settings file", "a file and set prices=FILE")
        raise kind(*told) from None


def _make(options: Mapping[str, Any]) -> Model:
    settings = model_settings(_NAME, {**RUN_SETTINGS, **REQUEST_SETTINGS}, options, _KINDS)
    method = find_method(settings["method"])
    if not settings["model"]:
        raise UsageError("The model prompted needs the name of a model", "Add --set model=NAME")
    if settings["examples"] == "train" and method.instruct:
        raise UsageError(
            f"{method.name} explains its examples, and train rows have no explanations",
            "Set examples=task, or method=4-shot",
        )
    endpoint_settings(settings, Protocol("", "", "", "none"), "binary", 0)  # fails early

    def fit(context: TrainingContext) -> _Prompted:
        return _Prompted(context, _requests(settings, context))

    def estimate(context: TrainingContext, rows: pa.Table) -> RequestEstimate:
        requests = _requests(settings, context)
        with _open_replies(context, requests, write=False) as store:
            return _planner(store, requests, rows).estimate(CostBudget(requests.asking))

    def task_facts(task: Task) -> Mapping[str, Any]:
        return {"prompt": prompt_digest(task, method), "reading": READING}

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
        tasks="any",
    ),
)


def _requests(settings: Mapping[str, Any], context: TrainingContext) -> Requests:
    """Return the prompts, which is all that fitting makes."""
    task, protocol, seed = context.task, context.protocol, context.seed
    asking = endpoint_settings(settings, protocol, task.type, seed)
    method, wording = find_method(settings["method"]), wording_of(task)
    wanted = method.positive("evaluation")
    if settings["examples"] == "train" and wanted:
        # The row itself may take half of the characters, all examples together the other half.
        most = asking.max_characters // 2 // wanted
        positive = train_examples(wording, context.train, wanted, seed, most)
    else:
        positive = own_examples(wording, task.prompt.examples, wanted, seed)
    if len(positive) < wanted:
        raise UsageError(
            f"{task.name} has {len(positive)} examples in its file, not {wanted}",
            "Add them, or set another method, or examples=train",
        )
    negative = own_examples(wording, task.prompt.negative_examples, method.negative, seed)
    form = settings["structured"]
    if answer_schema(wording) is None or (form == "auto" and not protocol.structured):
        form = "no"
    return Requests(
        Script(wording, method, positive, negative),
        asking,
        structured=form != "no",
        insists=form == "yes",
        longest_label=not protocol.structured,
    )


def archive_of(directory: Path, asking: EndpointSettings) -> Path:
    """Return the directory of the replies of a model at an endpoint."""
    (model,) = asking.models
    address = f"{asking.base_url.rstrip('/')}\n{model}"
    digest = hashlib.sha256(address.encode()).hexdigest()[:8]
    return directory / f"{_NO_WORD.sub('-', model.lower()).strip('-.')[:60]}-{digest}"


def _open_replies(
    context: TrainingContext, requests: Requests, *, write: bool = True
) -> AbstractContextManager[ResponseStore]:
    directory = context.replies or context.directory / "prompts"
    return open_responses(archive_of(directory, requests.asking), "evaluation", write=write)


def _row_dicts(rows: pa.Table) -> Iterator[Mapping[str, Any]]:
    """Yield the rows; memory follows a batch."""
    for batch in rows.to_batches(max_chunksize=_BATCH):
        yield from batch.to_pylist()


def _planner(
    store: ResponseStore, requests: Requests, rows: pa.Table, dialect: Dialect | None = None
) -> Planner[PromptRow, str]:
    return Planner(
        store,
        requests.asking,
        lambda: map(requests.question, _row_dicts(rows)),
        dialect or Dialect(),
    )


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
            planner, tally = _planner(store, requests, rows), _RowTally(requests)
            values = [tally.read(planner.last(requests.question(row))) for row in _row_dicts(rows)]
            tally.require(store)
            tally.add_costs(store, self.context.costs)
        return Answers(values, raw=tally.raw, notes=dict(sorted(tally.notes.items())))


def _ask(store: ResponseStore, requests: Requests, rows: pa.Table, reporter: Reporter) -> Requests:
    """Ask for all rows; the requests that come back know whether by a schema.

    A server that takes none is asked for words: by another prompt, not only without the schema.
    """
    asking, dialect = requests.asking, Dialect((SCHEMA,))
    planner = _planner(store, requests, rows, dialect)
    with _in_settings():
        if requests.structured and not requests.insists:
            if first := planner.first_open():
                one = Planner(store, asking, lambda: [first], dialect)
                (planner if asking.batch else one).ask(_budget(planner, asking), reporter)
            if SCHEMA in dialect.lacks:
                reporter.note(f"{asking.base_url} takes no schema: words are read instead")
                requests = replace(requests, structured=False)
                planner = _planner(store, requests, rows, dialect)
        planner.ask(_budget(planner, asking), reporter)
    return requests


def _budget(planner: Planner[PromptRow, str], asking: EndpointSettings) -> CostBudget:
    """Return what may still be spent after the replies that earlier requests paid for."""
    budget = CostBudget(asking)
    planner.estimate(budget)
    return budget


@dataclass(slots=True)
class _RowTally:
    """Rows by the outcome of their requests, and notes on the answers."""

    requests: Requests
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

    def read(self, attempt: Attempt[PromptRow, str]) -> Answer:
        """Count a row, and return its answer."""
        self.rows += 1
        outcome, requests, wording = attempt.outcome, self.requests, self.requests.script.wording
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
            form = {"structured": requests.structured, "longest": requests.longest_label}
            read = read_answer(wording, attempt.shown, text, **form)
        if not requests.structured and answer_schema(wording) is not None:
            self.notes["without-schema"] += 1
        if attempt.shown.shortened:
            self.notes["text-shortened"] += 1
        if outcome.fields:
            left_out = attempt.request.body.keys() - {*outcome.fields, *LIMITS}
            self.notes.update(f"without-{name}" for name in left_out)
        self.notes.update(filter(None, (outcome.failure, read.note)))
        return read.value

    def require(self, store: ResponseStore) -> None:
        """Raise `UnansweredError` unless every row has an answer, or a failure that would stay.

        A request that the endpoint does not take, or answers with thoughts alone, counts as such a
        failure where others were answered.
        """
        failed = Counter(self.failed)
        for failure in self.failed:
            if self.served and failure[0] in ("bad-request", "malformed"):
                del failed[failure]
        if not failed and not self.missing:
            return
        asking, task = self.requests.asking, self.requests.script.wording.task.name
        answered = self.rows - failed.total() - self.missing
        summary = f"{answered:,} of {self.rows:,} rows of {task} are answered"
        if store.batches(asking.base_url.rstrip("/")):
            raise UnansweredError(
                f"{summary}, batches are under way", "Run the same command later: it collects them"
            )
        if self.missing:
            raise UnansweredError(
                f"{summary}, and max_cost = {asking.max_cost} is not enough for the others",
                "Raise it and run the same command again; nothing is paid for twice",
            )
        worst = min(failed, key=lambda failure: (-failed[failure], failure))
        raise UnansweredError(
            f"{summary}, {count(failed.total(), 'request')} failed "
            f"({': '.join(worst).rstrip('.')})",
            "Run the same command again: it resumes where it stopped",
        )

    def add_costs(self, store: ResponseStore, costs: Costs) -> None:
        """Add what the replies cost, each once."""
        asking = self.requests.asking
        price = asking.prices.get(asking.models[0])
        for key in sorted(self.keys):
            if spent := store.usage(key):
                usage, batch = spent
                self.notes.update(["tokens-estimated"] * usage.estimated)
                costs.input_tokens += usage.input
                costs.output_tokens += usage.output
                costs.money += cost_of(usage, price, batch=batch) if price else 0.0
