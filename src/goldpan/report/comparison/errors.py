"""The worst errors of a task's best model, with their texts where the rows are at hand."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from goldpan.core.errors import DatasetError
from goldpan.core.result import count
from goldpan.core.sanitize import line
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.datasets.provenance import PROVENANCE
from goldpan.datasets.tasks.data import read_task_data, task_directory
from goldpan.datasets.tasks.task import Task, input_column
from goldpan.evaluation.compare.question import ComparisonResult, System
from goldpan.evaluation.metrics.generation import edit_similarity
from goldpan.evaluation.metrics.words_and_numbers import smape_errors
from goldpan.evaluation.record import RunRecord
from goldpan.report.document import Content, Fold, Remark, ReportTable, Row, Section
from goldpan.text.redaction import redact

_MOST_TASKS = _MOST_IN_ALL = 48
_MOST_A_TASK = 10
_SHOWN = 3
_LONGEST_ANSWER, _LONGEST_TEXT = 200, 300
_READ = ["id", "repo", "document", "truth", "answer", "scores"]


def errors_section(
    workspace: WorkspaceLayout, compared: ComparisonResult, tasks: Mapping[str, Task]
) -> Section:
    """Return the worst errors of each task's first model in the ranking, the worst first."""
    content: list[Content] = []
    unread: list[Content] = []
    names = compared.tasks[:_MOST_TASKS]
    most = max(1, min(_MOST_A_TASK, _MOST_IN_ALL // max(1, len(names))))
    for name in names:
        systems = compared.ranked_on(name)
        wrong = _worst(systems[0].runs[name][0], most)
        runs = [run for system in systems for run in system.runs[name]]
        texts = _read_texts(workspace, tasks.get(name), name, runs, [row["id"] for row in wrong])
        if isinstance(texts, str):
            unread += [Remark(f"{texts}, so only ids are shown.")] if wrong else []
            texts = {}
        rows = list(_rows(wrong, systems, name, texts))
        title = f"{name}: {systems[0].name}"
        if rows and not content:
            content.append(ReportTable.of(title, rows[:_SHOWN]))
            rows, title = rows[_SHOWN:], f"{title}, further errors"
        if rows:
            content.append(Fold(title, (ReportTable.of("", rows),)))
    return Section(
        "errors",
        "Worst errors",
        (*content, *unread) or (Remark("No error."),),
        "The errors of the best model, the most confident or largest first. Where all models agree"
        " on another label, the label itself may be wrong.",
    )


def _read_texts(
    workspace: WorkspaceLayout,
    task: Task | None,
    name: str,
    runs: Iterable[RunRecord],
    ids: Collection[str],
) -> Mapping[str, Any] | str:
    """Return the inputs of test rows by id, or why they cannot be shown beside the runs."""
    if task is None:
        return f"The registry does not know {name}"
    directory = task_directory(workspace, task)
    if not (directory / PROVENANCE).exists():
        return f"The rows of {name} are not in the workspace"
    try:
        data = read_task_data(directory, task)
    except DatasetError as error:
        return error.problem
    if any(run.hashes != (data.data_hash, data.split_hash) for run in runs):
        return f"The rows of {name} in the workspace are not those that were tested"
    table = data.splits["test"] if "test" in data.splits else data.splits["train"].slice(0, 0)
    return _by_id(table, input_column(task.type).name, ids)


def _by_id(table: pa.Table, column: str, ids: Collection[str]) -> dict[str, Any]:
    table = table.filter(pc.is_in(table["id"], pa.array(ids, pa.string())))
    return dict(zip(table["id"].to_pylist(), table[column].to_pylist(), strict=True))


def _worst(run: RunRecord, most: int) -> list[dict[str, Any]]:
    """Return the wrongly answered rows of a run, with how wrong they are and why."""
    wrong = []
    for row in run.predictions().select(_READ).to_pylist():
        truth, answer = row["truth"], row["answer"]
        if run.scores.task_type == "multi-label" and answer is not None:
            truth, answer = sorted(truth), sorted(answer)
        if truth != answer:
            row["severity"], row["why"] = _severity(run, truth, answer, row["scores"])
            wrong.append(row)
    return sorted(wrong, key=lambda row: (-row["severity"], row["id"]))[:most]


def _severity(
    run: RunRecord, truth: Any, answer: Any, scores: Sequence[float] | None
) -> tuple[float, str]:
    if answer is None:
        return math.inf, "no valid answer"
    match run.scores.task_type:
        case "binary" | "multi-class":
            if scores is None or not {truth, answer} <= {*run.labels}:
                return 0.0, ""
            margin = scores[run.labels.index(answer)] - scores[run.labels.index(truth)]
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


def _rows(
    wrong: Sequence[Mapping[str, Any]],
    systems: Sequence[System],
    task: str,
    texts: Mapping[str, Any],
) -> Iterable[Row]:
    ids = [row["id"] for row in wrong]
    first = systems[0].runs[task][0]
    answers = [_by_id(system.runs[task][0].predictions(), "answer", ids) for system in systems]
    for row in wrong:
        text = texts.get(row["id"], "")
        words = text if text and first.scores.task_type == "ner" else None
        text = text if isinstance(text, str) else " ".join(text)
        alike = [own.get(row["id"]) for own in answers].count(row["answer"])
        source = " ".join(filter(None, (row["id"], row["repo"], row["document"])))
        yield {
            "row": line(source, 80),
            "text": line(redact(text[:6_000]).text, _LONGEST_TEXT),
            "right": _answer_line(row["truth"], words),
            "answered": _answer_line(row["answer"], words),
            "models that answered so": f"{alike} of {len(systems)}",
            "why": row["why"],
        }


def _answer_line(answer: Any, words: Sequence[str] | None) -> str:
    """Return a target or an answer as one short line; of tags, the words that bear one."""
    if answer is None:
        return "no valid answer"
    if isinstance(answer, float):
        return f"{answer:,.6g}"
    if not isinstance(answer, str):
        if words is not None and len(words) == len(answer):
            pairs = zip(words, answer, strict=True)
            answer = [f"{word} {tag}" for word, tag in pairs if tag != "O"]
        answer = ", ".join(answer) or "none"
    return line(redact(answer[: 10 * _LONGEST_ANSWER]).text, _LONGEST_ANSWER) or "(empty)"
