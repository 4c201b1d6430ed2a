"""How a path of git, which is bytes, is told in a table, which is text.

A path is told as it is where it is UTF-8 and does not begin with a quotation mark. Any other is
told as git quotes it: between quotation marks, with a backslash and three octal digits for each
byte that is no printable ASCII. So no two paths are told alike, and each can be had back.
"""

from __future__ import annotations

import re

_QUOTE = '"'
_ESCAPES = {
    ord(mark): f"\\{letter}" for mark, letter in zip('\a\b\t\n\v\f\r"\\', 'abtnvfr"\\', strict=True)
}
_BYTES = {text[1]: bytes([value]) for value, text in _ESCAPES.items()}
_ESCAPED = re.compile(rb"\\([abtnvfr\"\\]|[0-3][0-7]{2})")


def path_text(path: bytes) -> str:
    """Return a path as tables tell it."""
    try:
        text = path.decode()
    except UnicodeDecodeError:
        return quoted(path)
    return quoted(path) if text.startswith(_QUOTE) else text


def path_bytes(text: str) -> bytes:
    """Return the path that a table tells: the inverse of `path_text`."""
    return unquoted(text.encode()) if text.startswith(_QUOTE) else text.encode()


def quoted(path: bytes) -> str:
    """Quote a path as git does."""
    signs = (
        _ESCAPES.get(value) or (chr(value) if 32 <= value < 127 else f"\\{value:03o}")
        for value in path
    )
    return f"{_QUOTE}{''.join(signs)}{_QUOTE}"


def unquoted(text: bytes) -> bytes:
    """Return the path that git quoted, or one that it left as it is."""
    if len(text) < 2 or not text.startswith(b'"') or not text.endswith(b'"'):
        return text
    return _ESCAPED.sub(lambda match: _unescaped(match[1].decode()), text[1:-1])


def is_unsafe(path: bytes) -> bool:
    """Tell a path that no checkout may hold: it climbs, is absolute or goes into `.git`."""
    return any(
        part in (b"", b".", b"..") or part.lower() == b".git" or b"\0" in part
        for part in path.split(b"/")
    )


def _unescaped(code: str) -> bytes:
    return _BYTES.get(code) or bytes([int(code, 8)])
