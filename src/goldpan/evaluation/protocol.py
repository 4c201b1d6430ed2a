"""How a score is obtained: what chooses settings, how often the test is opened, what is wrong.

Goldpan's own protocol lets nothing be chosen by the test. Those of papers are there to repeat
what they did; each says its known defects, and reports show them.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from typing import Literal

from goldpan.core.errors import UsageError

_SHIPPED = files("goldpan.evaluation") / "protocols"


@dataclass(frozen=True, slots=True)
class Protocol:
    """One TOML file in `evaluation/protocols/`."""

    name: str
    title: str
    source: str
    """The paper and section, or why it is Goldpan's own."""
    validation: Literal["train", "test", "none"]
    """Where rows to choose settings by come from: a part of train, the test itself, or nowhere."""
    share: float = 0.1
    """Of train, that becomes validation."""
    temperature: float = 0.0
    """Of language models."""
    answer_tokens: int = 50
    """The most tokens of a language model's answer that is a label or a number."""
    text_tokens: int = 4096
    """The most where it is a text, or has a tag or a word for each that is asked."""
    structured: bool = True
    """Whether the server holds language models to the form of the answer, where it can."""
    model_per: str = ""
    """A column, such as `repo`: each of its values has a model of its own, which learns from its
    rows alone."""
    leave_out: str = ""
    """A column: each of its values is tested by a model that learned from all others."""
    defects: tuple[str, ...] = ()
    """What a reader must know before quoting its scores, a sentence each."""


def find_protocol(name: str) -> Protocol:
    """Return a protocol; raises `UsageError` that lists those there are."""
    known = protocols()
    if name not in known:
        near = get_close_matches(name, known, n=1)
        hint = f"Did you mean {near[0]}? " if near else ""
        raise UsageError(f"There is no protocol {name!r}", f"{hint}Choose {', '.join(known)}")
    return known[name]


@cache
def protocols() -> dict[str, Protocol]:
    """Return all protocols by name."""
    known = {}
    for path in sorted(_SHIPPED.iterdir(), key=lambda each: each.name):
        if path.name.endswith(".toml"):
            data = tomllib.loads(path.read_text(encoding="utf-8"))
            data["defects"] = tuple(data.get("defects", ()))
            name = path.name.removesuffix(".toml")
            known[name] = Protocol(name, **data)
    return known
