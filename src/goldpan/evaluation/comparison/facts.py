"""Facts of compared runs that reports fill steps with: metrics, counts, rows, who chose what.

The steps are those of ECSER (Dell'Anna, Aydemir and Dalpiaz, 2023): overfitting, degradation, who
chose what.
"""

from __future__ import annotations

from collections.abc import Iterator

from goldpan.evaluation.comparison.score_files import Part
from goldpan.evaluation.metrics.curves import BinaryConfusion
from goldpan.evaluation.metrics.estimate import Scores
from goldpan.evaluation.runs import Run

METRICS = (
    "macro_f1",
    "micro_f1",
    "precision",
    "recall",
    "f1",
    "specificity",
    "accuracy",
    "mcc",
    "auc",
    "auprc",
    "macro_auc",
    "macro_auprc",
    "hamming_loss",
    "example_jaccard",
    "smape",
    "mae",
    "seqeval_f1",
    "seqeval_precision",
    "seqeval_recall",
    "token_micro_f1",
    "mlm_accuracy",
    "exact_match",
    "exact_match_normalized",
    "edit_similarity",
    "bleu",
    "rouge_l",
    "codebleu",
    "patch_applied",
)
"""Metrics that tables show beside the score that ranks; `result.json` holds all of them."""


class Skipped(Exception):  # noqa: N818 - it ends a step, and is no error
    """A step cannot be filled."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def shown_metrics(scores: Scores) -> dict[str, float]:
    """Return the metrics of a run that tables show, undefined ones left out."""
    values = {metric.name: metric.value for metric in scores.metrics if metric.label is None}
    names = dict.fromkeys((scores.main, *METRICS))
    return {name: value for name in names if (value := values.get(name)) is not None}


def positive_counts(scores: Scores) -> dict[str, BinaryConfusion]:
    """Return the confusion matrix of each label, of a binary task that of its positive one."""
    shown = scores.label_confusions
    if scores.task_type == "binary":
        shown = tuple(confusion for confusion in shown if confusion.label == positive_of(scores))
    # An answer that is not valid does not give the label to an example without it.
    return {
        confusion.label: BinaryConfusion(
            confusion.tp, confusion.fp, confusion.tn + confusion.invalid, confusion.fn
        )
        for confusion in shown
    }


def positive_of(scores: Scores) -> str | None:
    """Return the label of a binary task whose metrics stand once more without a label."""
    if scores.task_type != "binary":
        return None
    for confusion in scores.label_confusions:
        names = ("precision", "recall", "f1")
        if all(scores.value(name, confusion.label) == scores.value(name) for name in names):
            return confusion.label
    return scores.label_confusions[0].label


def examples_learned(run: Run) -> int:
    """Return how many examples a model learned from; 0 for one that is only prompted."""
    source, learning = run.learned_from, run.learning
    return source.train + (source.validation if learning.from_all else 0)


def scored_parts(run: Run) -> Iterator[tuple[Part, Scores]]:
    """Yield the scores of a run on each part that has examples, and on test in any case."""
    if run.train_scores.examples:
        yield "train", run.train_scores
    if run.validation_scores.examples:
        yield "validation", run.validation_scores
    yield "test", run.scores
