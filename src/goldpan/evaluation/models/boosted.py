"""Gradient-boosted trees on TF-IDF of words, chosen on the validation split (SELU, IV-C)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from goldpan.core.errors import EvaluationError
from goldpan.datasets.task import Task, target_column
from goldpan.evaluation.extras import load
from goldpan.evaluation.model import Answers, Entry, Model, TrainingContext, settled
from goldpan.evaluation.models.checks import require_choice, require_least
from goldpan.evaluation.models.model_selection import value_of

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
_SELECTIONS = ("best", "paper")


@dataclass(frozen=True, slots=True)
class _Candidate:
    """Trees of one setting; a forest a label where a text may bear several."""

    task: Task
    vectorizer: Any
    forests: Sequence[Any]

    def answer(self, rows: pa.Table) -> Answers:
        matrix = self.vectorizer.transform(rows["text"].to_pylist())
        names = self.task.label_names
        if self.task.type == "regression":
            return Answers([float(value) for value in self.forests[0].predict(matrix)])
        if self.task.type == "multi-label":
            scores = np.column_stack([_positive(forest, matrix) for forest in self.forests])
            values = [
                [name for name, score in zip(names, row, strict=True) if score >= 0.5]
                for row in scores
            ]
            return Answers(values, scores.tolist())
        scores = np.zeros((len(rows), len(names)))
        (forest,) = self.forests
        scores[:, forest.goldpan_labels] = forest.predict_proba(matrix)
        return Answers([names[best] for best in scores.argmax(axis=1)], scores.tolist())


def _positive(forest: Any, matrix: Any) -> Numbers:
    """Return the probability of the label, 0 where train never bears it."""
    probabilities = forest.predict_proba(matrix)
    labels = list(forest.goldpan_labels)
    if 1 not in labels:
        return np.zeros(matrix.shape[0])
    return np.asarray(probabilities[:, labels.index(1)], dtype=np.float64)


def _fit(settings: Mapping[str, Any], context: TrainingContext) -> _Candidate:
    task = context.task
    if task.type not in ("binary", "multi-class", "multi-label", "regression"):
        raise EvaluationError(
            f"Boosted trees do not answer {task.name}, which is {task.type}",
            "Choose a fine-tuned model or a prompted one",
        )
    if context.validation is None:
        raise EvaluationError(
            "Boosted trees are chosen on a validation split, and this protocol has none",
            "Choose another --protocol",
        )
    text = load("sklearn.feature_extraction.text")
    vectorizer = text.TfidfVectorizer(max_features=settings["features"] or None)
    matrix = vectorizer.fit_transform(context.train["text"].to_pylist())
    target = target_column(task.type).name
    targets = context.train[target].to_pylist()
    truth = context.validation[target].to_pylist()
    grid = list(product(*_GRIDS[settings["grid"]]))
    best: tuple[float, _Candidate] | None = None
    with context.reporter.task(f"{task.name}: settings", len(grid)) as progress:
        for depth, weight in grid:
            forests = list(
                _forests(task, matrix, targets, depth, weight, settings["rounds"], context.seed)
            )
            candidate = _Candidate(task, vectorizer, forests)
            value = value_of(task, truth, candidate.answer(context.validation).values)
            if task.type == "regression" and settings["selection"] == "paper":
                value = -value
            if best is None or value > best[0]:
                best = value, candidate
            progress.advance()
    assert best is not None
    context.learning.chosen_on, context.learning.candidates = context.validation_name, len(grid)
    return best[1]


def _forests(
    task: Task,
    matrix: Any,
    targets: Sequence[Any],
    depth: int,
    weight: int,
    rounds: int,
    seed: int,
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
    """Fit on the labels that are there: XGBoost wants them numbered without gaps."""
    present = sorted(set(classes))
    if len(present) == 1:
        forest = load("sklearn.dummy").DummyClassifier(strategy="prior")
    else:
        forest = xgboost.XGBClassifier(**fixed)
    forest.fit(matrix, [present.index(index) for index in classes])
    forest.goldpan_labels = present
    return forest


def _model(overrides: Mapping[str, Any]) -> Model:
    settings = settled(_NAME, _DEFAULTS, overrides)
    require_choice(_NAME, settings, "grid", _GRIDS)
    require_choice(_NAME, settings, "selection", _SELECTIONS)
    require_least(_NAME, settings, rounds=1, features=0)
    return Model(_NAME, partial(_fit, settings), settings)


MODELS = (
    Entry(
        _NAME,
        "Boosted trees on TF-IDF of words; grid=paper is SELU's, grid=kit that of its kit; "
        "selection=paper repeats its choice of the worst candidate for numbers.",
        _model,
    ),
)
