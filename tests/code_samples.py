"""A small program in every language with a grammar: no statement spans lines but by its blocks."""

from __future__ import annotations

from pathlib import Path

from tests.twin.sluice import files

_TEXT = Path(__file__).with_suffix(".txt").read_text(encoding="utf-8")
SAMPLES = {path: text.decode() for path, text in files(_TEXT).items()}
