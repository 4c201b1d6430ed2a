"""What copying would score: the shortcut baselines of CrossCodeBench (section IV-B1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from goldpan.papers.crosscodebench.shortcuts import METRICS, percentages
from goldpan.plugins.datasets import (
    Task,
    Wording,
    WordingError,
    draw_number,
    output_text,
    wording_of,
)
from goldpan.plugins.evaluation import ComparisonResult, Run
from goldpan.plugins.report import (
    Cell,
    Content,
    Remark,
    ReportSection,
    ReportTable,
    RowsByTask,
    Section,
    TaskRow,
)

PROTOCOL = "crosscodebench"
_MOST_ROWS = 500
"""The benchmark's own cap of instances that a task is evaluated on."""
_MOST_MODELS = 12
"""Named last, so that models stand above what they must beat."""


def wanted_rows(compared: ComparisonResult, task: Task) -> list[str]:
    """Return the ids of the test rows that shortcuts answer, none where they do not apply."""
    run = next(system.runs[task.name][0] for system in compared.systems if task.name in system.runs)
    names = {
        system.runs[task.name][0].record.protocol.name
        for system in compared.systems
        if task.name in system.runs
    }
    if task.type == "mlm" or (task.type != "text-generation" and PROTOCOL not in names):
        return []
    return sorted(run.predictions()["id"].to_pylist())[:_MOST_ROWS]


def shortcuts_section(
    compared: ComparisonResult, tasks: Mapping[str, Task], materials: RowsByTask
) -> Section | None:
    """Return scores beside those of copying; None where no task generates text."""
    content: list[Content] = []
    for name in compared.tasks:
        task = tasks.get(name)
        ids = [] if task is None else wanted_rows(compared, task)
        if task is None or not ids:
            continue
        material = materials[name]
        if isinstance(material, str):
            content.append(Remark(f"{material}, so shortcuts cannot answer."))
        else:
            content.append(_table(compared, task, {id_: material.rows[id_] for id_ in ids}))
    if not content:
        return None
    return Section(
        "shortcuts",
        "Shortcuts to beat",
        tuple(content),
        "In percent, as CrossCodeBench scores. Two shortcuts that read nothing set the scale: a"
        " model that does no better has learned nothing.",
    )


def _table(compared: ComparisonResult, task: Task, rows: Mapping[str, TaskRow]) -> ReportTable:
    wording = wording_of(task)
    right = {
        id_: text
        for id_, row in rows.items()
        if (text := _text(wording, row, row.target)) is not None
    }
    scored: list[tuple[Cell, ...]] = []
    for system in [candidate for candidate in compared.ranked if task.name in candidate.runs][
        :_MOST_MODELS
    ]:
        answered = _answers(system.runs[task.name][0], wording, rows)
        scored.append((system.name, *_cells(right, answered)))
    answered = {id_: rows[id_].text for id_ in right}
    scored.append(("shortcut: copy the input", *_cells(right, answered)))
    examples = task.prompt.examples
    if examples:
        copied = {
            id_: examples[draw_number(0, task.name, id_, "shortcut") % len(examples)][1]
            for id_ in right
        }
        scored.append(("shortcut: copy an example's output", *_cells(right, copied)))
    columns = ("model", "exact match", "BLEU", "ROUGE-L")
    note = f"On {len(right):,} test rows, the first by id."
    return ReportTable(task.name, columns, tuple(scored), note)


def _cells(right: Mapping[str, str], answered: Mapping[str, str | None]) -> list[float | None]:
    scores = percentages(list(right.values()), [answered.get(id_) for id_ in right])
    return [round(scores[name], 2) if name in scores else None for name in METRICS.values()]


def _answers(run: Run, wording: Wording, rows: Mapping[str, TaskRow]) -> dict[str, str | None]:
    table = run.predictions()
    pairs: Sequence[tuple[str, object]] = list(
        zip(table["id"].to_pylist(), table["answer"].to_pylist(), strict=True)
    )
    return {
        id_: None if answer is None else _text(wording, rows[id_], answer)
        for id_, answer in pairs
        if id_ in rows
    }


def _text(wording: Wording, row: TaskRow, answer: object) -> str | None:
    """Return a target or an answer as text, None where it has no form."""
    try:
        return output_text(wording, row.row_value, answer)
    except WordingError:
        return None


SECTION = ReportSection("shortcuts", shortcuts_section, rows=wanted_rows)
