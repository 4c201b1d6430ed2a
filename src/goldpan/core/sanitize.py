"""Decides what a text may do to a terminal, a page, a file name or a prompt: one table for all.

Characters that draw nothing, that reorder what is drawn or that command a terminal are written
out for people, as ``⟨U+202E⟩``, left out for models, and escaped in JSON and in paths.
"""

from __future__ import annotations

import re
from typing import Any

from goldpan.core.secrets import mask

CUT = "…"

UNDRAWN = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 without tab and line feed, C1
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"  # soft hyphen, joiners, fillers
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f"  # zero width, direction, separators, operators
    "\u2800\u3164\uffa0"  # blanks that are no white space
    "\ufe00-\ufe0d\ufeff\ufff0-\ufffb"  # variation selectors, byte order mark, annotations
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"  # formats, tags
)
"""Characters that are not drawn, as the inside of a character class; tags can smuggle text."""
EMOJI_SELECTORS = "\ufe0e\ufe0f"
"""Not drawn either, but the sign before them looks otherwise without them."""

_UNSEEN = re.compile(f"[{UNDRAWN}\ud800-\udfff]")
_UNREAD = re.compile(f"[{UNDRAWN}{EMOJI_SELECTORS}]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_LINE_ENDS = re.compile("\r\n?|[\u2028\u2029\u0085\u000b\u000c]")
_WORDS = (
    "s|bos|eos|unk|pad|mask|start_of_turn|end_of_turn|end_of_text|tool_call|tool_calls"
    "|tool_response|function_calls|think|system|user|assistant|im_start|im_end"
)
_TOKEN = re.compile(
    rf"<(?=[|｜]|<SYS>>|</SYS>>|/?(?:{_WORDS})>)"
    r"|\[(?=/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS)\])",
    re.I,
)


def visible(text: str) -> str:
    """Return a text with each unseen character written out; doing so twice changes nothing."""
    return _UNSEEN.sub(lambda match: f"⟨U+{ord(match[0]):04X}⟩", text)


def line(text: str, most: int = 200) -> str:
    """Return a text as one visible line of at most `most` characters."""
    # A hostile text may hide its few letters behind megabytes of spaces.
    whole = visible(" ".join(text[: 20 * most].split()))
    if len(whole) <= most and len(text) <= 20 * most:
        return whole
    return whole[: most - 1].rstrip() + CUT


def for_json(text: str) -> str:
    r"""Return JSON with each unseen character as ``\uXXXX``: the same value, and safe to print."""
    return _UNSEEN.sub(_escape, text)


def for_prompt(text: str) -> str:
    """Return a text without what people do not see; doing so twice changes nothing."""
    text = _SURROGATE.sub("\ufffd", _LINE_ENDS.sub("\n", text))
    return _UNREAD.sub("", text)


def without_tokens(text: str) -> str:
    """Return a text in which nothing is a special token of a chat format.

    A local server may read ``<|im_start|>`` in a text as the token that begins a message; with a
    space in it, it is text.
    """
    return _TOKEN.sub(lambda match: match[0] + " ", text)


def _escape(match: re.Match[str]) -> str:
    units = match[0].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))


def without_surrogates(value: Any) -> Any:
    """Return a value of JSON with U+FFFD for each half of a pair, which no UTF-8 can hold."""
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, list):
        return [without_surrogates(item) for item in value]
    if isinstance(value, dict):
        return {without_surrogates(k): without_surrogates(v) for k, v in value.items()}
    return value


def printable(text: str) -> str:
    """Return a text without secrets, unseen characters written out; lines stay lines."""
    return visible(mask(text))
