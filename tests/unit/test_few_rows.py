"""Linear models learn the same from fewer columns."""

from __future__ import annotations

import numpy as np
import pytest

sparse = pytest.importorskip("scipy.sparse")

from goldpan.evaluation.models.linear import LOGISTIC, SVM, LinearKind, few_rows, is_worth_it  # noqa: E402 - needs SciPy  # noqa: E402 - the same


@pytest.mark.parametrize("kind", [SVM, LOGISTIC], ids=lambda kind: kind.name)
def test_same_scores(kind: LinearKind) -> None:
    draw = np.random.default_rng(0)
    rows = sparse.random(60, 900, density=0.2, rng=draw, format="csr")
    rows = sparse.vstack([rows[:40], rows[:10], rows[50:]]).tocsr()  # ten of them twice
    labels = draw.random(len(rows.indptr) - 1) < 0.4
    others = sparse.random(20, 900, density=0.2, rng=draw, format="csr")
    assert is_worth_it(rows)
    fewer = few_rows(rows)
    assert fewer.columns.shape[1] <= 50
    whole = kind.make(1.0, 0).set_params(tol=1e-8, max_iter=100_000).fit(rows, labels)
    part = kind.make(1.0, 0).set_params(tol=1e-8, max_iter=100_000).fit(fewer.columns, labels)
    expected = whole.decision_function(others)
    assert np.allclose(fewer.scorer(part).decision_function(others), expected, atol=1e-4)


def test_many_rows_of_few_features_stay_as_they_are() -> None:
    assert not is_worth_it(sparse.eye(100, format="csr"))
    assert not is_worth_it(np.ones((3, 9)))
