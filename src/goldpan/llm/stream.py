"""Replies that are not plain JSON: servers that stream though they were not asked to."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any


def read_stream(body: bytes) -> object:
    """Return the one reply that server-sent events make, or the JSON behind comments.

    A stream that breaks off ends for the reason "abort". Halves of characters become "?".
    """
    lines = body.decode("utf-8-sig", "replace").splitlines()
    events = [line.removeprefix("data:").strip() for line in lines if line.startswith("data:")]
    if not events:
        text = "\n".join(line for line in lines if not line.startswith(":"))
        return next(_values([text]), None)
    reply: dict[str, Any] = {}
    message: dict[str, str] = {}
    finish = "" if "[DONE]" in events else "abort"
    for chunk in _values(events):
        if not isinstance(chunk, dict):
            continue
        reply |= {name: value for name, value in chunk.items() if value is not None}
        choices = chunk.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        if not isinstance(choice, dict):
            continue
        finish = choice.get("finish_reason") or finish
        delta = choice.get("delta")
        for name, text in delta.items() if isinstance(delta, dict) else ():
            if isinstance(text, str):
                message[name] = message.get(name, "") + text
    return reply | {"choices": [{"message": message, "finish_reason": finish}]}


def _values(texts: list[str]) -> Iterator[Any]:
    for text in texts:
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            continue
        yield json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
