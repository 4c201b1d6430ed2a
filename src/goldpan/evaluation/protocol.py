"""Evaluation protocols: rows that choose settings, access to the test, known defects.

Goldpan's own protocol lets nothing be chosen by the test. Those of papers are there to repeat
what they did; each says its known defects, and reports show them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Literal

from goldpan.core.registry import Registry, files_in
from goldpan.core.result import Block, Line, Result
from goldpan.core.settings_file import read_toml
from goldpan.datasets.task import Task
from goldpan.text.preprocessing import ordered_steps

_SHIPPED = files("goldpan.evaluation") / "protocols"


@dataclass(frozen=True, slots=True)
class Protocol:
    """One TOML file, in `evaluation/protocols/` or a plugin's."""

    name: str
    title: str
    source: str
    """The paper and section, or why it is Goldpan's own."""
    validation: Literal["train", "test", "none"]
    """Where rows to choose settings by come from: a part of train, the test itself, or nowhere."""
    share: float = 0.1
    """Share of train that becomes validation."""
    temperature: float = 0.0
    """Temperature of language models."""
    answer_tokens: int = 50
    """The most tokens of a language model's answer that is a label or a number."""
    text_tokens: int = 4096
    """The most where it is a text, or has a tag or a word for each that is asked."""
    structured: bool = True
    """True if the server enforces the form of a language model's answer, where it can."""
    model_per: str = ""
    """A column, such as `repo`: each of its values has a model of its own, which learns from its
    rows alone."""
    leave_out: str = ""
    """A column: each of its values is tested by a model that learned from all others."""
    seed: int = 0
    """Seed of runs without one of their own."""
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Settings of models by name; a run with others follows the protocol in part."""
    expected: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Facts that training must report, by model, for a run to follow the whole protocol."""
    lacking: Mapping[str, str] = field(default_factory=dict)
    """Known deviations of Goldpan's models from the protocol, by `MODEL TYPE`."""
    steps: str = ""
    """The order of preprocessing that rows were imported with; empty where any will do."""
    split_seed: int | None = None
    """Seed of the task's own split; None if any split will do."""
    defects: tuple[str, ...] = ()
    """Defects to know before quoting its scores, a sentence each."""


def settings_for(protocol: Protocol, model: str, overrides: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that a protocol wants of a model, with those that were given instead."""
    return {**protocol.settings.get(_settings_name(protocol, model), {}), **overrides}


def in_part(
    protocol: Protocol,
    task: Task,
    model: str,
    settings: Mapping[str, Any],
    *,
    steps: Sequence[str] | None,
    split: str,
    facts: Mapping[str, Any],
) -> tuple[str, ...]:
    """Return in what a run is less than its protocol asks for; nothing where it follows it whole.

    `steps` and `split` are those of the rows, None and empty where they are not known; `facts` is
    what training reported of itself.
    """
    name = _settings_name(protocol, model)
    gaps = []
    if protocol.settings and not name:
        gaps.append(f"the protocol names no settings of {model}")
    for key, value in protocol.settings.get(name, {}).items():
        if settings.get(key) != value:
            gaps.append(f"{key} is {_value_text(settings.get(key))}, not {_value_text(value)}")
    for key, value in protocol.expected.get(name, {}).items():
        if key in facts and facts[key] != value:
            gaps.append(f"{key} is {_value_text(facts[key])}, not {_value_text(value)}")
    if gap := protocol.lacking.get(f"{name} {task.type}"):
        gaps.append(gap)
    if protocol.steps and steps is not None:
        expected = ordered_steps(task.steps, protocol.steps)
        if tuple(steps) != expected:
            gaps.append(f"texts were prepared by {_listed(steps)}, not by {_listed(expected)}")
    kind, _, seed = split.partition(", seed ")
    if protocol.split_seed is not None and seed:
        if kind != task.split:
            gaps.append(f"rows are split by {kind}, not by {task.split}")
        elif seed != str(protocol.split_seed):
            gaps.append(f"the split's seed is {seed}, not {protocol.split_seed}")
    return tuple(gaps)


def _settings_name(protocol: Protocol, model: str) -> str:
    """Return the name under which a protocol has settings of a model; empty without any.

    Runs of fine-tuned models are named after their weights.
    """
    names = (name for name in protocol.settings if model == name or model.startswith(f"{name}-"))
    return next(names, "")


def _value_text(value: object) -> str:
    return (
        "nothing"
        if value in (None, "")
        else str(value).lower()
        if isinstance(value, bool)
        else str(value)
    )


def _listed(steps: Sequence[str]) -> str:
    return ", ".join(steps) or "no step"


@cache
def _shipped() -> dict[str, Protocol]:
    return {name: read_protocol(path) for name, path in files_in(_SHIPPED).items()}


def read_protocol(path: Path | Traversable) -> Protocol:
    """Return the protocol of a file; raises `UsageError` that names file, line and key."""
    source = read_toml(path)
    return source.read(Protocol, source.named(path.name.removesuffix(".toml")))


PROTOCOLS = Registry("protocol", _shipped, "protocol", lambda item: item[0], read=read_protocol)
protocols, find_protocol = PROTOCOLS.entries, PROTOCOLS.find


@dataclass(frozen=True, slots=True)
class ProtocolList(Result):
    """Evaluation protocols with their known defects."""

    protocols: tuple[Protocol, ...]

    def plain(self) -> list[dict[str, Any]]:
        """Return each with its settings."""
        return [asdict(protocol) for protocol in self.protocols]

    def blocks(self) -> Iterator[Block]:
        """Yield each with its source and defects."""
        for protocol in self.protocols:
            yield Line(f"{protocol.name}: {protocol.title}")
            yield Line(f"  {protocol.source}")
            yield from (Line(f"  - {defect}") for defect in protocol.defects)
