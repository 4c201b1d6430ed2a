"""Models learn what can be learned, from train alone, and the same run gives the same answers."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldpan.core.errors import EvaluationError, UsageError
from goldpan.datasets.tasks.data import TaskData, task_data
from goldpan.datasets.tasks.registry import find_task
from goldpan.evaluation.metrics.estimate import Scores
from goldpan.evaluation.model import find_model
from goldpan.evaluation.models.linear import best_threshold
from goldpan.evaluation.protocol import find_protocol
from tests.evaluating import (
    labeled,
    learns_every_type,
    points,
    ran,
    replaced,
    requirements,
    rows,
    rows_of,
)

pytest.importorskip("sklearn")
pytest.importorskip("xgboost")
PAIRS = labeled(120)
CLASSICAL = ("tfidf-svm", "tfidf-lr", "tfidf-xgboost")


def scores(root: Path, data: TaskData, name: str, **settings: Any) -> Scores:
    return ran(root, data, name, **settings).scores


@pytest.mark.parametrize("name", CLASSICAL)
def test_classical_models_learn_every_type_they_answer(name: str, tmp_path: Path) -> None:
    learns_every_type(tmp_path, name)


def test_rows_that_were_not_learned_from_say_what_noise_is_worth(tmp_path: Path) -> None:
    """Labels that nothing tells are learned by heart: only rows left out show it."""
    data = requirements(200, 40)
    drawn = np.random.default_rng(1).permutation(data.splits["train"]["label"].to_pylist())
    noise = replaced(data.splits["train"], label=drawn.tolist())
    data = task_data(data.task, {**data.splits, "train": noise})
    for name, by, size in (
        ("tfidf-svm", "5 folds inside train", 200),
        ("tfidf-lr", "5 folds inside train", 200),
        ("tfidf-xgboost", "a part of train", 20),
    ):
        record = ran(tmp_path, data, name)
        validated = record.validation_scores
        assert (record.learning.chosen_on, validated.examples) == (by, size)
        assert record.learning.candidates > 1
        assert record.learning.from_all is (size == 200)
        assert (record.train_scores.value("macro_f1") or 0) > 0.8
        assert (validated.value("macro_f1") or 1) < (0.65 if size == 200 else 0.8)


def test_numbers_are_told_of_rows_left_out(tmp_path: Path) -> None:
    done = ran(tmp_path, rows_of("story_points", points(), 120), "tfidf-lr")
    validated = done.validation_scores
    assert validated.examples == 120
    learned = done.train_scores.value("smape")
    assert (learned or 0) < (validated.value("smape") or 0) < 0.5
    assert done.learning.chosen_on == "5 folds inside train"


def test_rows_without_documents_have_no_neighbors_and_no_error(tmp_path: Path) -> None:
    data = requirements(120, 40)
    nobody = {
        name: replaced(table, document=[None] * len(table)) for name, table in data.splits.items()
    }
    scored = scores(tmp_path, task_data(data.task, nobody), "tfidf-svm", context="neighbors")
    assert (scored.value("macro_f1") or 0) > 0.8


def test_what_the_test_chose_has_no_validation_scores(tmp_path: Path) -> None:
    done = ran(tmp_path, requirements(120, 40), "tfidf-xgboost", "selu-paper")
    assert done.learning.chosen_on == "the test set"
    assert done.validation_scores.examples == 0


@pytest.mark.parametrize("name", CLASSICAL)
def test_the_same_seed_gives_the_same_answers(name: str, tmp_path: Path) -> None:
    done = [ran(tmp_path / folder, requirements(60, 20), name).directory for folder in "ab"]
    first, second = (path / "predictions.parquet" for path in done)
    assert first.read_bytes() == second.read_bytes()


def test_neighbors_help_where_a_text_alone_says_nothing(tmp_path: Path) -> None:
    """Every second sentence is the same; only what stands before tells its category."""
    task = find_task("nlbse23_java_usage")
    yes, no = task.label_names
    pairs = []
    for index, (text, _) in enumerate(labeled(200)):
        kind = ("call it so", yes) if index % 2 else ("it was written by", no)
        pairs += [(f"{kind[0]} {text}", no), ("as follows", kind[1])]
    made = _placed(rows(task, pairs))
    cut = 280
    data = task_data(task, {"train": made.slice(0, cut), "test": made.slice(cut)})
    alone = scores(tmp_path, data, "tfidf-svm").value("f1") or 0
    around = scores(tmp_path, data, "tfidf-svm", context="neighbors").value("f1") or 0
    assert around > 0.9
    assert around > alone + 0.2


def _placed(table: pa.Table) -> pa.Table:
    """Put each two rows into a document."""
    places = range(len(table))
    documents = [f"Class{place // 2}" for place in places]
    positions = [place % 2 for place in places]
    return replaced(table, repo=["octo/gem"] * len(table), document=documents, position=positions)


def test_a_model_says_which_tasks_it_does_not_answer(tmp_path: Path) -> None:
    data = rows_of("se_entities", [(["a", str(n)], ["O", "O"]) for n in range(40)], 30)
    for name in CLASSICAL:
        with pytest.raises(EvaluationError, match="not answer se_entities"):
            scores(tmp_path, data, name)
    with pytest.raises(UsageError, match="context of the model tfidf-svm cannot be 'far'"):
        find_model("tfidf-svm", {"context": "far"})
    with pytest.raises(UsageError, match="grid of the model tfidf-xgboost"):
        find_model("tfidf-xgboost", {"grid": "huge"})
    for folds in ("many", 2.5, math.inf):
        with pytest.raises(UsageError, match=r"folds of the model tfidf-lr cannot be .* a whole"):
            find_model("tfidf-lr", {"folds": folds})
    with pytest.raises(UsageError, match="timeout of the model prompted cannot be 'nan'"):
        find_model("prompted", {"model": "m", "timeout": "nan"})


@pytest.mark.parametrize("name", CLASSICAL)
def test_texts_without_words_are_refused(name: str, tmp_path: Path) -> None:
    data = rows_of(
        "requirement_type", [(" " * at, label) for at, (_, label) in enumerate(PAIRS)], 80
    )
    with pytest.raises(EvaluationError, match="No text that the model learns from has a word"):
        ran(tmp_path, data, name, replace(find_protocol("default"), validation="test"))


def test_neighbors_in_scripts_without_spaces_are_read(tmp_path: Path) -> None:
    """No word stands in two texts, and pieces of words do."""
    words = {"functional": "\u7cfb\u7edf\u5e94\u5f53", "non-functional": "\u5feb\u901f"}
    pairs = [
        (chr(0x4E00 + at) + words[label] + chr(0x5E00 + at), label)
        for at, (_, label) in enumerate(PAIRS)
    ]
    data = rows_of("requirement_type", pairs, 80)
    assert scores(tmp_path, data, "tfidf-lr", context="neighbors").value("macro_f1") == 1.0


@given(st.lists(st.tuples(st.integers(-5, 5), st.booleans()), min_size=1, max_size=30))
def test_no_threshold_is_better(pairs: list[tuple[int, bool]]) -> None:
    values = np.array([float(score) for score, _ in pairs])
    truths = np.array([label for _, label in pairs])

    def f1(threshold: float) -> float:
        answers = values > threshold
        hits = int((answers & truths).sum())
        return 2 * hits / max(1, int(answers.sum() + truths.sum()))

    threshold, value = best_threshold(values, truths)
    assert value == pytest.approx(f1(threshold))
    assert all(f1(threshold) <= value + 1e-9 for threshold in np.arange(-6, 6, 0.25))
