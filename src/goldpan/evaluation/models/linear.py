"""Linear models of labels and numbers on the features of texts.

Settings and thresholds are chosen by cross-validation inside train, so the validation split is
not needed and the whole of train is learned from.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from goldpan.datasets.tasks.task import Task, target_column
from goldpan.evaluation.model import (
    Answers,
    Fitted,
    TrainingContext,
    entry,
    label_answers,
    load,
    require_labels,
)
from goldpan.evaluation.models.features import CONTEXTS, Features

Numbers = npt.NDArray[np.float64]
Booleans = npt.NDArray[np.bool_]


class Inputs(Protocol):
    """Features of rows, as heads read them."""

    def of(self, rows: pa.Table) -> Any:
        """Return a matrix, sparse or not, with a row a text."""
        ...


class HeadKind(Protocol):
    """A kind of model of one label, with how strongly it may fit: the values to choose from."""

    @property
    def strengths(self) -> tuple[float, ...]:
        """The values to choose from."""
        ...

    @property
    def fewest(self) -> int:
        """Rows with and without the label, with fewer of which nothing is learned."""
        ...

    def make(self, strength: float, seed: int) -> Any:
        """Return a model that has not learned."""
        ...


@dataclass(frozen=True, slots=True)
class LinearKind:
    """A linear model, with how strongly it may fit: the values of C to choose from."""

    name: Literal["svm", "logistic", "sparse-logistic"]
    strengths: tuple[float, ...]
    fewest: int = 2

    def make(self, strength: float, seed: int) -> Any:
        """Return a model that has not learned."""
        fixed = {"C": strength, "class_weight": "balanced", "random_state": seed}
        if self.name == "svm":
            return load("sklearn.svm").LinearSVC(**fixed)
        logistic = load("sklearn.linear_model").LogisticRegression
        if self.name == "sparse-logistic":  # a quarter of the time where features outnumber rows
            return logistic(solver="liblinear", dual=True, max_iter=1_000, **fixed)
        return logistic(max_iter=1_000, **fixed)


SVM = LinearKind("svm", (0.1, 0.3, 1.0))
LOGISTIC = LinearKind("sparse-logistic", (1.0, 4.0, 16.0))
_ALPHAS = (0.3, 1.0, 3.0, 10.0, 30.0)
"""Strengths of a ridge's penalty to choose from."""
_MOST_LEFT_OUT = 5_000
"""Rows of many features that are left out one by one."""


@dataclass(frozen=True, slots=True)
class Head:
    """A model of whether texts have one label."""

    model: Any
    threshold: float
    """The score above which the label is given."""
    unseen: Numbers
    """The scores of the train rows, each by a model that had not seen it."""


def fit_head(kind: HeadKind, matrix: Any, truth: Booleans, folds: int, seed: int) -> Head:
    """Fit a model of one label; strength and threshold are the best by F1 out of fold."""
    selection = load("sklearn.model_selection")
    smallest = int(min(truth.sum(), (~truth).sum()))
    if smallest < kind.fewest:
        side = 1.0 if truth.mean() > 0.5 else -1.0
        return Head(_ConstantScore(side), 0.0, np.full(len(truth), side))
    split = selection.StratifiedKFold(min(folds, smallest), shuffle=True, random_state=seed)
    best: tuple[float, float, float, Numbers] | None = None
    for strength in kind.strengths:
        scores = selection.cross_val_predict(
            kind.make(strength, seed), matrix, truth, cv=split, method="decision_function"
        )
        threshold, value = best_threshold(scores, truth)
        if best is None or value > best[0]:
            best = value, strength, threshold, scores
    assert best is not None
    return Head(kind.make(best[1], seed).fit(matrix, truth), best[2], best[3])


def answers_of(task: Task, scores: Numbers, thresholds: Sequence[float]) -> Answers:
    """Return the answers that scores give: a column a label, one alone for a binary task."""
    if task.type == "multi-class":
        return label_answers(task, scores)
    names = task.label_names
    over = scores > np.asarray(thresholds)
    if task.type == "binary":
        both = np.column_stack([scores[:, 0], -scores[:, 0]])
        return Answers([names[0] if yes else names[1] for yes in over[:, 0]], both.tolist())
    values = [[name for name, yes in zip(names, row, strict=True) if yes] for row in over]
    return Answers(values, scores.tolist())


def labels_of(task: Task) -> Sequence[str]:
    """Return the labels that need a head: of two that exclude each other, one."""
    return task.label_names[:1] if task.type == "binary" else task.label_names


def check_linear(task: Task) -> None:
    """Raise `EvaluationError` for a task that has neither labels nor numbers."""
    require_labels(task, "A linear model does not answer", "regression")


def _has_label(targets: Sequence[str | Sequence[str]], label: str) -> Booleans:
    """Return which rows have a label, be it their only one or one of several."""
    return np.array(
        [target == label if isinstance(target, str) else label in target for target in targets]
    )


def fit_heads(
    kind: HeadKind, prepare: Callable[[], Inputs], context: TrainingContext, folds: int
) -> Fitted:
    """Fit a head for each label, or a ridge for numbers; `prepare` makes their features.

    `check_linear` says which tasks have them.
    """
    task, rows = context.task, context.whole_train
    inputs = prepare()
    if task.type == "regression":
        return fit_ridge(inputs, context)
    matrix = inputs.of(rows)
    targets = rows[target_column(task.type).name].to_pylist()
    heads = []
    names = labels_of(task)
    with context.reporter.task(f"{task.name}: labels", len(names)) as progress:
        for name in names:
            heads.append(fit_head(kind, matrix, _has_label(targets, name), folds, context.seed))
            progress.advance()
    scores = np.column_stack([head.unseen for head in heads])
    unseen = answers_of(task, scores, [head.threshold for head in heads])
    cross_validated(context, folds, len(kind.strengths), rows, unseen)
    return _Classifier(task, inputs, heads)


def cross_validated(
    context: TrainingContext, folds: int, candidates: int, rows: pa.Table, unseen: Answers
) -> None:
    """Note that folds inside train chose, and the answers of models to the folds left out."""
    learning = context.learning
    learning.chosen_on, learning.candidates = f"{folds} folds inside train", candidates
    learning.from_all, learning.unseen = True, (rows, unseen)


@dataclass(frozen=True, slots=True)
class _Classifier:
    """A head a label, each with its threshold; or one that takes the likeliest label."""

    task: Task
    inputs: Inputs
    heads: Sequence[Head]

    def answer(self, rows: pa.Table) -> Answers:
        matrix = self.inputs.of(rows)
        scores = np.column_stack([head.model.decision_function(matrix) for head in self.heads])
        return answers_of(self.task, scores, [head.threshold for head in self.heads])


@dataclass(frozen=True, slots=True)
class _Regression:
    inputs: Inputs
    model: Any
    low: float
    high: float
    efforts: bool
    """True if the model predicts logarithms."""

    def answer(self, rows: pa.Table) -> Answers:
        return self.answers_of(self.model.predict(self.inputs.of(rows)))

    def answers_of(self, numbers: Numbers) -> Answers:
        """Return predictions as answers, within the range of train."""
        values = np.expm1(numbers) if self.efforts else numbers
        return Answers([float(value) for value in np.clip(values, self.low, self.high)])


@dataclass(frozen=True, slots=True)
class _ConstantScore:
    """The score of a label that all rows have, or none: above zero or below."""

    side: float

    def decision_function(self, matrix: Any) -> Numbers:
        return np.full(matrix.shape[0], self.side)


def fit_ridge(inputs: Inputs, context: TrainingContext) -> Fitted:
    """Fit a ridge on the logarithm: efforts span orders of magnitude, and SMAPE is relative."""
    rows = context.whole_train
    matrix = inputs.of(rows)
    values = rows[target_column(context.task.type).name].to_numpy().astype(np.float64)
    low, high = float(values.min()), float(values.max())
    efforts = low > -1
    targets = np.log1p(values) if efforts else values
    many = hasattr(matrix, "tocsr") and len(rows) > _MOST_LEFT_OUT
    ridge, without = (_by_folds if many else _one_by_one)(matrix, targets, context)
    model = _Regression(inputs, ridge, low, high, efforts=efforts)
    context.learning.candidates, context.learning.from_all = len(_ALPHAS), True
    context.learning.unseen = (rows, model.answers_of(without))
    return model


def _one_by_one(matrix: Any, targets: Numbers, context: TrainingContext) -> tuple[Any, Numbers]:
    """Return a ridge, and its prediction of each row without having learned from it."""
    ridge = load("sklearn.linear_model").RidgeCV(
        alphas=_ALPHAS, scoring="neg_mean_squared_error", store_cv_results=True
    )
    ridge.fit(matrix, targets)
    context.learning.chosen_on = "train rows left out one by one"
    return ridge, ridge.cv_results_[:, _ALPHAS.index(ridge.alpha_)]


def _by_folds(matrix: Any, targets: Numbers, context: TrainingContext) -> tuple[Any, Numbers]:
    """Return the same by five folds: leaving out one by one wants memory for each two rows."""
    selection = load("sklearn.model_selection")
    ridges = [load("sklearn.linear_model").Ridge(alpha=alpha) for alpha in _ALPHAS]
    folds = selection.KFold(5, shuffle=True, random_state=context.seed)
    predicted = [selection.cross_val_predict(ridge, matrix, targets, cv=folds) for ridge in ridges]
    best = int(np.argmin([((values - targets) ** 2).mean() for values in predicted]))
    context.learning.chosen_on = "5 folds inside train"
    return ridges[best].fit(matrix, targets), predicted[best]


def best_threshold(scores: Numbers, truth: Booleans) -> tuple[float, float]:
    """Return the threshold with the best F1 of the label, and that F1.

    A score above the threshold gives the label. Thresholds lie midway between neighboring
    scores, so new scores near an old one do not tip over. A label that no row has is given to none.
    """
    if not truth.any():
        return float(scores.max()) + 1.0, 0.0
    order = np.argsort(-scores, kind="stable")
    ranked, hits = scores[order], np.cumsum(truth[order])
    answered = np.arange(1, len(scores) + 1)
    f1 = 2 * hits / (answered + truth.sum())
    # Between equal scores there is no threshold.
    last = np.append(ranked[:-1] > ranked[1:], True)
    best = int(np.argmax(np.where(last, f1, -1.0)))
    below = ranked[best + 1] if best + 1 < len(ranked) else ranked[best] - 1.0
    return float((ranked[best] + below) / 2), float(f1[best])


def _fit(kind: LinearKind, settings: Mapping[str, Any], context: TrainingContext) -> Fitted:
    def prepare() -> Features:
        return Features(context.whole_train, context.unlabeled, settings["context"])

    return fit_heads(kind, prepare, context, settings["folds"])


MODELS = tuple(
    entry(
        name,
        about,
        partial(_fit, kind),
        {"context": "none", "folds": 5},
        check=check_linear,
        choices={"context": CONTEXTS},
        least={"folds": 2},
    )
    for name, kind, about in (
        (
            "tfidf-svm",
            SVM,
            "Linear support vector machine on TF-IDF of words and characters; context=neighbors "
            "adds the document's name and the texts before and after.",
        ),
        (
            "tfidf-lr",
            LOGISTIC,
            "Logistic regression on the same features; ridge regression for numbers.",
        ),
    )
)
