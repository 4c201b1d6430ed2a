"""Fewer columns for linear models of few rows with many features: as many as there are rows.

A linear model with an L2 penalty is a sum of its train rows, so it learns the same from any columns
in which they have the same products. Texts of issues have thousands of features each, and a project
has hundreds of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.float64]
_SMALLEST = 1e-10
"""Eigenvalues below this share of the largest are rounding errors."""


@dataclass(frozen=True, slots=True)
class LinearScorer:
    """A linear model by its weights."""

    weights: Numbers
    bias: float

    def decision_function(self, matrix: Any) -> Numbers:
        """Return a score for each row, above zero for the label."""
        return np.asarray(matrix @ self.weights + self.bias)


@dataclass(frozen=True, slots=True)
class FewRows:
    """Train rows in as few columns as hold them, and the way back."""

    matrix: Any
    columns: Numbers
    """The rows; their products are those of `matrix`."""
    back: Numbers

    def scorer(self, model: Any) -> LinearScorer:
        """Return a model that was fitted on `columns`, for all features."""
        weights = self.matrix.T @ (self.back @ model.coef_[0])
        return LinearScorer(np.asarray(weights), float(model.intercept_[0]))


def is_worth_it(matrix: Any) -> bool:
    """Tell whether a sparse matrix holds more numbers than the products of its rows."""
    return hasattr(matrix, "tocsr") and bool(matrix.nnz > matrix.shape[0] ** 2)


def few_rows(matrix: Any) -> FewRows:
    """Return the rows in the directions that they span."""
    values, vectors = np.linalg.eigh((matrix @ matrix.T).toarray())
    is_large = values > values[-1] * _SMALLEST
    roots = np.sqrt(values[is_large])
    return FewRows(matrix, vectors[:, is_large] * roots, vectors[:, is_large] / roots)
