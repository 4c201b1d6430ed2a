"""The code-comment competition of NLBSE'23 (section III-B): its rule, and runs ranked by it.

0.75 x mean F1 over the 19 categories + 0.25 x share of categories in which the F1 is above that of
the organizers' random forest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

from goldpan.plugins.core import EvaluationError
from goldpan.plugins.datasets import Task
from goldpan.plugins.evaluation import (
    BinaryConfusion,
    ComparisonResult,
    Run,
    System,
    as_decimal,
    rank,
)
from goldpan.plugins.report import (
    Content,
    Remark,
    ReportSection,
    ReportTable,
    RowsByTask,
    Section,
    formatted,
    listed,
)

ORGANIZERS = "organizers' random forest"
_F1_WEIGHT = 0.75
_OUTPERFORMED_WEIGHT = 0.25

BASELINE: Mapping[str, BinaryConfusion] = {
    f"nlbse23_{category}": BinaryConfusion(*counts)
    for category, counts in {
        "java_deprecation": (0, 1, 459, 27),
        "java_expand": (34, 63, 297, 93),
        "java_ownership": (17, 0, 464, 8),
        "java_pointer": (18, 9, 405, 57),
        "java_rational": (17, 10, 421, 40),
        "java_summary": (25, 40, 363, 62),
        "java_usage": (66, 56, 247, 118),
        "pharo_class_references": (1, 2, 338, 16),
        "pharo_collaborators": (7, 8, 323, 21),
        "pharo_example": (66, 20, 185, 86),
        "pharo_intent": (15, 11, 300, 30),
        "pharo_key_implementation": (5, 23, 288, 43),
        "pharo_key_messages": (10, 22, 273, 53),
        "pharo_responsibilities": (23, 16, 274, 46),
        "python_development_notes": (11, 53, 398, 54),
        "python_expand": (20, 56, 358, 82),
        "python_parameters": (36, 34, 323, 125),
        "python_summary": (7, 50, 373, 86),
        "python_usage": (30, 34, 320, 133),
    }.items()
}
"""What the official random forest answered on the test sets, by task (Rani et al.; the results in
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
    return {name: confusion.f1 or 0.0 for name, confusion in BASELINE.items()}


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
    won = tuple(name for name in values if as_decimal(values[name]) > as_decimal(baseline[name]))
    mean, every = fmean(values.values()), len(values)
    return CommentScore(mean, len(won), every, comment_rule(mean, len(won), every), won)


def comment_rule(mean_f1: float, outperformed: int, categories: int) -> float:
    """Return the formula of section III-B."""
    return _F1_WEIGHT * mean_f1 + _OUTPERFORMED_WEIGHT * outperformed / categories


def comment_ranking(systems: Sequence[System]) -> CommentRanking | None:
    """Rank systems by the rule of section III-B; None where none ran a category.

    Precision, recall and F1 of a category are means over seeds; one that is undefined counts 0,
    as in the competition's own table. The organizers' random forest is among the entries.
    """
    if BASELINE.keys().isdisjoint(task for system in systems for task in system.runs):
        return None
    scored = {ORGANIZERS: _organizers()}
    incomplete = []
    for system in systems:
        ran = [task for task in BASELINE if task in system.runs]
        other = [task for task in ran if not all(map(_is_official, system.runs[task]))]
        if other:
            share = f"{len(other)} of {len(BASELINE)} categories"
            incomplete.append(f"{system.name} ran {share} on other rows than the official test")
        elif len(ran) == len(BASELINE):
            scored[system.name] = _scored(system)
        else:
            incomplete.append(f"{system.name} ran {len(ran)} of {len(BASELINE)} categories")
    ranked = rank({name: score.score for name, (_, _, score) in scored.items()})
    entries = tuple(CommentEntry(entry.name, entry.place, *scored[entry.name]) for entry in ranked)
    return CommentRanking(entries, tuple(incomplete))


def _organizers() -> tuple[float, float, CommentScore]:
    every = BASELINE.values()
    precision = fmean(confusion.precision or 0.0 for confusion in every)
    recall = fmean(confusion.recall or 0.0 for confusion in every)
    return precision, recall, comment_score(baseline_f1())


def _scored(system: System) -> tuple[float, float, CommentScore]:
    """Return precision and recall, means over categories, and the score."""

    def by_task(metric: str) -> dict[str, float]:
        return {
            task: fmean(run.scores.value(metric) or 0.0 for run in system.runs[task])
            for task in BASELINE
        }

    precision, recall = (fmean(by_task(metric).values()) for metric in ("precision", "recall"))
    return precision, recall, comment_score(by_task("f1"))


def _is_official(run: Run) -> bool:
    """Tell whether the test has as many examples and positives as the official one."""
    base, confusion = BASELINE[run.task], run.scores.label_confusions[0]
    return (run.scores.examples, confusion.tp + confusion.fn) == (base.size, base.tp + base.fn)


def _section(
    compared: ComparisonResult, tasks: Mapping[str, Task], materials: RowsByTask
) -> Section | None:
    ranking = comment_ranking(compared.systems)
    if ranking is None:
        return None
    content: list[Content] = [_table(ranking)]
    if ranking.incomplete:
        told_so = "; ".join(ranking.incomplete)
        content.append(Remark(f"Not ranked by the competition's rule: {told_so}."))
    return Section("nlbse23", "The NLBSE'23 competition", tuple(content))


def _table(ranking: CommentRanking) -> ReportTable:
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
    return ReportTable("The rule of the NLBSE'23 competition", columns, rows, note)


def _sentence(compared: ComparisonResult) -> str | None:
    ranking = comment_ranking(compared.systems)
    if ranking is None or len(ranking.entries) == 1:
        return None
    first = ranking.entries[0]
    level = [entry.name for entry in ranking.entries if entry.place == first.place]
    start, score = "By the rule of the NLBSE'23 competition", first.score
    if len(level) > 1:
        return f"{start} {listed(level)} tie for the first place with {formatted(score.score)}."
    return (
        f"{start} {first.name} reaches {formatted(score.score)}: mean F1"
        f" {formatted(score.mean_f1)}, {score.outperformed} of {score.categories} categories won"
        " against the organizers' random forest."
    )


def _plain(compared: ComparisonResult) -> dict[str, Any] | None:
    ranking = comment_ranking(compared.systems)
    return None if ranking is None else asdict(ranking)


SECTION = ReportSection("nlbse23", _section, _sentence, plain=_plain)
