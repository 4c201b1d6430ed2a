"""Replies that endpoints stream though they were not asked to, and what is no reply at all."""

from __future__ import annotations

import json
from typing import Any

import pytest

from goldpan.llm.exchange import ModelReply, understand


def call(arguments: object, index: int | None = 0, name: str = "") -> dict[str, Any]:
    """Return the event of one part of a call of a tool."""
    told = {"index": index, "function": {"name": name or None, "arguments": arguments}}
    return {"tool_calls": [told]}


THOUGHT = {"type": "thinking", "thinking": [{"type": "text", "text": "a feature?"}]}


@pytest.mark.parametrize(
    "deltas",
    [
        [call("", 0, "answer"), call('{"a"'), call(": 1}")],
        [call('{"a"', None, "answer"), call(": 1}", None)],  # Gemini numbers no calls
        [call("", 0, "answer"), call('{"a"', 0), call(": 1}", 1)],  # Nebius keeps none
        [call('{"a"'), call(": 1}", 0, "answer")],  # its name comes late
        [{"function_call": {"arguments": part}} for part in ('{"a"', ": 1}")],
        [{"content": part} for part in ([THOUGHT], [{"type": "text", "text": '{"a"'}], ": 1}")],
    ],
)  # fmt: skip
def test_answers_that_come_in_parts_are_joined(deltas: list[dict[str, Any]]) -> None:
    """As in openai/openai-python#2806, Zoo-Code-Org/Zoo-Code#695 and dirac-run/dirac#215."""
    events = [{"choices": [{"delta": {"role": "assistant", "content": None}}]}]
    events += [{"choices": [{"delta": delta}]} for delta in deltas]
    body = "".join(f"data: {json.dumps(event)}\n\n" for event in events) + "data: [DONE]\n\n"
    assert understand(ModelReply(200, body.encode()), json.loads).answer == {"a": 1}


def test_two_calls_are_no_answer_and_one_may_hold_an_object() -> None:
    two = {"choices": [{"delta": {"tool_calls": [*call("1", 0, "x")["tool_calls"]]}}]}
    body = f"data: {json.dumps(two)}\n\ndata: {json.dumps(two).replace('0', '1')}\n\ndata: [DONE]"
    assert understand(ModelReply(200, body.encode()), json.loads).failure == "malformed"
    message = {"message": {"content": None, **call({"bug": True}, 0, "answer")}}
    body = json.dumps({"choices": [message]})
    assert understand(ModelReply(200, body.encode()), json.loads).answer == {"bug": True}


@pytest.mark.parametrize("body", [b"data: 7\n\n", b"data: {}\n\n", b"event: x\n\n", b"data: ["])
def test_streams_without_an_answer_are_none(body: bytes) -> None:
    assert understand(ModelReply(200, body), str).failure in ("server-error", "malformed")


@pytest.mark.parametrize("sign", ["\u2028", "\x85", "\x0b"])
def test_events_end_at_line_ends_alone(sign: str) -> None:
    delta = json.dumps({"choices": [{"delta": {"content": f"a{sign}b"}}]}, ensure_ascii=False)
    body = f"data: {delta}\r\n\r\ndata: [DONE]\r\n\r\n".encode()
    assert understand(ModelReply(200, body), str).answer == f"a{sign}b"


@pytest.mark.parametrize("depth", [250, 300, 900, 5_000])
@pytest.mark.parametrize("name", ["content", "reasoning", "refusal", "tool_calls"])
def test_no_depth_breaks_the_reading(depth: int, name: str) -> None:
    deep = '{"x": ' * depth + '"a"' + "}" * depth
    message = f'{{"choices": [{{"%s": {{"{name}": {deep}}}}}]}}'
    event = f"data: {message % 'delta'}\n\n"
    for status, body in (
        (200, message % "message"),
        (200, f"{event * 3}data: [DONE]\n\n"),
        (400, f'{{"error": {{"message": {deep}}}}}'),
    ):
        assert understand(ModelReply(status, body.encode()), json.loads).answer is None
