"""Gradient-boosted trees on TF-IDF, the best of a grid on the validation split (SELU, IV-C)."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Annotated, Any, Literal, TypeVar

import numpy as np
import pyarrow as pa
from annotated_types import Ge

from goldpan.core.errors import EvaluationError
from goldpan.datasets.tasks.task import Task, target_column
from goldpan.evaluation.model import (
    LABELS_AND_NUMBERS,
    Answers,
    Fitted,
    TrainingContext,
    entry,
    label_answers,
    load,
    require_labels,
)
from goldpan.evaluation.models.features import needs_words
from goldpan.evaluation.score import predictions_of, score

_NAME = "tfidf-xgboost"
_GRIDS: dict[str, tuple[Sequence[int], Sequence[int]]] = {
    "paper": (range(3, 11), range(1, 8)),
    "kit": (range(3, 11), (1, 3, 5, 7)),
    "small": ((3, 6, 9), (1, 4)),
}
"""Maximum depths and minimum child weights to choose from: as the paper says (IV-C), and as the
replication kit's `evaluation/train_baseline.py` has them."""
_DEFAULTS = {"grid": "small", "selection": "best", "rounds": 100, "features": 20_000}


@dataclass(frozen=True, slots=True)
class _Candidate:
    """Trees of one setting."""

    task: Task
    vectorizer: Any
    model: Any
    labels: Sequence[int]
    """Labels of which it gives the probability; none for numbers."""

    def answer(self, rows: pa.Table) -> Answers:
        matrix = self.vectorizer.transform(rows["text"].to_pylist())
        if self.task.type == "regression":
            return Answers([float(value) for value in self.model.predict(matrix)])
        chances = np.zeros((len(rows), len(self.task.labels)))
        chances[:, self.labels] = self.model.predict_proba(matrix)
        return label_answers(self.task, chances)


def _fit(settings: Mapping[str, Any], context: TrainingContext) -> _Candidate:
    task = context.task
    text = load("sklearn.feature_extraction.text")
    vectorizer = text.TfidfVectorizer(max_features=settings["features"] or None)
    with needs_words():
        matrix = vectorizer.fit_transform(context.train["text"].to_pylist())
    targets = context.train[target_column(task.type).name].to_pylist()

    def candidate(depth: int, weight: int) -> _Candidate:
        fixed = {
            "max_depth": depth,
            "min_child_weight": weight,
            "n_estimators": settings["rounds"],
            "random_state": context.seed,
            "n_jobs": 1,  # more threads add numbers in another order
            "tree_method": "hist",
        }
        return _Candidate(task, vectorizer, *_trees(task, matrix, targets, fixed))

    lowest = task.type == "regression" and settings["selection"] == "paper"
    grid = list(product(*_GRIDS[settings["grid"]]))
    return choose(context, "Boosted trees are", grid, candidate, lowest=lowest)


def _trees(
    task: Task, matrix: Any, targets: Sequence[Any], fixed: Mapping[str, Any]
) -> tuple[Any, Sequence[int]]:
    """Return trees that have learned, and the labels that they tell apart."""
    xgboost, names = load("xgboost"), task.label_names
    if task.type == "regression":
        numbers = np.asarray(targets, dtype=np.float64)
        return xgboost.XGBRegressor(**fixed).fit(matrix, numbers), ()
    model = xgboost.XGBClassifier(**fixed)
    if task.type == "multi-label":
        has_label = np.array([[name in target for name in names] for target in targets], dtype=int)
        each = load("sklearn.multiclass").OneVsRestClassifier(model)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # labels that all rows have, or none
            return each.fit(matrix, has_label), range(len(names))
    # XGBoost wants labels numbered without gaps.
    present, classes = np.unique([names.index(target) for target in targets], return_inverse=True)
    if len(present) == 1:
        model = load("sklearn.dummy").DummyClassifier(strategy="prior")
    return model.fit(matrix, classes), present.tolist()


FittedT = TypeVar("FittedT", bound=Fitted)


def choose(
    context: TrainingContext,
    problem: str,
    grid: Sequence[tuple[Any, ...]],
    fit: Callable[..., FittedT],
    *,
    keep: Callable[[FittedT], FittedT] = lambda fitted: fitted,
    lowest: bool = False,
) -> FittedT:
    """Return the candidate of `grid` that is best by macro F1, or by 1 - SMAPE for numbers.

    `keep` is called with each candidate that is better than those before it; with `lowest` the
    worst one is taken. Raises `EvaluationError` where the protocol has no validation split;
    `problem` says whose.
    """
    task, validation = context.task, context.validation
    if validation is None:
        raise EvaluationError(
            f"{problem} chosen on a validation split, and this protocol has none",
            "Choose another --protocol",
        )
    metric = "smape_score" if task.type == "regression" else "macro_f1"
    best: tuple[float, FittedT] | None = None
    with context.reporter.task(f"{task.name}: settings", len(grid)) as progress:
        for settings in grid:
            fitted = fit(*settings)
            table = predictions_of(task, validation, fitted.answer(validation))
            value = score(task, table, resamples=0).value(metric)
            ranked = -math.inf if value is None else -value if lowest else value
            if best is None or ranked > best[0]:
                best = ranked, keep(fitted)
            progress.advance()
    assert best is not None
    context.learning.chosen_on, context.learning.candidates = context.validation_name, len(grid)
    return best[1]


MODELS = (
    entry(
        _NAME,
        "Boosted trees on TF-IDF of words; grid=paper is SELU's, grid=kit that of its kit; "
        "selection=paper repeats its choice of the worst candidate for numbers.",
        _fit,
        _DEFAULTS,
        tasks=LABELS_AND_NUMBERS,
        check=partial(require_labels, problem="Boosted trees do not answer", more="regression"),
        kinds={
            "grid": Literal["paper", "kit", "small"],
            "selection": Literal["best", "paper"],
            "rounds": Annotated[int, Ge(1)],
            "features": Annotated[int, Ge(0)],
        },
    ),
)
