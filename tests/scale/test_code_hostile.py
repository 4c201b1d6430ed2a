"""Texts that no parser likes, in every language that has one."""

from __future__ import annotations

from goldpan.code.languages import LANGUAGES
from tests.integration.test_code_workers import assert_hostile_texts_are_survived


def test_hostile_texts_in_every_language() -> None:
    assert_hostile_texts_are_survived(LANGUAGES)
