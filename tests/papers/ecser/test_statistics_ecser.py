"""ECSER's own numbers: metrics, effect sizes and p values that its tables print."""

from __future__ import annotations

import math

import numpy as np
import pytest

from goldpan.evaluation.compare.methods import magnitude
from goldpan.evaluation.compare.scores import Floats
from goldpan.papers.ecser.counts import ETA_LIMITS, degradation

pytest.importorskip("scipy")


def test_magnitudes_of_tables_11_and_14() -> None:
    named = [magnitude(d) for d in (0.059, 0.37, 2.152, 0.683, 0.134, -0.778)]
    assert named == ["none", "small", "large", "medium", "none", "medium"]
    named = [magnitude(eta, ETA_LIMITS) for eta in (0.686, 0.11, 0.126, 0.059, 0.009)]
    assert named == ["large", "medium", "medium", "small", "none"]


def samples(u: int, *, ties: bool = False) -> tuple[Floats, Floats]:
    """Return scores of ten folds and of seven projects that give U; ties are three zeros."""
    folds = [float(10 * at) for at in range(1, 11)]
    if u == 0:
        low = [0.0] * 3 * ties + [at / 10 for at in range(3 * ties, 7)]
        return np.array(folds), np.array(low)
    above, rest = divmod(u, 10)
    projects = [at / 10 for at in range(7 - above - 1)]
    projects += [10.0 * rest + 5, *(1000.0 + at for at in range(above))]
    return np.array(folds), np.array(projects)


@pytest.mark.parametrize(("u", "eta"), [(0, 0.686), (21, 0.11), (20, 0.126)])
def test_eta_squared_of_table_14(u: int, eta: float) -> None:
    """All of them come from Mann-Whitney's U of ten folds and seven projects, uncorrected."""
    for ties in (False, True):
        assert round(degradation(*samples(u, ties=ties))[1], 3) == eta


def test_p_values_of_table_14() -> None:
    """Exact without ties (Voc: 0.193, 0.161); 0.001 is that of U = 0 with two to four zeros."""
    for u, ties, p in ((21, False, 0.193), (20, False, 0.161), (0, True, 0.001)):
        assert round(degradation(*samples(u, ties=ties))[0], 3) == p
    exact, _ = degradation(*samples(0))
    assert exact == pytest.approx(2 / math.comb(17, 7))
