"""Outcomes of tests, as the readers of reports give them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

_COLOR = re.compile(r"\x1b\[[0-9;]*m")
Outcome = Literal["passed", "failed", "skipped"]
Case = tuple[str, Outcome]


class ReportError(Exception):
    """A report that cannot be read, or that counts other than it announces."""

    def __init__(self, problem: str, outcomes: Mapping[str, Outcome] = {}) -> None:
        super().__init__(problem)
        self.outcomes = outcomes
        """What it says nevertheless."""


def worst(*outcomes: Outcome) -> Outcome:
    """Return the outcome of several tests of one name, or of several statements on one."""
    return max(outcomes, key=("passed", "skipped", "failed").index)


def lines_of(content: bytes) -> list[str]:
    r"""Return the lines of a report, without colors; names hold all line ends but `\n`."""
    text = _COLOR.sub("", content.decode("utf-8", "replace"))
    return [line.removesuffix("\r") for line in text.split("\n")]
