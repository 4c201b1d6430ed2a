"""Makes texts plain before a model reads them: nothing unseen, no token of a chat format.

A character that draws nothing can hide words from people that a model still reads. A local server
may read ``<|im_start|>`` in a text as the token that begins a message; with a space in it, it is
text.
"""

from __future__ import annotations

import re

# C0 without tab and line feed, C1, soft hyphen, fillers, zero-width and direction marks,
# separators, the byte order mark, variation selectors, annotation marks and tags.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_SURROGATE = re.compile("[\ud800-\udfff]")
_WORDS = (
    "s|bos|eos|unk|pad|mask|start_of_turn|end_of_turn|end_of_text|tool_call|tool_calls"
    "|tool_response|function_calls|think|system|user|assistant|im_start|im_end"
)
_TOKEN = re.compile(
    rf"<(?=[|｜]|<SYS>>|</SYS>>|/?(?:{_WORDS})>)"
    r"|\[(?=/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS)\])",
    re.I,
)
_LINE_ENDS = re.compile("\r\n?|[\u2028\u2029\u0085\u000b\u000c]")


def plain(text: str) -> str:
    """Return a text without what is not seen; doing so twice changes nothing."""
    text = _SURROGATE.sub("\ufffd", _LINE_ENDS.sub("\n", text))
    return _UNSEEN.sub("", text)


def without_tokens(text: str) -> str:
    """Return a plain text in which nothing is a special token of a chat format."""
    return _TOKEN.sub(lambda found: found[0] + " ", text)


def one_line(text: str, most: int = 200) -> str:
    """Return a text as one plain line of at most `most` characters."""
    line = " ".join(plain(text[: 20 * most]).split())
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"
