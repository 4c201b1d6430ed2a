r"""Writes paths so that each stays on its line and can be read back.

As git does with `core.quotePath=false`: a path that holds a control character, a quotation mark
or a backslash stands in quotation marks, with `\n`, `\"`, `\\` or the bytes in octal, as `\033`.
Beyond git, the same goes for whatever is not drawn or turns the reading direction, and for bytes
that are not UTF-8, which Python keeps as lone surrogates.
"""

from __future__ import annotations

import re

from goldpan.core.sanitize import UNDRAWN

_LETTERS = {7: "a", 8: "b", 9: "t", 10: "n", 11: "v", 12: "f", 13: "r", 34: '"', 92: "\\"}
_CODES = {letter: code for code, letter in _LETTERS.items()}
_SPECIAL = re.compile(f'[{UNDRAWN}\t\n"\\\\\udc80-\udcff]')
_QUOTED = re.compile(r'"(?:[^"\\]|\\(?:[abtnvfr"\\]|[0-3][0-7][0-7]))*"')
_ESCAPE = re.compile(r'\\([abtnvfr"\\])|((?:\\[0-3][0-7][0-7])++)')


def quote_path(path: str, *, always: bool = False) -> str:
    """Return a path as it can stand on a line, in quotation marks only where it must."""
    if always or _SPECIAL.search(path):
        return f'"{_SPECIAL.sub(_escape, path)}"'
    return path


def unquote_path(text: str) -> str:
    """Return the path that `quote_path` wrote; text that is not quoted comes back as it is."""
    if not _QUOTED.fullmatch(text):
        return text
    return _ESCAPE.sub(_unescape, text[1:-1])


def _escape(special: re.Match[str]) -> str:
    letter = _LETTERS.get(ord(special[0]))
    if letter:
        return f"\\{letter}"
    return "".join(f"\\{byte:03o}" for byte in special[0].encode("utf-8", "surrogateescape"))


def _unescape(escape: re.Match[str]) -> str:
    if escape[1]:
        return chr(_CODES[escape[1]])
    octets = bytes(int(octet, 8) for octet in escape[2].split("\\")[1:])
    return octets.decode("utf-8", "surrogateescape")
