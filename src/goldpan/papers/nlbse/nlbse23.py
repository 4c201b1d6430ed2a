"""The competitions of NLBSE'23: their rules, and runs ranked by them.

Code comments (section III-B): 0.75 x mean F1 over the 19 categories + 0.25 x share of categories
in which the F1 is above that of the organizers' random forest. Issue reports (section II-B): the
micro-averaged F1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from statistics import fmean
from typing import Any

from goldpan.papers.nlbse.comment_tasks import categories
from goldpan.plugins import evaluation
from goldpan.plugins.data import EvaluationError

ORGANIZERS = "organizers' random forest"
_F1_WEIGHT = 0.75
_OUTPERFORMED_WEIGHT = 0.25
_MEANS = (("Precision", "precision"), ("Recall", "recall"), ("F1", "f1"))
_WON, _SCORE = "Outperformed", "Score"

BASELINE: Mapping[str, evaluation.Confusion] = {
    name: evaluation.Confusion(*category["forest"]) for name, category in categories().items()
}
"""Answers of the official random forest on the test sets, by task (Rani et al.; the results in
github.com/nlbse2023/code-comment-classification). Its mean F1 is Table III's 0.309."""


@dataclass(frozen=True, slots=True)
class CommentScore:
    """How a model does in the code-comment competition."""

    mean_f1: float
    outperformed: int
    categories: int
    score: float
    won: tuple[str, ...] = ()
    """The categories in which it is above the baseline."""


@dataclass(frozen=True, slots=True)
class CommentEntry:
    """A system in the competition's ranking."""

    name: str
    place: int
    precision: float
    recall: float
    score: CommentScore


@dataclass(frozen=True, slots=True)
class CommentRanking:
    """All that ran every category on the official test, by place, and who did not."""

    entries: tuple[CommentEntry, ...]
    incomplete: tuple[str, ...]
    """A sentence each."""


def baseline_f1() -> dict[str, float]:
    """Return the F1 of the organizers' random forest by task; 0 where it found nothing."""
    return {
        name: evaluation.label_metric(confusion, "f1") or 0.0
        for name, confusion in BASELINE.items()
    }


def comment_score(f1: Mapping[str, float | None]) -> CommentScore:
    """Score a model by its F1 in every category; an undefined F1 counts 0.

    A category is won by a strictly higher F1. Raises `EvaluationError` where a category is
    missing or unknown, since a mean over others would not be comparable.
    """
    baseline = baseline_f1()
    if f1.keys() != baseline.keys():
        missing, unknown = sorted(baseline.keys() - f1.keys()), sorted(f1.keys() - baseline.keys())
        raise EvaluationError(
            "The code-comment score takes one F1 for each category: "
            f"missing {', '.join(missing) or 'none'}, unknown {', '.join(unknown) or 'none'}",
            "Run the model on all tasks of the suite nlbse23 that classify comments",
        )
    values = {name: f1[name] or 0.0 for name in sorted(baseline)}
    won = tuple(
        name
        for name in values
        if evaluation.as_decimal(values[name]) > evaluation.as_decimal(baseline[name])
    )
    mean, every = fmean(values.values()), len(values)
    return CommentScore(mean, len(won), every, comment_rule(mean, len(won), every), won)


def comment_rule(mean_f1: float, outperformed: int, categories: int) -> float:
    """Return the formula of section III-B."""
    return _F1_WEIGHT * mean_f1 + _OUTPERFORMED_WEIGHT * outperformed / categories


def comment_ranking(systems: Sequence[evaluation.System]) -> CommentRanking | None:
    """Rank systems by the rule of section III-B; None where none ran a category.

    Precision, recall and F1 of a category are means over seeds; one that is undefined counts 0,
    as in the competition's own table. The organizers' random forest is among the entries.
    """
    if BASELINE.keys().isdisjoint(task for system in systems for task in system.runs):
        return None
    official = _scored(lambda task, metric: evaluation.label_metric(BASELINE[task], metric))
    scored = {ORGANIZERS: official}
    incomplete = []
    for system in systems:
        ran = [task for task in BASELINE if task in system.runs]
        other = [task for task in ran if not all(map(_is_official, system.runs[task]))]
        if other:
            share = f"{len(other)} of {len(BASELINE)} categories"
            incomplete.append(f"{system.name} ran {share} on other rows than the official test")
        elif len(ran) == len(BASELINE):
            scored[system.name] = _scored(partial(_mean_value, system))
        else:
            incomplete.append(f"{system.name} ran {len(ran)} of {len(BASELINE)} categories")
    places = evaluation.rank({name: score.score for name, (_, _, score) in scored.items()})
    entries = tuple(CommentEntry(name, place, *scored[name]) for name, place in places.items())
    return CommentRanking(entries, tuple(incomplete))


def _scored(value: Callable[[str, str], float | None]) -> tuple[float, float, CommentScore]:
    """Return precision and recall, means over categories, and the score, of values by metric."""
    by_metric = {
        metric: {task: value(task, metric) or 0.0 for task in BASELINE} for _, metric in _MEANS
    }
    precision, recall = (fmean(by_metric[metric].values()) for metric in ("precision", "recall"))
    return precision, recall, comment_score(by_metric["f1"])


def _mean_value(system: evaluation.System, task: str, metric: str) -> float:
    return fmean(run.scores.value(metric) or 0.0 for run in system.runs[task])


def _is_official(run: evaluation.RunRecord) -> bool:
    """Return whether the test has as many examples and positives as the official one."""
    base, confusion = BASELINE[run.task], run.scores.label_confusions[0]
    return (run.scores.examples, confusion.tp + confusion.fn) == (base.size, base.tp + base.fn)


def _section(compared: evaluation.ComparisonResult) -> evaluation.Section | None:
    ranking = comment_ranking(compared.systems)
    if ranking is None:
        return None
    content: list[evaluation.Content] = [_table(ranking)]
    if ranking.incomplete:
        reasons = "; ".join(ranking.incomplete)
        content.append(evaluation.Remark(f"Not ranked by the competition's rule: {reasons}."))
    return evaluation.Section("nlbse23", "The NLBSE'23 competition", tuple(content))


def _table(ranking: CommentRanking) -> evaluation.ReportTable:
    rows = tuple(
        (
            str(entry.place),
            entry.name,
            entry.precision,
            entry.recall,
            entry.score.mean_f1,
            f"{entry.score.outperformed} of {entry.score.categories}",
            entry.score.score,
        )
        for entry in ranking.entries
    )
    note = (
        f"Score = {_F1_WEIGHT} x mean F1 + {_OUTPERFORMED_WEIGHT} x share of categories in which"
        " the F1 is above that of the organizers' random forest (NLBSE'23, section III-B)."
    )
    columns = ("place", "model", "precision", "recall", "F1", "categories won", "score")
    return evaluation.ReportTable("The rule of the NLBSE'23 competition", columns, rows, note)


def _sentence(compared: evaluation.ComparisonResult) -> str | None:
    ranking = comment_ranking(compared.systems)
    if ranking is None or len(ranking.entries) == 1:
        return None
    first = ranking.entries[0]
    level = [entry.name for entry in ranking.entries if entry.place == first.place]
    start, score = "By the rule of the NLBSE'23 competition", first.score
    total, mean = evaluation.formatted(score.score), evaluation.formatted(score.mean_f1)
    if len(level) > 1:
        return f"{start} {evaluation.listed(level)} tie for the first place with {total}."
    return (
        f"{start} {first.name} reaches {total}: mean F1 {mean}, {score.outperformed} of"
        f" {score.categories} categories won against the organizers' random forest."
    )


def _value(compared: evaluation.ComparisonResult) -> dict[str, Any] | None:
    ranking = comment_ranking(compared.systems)
    return None if ranking is None else asdict(ranking)


SECTION = evaluation.ReportSection("nlbse23", _section, _sentence, value=_value)


def mean_scores(answered: Iterable[evaluation.Confusion]) -> dict[str, float]:
    """Return precision, recall and F1, means over categories, by the column that shows them."""
    confusions = list(answered)
    return {
        column: fmean(evaluation.label_metric(confusion, metric) or 0.0 for confusion in confusions)
        for column, metric in _MEANS
    }


def issue_rule(recalls: Mapping[str, float], support: Mapping[str, int]) -> float:
    """Return the micro-averaged F1 of section II-B from each class's recall and size.

    Every issue has one class and gets one answer, so it is the share of right answers, which is
    the mean of the recalls weighted by size.
    """
    if recalls.keys() != support.keys():
        raise EvaluationError(
            "Recalls and sizes are not of the same classes", "Give both for every class"
        )
    total = sum(support.values())
    return math.fsum(recalls[name] * support[name] for name in sorted(support)) / total
