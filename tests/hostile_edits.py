"""Files of near-equal lines, changed at many places, and what git says of the change."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

from goldpan.code.edits.apply import as_characters, number_lines, split_lines
from goldpan.code.edits.diff import diff_lines


def edited(lines: int, kinds: int, changes: int, seed: int = 0) -> tuple[str, str]:
    """Return a file of `lines` lines of so many kinds, and with so many lines changed."""
    chance = random.Random(seed)

    def line() -> str:
        return f"    value = {chance.randrange(kinds)},\n"

    before = [line() for _ in range(lines)]
    after = list(before)
    for _ in range(changes):
        at = chance.randrange(len(after))
        kind = chance.randrange(3)
        after[at : at + (kind != 1)] = [line()] if kind < 2 else []
    return "".join(before), "".join(after)


def changed_lines(before: str, after: str) -> int:
    """Return how many lines Goldpan takes out and puts in."""
    old, new = split_lines(before), split_lines(after)
    characters = number_lines(old, new)
    hunks = diff_lines(as_characters(old, characters), as_characters(new, characters))
    return sum(hunk.end - hunk.start + hunk.new_end - hunk.new_start for hunk in hunks)


def changed_by_git(folder: Path, before: str, after: str) -> int:
    """Return how many lines `git diff -U0` takes out and puts in."""
    (folder / "a").write_text(before)
    (folder / "b").write_text(after)
    command = ("git", "diff", "--no-index", "--numstat", "-U0", "a", "b")
    counts = subprocess.run(command, cwd=folder, capture_output=True, check=False).stdout.split()
    return int(counts[0]) + int(counts[1])
