"""The facts of compared runs: splits, trainings and results by part, of which reports fill steps.

The steps are those of ECSER (Dell'Anna, Aydemir and Dalpiaz, 2023): overfitting, degradation, who
chose what.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from goldpan.datasets.task import CLASSIFICATION
from goldpan.evaluation.comparison.question import ComparisonResult, System, setting, split_of
from goldpan.evaluation.comparison.score_files import Part
from goldpan.evaluation.metrics.curves import BinaryConfusion
from goldpan.evaluation.metrics.estimate import Scores
from goldpan.evaluation.runs import Run
from goldpan.evaluation.score import ranking_score

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


@dataclass(frozen=True, slots=True)
class StudySplit:
    """How the data of one task were divided (S1)."""

    task: str
    method: str
    """holdout, k-fold cross-validation, by project, official partition, ..."""
    sizes: Mapping[Part, int]
    """Examples of each part."""
    seed: int | None = None
    digest: str = ""
    """Hash of the split."""
    test_opened: int | None = None
    """How often the test set was looked at."""


@dataclass(frozen=True, slots=True)
class StudyTraining:
    """How one model was made for one task and seed (S2 to S5)."""

    model: str
    task: str
    seed: int
    trained_on: int
    """Examples; 0 for a model that is only prompted."""
    settings: Mapping[str, str] = field(default_factory=dict)
    tuned_on: str = ""
    """Rows that chose the settings: validation, 5 folds inside train, ...; empty: none did."""
    candidates: int = 0
    """How many settings were tried."""
    retrained: bool = False
    """True where the model was trained anew on train and validation with the chosen settings."""


@dataclass(frozen=True, slots=True)
class StudyResult:
    """Metrics of one trained model on one part of one task."""

    model: str
    task: str
    seed: int
    part: Part
    metrics: Mapping[str, float]
    counts: Mapping[str, BinaryConfusion] = field(default_factory=dict)
    """A confusion matrix a label, one against the rest."""
    invalid: int = 0
    """Answers that were none of the allowed."""


@dataclass(frozen=True, slots=True)
class Study:
    """All that is known of a comparison."""

    metric: str
    """The one that ranks; higher is better."""
    splits: tuple[StudySplit, ...] = ()
    trainings: tuple[StudyTraining, ...] = ()
    results: tuple[StudyResult, ...] = ()
    examples: Literal["classification", "other"] = "classification"
    """Only classification has confusion matrices and curves."""


def study_of(compared: ComparisonResult) -> Study:
    """Return the facts of all compared runs."""
    runs = [(system, run) for system in compared.systems for run in system.every()]
    return Study(
        metric=compared.metric,
        splits=tuple(_splits(compared)),
        trainings=tuple(_training(system, run) for system, run in runs),
        results=tuple(
            _result(system, run, part, scores, compared.metric)
            for system, run in runs
            for part, scores in _parts(run)
        ),
        examples="classification" if _classifies(runs) else "other",
    )


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


def chosen_by(run: Run) -> str:
    """Return what settings were chosen on; empty where the model has nothing to choose."""
    return run.record.learning.chosen_on


def _splits(compared: ComparisonResult) -> Iterator[StudySplit]:
    for task in compared.tasks:
        run = next(system.runs[task][0] for system in compared.systems if task in system.runs)
        rows, split = run.record.rows, split_of(run)
        opened = [
            other for other in compared.every if other.task == task and split_of(other) == split
        ]
        sizes: dict[Part, int] = {
            part: rows[part] for part in ("train", "validation", "test") if part in rows
        }
        yield StudySplit(
            task=task,
            method=run.record.split or "not known",
            sizes=sizes,
            digest=split[1][:12],
            test_opened=sum(other.record.test_opened for other in opened),
        )


def _training(system: System, run: Run) -> StudyTraining:
    settings = {name: setting(value) for name, value in run.record.settings.items()}
    source = run.record.learned_from
    learning = run.record.learning
    return StudyTraining(
        model=system.name,
        task=run.task,
        seed=run.seed,
        trained_on=source.train + (source.validation if learning.from_all else 0),
        settings=settings,
        tuned_on=chosen_by(run),
        candidates=learning.candidates,
        retrained=learning.from_all and bool(learning.chosen_on),
    )


def _parts(run: Run) -> Iterator[tuple[Part, Scores]]:
    if run.train_scores.examples:
        yield "train", run.train_scores
    if run.validation_scores.examples:
        yield "validation", run.validation_scores
    yield "test", run.scores


def _result(system: System, run: Run, part: Part, scores: Scores, metric: str) -> StudyResult:
    metrics = shown_metrics(scores)
    value = ranking_score(scores).value
    if value is not None:
        metrics[metric] = value
    counts = positive_counts(scores)
    return StudyResult(
        system.name, run.task, run.seed, part, metrics, counts, invalid=scores.invalid
    )


def _classifies(runs: list[tuple[System, Run]]) -> bool:
    return any(run.scores.task_type in CLASSIFICATION for _, run in runs)
