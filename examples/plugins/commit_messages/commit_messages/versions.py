"""What a wrong purpose costs: a metric, and its section of the report on a comparison."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from goldpan.plugins import ExampleMetric, ReportSection, Task
from goldpan.plugins.evaluation import ComparisonResult, ReportTable, Section

_TASK, _METRIC = "commit_purpose", "version_accuracy"
_RELEASE = {"add": "minor", "fix": "patch", "document": "none", "tidy": "none"}
"""Which part of the version a commit raises."""


def _right(task: Task, truths: Sequence[Any], answers: Sequence[Any]) -> list[float]:
    pairs = zip(truths, answers, strict=True)
    return [float(_RELEASE[truth] == _RELEASE.get(answer)) for truth, answer in pairs]


def _section(compared: ComparisonResult) -> Section | None:
    lines = tuple(
        (system.name, run.scores.value("macro_f1"), run.scores.value(_METRIC))
        for system in compared.ranked
        for run in system.runs.get(_TASK, ())
    )
    table = ReportTable("", ("model", "macro_f1", _METRIC), lines)
    note = "Which messages lead to the right version: documents and tidying raise none."
    return Section("versions", "Versions", (table,), note) if lines else None


METRIC = ExampleMetric(_METRIC, ("multi-class",), _right)
SECTION = ReportSection("versions", _section)
