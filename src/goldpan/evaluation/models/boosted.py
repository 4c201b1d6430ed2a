"""Gradient-boosted trees on TF-IDF, the best of a grid on the validation split (SELU, IV-C)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from goldpan.core.errors import EvaluationError
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
from goldpan.evaluation.models.features import needs_words
from goldpan.evaluation.score import predictions_of, score

Numbers = npt.NDArray[np.float64]
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
    """Trees of one setting; a forest a label where a text may have several."""

    task: Task
    vectorizer: Any
    forests: Sequence[Any]

    def answer(self, rows: pa.Table) -> Answers:
        matrix = self.vectorizer.transform(rows["text"].to_pylist())
        if self.task.type == "regression":
            return Answers([float(value) for value in self.forests[0].predict(matrix)])
        if self.task.type == "multi-label":
            chances = [_chances(forest, matrix, 2)[:, 1] for forest in self.forests]
            return label_answers(self.task, np.column_stack(chances))
        (forest,) = self.forests
        return label_answers(self.task, _chances(forest, matrix, len(self.task.labels)))


def _chances(forest: Any, matrix: Any, labels: int) -> Numbers:
    """Return the probability of each label, 0 where no train row has it."""
    chances = np.zeros((matrix.shape[0], labels))
    chances[:, forest.goldpan_labels] = forest.predict_proba(matrix)
    return chances


def _fit(settings: Mapping[str, Any], context: TrainingContext) -> _Candidate:
    task = context.task
    text = load("sklearn.feature_extraction.text")
    vectorizer = text.TfidfVectorizer(max_features=settings["features"] or None)
    with needs_words():
        matrix = vectorizer.fit_transform(context.train["text"].to_pylist())
    target = target_column(task.type).name
    targets = context.train[target].to_pylist()

    def candidate(depth: int, weight: int) -> _Candidate:
        forests = _forests(task, matrix, targets, depth, weight, settings["rounds"], context.seed)
        return _Candidate(task, vectorizer, list(forests))

    lowest = task.type == "regression" and settings["selection"] == "paper"
    grid = list(product(*_GRIDS[settings["grid"]]))
    return choose(context, "Boosted trees are", grid, candidate, lowest=lowest)


def _forests(
    task: Task, matrix: Any, targets: Sequence[Any], depth: int, weight: int, rounds: int, seed: int
) -> Iterator[Any]:
    xgboost = load("xgboost")
    fixed = {
        "max_depth": depth,
        "min_child_weight": weight,
        "n_estimators": rounds,
        "random_state": seed,
        "n_jobs": 1,  # more threads add numbers in another order
        "tree_method": "hist",
    }
    if task.type == "regression":
        yield xgboost.XGBRegressor(**fixed).fit(matrix, np.asarray(targets, dtype=np.float64))
        return
    if task.type == "multi-label":
        for name in task.label_names:
            yield _classifier(xgboost, fixed, matrix, [int(name in target) for target in targets])
        return
    numbers = {name: index for index, name in enumerate(task.label_names)}
    yield _classifier(xgboost, fixed, matrix, [numbers[target] for target in targets])


def _classifier(xgboost: Any, fixed: dict[str, Any], matrix: Any, classes: list[int]) -> Any:
    """Fit on the labels that occur: XGBoost wants them numbered without gaps."""
    present = sorted(set(classes))
    if len(present) == 1:
        forest = load("sklearn.dummy").DummyClassifier(strategy="prior")
    else:
        forest = xgboost.XGBClassifier(**fixed)
    forest.fit(matrix, [present.index(index) for index in classes])
    forest.goldpan_labels = present
    return forest


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
        check=partial(require_labels, problem="Boosted trees do not answer", more="regression"),
        choices={"grid": _GRIDS, "selection": ("best", "paper")},
        least={"rounds": 1, "features": 0},
    ),
)
