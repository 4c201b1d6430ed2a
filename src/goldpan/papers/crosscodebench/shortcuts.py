"""The two shortcut methods that a model has to beat (CrossCodeBench, section IV-B1).

Copy Ex-output answers with the output of one of the task's positive examples, drawn anew for
each instance; Copy Ins-input answers with the input of the instance. Built splits are scored by
them, and reports on comparisons show their scores beside those of models.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import pyarrow as pa

from goldpan.papers.crosscodebench.build import FAMILY, read_tasks, side_rows
from goldpan.papers.crosscodebench.meta import Meta
from goldpan.plugins import data, evaluation

Shortcut = Literal["copy-ex-output", "copy-ins-input"]
METRICS = {"EM": "exact_match", "BLEU": "bleu", "ROUGE-L": "rouge_l"}
"""The scores as the paper's tables call them."""


@dataclass(frozen=True, slots=True)
class ShortcutScores(data.Result):
    """Scores of a shortcut on the evaluation side, in percent; None without instances."""

    shortcut: str
    seed: int
    instances: int
    exact_match: float | None = None
    bleu: float | None = None
    rouge_l: float | None = None


@data.renders(ShortcutScores)
def scored(result: ShortcutScores) -> Iterator[data.Block]:
    """Yield each score."""
    yield data.Line(f"{result.shortcut} on {result.instances:,} instances")
    for name in METRICS.values():
        score = getattr(result, name)
        yield data.Line(f"  {name}: " + ("none" if score is None else f"{score:.2f}"))


find_shortcut = data.Registry("shortcut", lambda: {one: one for one in get_args(Shortcut)}).find


def percentages(references: Sequence[str], answers: Sequence[str | None]) -> dict[str, float]:
    """Score answers, where None is one that is not valid (section IV-C); nothing scores nothing.

    Exact match is for tasks with short, fixed outputs, BLEU and ROUGE-L for the others. The paper
    does not say which ones; these are the corpus BLEU and the mean ROUGE-L of Goldpan's metrics.
    """
    agreements = [evaluation.compare_text(*pair) for pair in zip(references, answers, strict=True)]
    if not agreements:
        return {}
    counts = np.array([agreement.bleu_counts for agreement in agreements], dtype=np.float64)
    bleu = float(evaluation.bleu_of_counts(counts.sum(axis=0, keepdims=True))[0])
    exact = math.fsum(agreement.exact_match for agreement in agreements) / len(agreements)
    rouge = math.fsum(agreement.rouge_l for agreement in agreements) / len(agreements)
    return {"exact_match": 100 * exact, "bleu": 100 * bleu, "rouge_l": 100 * rouge}


def copied_example(meta: Meta, name: str, seed: int) -> str | None:
    """Return the output of one positive example, drawn by the seed and the instance's name."""
    if not meta.positive:
        return None
    return meta.positive[
        data.draw_number(seed, meta.stem, name, "shortcut") % len(meta.positive)
    ].output


def score_shortcut(
    directory: Path, shortcut: Shortcut, seed: int = 0, output: Path | None = None
) -> ShortcutScores:
    """Score what a shortcut answers to the evaluation instances of a built split.

    Its answers are written to `output`, if that is given. Raises `DatasetError` where the
    directory holds no such split, or the file cannot be written.
    """
    if data.read_provenance(directory).get("family") != FAMILY:
        raise data.DatasetError(
            f"{directory} holds no split of CrossCodeBench",
            "Give the directory that goldpan build crosscode split wrote",
        )
    answers = list(_answers(directory, shortcut, seed))
    if output:
        _write_answers(output, answers)
    truths, outputs = ([row[name] for row in answers] for name in ("truth", "answer"))
    scores = percentages(truths, outputs)
    return ShortcutScores(shortcut, seed, len(answers), **scores)


def _answers(directory: Path, shortcut: Shortcut, seed: int) -> Iterator[dict[str, Any]]:
    """Yield id, truth and answer; None where the task has no positive example to copy from."""
    tasks = read_tasks(directory)
    for row in side_rows(directory, "evaluation", ("id", "task", "input", "output")):
        answer = row["input"]
        if shortcut == "copy-ex-output":
            answer = copied_example(tasks[row["task"]], row["id"], seed)
        yield {"id": row["id"], "truth": row["output"], "answer": answer}


def _write_answers(path: Path, answers: Sequence[Mapping[str, Any]]) -> None:
    """Write answers as the predictions table of free text; the file appears by a rename."""
    schema = evaluation.predictions_schema("text-generation")
    rows = [{**dict.fromkeys(schema.names), **answer} for answer in answers]
    try:
        data.make_directory(path.parent)
        with data.replacing_file(path) as unfinished:
            data.write_table(pa.Table.from_pylist(rows, schema=schema), unfinished)
    except OSError as error:
        raise data.DatasetError(
            f"{path} cannot be written: {error.strerror}", "Choose another --output"
        ) from None


PROTOCOL = "crosscodebench"
_MOST_ROWS = 500
"""The benchmark's own cap of instances that a task is evaluated on."""
_MOST_MODELS = 12
"""Named last, so that models stand above what they must beat."""


def wanted_rows(compared: evaluation.ComparisonResult, task: data.Task) -> list[str]:
    """Return the ids of the test rows that shortcuts answer, none where they do not apply."""
    runs = [system.runs[task.name][0] for system in compared.systems if task.name in system.runs]
    names = {run.protocol.name for run in runs}
    if task.type == "mlm" or (task.type != "text-generation" and PROTOCOL not in names):
        return []
    return sorted(runs[0].predictions()["id"].to_pylist())[:_MOST_ROWS]


def shortcuts_section(
    compared: evaluation.ComparisonResult,
    tasks: Mapping[str, data.Task],
    materials: evaluation.RowsByTask,
) -> evaluation.Section | None:
    """Return scores beside those of copying; None where no task generates text."""
    content: list[evaluation.Content] = []
    for name in compared.tasks:
        task = tasks.get(name)
        ids = [] if task is None else wanted_rows(compared, task)
        if task is None or not ids:
            continue
        material = materials[name]
        if isinstance(material, str):
            content.append(evaluation.Remark(f"{material}, so shortcuts cannot answer."))
        else:
            content.append(_table(compared, task, {id_: material[id_] for id_ in ids}))
    if not content:
        return None
    return evaluation.Section(
        "shortcuts",
        "Shortcuts to beat",
        tuple(content),
        "In percent, as CrossCodeBench scores. Two shortcuts that read nothing set the scale: a"
        " model that does no better has learned nothing.",
    )


def _table(
    compared: evaluation.ComparisonResult, task: data.Task, rows: Mapping[str, evaluation.TaskRow]
) -> evaluation.ReportTable:
    wording = data.wording_of(task)
    right = {
        id_: text
        for id_, row in rows.items()
        if (text := _text(wording, row, row.target)) is not None
    }
    scored: list[tuple[evaluation.Cell, ...]] = []
    ran = [system for system in compared.ranked if task.name in system.runs]
    for system in ran[:_MOST_MODELS]:
        answered = _answered(system.runs[task.name][0], wording, rows)
        scored.append((system.name, *_cells(right, answered)))
    answered = {id_: rows[id_].text for id_ in right}
    scored.append(("shortcut: copy the input", *_cells(right, answered)))
    examples = task.prompt.examples
    if examples:
        copied = {
            id_: examples[data.draw_number(0, task.name, id_, "shortcut") % len(examples)][1]
            for id_ in right
        }
        scored.append(("shortcut: copy an example's output", *_cells(right, copied)))
    columns = ("model", "exact match", "BLEU", "ROUGE-L")
    note = f"On {len(right):,} test rows, the first by id."
    return evaluation.ReportTable(task.name, columns, tuple(scored), note)


def _cells(right: Mapping[str, str], answered: Mapping[str, str | None]) -> list[float | None]:
    scores = percentages(list(right.values()), [answered.get(id_) for id_ in right])
    return [round(scores[name], 2) if name in scores else None for name in METRICS.values()]


def _answered(
    run: evaluation.RunRecord, wording: data.Wording, rows: Mapping[str, evaluation.TaskRow]
) -> dict[str, str | None]:
    table = run.predictions()
    return {
        id_: None if answer is None else _text(wording, rows[id_], answer)
        for id_, answer in zip(table["id"].to_pylist(), table["answer"].to_pylist(), strict=True)
        if id_ in rows
    }


def _text(wording: data.Wording, row: evaluation.TaskRow, answer: object) -> str | None:
    """Return a target or an answer as text, None where it has no form."""
    try:
        return data.output_text(wording, row.row_value, answer)
    except data.WordingError:
        return None


SECTION = evaluation.ReportSection("shortcuts", shortcuts_section, rows=wanted_rows)
