"""Rows in the report: sections that papers and plugins add, and the worst errors."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from goldpan.core.errors import DatasetError
from goldpan.core.plugins.parts import Kind
from goldpan.core.plugins.registry import Registry
from goldpan.core.result import count
from goldpan.core.sanitize import line
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.datasets.provenance import PROVENANCE
from goldpan.datasets.tasks.data import read_task_data, task_directory
from goldpan.datasets.tasks.task import Task, input_column, target_column
from goldpan.evaluation.compare.question import ComparisonResult, System
from goldpan.evaluation.metrics.generation import edit_similarity
from goldpan.evaluation.metrics.words_and_numbers import smape_errors
from goldpan.evaluation.record import RunRecord
from goldpan.report.document import Content, Fold, Remark, ReportTable, Row, Section
from goldpan.text.redaction import redact


@dataclass(frozen=True, slots=True)
class TaskRow:
    """A test row."""

    text: str
    row_value: Any
    """As the task's rows hold it."""
    target: Any


def read_task_rows(
    workspace: WorkspaceLayout, task: Task, runs: Iterable[RunRecord], ids: Collection[str]
) -> Mapping[str, TaskRow] | str:
    """Return the test rows of a task by id, or why they cannot be shown beside the runs."""
    directory = task_directory(workspace, task)
    if not (directory / PROVENANCE).exists():
        return f"The rows of {task.name} are not in the workspace"
    input_name, target = input_column(task.type).name, target_column(task.type).name
    try:
        data = read_task_data(directory, task)
    except DatasetError as error:
        return error.problem
    if any(run.hashes != (data.data_hash, data.split_hash) for run in runs):
        return f"The rows of {task.name} in the workspace are not those that were tested"
    table = data.splits["test"] if "test" in data.splits else data.splits["train"].slice(0, 0)
    rows = table.filter(pc.is_in(table["id"], pa.array(sorted(ids), pa.string()))).to_pylist()
    return {row["id"]: _task_row(row[input_name], row[target]) for row in rows}


def _task_row(value: Any, target: Any) -> TaskRow:
    return TaskRow(value if isinstance(value, str) else " ".join(value), value, target)


RowsByTask = Mapping[str, Mapping[str, TaskRow] | str]
"""By task: its test rows, or why they cannot be read."""


@dataclass(frozen=True, slots=True)
class ReportSection:
    """A section of the report, and its sentence in the summary."""

    name: str
    make: Callable[[ComparisonResult, Mapping[str, Task], RowsByTask], Section | None]
    """Returns the section; None where there is nothing to say. Tables for papers are those that it
    has without tasks and rows."""
    sentence: Callable[[ComparisonResult], str | None] = lambda _: None
    """For the summary; None where there is nothing to say."""
    rows: Callable[[ComparisonResult, Task], Sequence[str]] = lambda _, __: ()
    """The ids of the test rows that it reads of `RowsByTask`."""
    value: Callable[[ComparisonResult], Any] = lambda _: None
    """The value of the name in ``goldpan evaluate compare --json``; None leaves it out."""

    def parts(self) -> Iterable[tuple[Kind, str, object]]:
        """Return itself, as a plugin registers it."""
        return [("report section", self.name, self)]


SECTIONS: Registry[ReportSection] = Registry(
    "section", dict, "report section", lambda item: item[0]
)


_MOST_TASKS = 48
_MOST_IN_ALL = 48
_MOST_A_TASK = 10
_LONGEST_ANSWER = 200
_SHOWN = 3
_LONGEST_TEXT = 300
_ERROR_OF_NONE = math.inf
"""No valid answer at all is the worst."""


@dataclass(frozen=True, slots=True)
class Wrong:
    """An example that the first model answered wrongly."""

    id: str
    origin: str
    truth: Any
    severity: float
    why: str
    answers: list[Any] = field(default_factory=list)
    """Of all models, that of the first one first."""


def find_mistakes(compared: ComparisonResult) -> dict[str, list[Wrong]]:
    """Return the worst errors of each task's first model in the ranking, the worst first."""
    tasks = compared.tasks[:_MOST_TASKS]
    most = max(1, min(_MOST_A_TASK, _MOST_IN_ALL // max(1, len(tasks))))
    return {task: _worst(compared.ranked_on(task), task, most) for task in tasks}


def mistakes_section(
    compared: ComparisonResult, errors: Mapping[str, Sequence[Wrong]], rows_by_task: RowsByTask
) -> Section:
    """Return the worst errors with their texts, where the rows are still in the workspace."""
    content: list[Content] = []
    unread: list[Content] = []
    for task, wrong in errors.items():
        task_rows = rows_by_task.get(task, f"The registry does not know {task}")
        if isinstance(task_rows, str) and wrong:
            unread.append(Remark(f"{task_rows}, so only ids are shown."))
        rows = {} if isinstance(task_rows, str) else task_rows
        task_type = compared.first_run(task).scores.task_type
        cells = [_row(error, rows.get(error.id), task_type) for error in wrong]
        title = f"{task}: {compared.ranked_on(task)[0].name}"
        if cells and not content:
            content.append(ReportTable.of(title, cells[:_SHOWN]))
            cells, title = cells[_SHOWN:], f"{title}, further errors"
        if cells:
            content.append(Fold(title, (ReportTable.of("", cells),)))
    return Section(
        "errors",
        "Worst errors",
        (*content, *unread) or (Remark("No error."),),
        "The errors of the best model, the most confident or largest first. Where all models agree"
        " on another label, the label itself may be wrong.",
    )


def _worst(systems: Sequence[System], task: str, most: int) -> list[Wrong]:
    best = systems[0].runs[task][0]
    labels = best.labels
    table = best.predictions()
    columns = ("id", "repo", "document", "truth", "answer", "scores")
    errors = []
    for row in zip(*(table[name].to_pylist() for name in columns), strict=True):
        id_, repo, document, truth, answer, scores = row
        if not _right(best, truth, answer):
            severity, why = _severity(best, truth, answer, scores, labels)
            source = ", ".join(filter(None, [repo, document]))
            errors.append(Wrong(id_, source, truth, severity, why))
    errors = sorted(errors, key=lambda wrong: (-wrong.severity, wrong.id))[:most]
    for system in systems:
        answers = _answers(system.runs[task][0], [error.id for error in errors])
        for wrong in errors:
            wrong.answers.append(answers.get(wrong.id))
    return errors


def _answers(run: RunRecord, ids: Sequence[str]) -> dict[str, Any]:
    table = run.predictions().select(["id", "answer"])
    table = table.filter(pc.is_in(table["id"], pa.array(ids, pa.string())))
    return dict(zip(table["id"].to_pylist(), table["answer"].to_pylist(), strict=True))


def _right(run: RunRecord, truth: Any, answer: Any) -> bool:
    if run.scores.task_type == "multi-label" and answer is not None:
        return set(truth) == set(answer)
    return bool(truth == answer)


def _severity(
    run: RunRecord, truth: Any, answer: Any, scores: Sequence[float] | None, labels: Sequence[str]
) -> tuple[float, str]:
    if answer is None:
        return _ERROR_OF_NONE, "no valid answer"
    match run.scores.task_type:
        case "binary" | "multi-class":
            if scores is None or answer not in labels or truth not in labels:
                return 0.0, ""
            margin = scores[labels.index(answer)] - scores[labels.index(truth)]
            return margin, f"score {margin:+.2f} against the right label"
        case "multi-label":
            wrong = len(set(truth) ^ set(answer))
            return float(wrong), f"{count(wrong, 'label')} wrong"
        case "regression":
            error = float(smape_errors(np.array([truth]), np.array([answer]))[0])
            return error, f"off by {abs(answer - truth):,.4g}"
        case "ner" | "mlm":
            wrong = sum(right != other for right, other in zip(truth, answer, strict=False))
            wrong += abs(len(truth) - len(answer))
            return float(wrong), f"{wrong} of {len(truth)} words are wrong"
        case "text-generation":
            alike = edit_similarity(truth, answer)
            return 1 - alike, f"edit similarity {alike:.2f}"


def _row(wrong: Wrong, row: TaskRow | None, task_type: str) -> Row:
    words = row.row_value if row is not None and task_type == "ner" else None
    answer = wrong.answers[0]
    text = "" if row is None else line(redact(row.text[:6_000]).text, _LONGEST_TEXT)
    return {
        "row": line(f"{wrong.id} {wrong.origin}".strip(), 80),
        "text": text,
        "right": _answer_line(wrong.truth, words),
        "answered": _answer_line(answer, words),
        "models that answered so": f"{wrong.answers.count(answer)} of {len(wrong.answers)}",
        "why": wrong.why,
    }


def _answer_line(answer: Any, words: Sequence[str] | None) -> str:
    """Return a target or an answer as one short line."""
    if answer is None:
        return "no valid answer"
    if isinstance(answer, float):
        return f"{answer:,.6g}"
    if isinstance(answer, str):
        return line(redact(answer[: 10 * _LONGEST_ANSWER]).text, _LONGEST_ANSWER) or "(empty)"
    if words is not None and len(words) == len(answer):
        answer = [f"{word} {tag}" for word, tag in zip(words, answer, strict=True) if tag != "O"]
    return line(redact(", ".join(answer)[: 10 * _LONGEST_ANSWER]).text, _LONGEST_ANSWER) or "none"
