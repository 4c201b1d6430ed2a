"""What a model answers, taken out of what it writes: its thoughts go, JSON objects are found.

Thoughts come in the notations of public models, whole or without their beginning, which many chat
templates hold. A mark between quotation marks or backticks is talked of, and marks nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from json import JSONDecoder
from typing import Any

from chompjs import parse_js_objects

READING = 6
"""Raised where a stored reply is read otherwise than before."""

_NAME = (
    r"(?:[a-z]\w{0,20}:)?"
    r"(?:think(?:ing)?|thoughts?|thought_process|reasoning|reflection|scratchpad|analysis)"
)
_PART = r"(?:of[_▁])?(?:think(?:ing)?|thoughts?|reasoning)[|｜]>"
_BEGINNING = re.compile(
    rf"(?<![\w.])(?:<|&lt;)\s{{0,5}}{_NAME}\b(?:[^<>]{{0,200}}[^<>/])?(?:(?<!/)>|&gt;)"
    r"|\[(?:THINK|THINKING|REASONING)\]|◁think▷|<\|think(?:ing)?\|>|<\|inner_prefix\|>"
    rf"|<[|｜](?:begin|start)[_▁]?{_PART}"
    r"|<\|channel\|?>\s{0,5}(?:analysis|commentary|thought)\b",
    re.IGNORECASE,
)
_END = re.compile(
    rf"(?:<|&lt;)\s{{0,5}}/\s{{0,5}}{_NAME}\s{{0,5}}(?:>|&gt;)"
    r"|\[/(?:THINK|THINKING|REASONING)\]|◁/think▷|<\|/think(?:ing)?\|>|<\|inner_suffix\|>"
    rf"|<[|｜]end[_▁]?{_PART}"
    r"|<\|channel\|>\s{0,5}final\b[^<]{0,40}(?:<\|constrain\|>[^<]{0,40})?<\|message\|>"
    r"|<channel\|>",
    re.IGNORECASE,
)
_AT_THE_START = (
    # gpt-oss where the server took the special tokens out, Open WebUI, Ollama, Granite
    (re.compile(r"\s*(?:assistant)?analysis(?=\w)"), re.compile(r"assistant\n?final")),
    (re.compile(r"\s*<details\s[^>]{0,200}reasoning"), re.compile(r"</details>")),
    (re.compile(r"\s*Thinking\.\.\.\n"), re.compile(r"\.\.\.done thinking\.")),
    (re.compile(r"\s*Here(?: is|'s) my thought process:"), re.compile(r"Here.{2,3} my response:")),
)
_FRAME = re.compile(
    r"\A\s*<\|(?:begin_of_solution|start_response|begin_of_box|message)\|>"
    r"|<\|(?:end_of_solution|end_response|end_of_box|return|end|im_end|eot_id)\|>\s*\Z",
    re.IGNORECASE,
)
_WRAPPED = re.compile(r"\s*<(answer|response|solution|output)>(.*)</\1>\s*", re.DOTALL)


def without_thoughts(text: str) -> str:
    """Return a reply after its last thought, empty where it breaks off within one.

    A text without thoughts comes back as it is.
    """
    answer = text
    for beginning, end in _AT_THE_START:
        if beginning.match(text):
            answer = "".join(end.split(text)[1:][-1:])
    answer = answer[max((mark.end() for mark in _marks(_END, answer)), default=0) :]
    answer = answer[: min((mark.start() for mark in _marks(_BEGINNING, answer)), default=None)]
    if answer == text:
        return text
    answer = _FRAME.sub("", answer)
    wrapped = _WRAPPED.fullmatch(answer)
    return (wrapped[2] if wrapped else answer).lstrip("\n")


def _marks(pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    """Yield the marks in a text that are not quoted."""
    for mark in pattern.finditer(text):
        around = text[mark.start() - 1 : mark.start()], text[mark.end() : mark.end() + 1]
        if around not in _QUOTED:
            yield mark


_QUOTED = tuple((sign, sign) for sign in "\"'`")
_FAILURES = 1_000


def find_objects(text: str) -> list[dict[str, Any]]:
    """Return the JSON objects that stand in a text, by themselves, in prose or in a fence.

    After them come those that are written almost so: with single quotes, names without quotes or
    commas at the end. A key that is given two values has none.
    """
    found: list[dict[str, Any]] = []
    others: list[str] = []
    at, taken, failures = text.find("{"), 0, 0
    while at >= 0 and failures < _FAILURES:
        try:
            value, end = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            failures += 1
            at = text.find("{", at + 1)
            continue
        found.append(value)
        others.append(text[taken:at])
        at, taken = text.find("{", end), end
    others.append(text[taken:])
    return [*found, *_almost(" ".join(others).translate(_STRAIGHT))]


def _almost(text: str) -> Iterator[dict[str, Any]]:
    value: Any
    with suppress(ValueError, RecursionError):
        for value in parse_js_objects(text, loader_kwargs=_OPTIONS):
            found = value if isinstance(value, list) else [value]
            yield from (each for each in found if isinstance(each, dict))


_STRAIGHT = str.maketrans("\u201c\u201d\u2018\u2019", "\"\"''")


def _once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Return the pairs as an object, in which a key with two values has none."""
    found: dict[str, Any] = {}
    for key, value in pairs:
        found[key] = value if key not in found or found[key] == value else None
    return found


_OPTIONS: dict[str, Any] = {"object_pairs_hook": _once, "strict": False}
_DECODER = JSONDecoder(**_OPTIONS)
