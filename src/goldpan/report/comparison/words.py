"""A comparison in three sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from goldpan.core.result import count
from goldpan.evaluation.compare.question import ComparisonResult, System
from goldpan.evaluation.compare.result import (
    ChosenTest,
    ComparedPair,
    Comparison,
    Decision,
    Question,
    Standing,
    beaten_by,
    error_rate,
)
from goldpan.report.document import formatted, listed

# The words for decisions on pairs: `better` is only said by the calibrated method.

_CALIBRATED: dict[Decision, str] = {
    "better": "better than",
    "worse": "worse than",
    "equal": "about equal to",
    "undecided": "cannot be told",
    "untested": "cannot be told",
}
_BY_NAME: dict[Decision, str] = {
    "better": "ahead of",
    "worse": "behind",
    "equal": "equal within the ROPE to",
    "undecided": "not told apart",
    "untested": "not tested",
}
_WHERE: dict[Question, str] = {
    "new rows": "on new rows of these tasks",
    "new tasks": "on new tasks",
}


def decision_words(test: ChosenTest) -> dict[Decision, str]:
    """Return the words for the decisions of a test about the first model of a pair."""
    return _CALIBRATED if test.approach == "calibrated" else _BY_NAME


def beaten(comparison: Comparison) -> dict[str, str]:
    """Return whom each model is better than or ahead of, in words."""
    many = len(comparison.models) - 1
    return {
        model: f"all {many} others" if len(names) == many > 2 else listed(names, 3)
        for model, names in beaten_by(comparison.models, comparison.pairs).items()
    }


def rank_range(standing: Standing) -> str:
    """Return the places that a model may have, as 2 or 2–4."""
    best, worst = standing.best, standing.worst
    return str(best) if best == worst else f"{best}–{worst}"


def sentences(compared: ComparisonResult) -> tuple[str, ...]:
    """Return the main results in three sentences: who leads, what else holds, and why."""
    comparison = compared.comparison
    if isinstance(comparison, str):
        return (f"{comparison}, so there is no ranking.",)
    if len(comparison.tasks) == 1 and not compared.origin:
        leader, other = compared.ranked[:2]
        second = _differing(leader, other, comparison.tasks[0])
    else:
        second = _second(compared.new_tasks, comparison.models[0])
    unit, data = "data set", compared.origin
    if not data:
        rows = sum(compared.first_run(task).scores.examples for task in comparison.tasks)
        unit = "task"
        data = f"{count(len(comparison.tasks), unit)} with {count(rows, 'test example')}"
        data += f" and at least {count(comparison.seeds, 'seed')} per model"
    test = comparison.test
    first = f"{_first_place(comparison, unit)}: {_answer(comparison, comparison.models[0])}."
    units = f", resampled over {test.units:,} {test.unit}" if test.units else ""
    rate = error_rate(test.name).removeprefix("Measured: ").removesuffix(".")
    third = [f"Based on {data}{units}", _meaning(test)]
    third += [rate] if test.approach != "calibrated" else []
    return tuple(filter(None, [first, second, f"{'; '.join(filter(None, third))}."]))


def _second(new_tasks: Comparison | None, model: str) -> str:
    text = "" if new_tasks is None else f"{_answer(new_tasks, model)}."
    return f"{text[:1].upper()}{text[1:]}"


def _differing(first: System, second: System, task: str) -> str:
    """Return on how many rows of a task the first seeds of two models answer differently."""
    answers, others = (_answers(system, task) for system in (first, second))
    shared = answers.keys() & others.keys()
    differ = sum(answers[row] != others[row] for row in shared)
    rows = count(len(shared), "row")
    return f"{first.name} and {second.name} answer {differ:,} of {rows} differently."


def _answers(system: System, task: str) -> dict[str, Any]:
    table = system.runs[task][0].predictions()
    return dict(zip(table["id"].to_pylist(), table["answer"].to_pylist(), strict=True))


def _first_place(comparison: Comparison, unit: str) -> str:
    """Return who is first and by what, as a clause.

    Models of the same score, as decimals, tie: none of them is the best.
    """
    leaders, best, metric = comparison.leaders, comparison.standings[0], comparison.metric
    verb = "has" if len(leaders) == 1 else "tie for"
    over = f"over {count(len(comparison.tasks), unit)}"
    if len(comparison.tasks) == 1:
        reached = f"the highest {metric} on {comparison.tasks[0]}, {formatted(best.mean)}"
    elif comparison.central == "mean rank":
        reached = f"the best mean rank {over}, {best.mean_rank:.2f}"
        reached += f" (mean {metric} {formatted(best.mean)})"
    else:
        value = formatted(comparison.shown(best))
        reached = f"the highest {comparison.central} {metric} {over}, {value}"
    return f"{listed(leaders)} {verb} {reached}"


def _answer(comparison: Comparison, model: str) -> str:
    """Return how a model compares to all others, in a clause that names the question."""
    test = comparison.test
    start = _WHERE.get(test.question, "" if test.name == "none" else f"by the {test.name} test")
    if test.name == "none":
        return f"{start} it cannot be told which model is better: {test.why}".strip()
    groups: dict[Decision, list[ComparedPair]] = {}
    for pair in comparison.pairs:
        if model in (pair.first, pair.second):
            own = pair if pair.first == model else pair.mirrored()
            groups.setdefault(own.decision, []).append(own)
    clauses = [
        _clause(test, decision, groups[decision], len(comparison.models) - 1)
        for decision in ("better", "equal", "undecided", "worse")
        if decision in groups
    ]
    return f"{start}, {model} {'; it '.join(clauses)}"


def _clause(
    test: ChosenTest, decision: Decision, pairs: Sequence[ComparedPair], others: int
) -> str:
    names = [pair.second for pair in pairs]
    who = f"all {others} others" if len(names) == others > 2 else listed(names)
    if decision == "undecided":
        if test.approach != "calibrated":
            return f"is not told apart from {who}"
        return f"cannot be told apart from {who}{_span(pairs)}"
    ps = [pair.p for pair in pairs if pair.p is not None]
    p = f"p {formatted(max(ps))}" if ps and max(ps) >= 0.001 else "p < 0.001"
    sure = f" ({p})" if ps and decision != "equal" else ""
    return f"is {decision_words(test)[decision]} {who}{sure}"


def _span(pairs: Sequence[ComparedPair]) -> str:
    """Return where the difference of a single pair may lie, or that scores are equal."""
    if not any(pair.difference for pair in pairs):
        return " (their scores are equal)"
    low, high = pairs[0].low, pairs[0].high
    if len(pairs) > 1 or low is None or high is None:
        return ""
    return f" (the difference may lie between {formatted(low)} and {formatted(high)})"


def _meaning(test: ChosenTest) -> str:
    """Return the meaning of a test's words, in a clause; empty where nothing was tested."""
    share = f"{100 * test.alpha:g} %"
    if test.name == "none":
        return ""
    if test.approach == "calibrated":
        text = f"better means significant at {share}, corrected for all pairs"
        if test.rope:
            text += f", and about equal means a difference of at most {test.rope:g} points"
        return text
    if test.approach == "bayesian":
        width = f" by more than {test.rope:g} of their spread over tasks" if test.rope else ""
        return (
            f"ahead means a probability of at least {100 * (1 - test.alpha):g} % of a higher"
            f" score{width} on tasks like these, not corrected for multiple comparisons"
        )
    return (
        f"ahead means significant at {share} by this test; a difference that is not significant"
        " does not show that two models are equal"
    )
