"""Settings of prompted models: those that tell runs apart, and those of how to ask.

What a model answers does not depend on how many requests are under way or what they may cost, so
a run that stopped for money is the same run when it may cost more.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from goldpan.core.errors import EvaluationError, GoldpanError, UsageError
from goldpan.datasets.tasks.task import TaskType
from goldpan.datasets.tasks.wording import METHODS, Method, find_method
from goldpan.evaluation.model import UnansweredError, require_choice
from goldpan.evaluation.protocol import Protocol
from goldpan.llm.exchange import EndpointError, GivenUpError
from goldpan.llm.settings import OPENAI, EndpointSettings, load_prices, load_settings

PROTOCOL = "protocol"
"""Stands for what the protocol of the run says."""
NONE = "none"
RUN_SETTINGS: Mapping[str, Any] = {
    "model": "",
    "base_url": OPENAI,
    "method": "zero-shot",
    "examples": "task",
    "structured": "auto",
    "temperature": PROTOCOL,
    "max_tokens": PROTOCOL,
    "limit_parameter": "max_completion_tokens",
    "send_seed": True,
    "max_characters": 48_000,
}
"""Settings that tell runs apart."""
REQUEST_SETTINGS: Mapping[str, Any] = {
    "answers_as": "",
    "concurrency": 8,
    "retries": 4,
    "timeout": 120.0,
    "batch": False,
    "batch_requests": 10_000,
    "poll_seconds": 30.0,
    "wait": True,
    "max_cost": NONE,
    "prices": "",
}
"""Settings of requests alone."""
_SHORT: tuple[TaskType, ...] = ("binary", "multi-class", "multi-label", "regression")
_CHOICES = {
    "method": tuple(METHODS),
    "examples": ("task", "train"),
    "structured": ("auto", "yes", "no"),
    "limit_parameter": ("max_completion_tokens", "max_tokens"),
}

Structured = Literal["auto", "yes", "no"]


@dataclass(frozen=True, slots=True)
class PromptSettings:
    """Settings of the requests of one run."""

    asking: EndpointSettings
    """How the endpoint is asked; one model."""
    method: Method
    from_train: bool
    """True where examples are train rows, not those of the task's file."""
    structured: Structured
    send_seed: bool
    longest_label: bool
    """True where the longest of several labels in an answer counts, as the paper's rule wants."""

    @property
    def model(self) -> str:
        """The model that is asked."""
        return self.asking.models[0]


def check_settings(settings: Mapping[str, Any]) -> None:
    """Raise `UsageError` for values that cannot be, before any data are read."""
    for name, choices in _CHOICES.items():
        require_choice("prompted", settings, name, choices)
    if not settings["model"]:
        raise UsageError("The model prompted needs the name of a model", "Add --set model=NAME")
    if settings["examples"] == "train" and find_method(settings["method"]).instruct:
        raise UsageError(
            f"{settings['method']} explains its examples, and train rows have no explanations",
            "Set examples=task, or method=4-shot",
        )
    prompt_settings(settings, Protocol("", "", "", "none"), "binary")


def prompt_settings(
    settings: Mapping[str, Any], protocol: Protocol, task_type: TaskType
) -> PromptSettings:
    """Return the settings of a run under a protocol; raises `UsageError` for bad ones."""
    tokens = protocol.answer_tokens if task_type in _SHORT else protocol.text_tokens
    structured: Structured = settings["structured"]
    if structured == "auto" and not protocol.structured:
        structured = "no"
    flags: dict[str, Any] = {
        name: settings[name]
        for name in ("base_url", "limit_parameter", "max_characters", *REQUEST_SETTINGS)
        if name not in ("max_cost", "prices")
    }
    flags["models"] = [settings["model"]]
    flags["max_tokens"] = _whole("max_tokens", settings["max_tokens"], tokens)
    if settings["max_cost"] != NONE:
        flags["max_cost"] = _number("max_cost", settings["max_cost"])
    temperature: float | None = protocol.temperature
    if settings["temperature"] != PROTOCOL:
        stated = settings["temperature"]
        temperature = None if stated == NONE else _number("temperature", stated)
    with in_settings():
        if settings["prices"]:
            flags["prices"] = load_prices(Path(settings["prices"]))
        asking = load_settings(EndpointSettings, "The model prompted", None, flags)
    return PromptSettings(
        replace(asking, temperature=temperature),
        find_method(settings["method"]),
        settings["examples"] == "train",
        structured,
        settings["send_seed"],
        not protocol.structured,
    )


@contextmanager
def in_settings() -> Iterator[None]:
    """Raise errors of an endpoint, which name flags of reviews, in terms of settings."""
    try:
        yield
    except (EndpointError, UsageError) as error:
        kind: type[GoldpanError] = UsageError if isinstance(error, UsageError) else EvaluationError
        if isinstance(error, GivenUpError):
            kind = UnansweredError
        raise kind(_settings_for_flags(error.problem), _settings_for_flags(error.remedy)) from None


def _settings_for_flags(text: str) -> str:
    for flag in ("--base-url", "--max-cost", "--model", "--batch"):
        text = text.replace(flag, flag.removeprefix("--").replace("-", "_"))
    return text.replace("the settings file", "a file and set prices=FILE")


def _number(name: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        raise UsageError(
            f"{name} of the model prompted cannot be {text!r}", "Give a number from 0 on"
        )
    return value


def _whole(name: str, text: str, otherwise: int) -> int:
    if text == PROTOCOL:
        return otherwise
    if not text.isdecimal():
        raise UsageError(f"{name} of the model prompted cannot be {text!r}", "Give a number")
    return int(text)
