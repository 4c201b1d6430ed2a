"""Sections that papers and plugins add to the report on a comparison."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from goldpan.core.plugins import Kind
from goldpan.core.registry import Registry
from goldpan.datasets.task import Task
from goldpan.evaluation.comparison_result import ComparisonResult
from goldpan.report.comparison.materials import TaskRows
from goldpan.report.document import Section

RowsByTask = Mapping[str, TaskRows | str]
"""By task: its test rows, or why they cannot be read."""


def _no_rows(compared: ComparisonResult, task: Task) -> Sequence[str]:
    return ()


def _nothing(compared: ComparisonResult) -> None:
    return None


@dataclass(frozen=True, slots=True)
class ReportSection:
    """A section of the report, and what the summary says of it."""

    name: str
    make: Callable[[ComparisonResult, Mapping[str, Task], RowsByTask], Section | None]
    """Returns the section; None where there is nothing to say. Tables for papers are those that it
    has without tasks and materials."""
    sentence: Callable[[ComparisonResult], str | None] = _nothing
    """For the summary; None where there is nothing to say."""
    rows: Callable[[ComparisonResult, Task], Sequence[str]] = _no_rows
    """The ids of the test rows that it reads of `RowsByTask`."""
    plain: Callable[[ComparisonResult], Any] = _nothing
    """What ``goldpan evaluate compare --json`` has under the name; None where there is nothing."""

    def parts(self) -> Iterable[tuple[Kind, str, object]]:
        """Return itself, as a plugin registers it."""
        return [("report section", self.name, self)]


SECTIONS: Registry[ReportSection] = Registry(
    "section", dict, "report section", lambda item: item[0]
)
