"""The score that ranks: higher is better in every comparison, errors change their sign."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from goldpan.evaluation.metrics.estimate import Floats
from goldpan.evaluation.metrics.result import Interval, Scores

_FROM_ONE = ("smape",)
"""Errors of which 1 - error is the score (SELU, IV-C); others change their sign."""


@dataclass(frozen=True, slots=True)
class RankingScore:
    """A score of which higher is better."""

    name: str
    value: float | None
    interval: Interval | None
    reason: str
    """Why there is no value."""


def ranking_score(scores: Scores) -> RankingScore:
    """Return the score that ranks: as it is, or 1 - SMAPE, or the negative of another error."""
    try:
        metric = scores.metric(scores.main)
    except KeyError:
        return RankingScore(scores.main, None, None, f"{scores.main} was not computed")
    if metric.higher_is_better:
        return RankingScore(metric.name, metric.value, metric.interval, metric.reason)
    interval = metric.interval and Interval(
        _turn(metric.name, metric.interval.high),
        _turn(metric.name, metric.interval.low),
        metric.interval.level,
    )
    value = None if metric.value is None else _turn(metric.name, metric.value)
    return RankingScore(ranking_name(metric.name), value, interval, metric.reason)


def ranking_name(metric: str) -> str:
    """Return what the ranking score of an error is called."""
    return f"1 - {metric}" if metric in _FROM_ONE else f"-{metric}"


def ranking_values(metric: str, values: Floats) -> Floats:
    """Turn the values of an error round."""
    return 1 - values if metric in _FROM_ONE else np.negative(values)


def _turn(metric: str, value: float) -> float:
    return float(ranking_values(metric, np.array([value]))[0])
