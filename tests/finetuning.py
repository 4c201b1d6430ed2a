"""Small lessons for fine-tuning, of every type of task, and a short way to train on them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from goldpan.core.terminal import Reporter
from goldpan.datasets.tasks.registry import find_task
from goldpan.datasets.tasks.task import Task
from goldpan.evaluation.model import Costs, TrainingContext
from goldpan.evaluation.models.finetuned import Finetuned, finetuned
from tests.evaluating import labeled, rows
from tests.places import ROOT
from tests.tiny_models import tiny

QUICK: Mapping[str, Any] = {
    "epochs": 2,
    "word_epochs": 2,
    "learning_rate": 3e-3,
    "batch": 8,
    "answer_tokens": 8,
    "patience": 99,
    "device": "cpu",
}
SEQUENCES = ("requirement_type", "issue_type", "comment_type_java", "story_points")
"""A binary, a multi-class and a multi-label task, and one for numbers."""
TOGETHER: Mapping[str, Any] = {"epochs": 3, "evaluations": 3, "processes": 2}
"""Settings of several processes."""
TOGETHER_TASK = "issue_type"


def example_rows(name: str, count: int = 32) -> tuple[Task, pa.Table]:
    """Return a task with rows that can be learned."""
    task = find_task(name)
    names = task.label_names
    pairs: list[tuple[Any, Any]] = []
    for at in range(count):
        match task.type:
            case "binary":
                pairs.append(labeled(count)[at])
            case "multi-class":
                pairs.append((("gravel", "sieve", "creek")[at % 3] * 3, names[at % 3]))
            case "multi-label":
                tagged = [("fast", names[0], at % 2), ("user", names[1], at % 3)]
                text = " ".join(word for word, _, yes in tagged if yes) or "a"
                pairs.append((text, [label for _, label, yes in tagged if yes]))
            case "regression":
                pairs.append(("gravel " * (at % 5 + 1), float(at % 5 + 1)))
            case "ner":
                words = ["call", "wash", "on", "Windows", str(at), "now"]
                tags = ["O", "B-Function", "O", "B-Operating_System", "O", "O"]
                pairs.append((words, tags))
            case "mlm":
                pairs.append(masked("the system shall notify the user", "notify", "shall"))
            case "text-generation":
                pairs.append((("gravel", "sieve")[at % 2], ("the pan", "wash")[at % 2]))
    return task, rows(task, pairs)


def masked(text: str, *words: str) -> tuple[str, list[dict[str, int]]]:
    """Return a text with the places of its words to mask."""
    starts = sorted((text.index(word), len(word)) for word in words)
    return text, [{"start": start, "end": start + length} for start, length in starts]


def lesson(task: Task, table: pa.Table, directory: Path, seed: int = 0) -> TrainingContext:
    """Return a lesson that is chosen by its first rows, with costs and a quiet reporter."""
    directory.mkdir(parents=True, exist_ok=True)
    return TrainingContext(
        task, table, table.slice(0, 8), table, table, seed, directory, Reporter(quiet=True), Costs()
    )


def fit(kind: str, context: TrainingContext, **settings: Any) -> Finetuned:
    """Train a tiny model of that kind."""
    made = finetuned({**QUICK, **settings, "weights": str(tiny(kind))}).fit(context)
    assert isinstance(made, Finetuned)
    return made


def unchosen(context: TrainingContext) -> TrainingContext:
    """Return the lesson without rows to choose by."""
    return replace(context, validation=None)


def everywhere(code: str, directory: Path) -> str:
    """Return a search path that makes every Python process run code when it starts."""
    directory.mkdir()
    (directory / "sitecustomize.py").write_text(code)
    return os.pathsep.join((str(directory), str(ROOT)))


@pytest.fixture(scope="module")
def losses_alone(tmp_path_factory: pytest.TempPathFactory) -> list[float]:
    """The losses of one process: Llama has no dropout, so that all others must have the same."""
    context = lesson(*example_rows(TOGETHER_TASK), tmp_path_factory.mktemp("alone"))
    losses: list[float] = fit("llama", context, **{**TOGETHER, "processes": 1}).facts["losses"]
    return losses
