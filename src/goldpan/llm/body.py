"""What an endpoint wrote: JSON, or the events of one that streams though it was not asked to."""

from __future__ import annotations

import json
import re
from typing import Any

import orjson


def read_json(text: bytes) -> Any:
    """Return what stands in JSON, None where it is none or is nested more than 254 deep.

    It may hold half a character, as where a token was cut, or a number that is none.
    """
    try:
        found = orjson.loads(text)
    except orjson.JSONDecodeError:
        found = _mended(text)
    try:
        orjson.dumps(found)  # what is nested deeper than orjson writes
    except orjson.JSONEncodeError:
        return None
    return found


def _mended(text: bytes) -> Any:
    try:
        found = json.loads(
            text.decode("utf-8-sig", "replace"), strict=False, parse_constant=lambda _: None
        )
        return orjson.loads(json.dumps(found, ensure_ascii=False).encode(errors="replace"))
    except (ValueError, RecursionError):
        return None


def read_body(body: bytes) -> Any:
    """Return a reply's JSON, which comments may precede; events are joined into one reply.

    Events that break off end for the reason "abort".
    """
    if (plain := read_json(body)) is not None:
        return plain
    lines = re.split(r"\r\n|\n|\r", body.decode("utf-8-sig", "replace"))
    events = [line.removeprefix("data:").strip() for line in lines if line.startswith("data:")]
    if not events:
        return read_json("\n".join(line for line in lines if not line.startswith(":")).encode())
    reply: dict[str, Any] = {}
    message: Any = {}
    finish = "" if "[DONE]" in events else "abort"
    for event in events:
        if not isinstance(chunk := read_json(event.encode()), dict):
            continue
        reply |= {name: value for name, value in chunk.items() if value is not None}
        choices = chunk.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        if not isinstance(choice, dict):
            continue
        finish = choice.get("finish_reason") or finish
        message = _joined(message, choice.get("delta"))
    return reply | {"choices": [{"message": message, "finish_reason": finish}]}


def _joined(told: Any, part: Any) -> Any:
    """Return what was told of a message so far with what one event adds."""
    match told, part:
        case _, None:
            return told
        case str(), str():
            return told + part
        case str(), list():
            return [told, *part]
        case list(), str():
            return [*told, part]
        case [*others, last], [first, *more] if _goes_on(last, first):
            return [*others, _joined(last, first), *more]
        case list(), list():
            return told + part
        case dict(), dict():
            return told | {name: _joined(told.get(name), value) for name, value in part.items()}
    return part


def _goes_on(call: Any, part: Any) -> bool:
    """Tell whether a part is one more of the same call of a tool; not all count their calls."""
    match call, part:
        case {"function": {**told}}, {"function": {**more}}:
            is_other = part.get("index") is None or part.get("index") != call.get("index")
            return not (is_other and told.get("name") and more.get("name"))
    return False
