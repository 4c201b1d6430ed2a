"""The code of the made-up library `sluice`, and what its pull requests change in it.

Texts in `sluice_texts/`, as `code.py` reads them, and what no text can hold.
"""

from __future__ import annotations

from pathlib import Path

from .code import Code, Tree, Work, edit, files, move, read_works, remove, together, write

_TEXTS = Path(__file__).parent / "sluice_texts"
_PARTS = [f"src/sluice/part_{index:03}.py" for index in range(120)]
_LICENCE = "# Copyright the sluice authors\n# SPDX-License-Identifier: MIT\n"


def _first_version() -> Tree:
    text = (_TEXTS / "first_version.txt").read_text(encoding="utf-8")
    tree = files(text)
    tree["src/sluice/console.py"] = tree["src/sluice/console.py"].replace(b"\n", b"\r\n")
    tree["src/sluice/units.py"] = tree["src/sluice/units.py"].rstrip()
    return {
        **tree,
        **{path: f"PART = {index}\n".encode() for index, path in enumerate(_PARTS)},
        "docs/changes.txt": b"0.3 Sieves\n0.2 Readers\n0.1 Nothing",
        "scripts/sieve.bat": b"@echo off\r\npython -m sluice %1\r\nexit /b\r\n",
    }


def _told_works() -> dict[str, Work]:
    works = read_works((_TEXTS / "changes.txt").read_text(encoding="utf-8"))
    logo = write("docs/logo.png", b"\x89PNG\r\n\x1a\n" + bytes(range(64)))
    moved = works["Rearrange the files"]
    works["Rearrange the files"] = Work((together(*moved.commits, logo),))
    return works


SLUICE = Code(
    _first_version(),
    {
        **_told_works(),
        "Add licence headers": Work(
            tuple(
                together(
                    *(edit(path, "PART", _LICENCE + "PART") for path in _PARTS[start : start + 40])
                )
                for start in (0, 40, 80)
            )
        ),
        "Draw the rule as wide as the table": Work(
            (
                edit(
                    "src/sluice/console.py",
                    '"-" * sum(widths)',
                    '"-+-".join("-" * width for width in widths)',
                ),
            )
        ),
        "Read sizes without a unit": Work(
            (
                edit(
                    "src/sluice/units.py",
                    "    number, unit = text[:-1], text[-1]\n    return int(number) << _BITS[unit]",
                    "    if text[-1:].isdigit():\n        return int(text)\n"
                    "    return int(text[:-1]) << _BITS[text[-1]]",
                ),
            )
        ),
        "Spring cleaning": Work(
            (
                together(
                    edit("docs/changes.txt", "Nothing", "Almost nothing"),
                    edit("scripts/sieve.bat", "sluice %1\r\n", "sluice %*\r\n"),
                    edit("src/sluice/corner.py", "if row is not None", "if row"),
                    remove("src/sluice/legacy.py"),
                    move("src/sluice/util.py", "src/sluice/text.py"),
                    write("tests/data/dust.gz", b"\x1f\x8b\x08" + bytes(7) + b"\x03" + bytes(9)),
                ),
            ),
            behind=1,
        ),
    },
)
"""A stale version is mended without a pull request."""
