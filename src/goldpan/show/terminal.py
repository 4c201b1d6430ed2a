"""Makes text safe to print."""

from __future__ import annotations

from rich.text import Text

_CONTROL = dict.fromkeys((*range(9), *range(11, 32), *range(127, 160)), "�")


def clean(text: object) -> Text:
    """Return text that cannot command the terminal: no markup, no control characters."""
    return Text(str(text).translate(_CONTROL).replace("\n", " "))
