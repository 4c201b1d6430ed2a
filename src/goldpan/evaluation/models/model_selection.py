"""What one of several candidates is worth on a validation split."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from goldpan.datasets.task import Task
from goldpan.evaluation.model import load


def value_of(task: Task, truth: Sequence[Any], answers: Sequence[Any]) -> float:
    """Return what chooses: macro F1, or 1 - SMAPE for numbers; higher is better."""
    if task.type == "regression":
        right, answered = np.asarray(truth, dtype=np.float64), np.asarray(answers, dtype=np.float64)
        size = (np.abs(right) + np.abs(answered)) / 2
        error = np.divide(np.abs(right - answered), size, out=np.zeros_like(size), where=size > 0)
        return 1 - float(error.mean())
    metrics = load("sklearn.metrics")
    if task.type == "multi-label":
        binarize = load("sklearn.preprocessing").MultiLabelBinarizer(classes=task.label_names)
        right, answered = binarize.fit_transform(truth), binarize.transform(answers)
        return float(metrics.f1_score(right, answered, average="macro", zero_division=0))
    names = list(task.label_names)
    return float(metrics.f1_score(truth, answers, labels=names, average="macro", zero_division=0))
