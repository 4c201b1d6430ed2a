"""Chooses from which score on a label is given."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def best_threshold(
    scores: npt.NDArray[np.float64], truth: npt.NDArray[np.bool_]
) -> tuple[float, float]:
    """Return the threshold with the best F1 of the label, and that F1.

    A score above the threshold gives the label. Thresholds lie midway between neighbouring
    scores, so new scores near an old one do not tip over. A label that no row bears is given to
    none.
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
