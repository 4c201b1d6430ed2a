"""Scores by project and other columns."""

from __future__ import annotations

import math

from goldpan.evaluation.comparison.question import ComparisonResult, System
from goldpan.report.document import Cell, Content, Fold, Section, Table, cut

_MOST_TASKS = 60
_OPEN = 2


def groups_section(compared: ComparisonResult) -> Section | None:
    """Return each task's scores by column, None where no run has any."""
    content: list[Content] = []
    for task in compared.tasks[:_MOST_TASKS]:
        systems = [system for system in compared.ranked if task in system.runs]
        columns = dict.fromkeys(
            column for system in systems for column in system.runs[task][0].record.scores_by
        )
        for column in columns:
            table = _table(systems, task, column)
            content.append(Fold(f"{task} by {column}", (table,), open=len(content) < _OPEN))
    if not content:
        return None
    return Section(
        "groups",
        "Scores by project and column",
        tuple(content),
        "The same predictions, scored for each project, or for each value of a column that"
        " --by named. A mean over values counts each the same, however many rows it has.",
    )


def _table(systems: list[System], task: str, column: str) -> Table:
    """Return a row a value and a column a model; means over seeds."""
    rows: dict[str, int] = {}
    scores: list[dict[str, float | None]] = []
    for system in systems:
        values: dict[str, list[float]] = {}
        for run in system.runs[task]:
            by = run.record.scores_by.get(column)
            for part in by.parts if by else ():
                rows.setdefault(part.value, part.examples)
                if part.score is not None:
                    values.setdefault(part.value, []).append(part.score)
        scores.append(
            {value: math.fsum(numbers) / len(numbers) for value, numbers in values.items()}
        )
    order = sorted(rows, key=lambda value: (-rows[value], value))
    lines: list[tuple[Cell, ...]] = [
        (value, rows[value], *(of_value.get(value) for of_value in scores)) for value in order
    ]
    means = [[mean for mean in of_value.values() if mean is not None] for of_value in scores]
    averages = (math.fsum(numbers) / len(numbers) if numbers else None for numbers in means)
    lines.insert(0, (f"mean over {len(order):,} values", sum(rows.values()), *averages))
    metric = systems[0].runs[task][0].scores.main
    names = (column, "rows", *(system.name for system in systems))
    return cut(Table(f"{metric} by {column}", names, tuple(lines)))
