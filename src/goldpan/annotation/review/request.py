"""Makes the request that puts a case before a model: the same case gives the same bytes."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, partial
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

import jinja2

from goldpan.annotation.review.answer import ReviewItem, answer_schema
from goldpan.annotation.review.settings import ReviewSettings
from goldpan.core.registry import Registry, files_in
from goldpan.core.settings_file import read_toml
from goldpan.llm.parts import Part, cut, fence_code, fenced
from goldpan.llm.request import Request

# Prompts: a rubric for each, in TOML, and the instructions that they share, a Jinja template.

_PLACE = files("goldpan.annotation.review") / "prompts"
_RUBRICS: Registry[Path | Traversable] = Registry(
    "review prompt", partial(files_in, _PLACE), "review prompt"
)


@dataclass(frozen=True, slots=True)
class ReviewPrompt:
    """What a model is told to do with a case."""

    name: str
    version: int
    """Raised with each change of the rubric."""
    reasons: Mapping[str, str]
    """What the codes for dropping mean."""
    names_reply: bool
    """Whether the model names the reply that answers, by its number."""
    digest: str
    """Of rubric and template: a change without a new version is noticed all the same."""
    rubric: Mapping[str, object]
    template: jinja2.Template

    @property
    def label(self) -> str:
        """The prompt's name, version and content in one word."""
        return f"{self.name}@{self.version}-{self.digest}"

    def instructions(self, code: str) -> str:
        """Return the text of the system message; `code` marks the fences of the data."""
        return self.template.render(**self.rubric, code=code)


@cache
def load_prompt(name: str) -> ReviewPrompt:
    """Return a prompt that ships with Goldpan or is a plugin's; raises `UsageError`."""
    rubric = read_toml(_RUBRICS.find(name))
    template = (_PLACE / "instructions.jinja").read_text(encoding="utf-8")
    environment = jinja2.Environment(  # noqa: S701 - plain text, no HTML
        trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    values = rubric.values
    digest = hashlib.sha256(f"{rubric.text}\0{template}".encode()).hexdigest()[:12]
    return ReviewPrompt(
        name,
        int(values["version"]),
        values["reasons"],
        "reply" in values,
        digest,
        values,
        environment.from_string(template),
    )


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
    case: ReviewItem, prompt: ReviewPrompt, voter: Voter, settings: ReviewSettings, cuts: int
) -> tuple[tuple[str, ...], Request]:
    """Return the texts of a case, halved `cuts` times, and the request that holds them."""
    whole = sum(len(part.text) for part in case.parts)
    most = min(whole, settings.max_characters) >> cuts
    parts = cut(case.parts, most)
    return tuple(part.text for part in parts), _request(parts, prompt, voter, settings)


def _request(
    parts: tuple[Part, ...], prompt: ReviewPrompt, voter: Voter, settings: ReviewSettings
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
