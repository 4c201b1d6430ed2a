"""Examines an endpoint before a long run does: model, context, schema, thoughts, speed.

Three small requests are sent. Nothing is stored.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

from goldpan.core.errors import GoldpanError
from goldpan.core.result import count
from goldpan.core.sanitize import line
from goldpan.core.secrets import mask
from goldpan.llm.answer_text import find_objects, without_thoughts
from goldpan.llm.body import read_json
from goldpan.llm.budget import BYTES_A_TOKEN
from goldpan.llm.dialect import SCHEMA, Dialect
from goldpan.llm.endpoint import Endpoint, connect
from goldpan.llm.exchange import EndpointError, ModelRequest, RequestOutcome, answer_to, same_model
from goldpan.llm.settings import EndpointSettings

Outcome = RequestOutcome[str]


class Finding(NamedTuple):
    """One thing that was found."""

    name: str
    level: Literal["ok", "note", "fail"]
    message: str
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class EndpointCheck:
    """What was found, and how fast the model is."""

    findings: tuple[Finding, ...]
    model: str = ""
    """The model that was asked."""
    input_rate: float = 0.0
    """Tokens of a request that are read a second; 0 where nothing was answered."""
    output_rate: float = 0.0
    """Tokens of an answer that are written a second."""

    def seconds(self, requests: int, input_tokens: int, answer_tokens: int) -> float:
        """Return how long requests take one after the other."""
        return input_tokens / self.input_rate + requests * answer_tokens / self.output_rate


def examine_endpoint(settings: EndpointSettings) -> EndpointCheck:
    """Ask an endpoint what it serves, and its model three short questions.

    Of several models `settings` names one. Raises `UsageError` where the endpoint needs a key.
    """
    with connect(settings, Dialect()) as endpoint:
        try:
            return _examine(endpoint, settings)
        except GoldpanError as error:
            return EndpointCheck((Finding("Endpoint", "fail", error.problem, error.remedy),))


def _examine(endpoint: Endpoint, settings: EndpointSettings) -> EndpointCheck:
    listed = _get(endpoint, "/models").get("data")
    entries = [
        entry
        for entry in (listed if isinstance(listed, list) else [])
        if isinstance(entry, dict) and entry.get("id")
    ]
    serves = _serves([line(str(entry["id"]), 100) for entry in entries])
    findings = [Finding("Endpoint", "ok", f"{endpoint.base_url} {serves}")]
    if not settings.models and len(entries) != 1:
        raise EndpointError(f"{settings.base_url} {serves}", "Choose one with --model")
    model = settings.models[0] if settings.models else str(entries[0]["id"])
    known = [entry for entry in entries if same_model(model, str(entry["id"]))]
    if entries and not known:
        findings.append(Finding("Model", "note", f"{model} is not among those it lists"))
    examined = _Examined(endpoint, settings, model, _context(endpoint, known[0] if known else {}))
    findings += examined.form()
    input_rate, output_rate = examined.speed()
    return EndpointCheck((*findings, *examined.findings), model, input_rate, output_rate)


def _get(endpoint: Endpoint, path: str) -> dict[str, Any]:
    """Return the object at an address, empty where there is none."""
    import httpx2
    import openai

    try:
        found = read_json(endpoint.client.get(path, cast_to=httpx2.Response).content)
    except openai.APIStatusError as error:
        if error.status_code in (401, 403):
            raise endpoint.failure(error) from None
        return {}
    except openai.APIConnectionError as error:
        reason = line(mask(str(error.__cause__ or error)))
        problem = f"{endpoint.base_url} does not answer ({reason})"
        raise EndpointError(problem, "Check --base-url, and that the server is up") from None
    return found if isinstance(found, dict) else {}


def _serves(names: list[str]) -> str:
    if not names:
        return "answers, and lists no models"
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return f"serves {', '.join(names[:5])}{more}"


_CONTEXT = ("max_model_len", "context_length", "context_window", "max_context_length", "n_ctx")


def _context(endpoint: Endpoint, entry: Mapping[str, Any]) -> int | None:
    """Return how many tokens a request and its answer may have, as vLLM, llama.cpp or others say.

    None where the endpoint does not tell.
    """

    def places() -> Iterator[Any]:
        yield from (entry, entry.get("meta"))
        props = _get(endpoint, f"{endpoint.base_url.removesuffix('/v1')}/props")
        yield props.get("default_generation_settings")

    values = (place.get(name) for place in places() if isinstance(place, dict) for name in _CONTEXT)
    return next((value for value in values if isinstance(value, int) and value > 0), None)


_LABELS = ["keep", "drop"]
_SCHEMA = {
    "type": "object",
    "properties": {"verdict": {"type": "string", "enum": _LABELS}},
    "required": ["verdict"],
    "additionalProperties": False,
}
_FEW, _MANY = 400, 4_500
"""Words of a text: of a short one, and of one that is longer than the context of many servers."""
_WORDS = (
    "pump valve seam bolt river dam gate sluice water stone wheel mill paper index branch commit"
)
_INSTRUCTIONS = 1_000
"""Tokens beside the texts of a request, about."""


@dataclass
class _Examined:
    """A model that is asked short questions."""

    endpoint: Endpoint
    settings: EndpointSettings
    model: str
    context: int | None
    findings: list[Finding] = field(default_factory=list)

    def ask(self, text: str, tokens: int, schema: object = None) -> tuple[float, Outcome]:
        """Return how long an answer took and what it says; raises `EndpointError` without one."""
        asked = replace(self.settings, max_tokens=tokens, seed=None)
        body = asked.body(self.model, [{"role": "user", "content": text}], schema)
        request = ModelRequest("check", body)
        reply = self.endpoint.ask(request)
        outcome = answer_to(request, reply, str, self.settings.answers_as)
        if not outcome.final:
            raise EndpointError(
                f"{self.endpoint.base_url} does not answer for {self.model} ({outcome.failure}: "
                f"{outcome.detail.rstrip('.') or 'no answer'})",
                "Check --base-url, --model and the settings",
            )
        return reply.seconds, outcome

    def form(self) -> Iterator[Finding]:
        """Ask for a word outside a schema: who keeps to the schema answers otherwise."""
        _, outcome = self.ask("Greet me in one word.", 512, _SCHEMA)
        lacks = self.endpoint.dialect.left_out
        objects = find_objects(without_thoughts(outcome.text))
        if SCHEMA in lacks:
            yield Finding(
                "Schema", "note", "not supported: the answer format is described in words"
            )
        elif any(each.keys() == {"verdict"} and each["verdict"] in _LABELS for each in objects):
            yield Finding("Schema", "ok", "answers follow it")
        else:
            text = line(outcome.text, 60) or "nothing"
            yield Finding("Schema", "note", f"not followed: it says {text}", "Read them with care")
        if others := sorted(lacks - {SCHEMA}):
            yield Finding("Parameters", "note", f"it does not take {', '.join(others)}")
        if outcome.thoughts or without_thoughts(outcome.text) != outcome.text:
            told = f"it thinks before it answers, in {outcome.thoughts or 'its text'}"
            yield Finding("Thoughts", "note", told, "Raise max_tokens, to 8000 say")
        else:
            yield Finding("Thoughts", "ok", "none")
        if not outcome.usage.input:
            yield Finding("Tokens", "note", "not counted: Goldpan estimates them from characters")

    def speed(self) -> tuple[float, float]:
        """Let the model write and read for some seconds; return tokens a second of both."""
        took, outcome = self.ask("Count from 1 to 100, in words.", 128)
        written = outcome.usage.output or len(outcome.text) / BYTES_A_TOKEN or 1
        output_rate = written / max(took, 1e-6)
        words = random.choices(_WORDS.split(), k=_FEW if self.context else _MANY)  # noqa: S311
        text = f"{' '.join(words)}\nWhich word came last?"
        took, outcome = self.ask(text, 16)
        read = outcome.usage.input or len(text) / BYTES_A_TOKEN
        input_rate = read / max(took - outcome.usage.output / output_rate, took / 10, 1e-6)
        told = f"{input_rate:,.0f} tokens a second read, {output_rate:,.0f} written"
        speed = Finding("Speed", "ok", f"{told}, one request at a time")
        self.findings += self._room(outcome), speed
        return input_rate, output_rate

    def _room(self, outcome: Outcome) -> Finding:
        """Return whether the longest texts fit."""
        if self.context is None:
            if outcome.failure == "context-overflow":
                remedy = "Raise the context of the server, or lower max_characters"
                return Finding("Context", "note", outcome.detail, remedy)
            return Finding("Context", "ok", f"not told; {count(outcome.usage.input, 'token')} fit")
        beside = _INSTRUCTIONS + self.settings.max_tokens
        message = count(self.context, "token")
        if self.context >= self.settings.max_characters // BYTES_A_TOKEN + beside:
            return Finding("Context", "ok", message)
        most = max(0, self.context - beside) * BYTES_A_TOKEN
        told = f"{message}: longer texts are cut until they fit"
        return Finding("Context", "note", told, f"Set max_characters={most} to cut them at once")
