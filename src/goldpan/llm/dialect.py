"""What an endpoint does not take of a request, as it says itself: then it is asked without that.

OpenAI and Azure name the parameter in a field of the error or in its words, Mistral and vLLM in the
place of a mistake, Gemini as a name that is unknown. Only what a sentence calls unsupported is left
out, so a value that is out of range stays the user's mistake.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

import orjson

LIMITS = ("max_completion_tokens", "max_tokens")
SCHEMA = "response_format"
_NAMES: Mapping[str, str] = {
    "temperature": r"\btemperature\b",
    "seed": r"\bseed\b",
    SCHEMA: r"response[ _-]?(?:format|schema|json)|json[ _-]?(?:schema|mode|output)|structured out"
    r"|\bgrammar\b|additionalproperties|guided decoding",
    **{name: rf"\b{name}\b" for name in LIMITS},
}
_REFUSED = re.compile(
    r"unsupported|(?:\bnot?|n't|cannot|never)\s(?:\w+\s){0,2}?(?:support|permitted|allowed|accept"
    r"|available|recognized|implemented|enabled)|only\s(?:the\s)?default|only\s[\d.]+\s(?:is|are)\b"
    r"|unrecognized|unknown|unexpected|unavailable|deprecated|forbidden|cannot find field"
    r"|failed to parse grammar|incompatible|disabled|(?:may|can)\sonly\sbe|invalid\sjson\sschema"
    r"|conversion\sfailed|不支持",
    re.IGNORECASE,
)
_SENTENCES = re.compile(r"(?<=[.;!])\s+|\n")
_LONGEST = 4_000


def message_of(error: Mapping[str, Any]) -> str:
    """Return the words of an error, with those that OpenRouter passes on of a provider."""
    message = error.get("message") or error.get("detail") or error.get("errors")
    metadata = error.get("metadata")
    passed_on = metadata.get("raw") if isinstance(metadata, dict) else None
    texts = (
        text if isinstance(text, str) else orjson.dumps(text).decode()
        for text in (message, passed_on)
        if text
    )
    return " ".join(texts)


def named_parameters(error: object, sent: Mapping[str, Any]) -> frozenset[str]:
    """Return the parameters of a request of which an error says that they are not taken."""
    told = error if isinstance(error, dict) else {"message": error}
    model = rf"(?<!\w){re.escape(str(sent.get('model')))}(?!\w)"
    text = re.sub(model, "", message_of(told))[:_LONGEST]
    codes = f"{told.get('code')} {told.get('type')}"
    refused = [part for part in _SENTENCES.split(text) if _REFUSED.search(part)]
    if not refused and _REFUSED.search(codes):
        refused = [text]
    parameter = str(told.get("param")).partition(".")[0]
    if refused and parameter in _NAMES:
        return frozenset({parameter} & sent.keys())
    named = {
        name
        for name in _NAMES.keys() & sent.keys()
        if any(re.search(_NAMES[name], part, re.IGNORECASE) for part in refused)
    }
    return frozenset(named)


class Dialect:
    """The parameters that an endpoint was found not to take; shared by threads."""

    def __init__(self, required: Collection[str] = ()) -> None:
        self._required = frozenset(required)
        self.lacks: frozenset[str] = frozenset()

    @property
    def left_out(self) -> frozenset[str]:
        """What is left out of requests."""
        return self.lacks - self._required

    def learn(self, named: frozenset[str]) -> bool:
        """Remember parameters that are not taken; False where one is required."""
        self.lacks |= named
        return bool(named) and not named & self._required and not self.lacks.issuperset(LIMITS)

    def spoken(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return a request without what the endpoint does not take.

        The limit of tokens goes by its other name, and a schema is told in words.
        """
        lacks = self.left_out
        if not lacks & body.keys():
            return dict(body)
        spoken = {name: value for name, value in body.items() if name not in lacks}
        for name, other in (LIMITS, LIMITS[::-1]):
            if name in lacks & body.keys() and other not in lacks:
                spoken[other] = body[name]
        if SCHEMA in lacks & body.keys():
            schema = orjson.dumps(body[SCHEMA]["json_schema"]["schema"]).decode()
            first, *others = body["messages"]
            told = f"{first['content']}\n\nAnswer with one JSON object of this schema: {schema}"
            spoken["messages"] = [{**first, "content": told}, *others]
        return spoken
