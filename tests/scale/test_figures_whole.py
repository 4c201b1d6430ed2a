"""Figures of few and many models, whose names are short and long, in headless Chromium."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from tests.browser import Browser
from tests.integration.test_evaluation_report_browser import assert_nothing_cut_off

pytest.importorskip("scipy")


def test_no_word_of_any_figure_is_cut_off(browser: Browser, tmp_path: Path) -> None:
    assert_nothing_cut_off(browser, product((2, 7, 20), (3, 12, 40)), tmp_path)
