"""All metrics of a task, computed from the stored predictions of a run alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from goldpan.core.errors import EvaluationError
from goldpan.datasets.tasks.task import Task, TaskType, target_column
from goldpan.evaluation.metrics.classification import (
    LabelAnswers,
    confusion_matrix,
    indicate_labels,
    label_confusions,
    multi_label_evidence,
    single_label_evidence,
)
from goldpan.evaluation.metrics.curves import check_scores
from goldpan.evaluation.metrics.estimate import (
    Confusion,
    ConfusionMatrix,
    Floats,
    Interval,
    Metric,
    MetricEvidence,
    Scores,
    added_evidence,
    added_names,
    estimate,
    resample,
)
from goldpan.evaluation.metrics.generation import path_evidence, text_evidence
from goldpan.evaluation.metrics.patches import PatchPair, patch_evidence
from goldpan.evaluation.metrics.words_and_numbers import (
    count_invalid_numbers,
    count_invalid_tags,
    entity_evidence,
    masked_word_evidence,
    regression_evidence,
)
from goldpan.evaluation.model import Answers
from goldpan.evaluation.task_input import PATCHES, PATHS
from goldpan.evaluation.units import units_of

_FROM_ONE = ("smape",)
"""Errors of which 1 - error is the score (SELU, IV-C); others change their sign."""


def ranking_score(scores: Scores) -> Metric:
    """Return the score that ranks, of which higher is better."""
    try:
        return ranking_metric(scores.metric(scores.main))
    except KeyError:
        return Metric(scores.main, None, None, f"{scores.main} was not computed")


_MAIN: Mapping[TaskType, tuple[str, ...]] = {
    "binary": ("accuracy", "f1", "macro_f1", "mcc"),
    "multi-class": ("accuracy", "macro_f1", "mcc"),
    "multi-label": ("macro_f1", "micro_f1", "hamming_loss"),
    "regression": ("mae", "smape"),
    "ner": ("seqeval_precision", "seqeval_recall", "seqeval_f1"),
    "mlm": ("mlm_accuracy",),
    "text-generation": ("exact_match", "edit_similarity", "bleu", "codebleu", "patch_applied"),
}
"""Metrics that tables show beside the score that ranks; `result.json` holds all of them."""


def main_metrics(scores: Scores) -> dict[str, float | None]:
    """Return the metrics of a run that tables show, the one that ranks first."""
    values = {metric.name: metric.value for metric in scores.metrics if metric.label is None}
    names = dict.fromkeys((scores.main, *_MAIN[scores.task_type]))
    return {name: values[name] for name in names if name in values}


def ranking_metric(metric: Metric) -> Metric:
    """Return a metric as it is, or 1 - SMAPE, or the negative of another error."""
    if metric.higher_is_better:
        return metric
    interval = metric.interval and Interval(
        _turn(metric.name, metric.interval.high),
        _turn(metric.name, metric.interval.low),
        metric.interval.level,
    )
    value = None if metric.value is None else _turn(metric.name, metric.value)
    return Metric(ranking_name(metric.name), value, interval, metric.reason)


def ranking_name(metric: str) -> str:
    """Return what the ranking score of an error is called."""
    return f"1 - {metric}" if metric in _FROM_ONE else f"-{metric}"


def is_bounded(ranking: str) -> bool:
    """Return whether a score that ranks has a scale of about 1, as errors in points have none."""
    return not ranking.startswith("-") or ranking == ranking_name("hamming_loss")


def ranking_values(metric: str, values: Floats) -> Floats:
    """Turn the values of an error round."""
    return 1 - values if metric in _FROM_ONE else np.negative(values)


def _turn(metric: str, value: float) -> float:
    return float(ranking_values(metric, np.array([value]))[0])


_SHOWN, _LONGEST = 20, 500
"""Number of invalid answers that a result shows, and of characters of each."""
_TEXT = pa.string()
_WORDS = pa.list_(pa.field("item", pa.string(), nullable=False))
_NUMBERS = pa.list_(pa.field("item", pa.float64(), nullable=False))
_ANSWERS: dict[TaskType, pa.DataType] = {
    "binary": _TEXT,
    "multi-class": _TEXT,
    "multi-label": _WORDS,
    "regression": pa.float64(),
    "ner": _WORDS,
    "mlm": _WORDS,
    "text-generation": _TEXT,
}


def predictions_schema(task_type: TaskType) -> pa.Schema:
    """Return the columns of a run's predictions.

    `truth` and `answer` have the type of the task's target (words that were masked for `mlm`);
    `answer` is null where a model gave none that is valid, which counts as wrong. `scores` hold
    one number a label, in the task's order, where the model gives them: higher is more likely.
    """
    answer = _ANSWERS[task_type]
    return pa.schema(
        [
            pa.field("id", _TEXT, nullable=False),
            pa.field("repo", _TEXT),
            pa.field("document", _TEXT),
            pa.field("truth", answer, nullable=False),
            pa.field("answer", answer),
            pa.field("scores", _NUMBERS),
            pa.field("raw", _TEXT),
        ]
    )


def predictions_of(task: Task, rows: pa.Table, answers: Answers | None) -> pa.Table:
    """Return a row an answer, sorted by id; no row without answers."""
    if answers is None:
        return predictions_schema(task.type).empty_table()
    if len(answers.values) != len(rows):
        raise ValueError(f"{len(answers.values)} answers to {len(rows)} rows of {task.name}")
    nothing = [None] * len(rows)
    columns = {
        "id": rows["id"],
        "repo": rows["repo"],
        "document": rows["document"],
        "truth": _truth(task, rows),
        "answer": list(answers.values),
        "scores": nothing
        if answers.scores is None
        else [list(row_scores) for row_scores in answers.scores],
        "raw": nothing if answers.raw is None else list(answers.raw),
    }
    return pa.table(columns, schema=predictions_schema(task.type)).sort_by("id")


def _truth(task: Task, rows: pa.Table) -> Any:
    target = rows[target_column(task.type).name]
    if task.type != "mlm":
        return target
    texts = rows["text"].to_pylist()
    return [
        [text[span["start"] : span["end"]] for span in spans]
        for text, spans in zip(texts, target.to_pylist(), strict=True)
    ]


@dataclass(frozen=True, slots=True)
class InvalidAnswer:
    """An answer that is not valid, cut to 500 characters, and how often it was given."""

    raw: str
    count: int


def invalid_answers(predictions: pa.Table) -> tuple[InvalidAnswer, ...]:
    """Return the commonest answers that are not valid, as the model gave them."""
    raw = predictions.filter(predictions["answer"].is_null())["raw"].to_pylist()
    counts = Counter((text or "")[:_LONGEST] for text in raw)
    common = sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))[:_SHOWN]
    return tuple(InvalidAnswer(text, count) for text, count in common)


RESAMPLES = 1_000
_READ = ("id", "repo", "document", "truth", "answer", "scores")
_Rows = Mapping[str, list[Any]]
_Files = Mapping[str, str] | None


@dataclass(frozen=True, slots=True)
class ExampleOutcomes:
    """Evidence of the examples of a task, and what is counted beside it."""

    evidence: list[MetricEvidence]
    invalid: int
    missing: tuple[Metric, ...] = ()
    """Metrics that cannot be computed, with the reason."""
    confusion: ConfusionMatrix | None = None
    label_confusions: tuple[Confusion, ...] = ()


def score(
    task: Task,
    predictions: pa.Table,
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
    files: Mapping[str, str] | None = None,
    part: bool = False,
) -> Scores:
    """Return every metric of the task's type with its 95% bootstrap interval.

    `predictions` has the columns of `predictions_schema`; the order of rows does not matter.
    Answers that are not valid count as wrong. `files` gives the file before the edit by example,
    for tasks that ask for patches; without it no patch is applied. Of a `part` of a test, such as
    a project, labels that it has in neither truths nor answers do not count in macro averages.

    Raises `EvaluationError` where the table is no predictions table of the task.
    """
    rows = _checked(task, predictions)
    outcomes = outcomes_of(task, rows, files or {}, part=part)
    units = units_of(rows["id"], rows["repo"], rows["document"])
    drawing = resample(units, seed=seed, resamples=resamples)
    return Scores(
        task=task.name,
        task_type=task.type,
        main=task.metric,
        examples=len(rows["id"]),
        invalid=outcomes.invalid,
        unit=drawing.kind,
        units=drawing.units,
        resamples=resamples,
        seed=seed,
        metrics=(
            *estimate([*outcomes.evidence, *added_evidence(task, rows)], drawing),
            *outcomes.missing,
        ),
        confusion=outcomes.confusion,
        label_confusions=outcomes.label_confusions,
        projects=units.projects,
    )


def outcomes_of(
    task: Task,
    rows: Mapping[str, list[Any]],
    files: Mapping[str, str] | None,
    *,
    part: bool = False,
) -> ExampleOutcomes:
    """Return the evidence of truths, answers and scores by column; no patch without `files`."""
    return _METRICS[task.type](task, rows, files, part)


def metric_names(task: Task) -> list[str]:
    """Return the metrics that a run on the task has, sorted."""
    outcomes = outcomes_of(task, {name: [] for name in _READ}, {})
    names = {measure.name for evidence in outcomes.evidence for measure in evidence.measures}
    return sorted(names | {metric.name for metric in outcomes.missing} | {*added_names(task)})


def positive_label(task: Task) -> str | None:
    """Return the label that a binary task looks for: `settings.positive`, else its first."""
    if task.type != "binary":
        return None
    return str(task.settings.get("positive", task.label_names[0]))


def _checked(task: Task, predictions: pa.Table) -> Mapping[str, list[Any]]:
    """Return the columns as lists, rows by id."""
    schema = predictions_schema(task.type)
    remedy = "Give a table with the columns of predictions_schema"
    missing = [name for name in schema.names if name not in predictions.column_names]
    if missing:
        raise EvaluationError(
            f"The predictions for {task.name} lack the columns {', '.join(missing)}", remedy
        )
    try:
        table = predictions.select(_READ).cast(pa.schema([schema.field(name) for name in _READ]))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError) as error:
        raise EvaluationError(
            f"The predictions for {task.name} do not have the columns of a {task.type} task: "
            f"{str(error).splitlines()[0]}",
            remedy,
        ) from None
    for name in ("id", "truth"):
        if table[name].null_count:
            raise EvaluationError(
                f"The predictions for {task.name} have rows without {name}", remedy
            )
    table = table.take(pc.sort_indices(table, sort_keys=[("id", "ascending")]))
    rows = {name: table[name].to_pylist() for name in _READ}
    twice = [id_ for id_, times in Counter(rows["id"]).items() if times > 1]
    if twice:
        raise EvaluationError(
            f"The predictions for {task.name} hold {twice[0]!r} twice", "Keep one answer per row"
        )
    return rows


def _areas_missing(reason: str, *, binary: bool) -> tuple[Metric, ...]:
    names = ["macro_auc", "macro_auprc", *(("auc", "auprc") if binary else ())]
    return tuple(Metric(name, None, None, reason) for name in names) if reason else ()


def _indicated(task: Task, truths: list[Any], answers: list[Any]) -> LabelAnswers:
    try:
        return indicate_labels(task.label_names, truths, answers)
    except KeyError as error:
        raise EvaluationError(
            f"{error.args[0]!r} is a right answer of {task.name}, but none of its labels",
            "Score with the task that the predictions were made for",
        ) from None


def _single_label(task: Task, rows: _Rows, _: _Files, part: bool) -> ExampleOutcomes:
    positive = positive_label(task)
    truths = [[label] for label in rows["truth"]]
    answers = [None if label is None else [label] for label in rows["answer"]]
    data = _indicated(task, truths, answers)
    scores, reason = check_scores(rows["scores"], len(task.labels))
    return ExampleOutcomes(
        single_label_evidence(data, positive, scores, part=part),
        data.invalid,
        _areas_missing(reason, binary=positive is not None),
        confusion_matrix(data),
        label_confusions(data),
    )


def _multi_label(task: Task, rows: _Rows, _: _Files, part: bool) -> ExampleOutcomes:
    data = _indicated(task, rows["truth"], rows["answer"])
    scores, reason = check_scores(rows["scores"], len(task.labels))
    return ExampleOutcomes(
        multi_label_evidence(data, scores, part=part),
        data.invalid,
        _areas_missing(reason, binary=False),
        label_confusions=label_confusions(data),
    )


def _numbers(task: Task, rows: _Rows, _: _Files, __: bool) -> ExampleOutcomes:
    if count_invalid_numbers(rows["truth"]):
        raise EvaluationError(
            f"A right answer of {task.name} is not a finite number", "Correct the task's data"
        )
    evidence = regression_evidence(rows["truth"], rows["answer"])
    return ExampleOutcomes(evidence, count_invalid_numbers(rows["answer"]))


def _tags(_: Task, rows: _Rows, __: _Files, ___: bool) -> ExampleOutcomes:
    truths, answers = rows["truth"], rows["answer"]
    return ExampleOutcomes(entity_evidence(truths, answers), count_invalid_tags(truths, answers))


def _masked_words(_: Task, rows: _Rows, __: _Files, ___: bool) -> ExampleOutcomes:
    evidence = masked_word_evidence(rows["truth"], rows["answer"])
    return ExampleOutcomes(evidence, _nulls(rows["answer"]))


def _texts(task: Task, rows: _Rows, files: _Files, _: bool) -> ExampleOutcomes:
    truths, answers = rows["truth"], rows["answer"]
    if task.source.builder == PATHS:
        evidence = path_evidence(truths, answers)
    else:
        evidence = text_evidence(truths, answers)
        if task.source.builder == PATCHES and files is not None:
            before = map(files.get, rows["id"])
            evidence += patch_evidence(list(map(PatchPair, truths, answers, before)))
    return ExampleOutcomes(evidence, _nulls(answers))


def _nulls(answers: list[Any]) -> int:
    return sum(answer is None for answer in answers)


_METRICS: Mapping[TaskType, Callable[[Task, _Rows, _Files, bool], ExampleOutcomes]] = {
    "binary": _single_label,
    "multi-class": _single_label,
    "multi-label": _multi_label,
    "regression": _numbers,
    "ner": _tags,
    "mlm": _masked_words,
    "text-generation": _texts,
}
