"""Settings of a review: a TOML file of its own, overridden by flags.

models = ["gpt-4o", "gpt-4o-mini"]
max_cost = 5.0

[prices."gpt-4o"]       # for a million tokens, in one currency
input = 2.5
output = 10.0
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, get_args, get_origin, get_type_hints
from urllib.parse import urlsplit

from goldpan.annotation.llm.subjects import KINDS
from goldpan.core.errors import UsageError

OPENAI = "https://api.openai.com/v1"


@dataclass(frozen=True, slots=True)
class Price:
    """What a million tokens cost."""

    input: float
    output: float
    cached: float | None = None
    """Of input that the endpoint had in its own cache; None is as other input."""
    batch: float = 0.5
    """The share of the price that the Batch API takes."""


@dataclass(frozen=True, slots=True)
class ReviewSettings:
    """Everything that a review can be told."""

    models: tuple[str, ...]
    """Each judges every subject."""
    base_url: str = OPENAI
    """The root of an OpenAI-compatible endpoint, with its version."""
    api_key: str | None = field(default=None, repr=False)
    """From OPENAI_API_KEY alone."""
    subjects: tuple[str, ...] = ("issue", "pair")
    """The kinds of subjects to review."""
    samples: int = 1
    """How often each model is asked, with seeds that differ; more need a temperature."""
    temperature: float | None = 0.0
    """None leaves it to the endpoint: some models allow no other value."""
    seed: int | None = 0
    """The first sample's seed; None sends none."""
    max_tokens: int = 1_000
    """The most tokens of an answer."""
    limit_parameter: Literal["max_completion_tokens", "max_tokens"] = "max_completion_tokens"
    """The name under which the endpoint knows `max_tokens`."""
    bounded_schema: bool = False
    """Whether the schema limits lengths: for llama.cpp and vLLM; OpenAI refuses it."""
    max_characters: int = 48_000
    """The most characters of a subject's texts; longer ones are cut by the rule."""
    agreement: float = 1.0
    """The share of all votes that the verdict needs; else people decide."""
    confidence: float = 0.0
    """The least confidence of a vote that counts; one below it is unsure."""
    limit: int | None = None
    """Review only so many subjects of each kind and repository, drawn by hash."""
    concurrency: int = 8
    """Requests under way at once."""
    retries: int = 4
    """How often a request is sent again after a rate limit, a server error or a cut."""
    timeout: float = 120.0
    """Seconds without a byte before a request is given up."""
    batch: bool = False
    """Use the Batch API: cheaper, and done within a day."""
    batch_requests: int = 10_000
    """The most requests of one batch; OpenAI allows 50,000."""
    poll_seconds: float = 30.0
    """How long to wait before a batch is asked after again."""
    wait: bool = True
    """Whether to wait for batches; else a later run collects them."""
    max_cost: float | None = None
    """What the review may cost, with what it cost in earlier runs; it stops before."""
    prices: Mapping[str, Price] = field(default_factory=dict)
    """By model."""

    def __post_init__(self) -> None:
        _check(self)


def load_review_settings(
    path: Path | None,
    flags: Mapping[str, object],
    environment: Mapping[str, str] | None = None,
) -> ReviewSettings:
    """Merge a settings file and the flags that are not None; the key is the environment's.

    Raises `UsageError` for an unreadable file, an unknown setting or a bad value.
    """
    environment = os.environ if environment is None else environment
    values = {} if path is None else _read(path)
    values |= {name: value for name, value in flags.items() if value is not None}
    kinds = get_type_hints(ReviewSettings)
    known = [one.name for one in fields(ReviewSettings) if one.name != "api_key"]
    for name in values:
        if name not in known:
            hint = f"It has {', '.join(known)}"
            if "key" in name or "token" in name:
                hint = "Give the key through the environment variable OPENAI_API_KEY alone"
            raise UsageError(f"A review has no setting {name!r}", hint)
    made: dict[str, Any] = {
        name: _prices(value) if name == "prices" else _typed(name, value, kinds[name])
        for name, value in values.items()
    }
    if not made.get("models"):
        raise UsageError("No model is named", "Give --model NAME, or models in the settings file")
    return ReviewSettings(**made, api_key=environment.get("OPENAI_API_KEY") or None)


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}", "Check the file") from None
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path} is not valid TOML: {error}", "Mend it") from None


def _prices(value: object) -> dict[str, Price]:
    if not isinstance(value, Mapping):
        raise UsageError("prices is not a table", 'Write [prices."MODEL"]')
    prices = {}
    for model, given in value.items():
        if isinstance(given, Price):
            prices[str(model)] = given
            continue
        kinds = get_type_hints(Price)
        wrong = not isinstance(given, Mapping) or not {"input", "output"} <= set(given)
        if wrong or not set(given) <= set(kinds):
            raise UsageError(
                f"The price of {model} is not one", "Give input and output, for a million tokens"
            )
        made = {name: _typed(f"prices.{model}.{name}", given[name], kinds[name]) for name in given}
        prices[str(model)] = Price(**made)
    return prices


def _typed(name: str, value: object, kind: object) -> Any:
    """Return a value as the type of its setting."""
    choices = get_args(kind)
    if get_origin(kind) is UnionType or NoneType in choices:
        return None if value is None else _typed(name, value, choices[0])
    if get_origin(kind) is tuple:
        if isinstance(value, (list, tuple)) and all(isinstance(one, str) for one in value):
            return tuple(value)
    elif get_origin(kind) is Literal:
        if value in choices:
            return value
        raise UsageError(f"{name} = {value!r} is unknown", f"Choose {' or '.join(choices)}")
    elif kind is float and isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    elif type(value) is kind:
        return value
    raise UsageError(f"{name} = {value!r} is of the wrong type", "Mend it")


def _check(settings: ReviewSettings) -> None:
    least = {
        "samples": 1,
        "max_tokens": 16,
        "max_characters": 500,
        "concurrency": 1,
        "retries": 0,
        "batch_requests": 1,
        "limit": 0,
        "max_cost": 0,
        "timeout": 0.1,
        "poll_seconds": 0,
    }
    for name, minimum in least.items():
        value = getattr(settings, name)
        if value is not None and not value >= minimum:
            raise UsageError(f"{name} = {value} is too small", f"Give at least {minimum}")
    for name in ("agreement", "confidence"):
        if not 0 <= getattr(settings, name) <= 1:
            raise UsageError(f"{name} = {getattr(settings, name)} is no share", "Give 0 to 1")
    if unknown := [name for name in settings.subjects if name not in KINDS]:
        raise UsageError(f"There is no subject {unknown[0]!r}", f"Choose {' or '.join(KINDS)}")
    if len(set(settings.models)) < len(settings.models):
        raise UsageError("A model is named twice", "Ask one several times with --samples")
    if settings.samples > 1 and settings.temperature == 0:
        raise UsageError(
            "At temperature 0 all samples of a model are the same", "Give --temperature 1"
        )
    if settings.max_cost is not None:
        for model in settings.models:
            if model not in settings.prices:
                raise UsageError(
                    f"--max-cost needs the price of {model}",
                    f'Write [prices."{model}"] with input and output into the settings file',
                )
    if settings.api_key and not re.fullmatch(r"[\x21-\x7e]+", settings.api_key):
        raise UsageError("OPENAI_API_KEY holds a space or a control character", "Mend it")
    _check_url(settings.base_url)


def _check_url(text: str) -> None:
    try:
        url = urlsplit(text)
        valid = url.scheme in ("http", "https") and url.hostname and url.port != 0
    except ValueError:  # a port or an IPv6 address that is none
        valid = None
    if not valid:
        raise UsageError(
            f"--base-url {text} is not a web address", "Write it as http://127.0.0.1:8080/v1"
        )
    if url.username or url.password or url.query:
        raise UsageError(
            "--base-url holds credentials or a query", "Give the key through OPENAI_API_KEY alone"
        )
