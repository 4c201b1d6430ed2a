"""Ranking labels by how likely they are wrong."""

from __future__ import annotations

import csv
import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from goldpan.core.errors import EvaluationError, UsageError
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.datasets.tasks.registry import find_task
from goldpan.evaluation.label_errors import _folds, _margins, _suspects, find_label_errors
from tests.comparing import planted, split_rows, two_labels, write_rows
from tests.evaluating import replaced
from tests.program import goldpan

pytest.importorskip("sklearn")


def test_planted_wrong_labels_come_first() -> None:
    data, wrong = planted(two_labels(train=200, test=100), 0.05)
    errors = find_label_errors(data)
    assert (errors.task, errors.rows, len(errors.ranked)) == ("requirement_type", 300, 300)
    top = errors.ranked[:30]
    assert sum(row.id in wrong for row in top) >= 0.9 * len(wrong)
    assert {row.split for row in errors.ranked} == {"train", "test"}
    assert errors.ranked[0].suspect
    assert errors.ranked[0].given != errors.ranked[0].suggested
    margins = [row.margin for row in errors.ranked]
    assert margins == sorted(margins)
    assert 0.85 < errors.right_out_of_fold < 1
    assert find_label_errors(data) == errors


def test_rows_of_one_text_are_judged_by_models_that_have_not_seen_it() -> None:
    texts = [f"text {number % 40}" for number in range(120)]
    labels = np.array([number % 2 for number in range(120)], np.int64)
    folds = _folds(texts, labels, 5, 0)
    assert all(len({folds[at] for at in range(120) if texts[at] == text}) == 1 for text in texts)
    assert sorted(np.bincount(folds)) == [24] * 5
    assert np.array_equal(_folds(texts[::-1], labels[::-1], 5, 0)[::-1], folds)


def test_the_confident_joint_is_that_of_the_paper() -> None:
    """By hand: thresholds are the means of 0.9, 0.6, 0.3 and of 0.8, 0.6."""
    probabilities = np.array([[0.9, 0.1], [0.6, 0.4], [0.3, 0.7], [0.2, 0.8], [0.4, 0.6]])
    labels = np.array([0, 0, 0, 1, 1], np.int64)
    assert _suspects(probabilities, labels).tolist() == [False, False, True, False, False]
    margins, others = _margins(probabilities, labels)
    assert margins == pytest.approx([0.8, 0.2, -0.4, 0.6, 0.2])
    assert others.tolist() == [1, 1, 1, 0, 0]


def test_a_label_of_one_row_makes_no_others_suspect() -> None:
    """No model knows the label when its row is held out, so its mean is 0."""
    probabilities = np.array([[0.9, 0.1, 0.0], [0.7, 0.3, 0.0], [0.4, 0.6, 0.0]])
    labels = np.array([0, 0, 2], np.int64)
    assert _suspects(probabilities, labels).tolist() == [False, False, False]


def test_a_row_of_several_labels_is_ranked_by_its_least_probable_one() -> None:
    task = find_task("comment_type_java")
    first, second = task.label_names[:2]
    draw = random.Random(0)
    pairs: list[tuple[str, list[str]]] = []
    for number in range(200):
        kinds = [name for name in (first, second) if draw.random() < 0.5]
        words = {first: "compute display store", second: "call wash leaks"}
        pairs.append((f"{' '.join(words[name] for name in kinds)} gravel {number}", kinds))
    pairs[17] = (f"{words[first]} gravel 17", [second])
    errors = find_label_errors(split_rows(task, pairs, 150))
    worst = errors.ranked[0]
    assert worst.id == f"{task.name}:00017"
    assert worst.given == (second,)
    assert worst.suggested in ((), (first, second))


def test_what_has_no_labels_to_judge_is_refused() -> None:
    data = two_labels()
    alike = {part: replaced(rows, text=["same"] * len(rows)) for part, rows in data.splits.items()}
    with pytest.raises(EvaluationError, match="All rows of requirement_type have the same text"):
        find_label_errors(replace(data, splits=alike))
    with pytest.raises(UsageError, match="Give at least 2"):
        find_label_errors(data, folds=1)
    other = replace(data, task=replace(data.task, type="text-generation"))
    with pytest.raises(UsageError, match="has no labels to judge"):
        find_label_errors(other)
    names = data.task.label_names
    only = {
        name: table.filter(pa.compute.equal(table["label"], names[0]))
        for name, table in data.splits.items()
    }
    with pytest.raises(EvaluationError, match="have the same labels"):
        find_label_errors(replace(data, splits=only))


def table_rows(path: Path) -> list[dict[str, Any]]:
    return list(pq.read_table(path).to_pylist())


def test_the_command_names_the_rows_and_writes_all(tmp_path: Path) -> None:
    data, _ = planted(two_labels(), 0.05)
    write_rows(WorkspaceLayout(tmp_path), data)
    command = ("evaluate", "label-errors", "--task", "requirement_type", "--workspace", tmp_path)
    rows, table = tmp_path / "rows.csv", tmp_path / "rows.parquet"
    done = goldpan(*command, "--limit", "3", "--output", rows)
    assert done.code == 0, done.err
    assert "of 120 labels suspect" in done.out
    assert done.out.count("requirement_type:") == 4
    output = json.loads(goldpan(*command, "--json", "--output", table).out)
    assert len(output["ranked"]) == 20
    assert [row["id"] for row in table_rows(table)][:20] == [row["id"] for row in output["ranked"]]
    with rows.open(newline="") as file:
        assert [row["id"] for row in csv.DictReader(file)] == [
            row["id"] for row in table_rows(table)
        ]
    missing = goldpan(*command[:3], "issue_type", "--workspace", tmp_path)
    assert missing.code == 2
    assert "There are no rows of issue_type" in missing.err
