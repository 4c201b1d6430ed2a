"""The ranking of the code-comment competition (NLBSE'23), from the runs of its 19 categories."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from goldpan.evaluation.comparison_units import System
from goldpan.evaluation.runs import Run
from goldpan.evaluation.statistics.scores import rank
from goldpan.papers.nlbse.nlbse23 import BASELINE, CommentScore, baseline_f1, comment_score

ORGANIZERS = "organizers' random forest"


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


def comment_ranking(systems: Iterable[System]) -> CommentRanking | None:
    """Rank systems by the rule of section III-B; None where none ran a category.

    Precision, recall and F1 of a category are means over seeds; one that is undefined counts 0,
    as in the competition's own table. The organizers' random forest is among the entries.
    """
    scored: dict[str, tuple[float, float, CommentScore]] = {}
    incomplete = []
    categories = 0
    for system in systems:
        every = [task for task in BASELINE if task in system.runs]
        official = [task for task in every if all(map(_official, system.runs[task]))]
        categories += len(every)
        if len(official) < len(every):
            other = f"{len(every) - len(official)} of {len(BASELINE)} categories"
            incomplete.append(f"{system.name} ran {other} on other rows than the official test")
        if len(official) == len(BASELINE):
            f1 = {task: _mean(system, task, "f1") for task in BASELINE}
            precision = _over(_mean(system, task, "precision") for task in BASELINE)
            recall = _over(_mean(system, task, "recall") for task in BASELINE)
            scored[system.name] = precision, recall, comment_score(f1)
        elif len(official) == len(every):
            incomplete.append(f"{system.name} ran {len(official)} of {len(BASELINE)} categories")
    if not categories:
        return None
    precision = _over(confusion.precision or 0.0 for confusion in BASELINE.values())
    recall = _over(confusion.recall or 0.0 for confusion in BASELINE.values())
    scored[ORGANIZERS] = precision, recall, comment_score(baseline_f1())
    ranking = rank({name: entry[2].score for name, entry in scored.items()})
    entries = tuple(CommentEntry(entry.name, entry.place, *scored[entry.name]) for entry in ranking)
    return CommentRanking(entries, tuple(incomplete))


def _official(run: Run) -> bool:
    """Tell whether the test has as many examples and positives as the official one."""
    base, confusion = BASELINE[run.task], run.scores.label_confusions[0]
    return (run.scores.examples, confusion.tp + confusion.fn) == (base.size, base.tp + base.fn)


def _mean(system: System, task: str, metric: str) -> float:
    return _over(run.scores.value(metric) or 0.0 for run in system.runs[task])


def _over(values: Iterable[float]) -> float:
    listed = list(values)
    return math.fsum(listed) / len(listed)
