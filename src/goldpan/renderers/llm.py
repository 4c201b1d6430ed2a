"""What people see of requests to language models."""

from __future__ import annotations

from collections.abc import Iterator

from goldpan.core.result import Block, Line, count
from goldpan.llm.budget import RequestEstimate


def requests_and_cost(
    estimate: RequestEstimate, *, prices: str, indent: str = ""
) -> Iterator[Block]:
    """Yield how many requests go where and their cost; `prices` is what to give for that."""
    yield Line(
        f"{count(estimate.requests, 'request')} to send, about "
        f"{count(estimate.input_tokens, 'token')}; answered from the archive: "
        f"{estimate.answered:,}"
    )
    yield Line(f"{indent}They go to {estimate.host}, with OPENAI_API_KEY if that is set")
    if estimate.cost is None:
        yield Line(f"{indent}The cost is unknown: give {prices}")
        return
    most = "" if estimate.cost_at_most is None else f", at most {estimate.cost_at_most:,.2f}"
    cost = f"about {estimate.cost:,.2f}{most}; {estimate.cost_before:,.2f} before"
    yield Line(f"{indent}Cost: {cost}")
