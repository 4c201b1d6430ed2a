"""Linear models of labels and numbers on the features of texts.

Settings and thresholds are chosen by cross-validation inside train, so the validation split is
not needed and the whole of train is learned from.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from goldpan.datasets.tasks.task import Task, target_column
from goldpan.evaluation.model import (
    LABELS_AND_NUMBERS,
    Answers,
    Fitted,
    Folds,
    TrainingContext,
    entry,
    label_answers,
    load,
    require_labels,
)
from goldpan.evaluation.models.features import Features

Numbers = npt.NDArray[np.float64]
Booleans = npt.NDArray[np.bool_]
ReadFeatures = Callable[[pa.Table], Any]
"""Returns a matrix, sparse or not, with a row a text."""
_ALPHAS = (0.3, 1.0, 3.0, 10.0, 30.0)
"""Strengths of a ridge's penalty to choose from."""


@dataclass(frozen=True, slots=True)
class HeadKind:
    """A kind of model of one label."""

    make: Callable[..., Any]
    """Takes how strongly it may fit, and a seed; returns a model that has not learned."""
    strengths: tuple[float, ...]
    """The values to choose from."""
    fewest: int = 2
    """Rows with and without the label, with fewer of which nothing is learned."""


def _svm(strength: float, seed: int) -> Any:
    machine = load("sklearn.svm").LinearSVC
    return machine(C=strength, class_weight="balanced", random_state=seed)


def logistic(strength: float, seed: int, **options: Any) -> Any:
    """Return a logistic regression that has not learned."""
    regression = load("sklearn.linear_model").LogisticRegression
    fixed = {"class_weight": "balanced", "max_iter": 1_000, "random_state": seed}
    return regression(C=strength, **fixed, **options)


SVM = HeadKind(_svm, (0.1, 0.3, 1.0))
# A quarter of the time where features outnumber rows.
LOGISTIC = HeadKind(partial(logistic, solver="liblinear", dual=True), (1.0, 4.0, 16.0))


@dataclass(frozen=True, slots=True)
class _Head:
    """A model of whether texts have one label."""

    model: Any
    threshold: float
    """The score above which the label is given."""
    unseen: Numbers
    """The scores of the train rows, each by a model that had not seen it."""


def _fit_head(kind: HeadKind, matrix: Any, truth: Booleans, folds: int, seed: int) -> _Head:
    """Fit a model of one label; strength and threshold are the best by F1 out of fold."""
    selection = load("sklearn.model_selection")
    smallest = int(min(truth.sum(), (~truth).sum()))
    if smallest < kind.fewest:
        side = 1.0 if truth.mean() > 0.5 else -1.0
        return _Head(_ConstantScore(side), 0.0, np.full(len(truth), side))
    split = selection.StratifiedKFold(min(folds, smallest), shuffle=True, random_state=seed)
    tried = []
    for strength in kind.strengths:
        scores = selection.cross_val_predict(
            kind.make(strength, seed), matrix, truth, cv=split, method="decision_function"
        )
        threshold, value = best_threshold(scores, truth)
        tried.append((value, strength, threshold, scores))
    _, strength, threshold, scores = max(tried, key=lambda each: each[0])
    return _Head(kind.make(strength, seed).fit(matrix, truth), threshold, scores)


def best_threshold(scores: Numbers, truth: Booleans) -> tuple[float, float]:
    """Return the threshold with the best F1 of the label, and that F1.

    A score above the threshold gives the label. Thresholds lie midway between neighboring
    scores, so new scores near an old one do not tip over. A label that no row has is given to none.
    """
    if not truth.any():
        return float(scores.max()) + 1.0, 0.0
    curve = load("sklearn.metrics").precision_recall_curve
    precision, recall, reached = curve(truth, scores)
    with np.errstate(invalid="ignore"):
        f1 = np.nan_to_num(2 * precision * recall / (precision + recall))[:-1]
    best = len(f1) - 1 - int(np.argmax(f1[::-1]))  # of equals the one that gives fewer labels
    below = reached[best - 1] if best else reached[0] - 1.0
    return float((reached[best] + below) / 2), float(f1[best])


@dataclass(frozen=True, slots=True)
class _ConstantScore:
    """The score of a label that all rows have, or none: above zero or below."""

    side: float

    def decision_function(self, matrix: Any) -> Numbers:
        return np.full(matrix.shape[0], self.side)


def _answers_of(task: Task, scores: Numbers, thresholds: Sequence[float]) -> Answers:
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


def check_linear(task: Task) -> None:
    """Raise `EvaluationError` for a task that has neither labels nor numbers."""
    require_labels(task, "A linear model does not answer", "regression")


def fit_heads(
    kind: HeadKind, features: ReadFeatures, context: TrainingContext, folds: int
) -> Fitted:
    """Fit a head for each label, or a ridge for numbers, as `check_linear` has it."""
    task, rows = context.task, context.whole_train
    if task.type == "regression":
        return fit_ridge(features, context)
    matrix = features(rows)
    targets = [
        {target} if isinstance(target, str) else set(target)
        for target in rows[target_column(task.type).name].to_pylist()
    ]
    # Of two labels that exclude each other, one needs a head.
    names = task.label_names[:1] if task.type == "binary" else task.label_names
    heads = []
    with context.reporter.task(f"{task.name}: labels", len(names)) as progress:
        for name in names:
            truth = np.array([name in target for target in targets])
            heads.append(_fit_head(kind, matrix, truth, folds, context.seed))
            progress.advance()
    classifier = _Classifier(task, features, heads)
    unseen = classifier.answers_of([head.unseen for head in heads])
    _note_choice(context, folds, len(kind.strengths), unseen)
    return classifier


def _note_choice(context: TrainingContext, folds: int, candidates: int, unseen: Answers) -> None:
    """Note that folds inside train chose, and the answers of models to the folds left out."""
    learning = context.learning
    learning.chosen_on, learning.candidates = f"{folds} folds inside train", candidates
    learning.from_all, learning.unseen = True, (context.whole_train, unseen)


@dataclass(frozen=True, slots=True)
class _Classifier:
    """A head a label, each with its threshold; or one that takes the likeliest label."""

    task: Task
    features: ReadFeatures
    heads: Sequence[_Head]

    def answer(self, rows: pa.Table) -> Answers:
        matrix = self.features(rows)
        return self.answers_of([head.model.decision_function(matrix) for head in self.heads])

    def answers_of(self, scores: Sequence[Numbers]) -> Answers:
        """Return the answers that the heads' scores give."""
        thresholds = [head.threshold for head in self.heads]
        return _answers_of(self.task, np.column_stack(scores), thresholds)


@dataclass(frozen=True, slots=True)
class _Regression:
    features: ReadFeatures
    model: Any
    low: float
    high: float
    efforts: bool
    """True if the model predicts logarithms."""

    def answer(self, rows: pa.Table) -> Answers:
        return self.answers_of(self.model.predict(self.features(rows)))

    def answers_of(self, numbers: Numbers) -> Answers:
        """Return predictions as answers, within the range of train."""
        values = np.expm1(numbers) if self.efforts else numbers
        return Answers([float(value) for value in np.clip(values, self.low, self.high)])


def fit_ridge(features: ReadFeatures, context: TrainingContext) -> Fitted:
    """Fit a ridge on the logarithm: efforts span orders of magnitude, and SMAPE is relative."""
    rows = context.whole_train
    matrix = features(rows)
    values = rows[target_column(context.task.type).name].to_numpy().astype(np.float64)
    low, high = float(values.min()), float(values.max())
    efforts = low > -1
    targets = np.log1p(values) if efforts else values
    selection, ridge = load("sklearn.model_selection"), load("sklearn.linear_model").Ridge()
    folds = min(5, len(rows))
    if folds < 2:
        return _Regression(features, ridge.fit(matrix, targets), low, high, efforts=efforts)
    split = selection.KFold(folds, shuffle=True, random_state=context.seed)
    scoring = "neg_mean_squared_error"
    search = selection.GridSearchCV(ridge, {"alpha": _ALPHAS}, scoring=scoring, cv=split)
    best = search.fit(matrix, targets).best_estimator_
    model = _Regression(features, best, low, high, efforts=efforts)
    unseen = selection.cross_val_predict(best, matrix, targets, cv=split)
    _note_choice(context, folds, len(_ALPHAS), model.answers_of(unseen))
    return model


def _fit(kind: HeadKind, settings: Mapping[str, Any], context: TrainingContext) -> Fitted:
    features = Features(context.whole_train, context.unlabeled, settings["context"])
    return fit_heads(kind, features.of, context, settings["folds"])


MODELS = tuple(
    entry(
        name,
        about,
        partial(_fit, kind),
        {"context": "none", "folds": 5},
        tasks=LABELS_AND_NUMBERS,
        check=check_linear,
        kinds={"context": Literal["none", "document", "neighbors"], "folds": Folds},
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
            "Logistic regression on the features of tfidf-svm; ridge regression for numbers.",
        ),
    )
)
