"""Ranks the labels of a task by how likely they are wrong: confident learning.

Northcutt, Jiang and Chuang, "Confident Learning: Estimating Uncertainty in Dataset Labels", JAIR
2021. Every row gets probabilities from a model that has not learned from it, nor from an equal
text. A label is suspect where another is more probable, and as probable as it is on average for
rows that have it; the order is by the normalized margin, the probability of the label less that of
the next.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from goldpan.core.errors import EvaluationError, UsageError
from goldpan.core.proportions import Estimate
from goldpan.core.result import Block, Line, Result, Title
from goldpan.datasets.gold import GoldScore, SampleScore
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
class LabelErrors:
    """The labels of a task, the most suspect first."""

    task: str
    rows: int
    data_hash: str
    """SHA-256 of the rows, as runs name theirs."""
    folds: int
    seed: int
    context: str
    """Context that models read beside the text: neighbours, or none."""
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
        raise UsageError(f"{folds} folds leave nothing to learn from", "Give at least 2")
    rows = pa.concat_tables(data.splits.values())
    splits = [name for name, table in data.splits.items() for _ in range(len(table))]
    texts = rows["text"].to_pylist()
    if len(set(texts)) == 1:
        raise EvaluationError(
            f"All rows of {task.name} have the same text", "Import rows with different texts"
        )
    context = "neighbours" if any(rows["document"].to_pylist()) else "none"
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
    labelled = _label_sets(task, rows)
    ids = rows["id"].to_pylist()
    order = sorted(range(len(ids)), key=lambda row: (least[row], ids[row]))
    names = list(decisions)
    ranked = tuple(
        RankedLabel(
            ids[row],
            splits[row],
            labelled[row],
            _suggested(task, labelled[row], names[worst[row]], int(other[row, worst[row]])),
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
    labelled, names = _label_sets(task, rows), task.label_names
    if task.type == "multi-label":
        decisions = {
            name: np.array([int(name in row) for row in labelled], np.int64) for name in names
        }
        by_name = {
            name: labels for name, labels in decisions.items() if 0 < labels.sum() < len(labels)
        }
    else:
        labels = np.array([names.index(row[0]) for row in labelled], np.int64)
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


@dataclass(frozen=True, slots=True)
class SuspectLabels(Result):
    """The labels of a task, the most suspect first."""

    found: LabelErrors

    def plain(self) -> dict[str, Any]:
        """Return the counts and the rows."""
        return asdict(self.found)

    def blocks(self) -> Iterator[Block]:
        """Yield which labels are suspect."""
        found = self.found
        yield Line(
            f"{found.task}: {found.suspects:,} of {found.rows:,} rows are suspect; out of fold, "
            f"{found.right_out_of_fold:.1%} of the decisions are as the labels say"
        )
        for row in found.ranked:
            stated, rather = (" and ".join(names) or "none" for names in (row.given, row.suggested))
            mark = "" if row.suspect else " (not suspect)"
            yield Line(f"  {row.id}: {stated}, rather {rather}; margin {row.margin:+.2f}{mark}")
            yield Line(f"    {row.text}")


@dataclass(frozen=True, slots=True)
class LabelScores(Result):
    """How the rows of a dataset agree with gold sets."""

    scores: tuple[GoldScore, ...]
    notes: tuple[str, ...] = ()
    """Sentences on what a reader of a sample may do next."""

    def plain(self) -> list[dict[str, Any]]:
        """Return the score on each gold set."""
        return [asdict(score) for score in self.scores]

    def blocks(self) -> Iterator[Block]:
        """Yield the shares that are right, each with its interval."""
        for score in self.scores:
            part = f", half {score.half}" if score.half else ""
            labelled = f"{score.labelled:,} of {score.rows:,} rows are labelled"
            yield Title(score.gold, f"{part}: {labelled}")
            if score.sample:
                yield from _reading(score.sample)
            counts = ", ".join(f"{label} {count:,}" for label, count in score.labels.items())
            if not score.labelled:
                yield Line("  no row of the dataset is in this set, which may be of others")
                continue
            yield Line(f"  {score.kind}: {counts}")
            yield Line(f"  right: {_share(score.right)}")
            if "partly" in score.labels:
                yield Line(f"  right at least in part: {_share(score.at_least_partly)}")
            if not score.sample:
                yield Line(f"  of {score.there:,} issues that have one, kept: {_share(score.kept)}")
        yield from map(Line, self.notes)


def _reading(sample: SampleScore) -> Iterator[Line]:
    """Yield who read how much of a sample, how far they agree, and what is missing."""
    readers = ", ".join(f"{name} {rows:,}" for name, rows in sample.readers.items()) or "nobody"
    yield Line(f"  drawn with seed {sample.seed}: {sample.drawn:,} rows; read by {readers}")
    for pair in sample.pairs:
        kappa = "not defined" if pair.kappa is None else f"{pair.kappa:.2f}"
        both = f"  {' and '.join(pair.readers)} say the same of {pair.same:,} of {pair.rows:,} rows"
        yield Line(f"{both}; Cohen's kappa {kappa}")
    missing = {
        "not read by anyone yet": sample.drawn - sample.read,
        "not counted: cannot be judged": sample.cannot_tell,
        "judged differently without a majority: the less favourable judgement counts": (
            sample.differing
        ),
        "judged but not among these: gone, changed since, or of another dataset": sample.elsewhere,
    }
    yield from (Line(f"  {count:,} {reason}") for reason, count in missing.items() if count)


def _share(estimate: Estimate) -> str:
    if estimate.value is None or estimate.low is None or estimate.high is None:
        return "cannot be told"
    return f"{estimate.value:.0%} [{estimate.low:.0%}, {estimate.high:.0%}]"
