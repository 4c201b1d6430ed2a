"""The two shortcut methods that a model has to beat (CrossCodeBench, section IV-B1).

Copy Ex-output answers with the output of one of the task's positive examples, drawn anew for
each instance; Copy Ins-input answers with the input of the instance.
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
