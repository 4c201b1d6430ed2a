"""How often each method declares equal models different, as `benchmarks.calibration` measures it.

Equal models answer 200 rows a task, 10 % of them anew for each seed; docs/statistics.md has all.
"""

from __future__ import annotations

from collections.abc import Mapping

from goldpan.evaluation.statistics.comparison import TestName

_MEASURED: Mapping[TestName, str] = {
    "hierarchical resampling": "",
    "random effects": "",
    "bayesian signed rank": "",
    "paired t": "",
    "wilcoxon": "",
    "nemenyi": "",
    "tukey": "",
    "randomization": "",
}


def error_rate(test: TestName) -> str:
    """Return in a sentence how often a method is wrong of equal models; empty without a test."""
    measured = _MEASURED.get(test, "")
    return f"Measured: it declares equal models different in {measured}." if measured else ""
