"""Asks the questions that the response store does not answer, within a budget.

Each step goes through the questions anew, so memory follows the question, and a run that goes on
does exactly what a run does that starts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar
from urllib.parse import urlsplit

from goldpan.core.sanitize import line
from goldpan.core.terminal import Reporter
from goldpan.llm.answer_text import without_thoughts
from goldpan.llm.budget import BYTES_A_TOKEN, CostBudget, RequestEstimate
from goldpan.llm.dialect import Dialect
from goldpan.llm.endpoint import connect
from goldpan.llm.exchange import ModelRequest, RequestOutcome, answer_to
from goldpan.llm.response_store import ResponseStore
from goldpan.llm.sending import Asker, Batcher
from goldpan.llm.settings import EndpointSettings

ShownT = TypeVar("ShownT")
AnswerT = TypeVar("AnswerT")
CUTS = 4
"""How often a question is tried: whole, and each time with half the characters of before."""


@dataclass(frozen=True, slots=True)
class Question(Generic[ShownT, AnswerT]):
    """A question to one model about one thing."""

    make: Callable[[int], tuple[ShownT, ModelRequest]]
    """Returns what the model sees with the texts halved so many times, and the request."""
    read: Callable[[str], AnswerT]
    """Makes an answer of the model's text; raises `ValueError` where it is none."""
    complain: Callable[[ShownT, AnswerT], str | None] | None = None
    """Returns what is wrong with an answer to what the model saw. With it, a model is asked once
    more where its reply is no answer or a wrong one, and told why; without it never."""


@dataclass(frozen=True, slots=True)
class Attempt(Generic[ShownT, AnswerT]):
    """The last request that was or is to be sent for a question, and its outcome."""

    shown: ShownT
    request: ModelRequest
    outcome: RequestOutcome[AnswerT] | None
    """None where it was not asked."""
    before: ModelRequest | None = None
    """The request whose reply could not stand, where this one asks once more."""


@dataclass
class Planner(Generic[ShownT, AnswerT]):
    """Asks questions, of which the store may answer some."""

    store: ResponseStore
    settings: EndpointSettings
    questions: Callable[[], Iterable[Question[ShownT, AnswerT]]]
    dialect: Dialect = field(default_factory=Dialect)

    def last(self, question: Question[ShownT, AnswerT]) -> Attempt[ShownT, AnswerT]:
        """Return how far a question came: texts that do not fit are cut for the next request."""
        for cuts in range(CUTS):
            shown, request = question.make(cuts)
            outcome = self._outcome(request, question)
            if outcome is None or outcome.failure != "context-overflow":
                break
        first = Attempt(shown, request, outcome)
        problem = _problem(question, first)
        if outcome is None or problem is None:
            return first
        again = _asked_again(request, outcome.text, problem)
        second = self._outcome(again, question)
        if second and second.failure in ("context-overflow", "bad-request", "server-error"):
            return first  # whose reply is there
        return Attempt(shown, again, second, before=request)

    def _outcome(
        self, request: ModelRequest, question: Question[ShownT, AnswerT]
    ) -> RequestOutcome[AnswerT] | None:
        reply, name = self.store.reply(request.key), self.settings.answers_as
        return None if reply is None else answer_to(request, reply, question.read, name)

    def first_open(self) -> Question[ShownT, AnswerT] | None:
        """Return the first question that the store does not answer."""
        open_ones = (each for each in self.questions() if self.last(each).outcome is None)
        return next(open_ones, None)

    def estimate(self, budget: CostBudget) -> RequestEstimate:
        """Count requests by whether the store answers them, and budget the cost of answers."""
        answered: set[str] = set()
        missing: set[str] = set()
        tokens = 0
        expected = at_most = 0.0
        for question in self.questions():
            attempt = self.last(question)
            if attempt.before is not None:
                self._count(attempt.before, answered, budget)
            request = attempt.request
            if attempt.outcome is None and request.key not in missing:
                missing.add(request.key)
                tokens += len(request.data) // BYTES_A_TOKEN
                expected += budget.expected(request)
                at_most += budget.most(request)
            else:
                self._count(request, answered, budget)
        priced = all(model in self.settings.prices for model in self.settings.models)
        return RequestEstimate(
            len(missing),
            len(answered),
            tokens,
            expected if priced else None,
            at_most if priced else None,
            budget.paid_before,
            urlsplit(self.settings.base_url).netloc,
        )

    def _count(self, request: ModelRequest, answered: set[str], budget: CostBudget) -> None:
        """Count a request that the store answers, once."""
        usage = self.store.usage(request.key)
        if usage and request.key not in answered:
            answered.add(request.key)
            budget.add(request.model, usage[0], batch=usage[1], before=True)

    def ask(self, budget: CostBudget, reporter: Reporter) -> tuple[int, bool]:
        """Ask the open questions, in rounds: a text that was too long is cut.

        Returns how many requests were sent, and whether nothing is left to ask: else money ran out
        or a batch is under way.
        Raises `EndpointError` where the endpoint serves nobody; what was answered until then is
        kept and not asked again.
        """
        count = sum(1 for _ in self._open())
        if not count:
            return 0, True
        settings, store, known = self.settings, self.store, self.dialect.left_out
        with reporter.task("requests", count) as task, connect(settings, self.dialect) as endpoint:
            rest = (endpoint, store, budget, settings, task.advance, reporter.note)
            batcher = Batcher(*rest)
            sender = batcher if settings.batch else Asker(*rest)
            while True:
                before = sender.sent
                keys = {request.key for request in self._open()}
                task.extend(max(0, task.done + len(keys) - task.total))  # what is asked once more
                ready = batcher.take_up(keys)
                enough = ready and sender.ask(self._open())
                # What a batch really cost may leave room for another one.
                if sender.sent == before or not (enough or (settings.batch and settings.wait)):
                    break
        if new := self.dialect.left_out - known:
            reporter.note(f"{settings.base_url} does not take {', '.join(sorted(new))}")
        return sender.sent, enough

    def _open(self) -> Iterator[ModelRequest]:
        """Yield the requests that are still to be sent, each once."""
        seen: set[str] = set()
        for question in self.questions():
            attempt = self.last(question)
            if attempt.outcome is None and attempt.request.key not in seen:
                seen.add(attempt.request.key)
                yield attempt.request


def _problem(question: Question[ShownT, AnswerT], attempt: Attempt[ShownT, AnswerT]) -> str | None:
    """Return what a model is to be told of its reply, None where the reply can stand."""
    outcome = attempt.outcome
    if question.complain is None or outcome is None:
        return None
    if outcome.answer is None:
        return outcome.problem or None
    return question.complain(attempt.shown, outcome.answer)


_LONGEST = 4_000
"""Characters of a reply that is shown to its model again."""


def _asked_again(request: ModelRequest, text: str, problem: str) -> ModelRequest:
    """Return the request again, with the reply to it and what was wrong with that."""
    told = f"That is no answer: {line(problem, 300)}. Answer again, with the JSON object alone."
    messages = [
        *request.body["messages"],
        {"role": "assistant", "content": without_thoughts(text)[:_LONGEST] or "(nothing)"},
        {"role": "user", "content": told},
    ]
    return ModelRequest(request.prompt, {**request.body, "messages": messages})
