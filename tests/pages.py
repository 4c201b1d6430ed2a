"""The documentation as its readers follow it: the blocks of a page in order, and their commands."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Container, Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from tests.demo_workspace import offline
from tests.places import ROOT
from tests.program import goldpan

PAGES = {
    str(path.relative_to(ROOT)): path
    for path in (
        ROOT / "README.md",
        *sorted((ROOT / "docs").glob("*.md")),
        ROOT / "docs" / "reference" / "task-files.md",
    )
}
"""The pages that people wrote, by their paths; others in docs/reference/ are made from the code."""
_BLOCK = re.compile(r"^```(console|toml|python)\n(.*?)^```", re.M | re.S)


class Block(NamedTuple):
    """What a reader types into a terminal, a file or a program."""

    language: str
    text: str

    @property
    def commands(self) -> list[str]:
        """The lines that are typed, without output and comments; one that goes on is one."""
        lines = self.text.replace("\\\n", " ").splitlines()
        typed = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
        return [re.sub(r"\s+# .*", "", line) for line in typed]


def blocks(name: str, here: Mapping[str, str] = MappingProxyType({})) -> list[Block]:
    """Return the blocks of a page that a reader acts on, in its order.

    Other words may stand `here` for what the page names.
    """
    text = PAGES[name].read_text(encoding="utf-8")
    for said, meant in here.items():
        text = text.replace(said, meant)
    return [Block(*found) for found in _BLOCK.findall(text)]


def toml(name: str) -> list[str]:
    """Return the TOML of a page, in its order."""
    return [block.text for block in blocks(name) if block.language == "toml"]


def write(folder: Path, name: str, text: str) -> Path:
    """Write a block into the file that its page names."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def write_requirements(folder: Path, count: int) -> Path:
    """Write a file of PROMISE NFR in its form, with invented requirements."""
    rows = [
        f"{number % 3},'The system shall send report {number}',F,1,0"
        if number % 2
        else f"{number % 3},'The product shall respond, within {number} seconds',PE,0,1"
        for number in range(count)
    ]
    header = "ProjectID,RequirementText,Class,IsFunctional,IsQuality"
    return write(folder, "promise-reclass.csv", "\n".join([header, *rows, ""]))


def run_command(command: str, folder: Path, codes: Container[int] = (0,), **variables: str) -> None:
    """Run a command of a page as its reader types it; it prints something and ends with a code."""
    done = goldpan(*shlex.split(command)[1:], folder=folder, environment=offline(**variables))
    assert done.code in codes, f"{command}\n{done.out}{done.err}"
    assert done.out.strip(), command


def run_python(page: Iterable[Block], folder: Path, **variables: str) -> list[str]:
    """Run the Python of a page as its reader would, as a file in a process of its own.

    Return what each block prints. Blocks of one page go on from each other.
    """
    texts = [block.text for block in page if block.language == "python"]
    printed = script("\nprint('---')\n".join(texts), folder, **variables).split("---\n")
    assert len(printed) == len(texts)
    for text, output in zip(texts, printed, strict=True):
        assert output.strip(), f"It prints nothing:\n{text}"
    return printed


def script(text: str, folder: Path, **variables: str) -> str:
    """Run a program as a file in a process of its own; return what it prints."""
    file = folder / "first.py"
    file.write_text(text, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-W", "error", file],
        cwd=folder,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, ""), f"{text}\n{done.stdout}{done.stderr}"
    return done.stdout
