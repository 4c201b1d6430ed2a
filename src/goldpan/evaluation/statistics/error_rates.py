"""How often each method declares equal models different, as `benchmarks.calibration` measures it.

Equal models answer 200 rows a task, 10 % of them anew for each seed; docs/statistics.md has all.
"""

from __future__ import annotations

from collections.abc import Mapping

from goldpan.evaluation.statistics.comparison import TestName

_MEASURED: Mapping[TestName, str] = {
    "hierarchical resampling": "4.4 % of 360,750 null simulations, and in at most 6.0 % of those"
    " of any setting (docs/statistics.md)",
    "random effects": "2.7 % of 63,250 null simulations, and in at most 5.1 % of those of any"
    " setting (docs/statistics.md)",
    "bayesian signed rank": "10 % of cases with 2 models on 17 tasks, and in 88 % with 10 models",
    "paired t": "5 % of cases with 2 models on 17 tasks",
    "wilcoxon": "4 % of cases with 2 models on 17 tasks, and in 2 % with 10 models",
    "nemenyi": "5 % of cases with 10 models on 17 tasks",
    "tukey": "5 % of cases with 10 models on 17 tasks",
    "randomization": "5 % of cases where rows are independent, and in 32 % where they are of 10"
    " documents that hang together and single rows are swapped",
}


def error_rate(test: TestName) -> str:
    """Return in a sentence how often a method is wrong of equal models; empty without a test."""
    measured = _MEASURED.get(test, "")
    return f"Measured: it declares equal models different in {measured}." if measured else ""
