"""Whether a text has a label, by train's answers to the texts around it in its document."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin  # type: ignore[import-untyped]
from sklearn.linear_model import LogisticRegression  # type: ignore[import-untyped]
from sklearn.pipeline import make_pipeline  # type: ignore[import-untyped]
from sklearn.preprocessing import StandardScaler  # type: ignore[import-untyped]

Numbers = npt.NDArray[np.float64]
_NEAR = (-2, -1, 1, 2)
"""How far the texts stand whose answers are read one by one."""


class AnswersAround(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A logistic regression on the answers near a row, on their means before and behind it.

    Rows have two columns: the number of their document, from 1 (0 for none), and their position in
    it. Answers are those that `fit` was given, never a row's own.
    """

    def fit(self, rows: Any, truth: Any) -> Self:
        """Learn from rows and their answers, each read by what its neighbors were answered."""
        self.classes_ = np.unique(truth)
        self._mean = float(np.mean(truth)) * 2 - 1
        self._answers: dict[float, dict[float, float]] = {}
        for (document, position), answer in zip(_dense(rows), truth, strict=True):
            if document:
                self._answers.setdefault(document, {})[position] = 1.0 if answer else -1.0
        self._model = make_pipeline(StandardScaler(), LogisticRegression(class_weight="balanced"))
        self._model.fit(self._facts(rows), truth)
        return self

    def decision_function(self, rows: Any) -> Numbers:
        """Return the scores of rows, above 0 where the label is the likelier answer."""
        return np.asarray(self._model.decision_function(self._facts(rows)))

    def predict(self, rows: Any) -> Any:
        """Return the likelier answer to each row."""
        return self.classes_[(self.decision_function(rows) > 0).astype(int)]

    def _facts(self, rows: Any) -> Numbers:
        facts = []
        for document, position in _dense(rows):
            answers = self._answers.get(document, {})
            before = [answer for at, answer in answers.items() if at < position]
            behind = [answer for at, answer in answers.items() if at > position]
            facts.append(
                [
                    *(answers.get(position + step, 0.0) for step in _NEAR),
                    *map(self._smoothed, (before, behind, before + behind)),
                    position,
                    len(before) + len(behind),
                ]
            )
        return np.asarray(facts, dtype=np.float64)

    def _smoothed(self, answers: Iterable[float]) -> float:
        """Return the mean of answers and of one that is as likely as in all of train."""
        return float(np.mean([*answers, self._mean]))


def _dense(rows: Any) -> Numbers:
    return np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows)
