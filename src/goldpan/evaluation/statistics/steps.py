"""The ten steps of ECSER, each done with what it says, or skipped with the reason."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal

from goldpan.evaluation.statistics.comparison import Comparison
from goldpan.evaluation.statistics.step_results import (
    confusion_step,
    curves_step,
    drift_step,
    metrics_step,
    significance_step,
)
from goldpan.evaluation.statistics.step_shapes import Content, Skipped
from goldpan.evaluation.statistics.step_training import (
    retraining_step,
    split_step,
    testing_step,
    training_step,
    tuning_step,
)
from goldpan.evaluation.statistics.study import Study


@dataclass(frozen=True, slots=True)
class Step:
    """One step of the pipeline (ECSER, Figure 1)."""

    number: int
    name: str
    optional: bool
    state: Literal["done", "skipped"]
    reason: str
    """Why it is skipped; empty where it is done."""
    content: tuple[Content, ...]


_NAMES: tuple[tuple[str, bool, Callable[[Study], tuple[Content, ...]]], ...] = (
    ("Select an evaluation method and split the data", False, split_step),
    ("Train the model", False, training_step),
    ("Tune hyper-parameters and validate", True, tuning_step),
    ("Re-train with optimized parameters", True, retraining_step),
    ("Test the model", False, testing_step),
    ("Report the confusion matrix", False, confusion_step),
    ("Report metrics", False, metrics_step),
    ("Analyze overfitting and degradation", False, drift_step),
    ("Visualize ROC", False, curves_step),
)


def steps(study: Study, comparison: Comparison | str) -> tuple[Step, ...]:
    """Return the ten steps in order.

    `comparison` is that of the study's models, or says why there is none. The same study gives
    the same steps, figures included.
    """
    found = [
        _step(number, name, optional, partial(make, study))
        for number, (name, optional, make) in enumerate(_NAMES, start=1)
    ]
    last = "Apply statistical significance tests"
    return (*found, _step(10, last, True, partial(significance_step, comparison)))


def _step(number: int, name: str, optional: bool, make: Callable[[], tuple[Content, ...]]) -> Step:
    try:
        content = make()
    except Skipped as skipped:
        return Step(number, name, optional, "skipped", skipped.reason, ())
    return Step(number, name, optional, "done", "", content)
