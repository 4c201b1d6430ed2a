"""What each example adds to the metric that ranks, so that answers can be shuffled."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from goldpan.datasets.task import Task
from goldpan.evaluation.higher_is_better import ranking_values
from goldpan.evaluation.metrics.classification import number_labels, single_label_evidence
from goldpan.evaluation.metrics.entities import entity_evidence
from goldpan.evaluation.metrics.estimate import Evidence, Floats, Measure, Totals, means
from goldpan.evaluation.metrics.generation import path_evidence, text_evidence
from goldpan.evaluation.metrics.masked_words import masked_word_evidence
from goldpan.evaluation.metrics.multi_label import indicate_labels, multi_label_evidence
from goldpan.evaluation.metrics.regression import regression_evidence
from goldpan.evaluation.score import PATHS, positive_label


@dataclass(frozen=True, slots=True, eq=False)
class ExampleNumbers:
    """The answers of one model to one test set, by id."""

    ids: tuple[str, ...]
    repos: tuple[str | None, ...]
    documents: tuple[str | None, ...]
    columns: Floats
    """Examples x numbers."""
    measure: Callable[[Floats], Floats]
    """From sums of columns to the score that ranks, higher is better."""


def example_numbers(task: Task, predictions: pa.Table, metric: str) -> ExampleNumbers | None:
    """Return what the examples add to a metric, None where it is no function of sums."""
    table = predictions.take(pc.sort_indices(predictions, sort_keys=[("id", "ascending")]))
    for evidence in _evidence(task, table):
        if not isinstance(evidence, Totals):
            continue
        for measure in evidence.measures:
            if measure.name == metric and measure.label is None:
                return ExampleNumbers(
                    tuple(table["id"].to_pylist()),
                    tuple(table["repo"].to_pylist()),
                    tuple(table["document"].to_pylist()),
                    evidence.columns,
                    _ranking_values(measure),
                )
    return None


def side_by_side(systems: Mapping[str, Sequence[ExampleNumbers]]) -> dict[str, ExampleNumbers]:
    """Return each system's runs as one, whose score is the mean of the scores of its seeds.

    F1 of counts that are averaged over seeds is not the mean of F1. Where systems have unlike
    numbers of seeds, seeds are repeated, so that answers can be swapped.
    """
    many = math.lcm(*(len(runs) for runs in systems.values()))
    return {
        name: replace(
            runs[0],
            columns=np.hstack([run.columns for run in runs] * (many // len(runs))),
            measure=_mean_of_seeds(runs[0].measure, many),
        )
        for name, runs in systems.items()
    }


def projects(repos: Sequence[str | None], pairs: int, alpha: float) -> list[str] | None:
    """Return the project of each example, None where too few are named for a test of them.

    Swapping whole projects has two outcomes a project, so p of the surest of `pairs` pairs
    cannot fall below what this tells.
    """
    many = len({repo for repo in repos if repo})
    if pairs * 2.0 ** (1 - many) >= alpha:
        return None
    return [repo or f"\0{index}" for index, repo in enumerate(repos)]


def _mean_of_seeds(measure: Callable[[Floats], Floats], many: int) -> Callable[[Floats], Floats]:
    def mean(sums: Floats) -> Floats:
        seeds = np.hsplit(sums, many)
        return np.asarray(np.mean([measure(seed) for seed in seeds], axis=0))

    return mean


def _ranking_values(measure: Measure) -> Callable[[Floats], Floats]:
    if measure.higher_is_better:
        return measure.compute
    return lambda sums: ranking_values(measure.name, measure.compute(sums))


def _of_pairs(evidence: Evidence) -> bool:
    return any(measure.name == "mcc" for measure in evidence.measures)


def _evidence(task: Task, table: pa.Table) -> list[Evidence]:
    truths, answers = table["truth"].to_pylist(), table["answer"].to_pylist()
    match task.type:
        case "binary" | "multi-class":
            names = number_labels(task.label_names, truths, answers, positive_label(task))
            right = np.array([truth == other for truth, other in zip(truths, answers, strict=True)])
            # Other evidence counts the pairs of labels that occur, which differ between models.
            shared = [
                evidence
                for evidence in single_label_evidence(names, None)
                if not _of_pairs(evidence)
            ]
            return [*shared, means({"accuracy": right.astype(np.float64)})]
        case "multi-label":
            return multi_label_evidence(indicate_labels(task.label_names, truths, answers), None)
        case "regression":
            return regression_evidence(truths, answers)
        case "ner":
            return entity_evidence(truths, answers)
        case "mlm":
            return masked_word_evidence(truths, answers)
        case "text-generation":
            evidence_of = path_evidence if task.source.builder == PATHS else text_evidence
            return evidence_of(truths, answers)
