"""How many examples a property test draws, of which texts, and which cases are run daily."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import settings
from hypothesis import strategies as st

_USUAL = 100
_SIGNS = """
a word x; é 中文 * ** _ ~~ ` ``` ~~~ [ ] ]( ( ) ! | |- \\ # ### < > <b> <p> <br> <pre> </pre> <code>
</code> <!-- --> <a href= </a> <blockquote> </blockquote> & &amp &#97; &Tab; http://x.y @me #1 [a]:
"""
MARKUP = (
    *_SIGNS.split(),
    *(" ", "    ", "\t", "\n", "\n\n", "\r", "\r\n", "\x85", "\ud800", "\0"),
    *("- ", "- [ ] ", "1. ", "> ", "<a href="),
)
"""Pieces of Markdown and HTML, of which hostile texts are put together."""


def texts(*pieces: str, most: int = 30) -> st.SearchStrategy[str]:
    """Draw texts of `MARKUP` and other pieces, and of any characters."""
    parts = st.lists(st.sampled_from(MARKUP) | st.sampled_from(pieces or MARKUP), max_size=most)
    return parts.map("".join) | st.text(st.characters(), max_size=60)


def examples(count: int) -> settings:
    """Draw so many examples in `make test`, and as many times more as others in `make nightly`."""
    return settings(max_examples=max(1, count * settings().max_examples // _USUAL))


def daily(chosen: Iterable[object], others: Iterable[object]) -> list[object]:
    """Return cases for `parametrize`: those chosen, and others that `make nightly` alone runs."""
    return [*chosen, *(pytest.param(case, marks=pytest.mark.nightly) for case in others)]
