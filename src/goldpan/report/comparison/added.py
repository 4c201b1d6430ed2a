"""Sections that papers and plugins add to the report on a comparison."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from goldpan.core.plugins import Kind, blamed
from goldpan.core.registry import Registry
from goldpan.datasets.task import Task
from goldpan.evaluation.comparison_result import ComparisonResult
from goldpan.report.comparison.materials import Material
from goldpan.report.document import Section

Materials = Mapping[str, Material | str]
"""By task: its test rows, or why they cannot be read."""


def _no_rows(compared: ComparisonResult, task: Task) -> Sequence[str]:
    return ()


def _no_sentence(compared: ComparisonResult) -> str | None:
    return None


@dataclass(frozen=True, slots=True)
class ReportSection:
    """A section of the report, and what the summary says of it."""

    name: str
    make: Callable[[ComparisonResult, Mapping[str, Task], Materials], Section | None]
    """Returns the section; None where there is nothing to say."""
    sentence: Callable[[ComparisonResult], str | None] = _no_sentence
    """For the summary; None where there is nothing to say."""
    rows: Callable[[ComparisonResult, Task], Sequence[str]] = _no_rows
    """The ids of the test rows that it reads of `Materials`."""

    def parts(self) -> Iterable[tuple[Kind, str, object]]:
        """Return itself, as a plugin registers it."""
        return [("report section", self.name, self)]


SECTIONS: Registry[ReportSection] = Registry(
    "section", dict, "report section", lambda item: item[0]
)


def added_sections(
    compared: ComparisonResult, tasks: Mapping[str, Task], materials: Materials
) -> Iterator[Section]:
    """Yield the sections that have something to say; raises `PluginError` where one fails."""
    for name in SECTIONS.names():
        with blamed("report section", name):
            section = SECTIONS.find(name).make(compared, tasks, materials)
        if section is not None:
            yield section


def added_sentences(compared: ComparisonResult) -> Iterator[str]:
    """Yield what sections say in the summary; raises `PluginError` where one fails."""
    for name in SECTIONS.names():
        with blamed("report section", name):
            sentence = SECTIONS.find(name).sentence(compared)
        if sentence is not None:
            yield sentence


def added_rows(compared: ComparisonResult, task: Task) -> set[str]:
    """Return the ids of the test rows that sections read; raises `PluginError` where one fails."""
    ids: set[str] = set()
    for name in SECTIONS.names():
        with blamed("report section", name):
            ids.update(SECTIONS.find(name).rows(compared, task))
    return ids
