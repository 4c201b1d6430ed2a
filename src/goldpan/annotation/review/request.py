"""Requests that put a case before a model, and their settings.

Settings stand in a TOML file of their own, overridden by flags:

models = ["gpt-4o", "gpt-4o-mini"]
max_cost = 5.0

[prices."gpt-4o"]       # for a million tokens, in one currency
input = 2.5
output = 10.0
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Annotated, Any, Literal

import jinja2
from annotated_types import Ge, Interval
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from goldpan.annotation.review.quotes import Shown, number_sentences
from goldpan.annotation.review.subjects import KINDS, ReviewItem
from goldpan.core.errors import UsageError
from goldpan.core.plugins.registry import Registry, files_in, unknown_name
from goldpan.core.settings.file import read_toml
from goldpan.llm.answer_text import find_objects
from goldpan.llm.exchange import ModelRequest
from goldpan.llm.parts import cut, fence_code, fenced
from goldpan.llm.settings import EndpointSettings, load_settings


@dataclass(frozen=True, slots=True)
class ReviewSettings(EndpointSettings):
    """The settings of a review; each model judges every subject."""

    subjects: tuple[str, ...] = ("issue", "pair")
    """The kinds of subjects to review."""
    prompts: Mapping[str, str] = field(default_factory=dict)
    """By subject, a plugin's prompt in place of Goldpan's own."""
    evidence: Literal["quotes", "numbers"] = "quotes"
    """What an answer rests on: passages that the model copies, or numbers of sentences, which it
    cannot copy wrongly. Changes of code bear no numbers."""
    bounded_schema: bool = False
    """True for a schema that limits lengths: for llama.cpp and vLLM; OpenAI refuses it."""
    agreement: Annotated[float, Interval(ge=0, le=1)] = 1.0
    """The share of votes that a verdict needs; otherwise people decide."""
    confidence: Annotated[float, Interval(ge=0, le=1)] = 0.0
    """The minimum confidence of a vote; one below it counts as unsure."""
    limit: Annotated[int, Ge(0)] | None = None
    """At most this many subjects of each kind per repository, drawn by hash."""

    def __post_init__(self) -> None:
        super(ReviewSettings, self).__post_init__()  # a class with slots is another by now
        if "discussion" in self.subjects:
            raise UsageError(
                "Models review issues and pairs; the answer to a discussion was accepted by people",
                "Have rows judged with goldpan evaluate labels DATASET --sample 50",
            )
        if unknown := [name for name in self.subjects if name not in KINDS]:
            raise unknown_name("subject", unknown[0], KINDS)
        if unknown := [name for name in self.prompts if name not in KINDS]:
            raise unknown_name("subject", unknown[0], KINDS, where="prompts")


def load_review_settings(
    path: Path | None, flags: Mapping[str, object], environment: Mapping[str, str] | None = None
) -> ReviewSettings:
    """Merge a settings file and the flags that are not None; the key is the environment's.

    Raises `UsageError` for an unreadable file, an unknown setting or a bad value.
    """
    return load_settings(ReviewSettings, "A review", path, flags, environment)


Verdict = Literal["keep", "drop", "unsure"]
_LONGEST_QUOTE = 400
_TENTHS = [tenth / 10 for tenth in range(11)]


class ReviewAnswer(BaseModel):
    """One judgment. Evidence comes first: a model that has quoted judges better."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    evidence: tuple[str, ...] = Field(max_length=20)
    """Passages, or numbers of sentences."""
    reasons: tuple[str, ...] = Field(max_length=20)
    reply: int | None = None
    """The number of the reply that answers, where the prompt asks for it; 0 for none."""
    verdict: Verdict
    confidence: float = Field(ge=0, le=1)

    @field_validator("evidence", mode="before")
    @classmethod
    def _as_texts(cls, value: Any) -> Any:
        """Take numbers for texts."""
        if not isinstance(value, list | tuple):
            return value
        return [str(each) if isinstance(each, int) else each for each in value]


def answer_schema(
    reasons: Collection[str],
    *,
    names_reply: bool = False,
    bounded: bool = False,
    sentences: int = 0,
) -> dict[str, Any]:
    """Return the JSON schema of an answer whose reasons are among these codes.

    `names_reply` adds the number of a reply. `bounded` limits lengths, for servers whose models
    ramble: llama.cpp and vLLM enforce that, OpenAI refuses such a schema. With `sentences` the
    evidence is numbers, up to this one.
    """
    text: dict[str, Any] = {"type": "integer" if sentences else "string"}
    confidence: dict[str, Any] = {"type": "number"}
    evidence: dict[str, Any] = {"type": "array", "items": text}
    codes: dict[str, Any] = {"type": "array", "items": {"type": "string", "enum": sorted(reasons)}}
    if bounded:
        text |= {"minimum": 1, "maximum": sentences} if sentences else {"maxLength": _LONGEST_QUOTE}
        evidence["maxItems"] = codes["maxItems"] = 3
        confidence = {"enum": _TENTHS}
    properties = {
        "evidence": evidence,
        "reasons": codes,
        **({"reply": {"type": "integer"}} if names_reply else {}),
        "verdict": {"type": "string", "enum": ["keep", "drop", "unsure"]},
        "confidence": confidence,
    }
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def parse_answer(text: str, reasons: Collection[str], *, names_reply: bool = False) -> ReviewAnswer:
    """Return the answer in a text, whatever prose stands beside it.

    Raises `ValueError` with the first mistake in one line, and where two answers differ.
    """
    answers: list[ReviewAnswer] = []
    problem = ValueError("there is no JSON object")
    for found in find_objects(text):
        try:
            answers.append(_answer(found, reasons, names_reply=names_reply))
        except ValueError as error:
            problem = error
    if not answers:
        raise problem
    if any(answer != answers[0] for answer in answers):
        raise ValueError("there are several answers, and they differ")
    return answers[0]


def _answer(
    found: Mapping[str, Any], reasons: Collection[str], *, names_reply: bool
) -> ReviewAnswer:
    try:
        answer = ReviewAnswer.model_validate(
            {str(name).strip().casefold(): value for name, value in found.items()}
        )
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(step) for step in first["loc"])
        raise ValueError(f"{where}: {first['msg']}" if where else str(first["msg"])) from None
    if unknown := [code for code in answer.reasons if code not in reasons]:
        raise ValueError(f"reasons: {unknown[0][:40]!r} is not a code of the rubric")
    if names_reply and answer.verdict == "keep" and not answer.reply:
        raise ValueError("reply: the verdict is keep, and no reply is named")
    return answer


# Prompts: a rubric for each, in TOML, and the instructions that they share, a Jinja template.

_PLACE = files("goldpan.annotation.review") / "prompts"
_RUBRICS: Registry[Path | Traversable] = Registry(
    "review prompt", partial(files_in, _PLACE), "review prompt"
)


@dataclass(frozen=True, slots=True)
class ReviewPrompt:
    """The instructions to a model for a case."""

    name: str
    label: str
    """Its name, version and content in one word."""
    reasons: Mapping[str, str]
    """The codes for dropping, with their meanings."""
    names_reply: bool
    """True where the model names the reply that answers, by its number."""
    instructions: Callable[..., str]
    """Returns the system message. `code` marks the fences of the data; with `numbered`, evidence is
    asked for by the numbers of sentences."""


@cache
def load_prompt(name: str) -> ReviewPrompt:
    """Return a prompt that ships with Goldpan or is a plugin's; raises `UsageError`."""
    rubric = read_toml(_RUBRICS.find(name))
    text = (_PLACE / "instructions.jinja").read_text(encoding="utf-8")
    template = jinja2.Template(  # plain text, no HTML
        text, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    values = rubric.values
    digest = hashlib.sha256(f"{rubric.text}\0{text}".encode()).hexdigest()[:12]
    label = f"{name}@{int(values['version'])}-{digest}"
    render = partial(template.render, {"numbered": False, **values})
    return ReviewPrompt(name, label, values["reasons"], "reply" in values, render)


def make_request(
    case: ReviewItem, prompt: ReviewPrompt, model: str, settings: ReviewSettings, cuts: int
) -> tuple[Shown, ModelRequest]:
    """Return the texts of a case, halved `cuts` times, and the request that holds them."""
    whole = sum(len(part.text) for part in case.parts)
    parts = cut(case.parts, min(whole, settings.max_characters) >> cuts)
    texts = tuple(part.text for part in parts)
    sentences: tuple[str, ...] = ()
    if settings.evidence == "numbers":
        parts, sentences = number_sentences(parts)
    code = fence_code(parts)
    schema = answer_schema(
        prompt.reasons,
        names_reply=prompt.names_reply,
        bounded=settings.bounded_schema,
        sentences=len(sentences),
    )
    instructions = prompt.instructions(code=code, numbered=bool(sentences))
    messages = [
        {"role": "system", "content": instructions},
        {"role": "user", "content": fenced(parts, code)},
    ]
    body = settings.body(model, messages, schema)
    return Shown(texts, sentences), ModelRequest(prompt.label, body)
