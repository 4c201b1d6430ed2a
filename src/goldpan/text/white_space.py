"""White space, collapsed."""

from __future__ import annotations


def white_space(text: str) -> str:
    """Make every run of white space one blank, and cut it off at both ends."""
    return " ".join(text.split())
