"""Makes the request that puts a case before a model: the same case gives the same bytes."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import orjson

from goldpan.annotation.llm.answer import answer_schema
from goldpan.annotation.llm.fence import fence_code, fenced
from goldpan.annotation.llm.prompt import Prompt
from goldpan.annotation.llm.review_item import Part, ReviewItem
from goldpan.annotation.llm.settings import ReviewSettings
from goldpan.annotation.llm.truncate import cut

CUTS = 4
"""How often a case is tried: whole, and each time with half the characters of the time before."""


@dataclass(frozen=True, slots=True)
class Voter:
    """One of those that judge each case: a model, and which sample of it."""

    model: str
    sample: int

    @property
    def name(self) -> str:
        """What people call the voter."""
        return f"{self.model}#{self.sample + 1}" if self.sample else self.model


@dataclass(frozen=True)
class Request:
    """What is sent to the endpoint."""

    prompt: str
    """The prompt's label."""
    body: dict[str, Any]
    texts: tuple[str, ...]
    """The texts as the model sees them."""

    @cached_property
    def data(self) -> bytes:
        """The body as it is archived."""
        return orjson.dumps(self.body, option=orjson.OPT_SORT_KEYS)

    @cached_property
    def key(self) -> str:
        """What tells requests apart: prompt, model, parameters and texts."""
        return hashlib.sha256(self.prompt.encode() + b"\0" + self.data).hexdigest()

    @property
    def model(self) -> str:
        """The model that is asked."""
        return str(self.body["model"])


def voters(settings: ReviewSettings) -> list[Voter]:
    """Return who judges each case."""
    return [Voter(model, sample) for model in settings.models for sample in range(settings.samples)]


def make_request(
    case: ReviewItem, prompt: Prompt, voter: Voter, settings: ReviewSettings, cuts: int
) -> Request:
    """Return the request for a case, its texts halved `cuts` times."""
    whole = sum(len(part.text) for part in case.parts)
    most = min(whole, settings.max_characters) >> cuts
    return _request(cut(case.parts, most), prompt, voter, settings)


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
                "schema": answer_schema(prompt.reasons, bounded=settings.bounded_schema),
            },
        },
        settings.limit_parameter: settings.max_tokens,
    }
    if settings.temperature is not None:
        body["temperature"] = settings.temperature
    if settings.seed is not None:
        body["seed"] = settings.seed + voter.sample
    return Request(prompt.label, body, tuple(part.text for part in parts))
