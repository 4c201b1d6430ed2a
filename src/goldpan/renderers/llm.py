"""What people see of requests to language models."""

from __future__ import annotations

from collections.abc import Iterator

from goldpan.core.result import Piece, count
from goldpan.llm.budget import RequestEstimate


def requests_and_cost(
    estimate: RequestEstimate, *, prices: str, indent: str = ""
) -> Iterator[Piece]:
    """Yield how many requests go where and their cost; `prices` is what to give for that."""
    tokens = count(estimate.input_tokens, "token")
    yield (
        f"{count(estimate.requests, 'request')} to send, about {tokens}; answered from the "
        f"archive: {estimate.answered:,}"
    )
    yield f"{indent}They go to {estimate.host}, with OPENAI_API_KEY if that is set"
    if estimate.cost is None:
        yield f"{indent}The cost is unknown: give {prices}"
        return
    most = "" if estimate.cost_at_most is None else f", at most {estimate.cost_at_most:,.2f}"
    yield f"{indent}Cost: about {estimate.cost:,.2f}{most}; {estimate.cost_before:,.2f} before"
