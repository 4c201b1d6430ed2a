"""What a model answers: its shape, which the endpoint enforces, and whether its quotes hold."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from goldpan.filters.repo_view import RepoView
from goldpan.llm.parts import Part

# What is put before a model: a subject's name and its texts.

ReviewSubject = Literal["issue", "pair", "label"]
"""What the filters judge, and the labels of classification examples."""


@dataclass(frozen=True, slots=True)
class ReviewItem:
    """A subject as a model sees it."""

    repo: str
    subject: ReviewSubject
    issue: int | None = None
    pull_repo: str | None = None
    pull: int | None = None
    parts: tuple[Part, ...] = ()
    obstacle: str | None = None
    """Why nobody needs to be asked: the texts to judge by are not there."""
    example: str | None = None
    """The id of the example whose label is judged."""
    suspicions: tuple[str, ...] = ()
    """What looks like an attempt to steer the model, a line each."""
    comment_ids: tuple[int, ...] = ()
    """Of all replies, in the order of their numbers; models name replies by number."""

    def plain(self) -> dict[str, Any]:
        """Return the case as plain data; `from_plain` is the way back."""
        return asdict(self)

    @classmethod
    def from_plain(cls, data: dict[str, Any]) -> ReviewItem:
        """Return the case that `plain` gave."""
        parts = tuple(Part(**part) for part in data["parts"])
        lists = {name: tuple(data[name]) for name in ("suspicions", "comment_ids")}
        return cls(**{**data, "parts": parts, **lists})


@dataclass(frozen=True, slots=True)
class SubjectKind:
    """A kind of subject that models can review; each is one file in `subjects/`."""

    subject: Literal["issue", "pair"]
    prompt: str
    """The name of its prompt, which is the criterion's name in the verdicts."""
    required: tuple[str, ...]
    """Criteria that a subject has to pass, whether or not the profile lets them decide."""
    read: Callable[[RepoView], Iterator[ReviewItem]]
    """Yields a case for each row of the view `kept`: issue, pull_repo, pull."""


Verdict = Literal["keep", "drop", "unsure"]
_LONGEST_QUOTE = 400
_TENTHS = [tenth / 10 for tenth in range(11)]


class Answer(BaseModel):
    """One judgement. Evidence comes first: a model that has quoted judges better."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    evidence: tuple[str, ...] = Field(max_length=20)
    reasons: tuple[str, ...] = Field(max_length=20)
    reply: int | None = None
    """The number of the reply that answers, where the prompt asks for it; 0 for none."""
    verdict: Verdict
    confidence: float = Field(ge=0, le=1)


def answer_schema(
    reasons: Collection[str], *, names_reply: bool = False, bounded: bool = False
) -> dict[str, Any]:
    """Return the JSON schema of an answer whose reasons are among these codes.

    `names_reply` asks for the number of a reply too.
    `bounded` limits lengths too, for servers whose models ramble: llama.cpp and vLLM enforce
    that, OpenAI refuses such a schema.
    """
    text: dict[str, Any] = {"type": "string"}
    confidence: dict[str, Any] = {"type": "number"}
    evidence: dict[str, Any] = {"type": "array", "items": text}
    codes: dict[str, Any] = {"type": "array", "items": {"type": "string", "enum": sorted(reasons)}}
    if bounded:
        text["maxLength"] = _LONGEST_QUOTE
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


def parse_answer(text: str, reasons: Collection[str], *, names_reply: bool = False) -> Answer:
    """Read an answer; raises `ValueError` that says in one line what is wrong with it."""
    try:
        answer = Answer.model_validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(step) for step in first["loc"])
        raise ValueError(f"{where}: {first['msg']}" if where else str(first["msg"])) from None
    if unknown := [code for code in answer.reasons if code not in reasons]:
        raise ValueError(f"reasons: {unknown[0][:40]!r} is not a code of the rubric")
    if names_reply and answer.verdict == "keep" and not answer.reply:
        raise ValueError("reply: the verdict is keep, and no reply is named")
    return answer


def missing_quotes(quotes: Sequence[str], texts: Sequence[str]) -> list[str]:
    """Return the quotes that stand in no text, white space aside; an empty one stands in none."""
    normal = [_spaced(text) for text in texts]
    return [
        quote
        for quote in quotes
        if not _spaced(quote) or not any(_spaced(quote) in text for text in normal)
    ]


def _spaced(text: str) -> str:
    return " ".join(text.split())
