"""The texts that are put before a model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

PartKind = Literal["text", "code"]


@dataclass(frozen=True, slots=True)
class Part:
    """One text of what a model is asked about; `name` is ours, never taken from a text."""

    name: str
    text: str
    kind: PartKind = "text"
