"""The documentation as its readers follow it: the blocks of a page in order, and their commands."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from tests.places import ROOT

PAGES = {
    str(path.relative_to(ROOT)): path
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
}
"""The pages that people wrote, by their paths; those in docs/reference/ are made from the code."""
_BLOCK = re.compile(r"^```(console|toml|python)\n(.*?)^```", re.M | re.S)


class Block(NamedTuple):
    """What a reader types into a terminal, a file or a program."""

    language: str
    text: str

    @property
    def commands(self) -> list[str]:
        """The lines that are typed, without what is printed; one that goes on is one."""
        lines = self.text.replace("\\\n", " ").splitlines()
        return [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]


def blocks(name: str) -> list[Block]:
    """Return the blocks of a page that a reader acts on, in its order."""
    return [Block(*found) for found in _BLOCK.findall(PAGES[name].read_text(encoding="utf-8"))]


def toml(name: str) -> list[str]:
    """Return the TOML of a page, in its order."""
    return [block.text for block in blocks(name) if block.language == "toml"]


def write(folder: Path, name: str, text: str) -> Path:
    """Write a block into the file that its page names."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path
