"""Ranks the labels of a task by how likely they are wrong: confident learning.

Northcutt, Jiang and Chuang, "Confident Learning: Estimating Uncertainty in Dataset Labels", JAIR
2021. Every row gets probabilities from a model that has not learned from it, nor from an equal
text. A label is suspect where another is more probable, and as probable as it is on average for
rows that have it; the order is by the normalized margin, the probability of the label less that of
the next.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from goldpan.core.errors import EvaluationError, UsageError
from goldpan.core.result import Result
from goldpan.datasets.table_files import write_rows
from goldpan.datasets.tasks.data import TaskData
from goldpan.datasets.tasks.task import CLASSIFICATION, Task, target_column
from goldpan.evaluation.model import load
from goldpan.evaluation.models.features import Features

Numbers = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]

_STRENGTH = 4.0
_EXCERPT = 200
_LABELS = pa.list_(pa.string())
_SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        ("split", pa.string()),
        ("given", _LABELS),
        ("suggested", _LABELS),
        ("margin", pa.float64()),
        ("suspect", pa.bool_()),
        ("text", pa.string()),
    ]
)


@dataclass(frozen=True, slots=True)
class RankedLabel:
    """A row's labels, and those that models of the other rows suggest."""

    id: str
    split: str
    given: tuple[str, ...]
    """Labels that it has."""
    suggested: tuple[str, ...]
    """Labels that it would have if the least probable decision were the other way."""
    margin: float
    """From -1, surely wrong, to 1: the probability of the label less that of the next."""
    suspect: bool
    """True if the confident joint counts it as an error."""
    text: str
    """How the text begins."""


@dataclass(frozen=True, slots=True)
class LabelErrors(Result):
    """The labels of a task, the most suspect first."""

    task: str
    rows: int
    data_hash: str
    """SHA-256 of the rows, as runs name theirs."""
    folds: int
    seed: int
    context: str
    """Context that models read beside the text: neighbors, or none."""
    right_out_of_fold: float
    """The share of decisions that the models would have made as the labels say: where it is low,
    so is the worth of the order."""
    suspects: int
    """How many labels the confident joint counts as errors."""
    ranked: tuple[RankedLabel, ...]


def find_label_errors(data: TaskData, *, folds: int = 5, seed: int = 0) -> LabelErrors:
    """Rank all rows of a classification task, whatever their split.

    The models are logistic regressions on TF-IDF of words and characters, of the texts before and
    after too where rows name their documents. A multi-label task is a yes or no for each label,
    and its rows are ranked by their least probable decision. Raises `UsageError` for other tasks
    and `EvaluationError` where all rows have the same labels, or the same text.
    """
    task = data.task
    if task.type not in CLASSIFICATION:
        raise UsageError(f"{task.name} has no labels to judge", "Choose a classification task")
    if folds < 2:
        raise UsageError(f"--folds {folds} leaves nothing to learn from", "Give at least 2")
    rows = pa.concat_tables(data.splits.values())
    splits = [name for name, table in data.splits.items() for _ in range(len(table))]
    texts = rows["text"].to_pylist()
    if len(set(texts)) == 1:
        raise EvaluationError(
            f"All rows of {task.name} have the same text", "Import rows with different texts"
        )
    context = "neighbors" if any(rows["document"].to_pylist()) else "none"
    matrix = Features(rows, rows, context).of(rows)
    decisions = _decisions(task, rows)
    margins = np.empty((len(texts), len(decisions)))
    other = np.empty((len(texts), len(decisions)), np.int64)
    flagged = np.empty((len(texts), len(decisions)), np.bool_)
    for at, labels in enumerate(decisions.values()):
        probabilities = _out_of_fold(matrix, labels, _folds(texts, labels, folds, seed))
        margins[:, at], other[:, at] = _margins(probabilities, labels)
        flagged[:, at] = _suspects(probabilities, labels)
    worst = margins.argmin(axis=1)
    least = margins.min(axis=1)
    suspect: npt.NDArray[np.bool_] = np.any(flagged, axis=1)
    labeled = _label_sets(task, rows)
    ids = rows["id"].to_pylist()
    order = sorted(range(len(ids)), key=lambda row: (least[row], ids[row]))
    names = list(decisions)
    ranked = tuple(
        RankedLabel(
            ids[row],
            splits[row],
            labeled[row],
            _suggested(task, labeled[row], names[worst[row]], int(other[row, worst[row]])),
            round(float(least[row]), 6),
            bool(suspect[row]),
            " ".join(texts[row][:_EXCERPT].split()),
        )
        for row in order
    )
    right = float((margins > 0).mean())
    suspects = int(suspect.sum())
    size, digest = len(ids), data.data_hash
    return LabelErrors(task.name, size, digest, folds, seed, context, right, suspects, ranked)


def write_ranked(result: LabelErrors, path: Path) -> None:
    """Write all rows, the most suspect first, as Parquet, JSON lines or CSV."""
    table = pa.Table.from_pylist([asdict(row) for row in result.ranked], schema=_SCHEMA)
    write_rows(table.to_reader(), path)


def _label_sets(task: Task, rows: pa.Table) -> list[tuple[str, ...]]:
    targets = rows[target_column(task.type).name].to_pylist()
    return [tuple(label) if isinstance(label, list) else (label,) for label in targets]


def _decisions(task: Task, rows: pa.Table) -> Mapping[str, Labels]:
    """Return the decisions on each row as numbers: its one label, or each label or not."""
    labeled, names = _label_sets(task, rows), task.label_names
    if task.type == "multi-label":
        decisions = {
            name: np.array([int(name in row) for row in labeled], np.int64) for name in names
        }
        by_name = {
            name: labels for name, labels in decisions.items() if 0 < labels.sum() < len(labels)
        }
    else:
        labels = np.array([names.index(row[0]) for row in labeled], np.int64)
        by_name = {"": labels} if len(np.unique(labels)) > 1 else {}
    if not by_name:
        raise EvaluationError(
            f"All rows of {task.name} have the same labels", "Import rows with different labels"
        )
    return by_name


def _folds(texts: Sequence[str], labels: Labels, folds: int, seed: int) -> Labels:
    """Return the fold of each row: equal texts share one, labels are dealt out evenly."""
    first: dict[str, int] = {}
    for text, label in zip(texts, labels.tolist(), strict=True):
        first.setdefault(text, label)
    ordered = sorted(first, key=lambda text: (first[text], _draw(seed, text)))
    fold_of = {text: position % folds for position, text in enumerate(ordered)}
    return np.array([fold_of[text] for text in texts], np.int64)


def _draw(seed: int, text: str) -> bytes:
    return hashlib.sha256(f"{seed}\0{text}".encode("utf-8", "surrogatepass")).digest()


def _out_of_fold(matrix: Any, labels: Labels, folds: Labels) -> Numbers:
    """Return the probability of each label by models that have not seen the row."""
    regression = load("sklearn.linear_model").LogisticRegression
    probabilities = np.zeros((len(labels), int(labels.max()) + 1))
    for fold in np.unique(folds):
        held_out, training = folds == fold, folds != fold
        classes = np.unique(labels[training])
        if len(classes) == 1:
            probabilities[held_out, classes[0]] = 1.0
            continue
        model = regression(C=_STRENGTH, max_iter=1_000).fit(matrix[training], labels[training])
        probabilities[np.ix_(held_out, model.classes_)] = model.predict_proba(matrix[held_out])
    return probabilities


def _margins(probabilities: Numbers, labels: Labels) -> tuple[Numbers, Labels]:
    """Return the probability of each row's label less that of the next, and which that is."""
    rows = np.arange(len(labels))
    others = probabilities.copy()
    others[rows, labels] = -1.0
    best = others.argmax(axis=1)
    return probabilities[rows, labels] - others[rows, best], best


def _suspects(probabilities: Numbers, labels: Labels) -> npt.NDArray[np.bool_]:
    """Return which rows lie off the diagonal of the confident joint (section 3.1 of the paper).

    A row counts for a label that is more probable than its own and reaches the mean over the rows
    that have it. The mean alone, near 0 for a label of few rows, would be reached by all rows.
    """
    thresholds = np.full(probabilities.shape[1], np.inf)
    for label in np.unique(labels):
        thresholds[label] = probabilities[labels == label, label].mean()
    own = probabilities[np.arange(len(labels)), labels][:, None]
    return np.asarray(((probabilities >= thresholds) & (probabilities > own)).any(axis=1))


def _suggested(task: Task, labels: tuple[str, ...], name: str, other: int) -> tuple[str, ...]:
    if task.type != "multi-label":
        return (task.label_names[other],)
    turned = set(labels) ^ {name}
    return tuple(label for label in task.label_names if label in turned)
