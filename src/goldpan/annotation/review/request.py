"""Makes the request that puts a case before a model: the same case gives the same bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from goldpan.annotation.review.answer import answer_schema
from goldpan.annotation.review.item import ReviewItem
from goldpan.annotation.review.prompt import Prompt
from goldpan.annotation.review.settings import ReviewSettings
from goldpan.llm.fence import fence_code, fenced
from goldpan.llm.parts import Part
from goldpan.llm.request import Request
from goldpan.llm.truncate import cut


@dataclass(frozen=True, slots=True)
class Voter:
    """One of those that judge each case: a model, and which sample of it."""

    model: str
    sample: int

    @property
    def name(self) -> str:
        """What people call the voter."""
        return f"{self.model}#{self.sample + 1}" if self.sample else self.model


def voters(settings: ReviewSettings) -> list[Voter]:
    """Return who judges each case."""
    return [Voter(model, sample) for model in settings.models for sample in range(settings.samples)]


def make_request(
    case: ReviewItem, prompt: Prompt, voter: Voter, settings: ReviewSettings, cuts: int
) -> tuple[tuple[str, ...], Request]:
    """Return the texts of a case, halved `cuts` times, and the request that holds them."""
    whole = sum(len(part.text) for part in case.parts)
    most = min(whole, settings.max_characters) >> cuts
    parts = cut(case.parts, most)
    return tuple(part.text for part in parts), _request(parts, prompt, voter, settings)


def _request(
    parts: tuple[Part, ...], prompt: Prompt, voter: Voter, settings: ReviewSettings
) -> Request:
    code = fence_code(parts)
    body: dict[str, Any] = {
        "model": voter.model,
        "messages": [
            {"role": "system", "content": prompt.instructions(code)},
            {"role": "user", "content": fenced(parts, code)},
        ],
        "response_format": {
            "type": "json_schema",
            "json_schema": {
                "name": "answer",
                "strict": True,
                "schema": answer_schema(
                    prompt.reasons,
                    names_reply=prompt.names_reply,
                    bounded=settings.bounded_schema,
                ),
            },
        },
        settings.limit_parameter: settings.max_tokens,
    }
    if settings.temperature is not None:
        body["temperature"] = settings.temperature
    if settings.seed is not None:
        body["seed"] = settings.seed + voter.sample
    return Request(prompt.label, body)
