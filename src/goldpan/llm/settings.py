"""Settings of an endpoint: which models are asked, how, and at which cost."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from annotated_types import Ge

from goldpan.core.errors import UsageError, refuse_empty
from goldpan.core.settings.file import Source, check_address, read_toml

OPENAI = "https://api.openai.com/v1"


@dataclass(frozen=True, slots=True)
class Price:
    """The price of a million tokens."""

    input: float
    output: float
    cached: float | None = None
    """The price of input in the endpoint's own cache; None for that of other input."""
    batch: float = 0.5
    """The share of the price that the Batch API takes."""


@dataclass(frozen=True, slots=True)
class EndpointSettings:
    """The settings for asking models behind an endpoint."""

    models: tuple[str, ...]
    base_url: str = OPENAI
    """The root of an OpenAI-compatible endpoint, with its version."""
    api_key: str | None = field(default=None, repr=False)
    """From OPENAI_API_KEY alone."""
    temperature: float | None = 0.0
    """None uses the endpoint's default: some models allow no other value."""
    seed: int | None = 0
    """None sends none."""
    max_tokens: Annotated[int, Ge(16)] = 1_000
    """The most tokens of an answer."""
    limit_parameter: Literal["max_completion_tokens", "max_tokens"] = "max_completion_tokens"
    """The name under which the endpoint knows `max_tokens`."""
    answers_as: str = ""
    """The name under which the endpoint answers for the model, such as that behind a deployment;
    ``any`` takes every name. Otherwise answers of other models do not count."""
    max_characters: Annotated[int, Ge(500)] = 48_000
    """The most characters of the texts of a request; longer ones are cut by the rule."""
    concurrency: Annotated[int, Ge(1)] = 8
    """How many requests to send at once."""
    retries: Annotated[int, Ge(0)] = 4
    """How often a request is repeated after a rate limit, a server error or a broken connection."""
    timeout: Annotated[float, Ge(0.1)] = 120.0
    """Seconds without a byte before a request is given up."""
    batch: bool = False
    """Use the Batch API: cheaper, and done within a day."""
    batch_requests: Annotated[int, Ge(1)] = 10_000
    """The most requests of one batch; OpenAI allows 50,000."""
    poll_seconds: Annotated[float, Ge(0)] = 30.0
    """Seconds between queries of a batch's state."""
    wait: bool = True
    """Wait for batches; otherwise a later run collects them."""
    max_cost: Annotated[float, Ge(0)] | None = None
    """The most that all requests may cost, including earlier runs; stops before exceeding it."""
    prices: Mapping[str, Price] = field(default_factory=dict)
    """By model."""

    def __post_init__(self) -> None:
        """Raise `UsageError` for settings that no endpoint can be asked with."""
        if len(set(self.models)) < len(self.models):
            raise UsageError("A model is named twice", "Name each once")
        for model in self.models if self.max_cost is not None else ():
            if model not in self.prices:
                raise UsageError(
                    f"--max-cost needs the price of {model}",
                    f'Write [prices."{model}"] with input and output into the settings file',
                )
        if self.api_key and not re.fullmatch(r"[\x21-\x7e]+", self.api_key):
            raise UsageError("OPENAI_API_KEY holds a space or a control character", "Correct it")
        remedy = "Write it as http://127.0.0.1:8080/v1"
        check_address(self.base_url, "--base-url", remedy, "OPENAI_API_KEY")

    def body(
        self, model: str, messages: Sequence[Mapping[str, str]], schema: object = None
    ) -> dict[str, Any]:
        """Return a request for a chat completion, whose answer may have to follow a schema."""
        form = {"name": "answer", "strict": True, "schema": schema}
        optional = {
            "temperature": self.temperature,
            "seed": self.seed,
            "response_format": schema and {"type": "json_schema", "json_schema": form},
        }
        return {
            "model": model,
            "messages": messages,
            self.limit_parameter: self.max_tokens,
            **{name: value for name, value in optional.items() if value is not None},
        }


S = TypeVar("S", bound=EndpointSettings)


def load_settings(
    kind: type[S],
    title: str,
    path: Path | None,
    flags: Mapping[str, object],
    environment: Mapping[str, str] | None = None,
) -> S:
    """Merge a settings file and the flags that are not None; the key is the environment's.

    `title` names the settings in messages. Raises `UsageError` for an unreadable file, an unknown
    setting or a bad value.
    """
    environment = os.environ if environment is None else environment
    if path is not None:
        refuse_empty(path, "Leave it out, or write settings into it")
    source = Source(title, {}) if path is None else read_toml(path)
    values = {**source.values, **{key: flags[key] for key in flags if flags[key] is not None}}
    settable = {item.name for item in fields(kind)} - {"api_key"}
    for name in values:
        if name not in settable and ("key" in name or "token" in name):
            raise UsageError(
                f"{source.place(name)}: the key {name} is unknown",
                "Give the key through the environment variable OPENAI_API_KEY alone",
            )
    settings = source.read(kind, {"models": (), **values})
    if not settings.models:
        raise UsageError("No model is named", "Give --model NAME, or models in the settings file")
    return replace(settings, api_key=environment.get("OPENAI_API_KEY") or None)


def load_prices(path: Path) -> dict[str, Price]:
    """Return the prices in a settings file; raises `UsageError` for a bad one."""
    source = read_toml(path)
    prices = source.read(dict[str, Price], source.values.get("prices", {}), ("prices",))
    if not prices:
        raise UsageError(f"{path} gives no prices", 'Write [prices."MODEL"]')
    return prices
