"""Metrics that plugins add: the mean of a number on each example."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from goldpan.core.errors import PluginError
from goldpan.core.plugins import Kind, blamed
from goldpan.core.registry import Registry
from goldpan.datasets.task import Task, TaskType
from goldpan.evaluation.metrics.estimate import Totals, means

_SETTING = "metrics"
"""Of a task: further metrics by name, beside the one that ranks."""


@dataclass(frozen=True, slots=True)
class ExampleMetric:
    """A metric that is the mean of a number on each example."""

    name: str
    types: tuple[TaskType, ...]
    """Of the tasks that it can be computed for."""
    compute: Callable[[Task, Sequence[Any], Sequence[Any]], Sequence[float]]
    """From the right answers and a model's, None where one is not valid, to a number for each."""
    higher_is_better: bool = True

    def parts(self) -> Iterable[tuple[Kind, str, object]]:
        """Return itself, as a plugin registers it."""
        return [("metric", self.name, self)]


METRICS: Registry[ExampleMetric] = Registry("metric of a plugin", dict, "metric")


def added_names(task: Task) -> list[str]:
    """Return the metrics of plugins that a task names."""
    named = dict.fromkeys((task.metric, *task.settings.get(_SETTING, ())))
    known = METRICS.names()
    return [name for name in named if name in known]


def added_evidence(task: Task, rows: Mapping[str, list[Any]]) -> Iterator[Totals]:
    """Yield the evidence of the metrics of plugins that a task names.

    Raises `PluginError` where one fails, or does not give a number for each example.
    """
    for name in added_names(task):
        metric = METRICS.find(name)
        if task.type not in metric.types:
            continue
        with blamed("metric", name):
            values = np.asarray(metric.compute(task, rows["truth"], rows["answer"]), dtype=float)
        if values.shape != (len(rows["id"]),):
            raise PluginError(
                f"The metric {name} gave {values.size} numbers for {len(rows['id'])} examples",
                "Return one for each right answer, in their order",
            )
        lower = frozenset() if metric.higher_is_better else frozenset((name,))
        yield means({name: values}, lower=lower)
