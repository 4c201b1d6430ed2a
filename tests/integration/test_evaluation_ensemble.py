"""Texts are told by their own words, their meaning, and the lines that many of them share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from goldpan.core.errors import EvaluationError, UsageError
from goldpan.datasets.tasks.data import TaskData, task_data
from goldpan.datasets.tasks.registry import find_task
from goldpan.evaluation.model import find_model
from goldpan.evaluation.models.ensemble import own_words, shared_lines
from goldpan.evaluation.record import RunRecord
from tests.evaluating import comments, labeled, ran, requirements, rows, rows_of, types
from tests.tiny_models import tiny

pytest.importorskip("sklearn")
pytest.importorskip("torch")
TEMPLATE = "<!-- Search first -->\n### Version 1.{}\n\n### What happened?\n{}\n"


def _run(root: Path, data: TaskData, **settings: Any) -> RunRecord:
    chosen = {"weights": str(tiny("bert")), "tokens": 32, "layers": 2, "folds": 2, **settings}
    return ran(root, data, "ensemble", **chosen)


def _issues(count: int) -> list[tuple[str, str]]:
    """Issues that differ by nothing but the lines of their templates."""
    sections = {"bug": "Steps to reproduce", "feature": "Your wish", "question": "Where you looked"}
    labels = list(sections)
    return [
        (f"Title {index}\n### {sections[labels[index % 3]]}\nword {index}", labels[index % 3])
        for index in range(count)
    ]


def test_own_words_are_told_from_lines_that_many_texts_share() -> None:
    texts = [f"A title\n{TEMPLATE.format(number, f'It broke {number}')}" for number in range(6)]
    shared = shared_lines([*texts, "No body"])
    assert shared == ("it broke", "version", "what happened"), "digits do not tell lines apart"
    body = TEMPLATE.format(9, "It hangs, see https://x.y\n![shot](a.png)")
    assert own_words(f"How to stop it?\n{body}", frozenset(shared)).split() == (
        ["How", "to", "stop", "it?", "It", "hangs,", "see", "link", "screenshot"]
    )


@pytest.mark.parametrize(
    "text", ["", "\n", "only a title", "a\n" + "<!-- " * 4_000, "a\n" + "![" * 9_000]
)
def test_any_text_is_read(text: str) -> None:
    assert own_words(text, frozenset(shared_lines([text] * 5))).startswith(text[:1].strip())


def test_shared_lines_tell_types(tmp_path: Path) -> None:
    task = find_task("nlbse24_issue_type")
    pairs = _issues(120)
    splits = {"train": rows(task, pairs[:90]), "test": rows(task, pairs[90:], start=90)}
    data = task_data(task, splits)
    done = _run(tmp_path / "a", data)
    assert (done.scores.value("macro_f1") or 0) > 0.9
    assert done.validation_scores.examples == 90, "each by an ensemble without it"
    again = _run(tmp_path / "b", data)
    assert again.scores == done.scores


def test_one_label_of_two_and_several_labels(tmp_path: Path) -> None:
    two = _run(tmp_path, requirements(), context="neighbors")
    assert two.uses_neighbors
    assert (two.scores.value("macro_f1") or 0) > 0.7
    several = _run(tmp_path, rows_of("comment_type_python", comments(80), 60))
    assert (several.scores.value("micro_f1") or 0) > 0.9


def test_answers_around_a_text_tell_what_its_words_do_not(tmp_path: Path) -> None:
    """Of five texts in a row that have one label, train has four; their words say nothing."""
    task = find_task("requirement_type")
    words = [text for text, _ in labeled(240, seed=3)]
    pairs = [
        (f"gravel {text.split()[0]}", task.label_names[at // 20 % 2])
        for at, text in enumerate(words)
    ]
    every = rows(task, pairs)
    is_test = pa.array([at // 4 % 5 == 2 for at in range(len(pairs))])
    data = task_data(
        task, {"train": every.filter(pc.invert(is_test)), "test": every.filter(is_test)}
    )
    near = _run(tmp_path, data, context="answers", folds=5).scores.value("macro_f1") or 0
    alone = _run(tmp_path, data, context="neighbors").scores.value("macro_f1") or 0
    assert near > alone + 0.2


def test_labels_of_few_rows_are_not_learned(tmp_path: Path) -> None:
    pairs = [(f"the gravel {at}", "bug") for at in range(28)]
    pairs += [("a wish", "enhancement"), ("why", "question")]
    done = _run(tmp_path, rows_of("issue_type", [*pairs, *pairs[:8]], 30))
    assert done.scores.value("accuracy") == 1.0


def test_what_it_cannot_answer_is_said(tmp_path: Path) -> None:
    numbers = [(f"gravel {at}", float(at)) for at in range(40)]
    with pytest.raises(EvaluationError, match="which is regression"):
        _run(tmp_path, rows_of("story_points", numbers, 30))
    with pytest.raises(UsageError, match="2 layers, and 5 are read"):
        _run(tmp_path, rows_of("issue_type", types(40), 30), layers=5)
    with pytest.raises(UsageError, match="layers of the model ensemble"):
        find_model("ensemble", {"layers": 0})
