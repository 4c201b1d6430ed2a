"""Every scanner of texts from outside takes time in proportion to the text, whatever it says."""

from __future__ import annotations

import pytest

from goldpan.text.markdown import markdown_to_text
from tests.scanners import ANTHOLOGIES, HALF, MARKUP, SCANNERS, SMALL, check_growth


@pytest.mark.parametrize("name", SCANNERS)
def test_time_grows_with_the_text(name: str) -> None:
    scan, own = SCANNERS[name]
    for text in own:
        check_growth(scan, text)
    for text in ANTHOLOGIES:
        check_growth(scan, text, HALF)


@pytest.mark.parametrize("name", MARKUP)
def test_markdown_is_read_in_pieces(name: str) -> None:
    """The slowest scanner: 65,536 characters tell whether its pieces of a quarter are alike."""
    check_growth(markdown_to_text, MARKUP[name], SMALL)
