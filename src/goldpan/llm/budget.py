"""Counts tokens and money, and stops before asking costs more than it may."""

from __future__ import annotations

from dataclasses import dataclass

from goldpan.llm.exchange import ModelRequest, Usage
from goldpan.llm.settings import EndpointSettings, Price

_MILLION = 1_000_000
BYTES_A_TOKEN = 4
"""Average for English and code, about."""
ANSWER_TOKENS = 250
"""Tokens of an answer, about."""
_OVERHEAD = 256
"""Tokens that a chat format may add to a request."""


@dataclass(frozen=True, slots=True)
class RequestEstimate:
    """The requests and costs of asking, before anything is sent."""

    requests: int
    """Still to be sent."""
    answered: int
    """Paid for before, at no cost now."""
    input_tokens: int
    """Expected, from the characters: about four a token."""
    cost: float | None
    """Expected; None where the price is not known."""
    cost_at_most: float | None
    """Whatever the texts are: a token for each byte."""
    cost_before: float
    """Cost of the requests that are answered already."""
    host: str
    """The server that gets the requests, and OPENAI_API_KEY where that is set."""


def cost_of(usage: Usage, price: Price, *, batch: bool) -> float:
    """Return the cost of a reply."""
    cached = min(usage.cached, usage.input)
    cached_price = price.input if price.cached is None else price.cached
    full = (
        (usage.input - cached) * price.input + cached * cached_price + usage.output * price.output
    )
    return full / _MILLION * (price.batch if batch else 1)


class CostBudget:
    """The costs of asking: of this run, and of earlier replies that it uses."""

    def __init__(self, settings: EndpointSettings) -> None:
        self._settings = settings
        self._reserved: dict[str, float] = {}
        self._set_aside = 0.0
        self.usage = Usage()
        """Tokens of this run."""
        self.paid = 0.0
        """Money of this run, as far as prices are known."""
        self.paid_before = 0.0
        """Money of replies that earlier runs paid for and this one uses."""

    def add(self, model: str, usage: Usage, *, batch: bool, before: bool = False) -> None:
        """Count a reply, of this run or of one before."""
        price = self._settings.prices.get(model)
        cost = cost_of(usage, price, batch=batch) if price else 0.0
        if before:
            self.paid_before += cost
            return
        self.paid += cost
        self.usage = Usage(
            self.usage.input + usage.input,
            self.usage.output + usage.output,
            self.usage.cached + usage.cached,
            self.usage.estimated or usage.estimated,
        )

    def most(self, request: ModelRequest) -> float:
        """Return the most that a request can cost: a token is at least one byte."""
        return self._cost(request, len(request.data) + _OVERHEAD, self._settings.max_tokens)

    def expected(self, request: ModelRequest) -> float:
        """Return the probable cost of a request."""
        answer = min(ANSWER_TOKENS, self._settings.max_tokens)
        return self._cost(request, len(request.data) // BYTES_A_TOKEN, answer)

    def _cost(self, request: ModelRequest, inputs: int, outputs: int) -> float:
        price = self._settings.prices.get(request.model)
        if price is None:
            return 0.0
        return cost_of(Usage(inputs, outputs), price, batch=self._settings.batch)

    def admits(self, request: ModelRequest) -> bool:
        """Tell whether the limit holds whatever the request costs."""
        limit = self._settings.max_cost
        if limit is None:
            return True
        spent = self.paid + self.paid_before + self._set_aside
        return spent + self.most(request) <= limit

    def reserve(self, request: ModelRequest) -> None:
        """Set aside what a request can cost, until it is settled."""
        self._reserved[request.key] = self.most(request)
        self._set_aside += self._reserved[request.key]

    def settle(self, key: str, model: str, usage: Usage, *, batch: bool) -> None:
        """Count the cost of a request instead of the sum that was set aside for it."""
        self.release(key)
        self.add(model, usage, batch=batch)

    def release(self, key: str) -> None:
        """Set nothing aside any more for a request."""
        self._set_aside -= self._reserved.pop(key, 0.0)
        if not self._reserved:  # rounding does not add up over a run
            self._set_aside = 0.0
