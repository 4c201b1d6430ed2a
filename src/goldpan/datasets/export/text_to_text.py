"""JSON lines for programs that fine-tune models: Alpaca's columns, or chat messages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from goldpan.datasets.export.samples import Sample


def alpaca(sample: Sample) -> dict[str, Any]:
    """Return a sample in the columns of Stanford Alpaca: instruction, input and output."""
    return {"instruction": sample.instruction, "input": sample.input, "output": sample.target}


def chat(sample: Sample) -> dict[str, Any]:
    """Return a sample as the messages of a chat: system, user, assistant."""
    turns = (
        ("system", sample.instruction),
        ("user", sample.input),
        ("assistant", sample.target),
    )
    return {"messages": [{"role": role, "content": content} for role, content in turns]}


TEXT_TO_TEXT: Mapping[str, Callable[[Sample], dict[str, Any]]] = {"alpaca": alpaca, "chat": chat}
"""The forms by name."""
