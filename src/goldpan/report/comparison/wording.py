"""What is said of a pair of models: `better` only where the calibrated method says so."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from goldpan.evaluation.statistics.comparison import (
    ChosenTest,
    ComparedPair,
    Comparison,
    Decision,
    Question,
    error_rate,
)
from goldpan.report.document import listed
from goldpan.report.number_format import count, formatted

_CALIBRATED: dict[Decision, str] = {
    "better": "better",
    "worse": "worse",
    "equal": "about equal",
    "undecided": "cannot be told",
    "untested": "cannot be told",
}
_BY_NAME: dict[Decision, str] = {
    "better": "ahead",
    "worse": "behind",
    "equal": "equal within the ROPE",
    "undecided": "not told apart",
    "untested": "not tested",
}
_WHERE: dict[Question, str] = {
    "new rows": "On new rows of these tasks",
    "new tasks": "On new tasks",
}


def decision_words(test: ChosenTest) -> dict[Decision, str]:
    """Return what each decision of a test is called, of the first model of a pair."""
    return _CALIBRATED if test.approach == "calibrated" else _BY_NAME


def where(test: ChosenTest, tasks: Sequence[str] = ()) -> str:
    """Return where an answer holds, as a sentence begins; by other methods, by which."""
    if test.question == "new rows" and len(tasks) == 1:
        return f"On new rows of {tasks[0]}"
    return _WHERE.get(test.question, f"By the {test.name} test")


def first_place(comparison: Comparison, unit: str = "task") -> str:
    """Return who is first and by what, as a clause; `unit` is what a task is called.

    Models of the same score, as decimals, tie: none of them is the best.
    """
    leaders, best, metric = comparison.leaders, comparison.standings[0], comparison.metric
    verb = "has" if len(leaders) == 1 else "tie for"
    over = f"over {count(len(comparison.tasks), unit)}"
    if len(comparison.tasks) == 1:
        reached = f"the highest {metric} on {comparison.tasks[0]}, {formatted(best.mean)}"
    elif comparison.central == "mean rank":
        reached = f"the best mean rank {over}, {best.mean_rank:.2f}"
        if len({standing.mean for standing in comparison.standings[: len(leaders)]}) == 1:
            reached += f" (mean {metric} {formatted(best.mean)})"
    else:
        value = best.median if comparison.central == "median" else best.mean
        reached = f"the highest {comparison.central} {metric} {over}, {formatted(value)}"
    return f"{listed(leaders)} {verb} {reached}"


def answer(comparison: Comparison, model: str) -> str:
    """Return how a model compares to all others, in a sentence that names the question."""
    start = where(comparison.test, comparison.tasks)
    groups: dict[Decision, list[str]] = {}
    for other in comparison.models:
        if other != model:
            groups.setdefault(comparison.decision(model, other), []).append(other)
    others = len(comparison.models) - 1
    if comparison.test.name == "none":
        return f"{start} it cannot be told which model is better: {comparison.test.why}."
    words = decision_words(comparison.test)
    clauses = []
    for decision in ("better", "equal", "undecided", "worse"):
        names = groups.get(decision, [])
        if not names:
            continue
        who = f"all {others} others" if len(names) == others > 2 else listed(names)
        clauses.append(_clause(comparison, model, decision, names, who, words[decision]))
    return f"{start}, {model} {'; it '.join(clauses)}."


def meaning(test: ChosenTest) -> str:
    """Return what a test's words mean, and how often it is wrong."""
    if test.name == "none":
        return ""
    rate = error_rate(test.name)
    if test.approach == "calibrated":
        rope = "" if test.rope is None else f" About equal: by no more than {test.rope:g} points."
        text = (
            f"Better {_WHERE[test.question].lower()} means: of models that are alike, so large a"
            f" difference comes by chance in less than {100 * test.alpha:g} % of studies, over all"
            f" pairs shown.{rope} Anything else cannot be told from these data."
        )
    elif test.approach == "bayesian":
        width = ""
        if test.rope is not None:
            unit = "of their spread over tasks" if test.rope_kind == "effect" else "points"
            width = f" by more than {test.rope:g} {unit}"
        text = (
            f"Ahead means: by this test, with a probability of at least"
            f" {100 * (1 - test.alpha):g} % the one scores higher{width} on tasks like these;"
            " equal: as probably, the two differ by no more than that. Pairs are not corrected for"
            " being many."
        )
    else:
        text = (
            f"Ahead means: p, corrected for the number of pairs, is below {test.alpha:g} by this"
            " test. A test that finds no difference does not show that two models are equal."
        )
    return f"{text} {rate}".strip()


def needed(pair: ComparedPair) -> str:
    """Return what would decide a pair, empty where it is decided or nothing is known of it."""
    if pair.decision not in ("undecided", "untested") or not pair.needed_unit:
        return ""
    if not pair.difference:
        return "scores are equal"
    if pair.needed is None:
        return "more than can be asked for"
    return f"about {pair.needed:,} {pair.needed_unit}"


def _clause(
    comparison: Comparison,
    model: str,
    decision: Decision,
    names: Sequence[str],
    who: str,
    word: str,
) -> str:
    calibrated = comparison.test.approach == "calibrated"
    pairs = list(_pairs(comparison, model, names))
    ps = [pair.p for pair in pairs if pair.p is not None]
    sure = f" ({_p(max(ps))})" if ps and decision in ("better", "worse") else ""
    if decision == "undecided":
        if not calibrated:
            return f"is not told apart from {who}"
        return f"cannot be told apart from {who}{_what_is_needed(pairs)}"
    if decision == "equal":
        return f"is {word}{' to' if calibrated else ':'} {who}"
    if calibrated:
        return f"is {word} than {who}{sure}"
    return f"is {word} of {who}{sure}" if decision == "better" else f"is {word} {who}{sure}"


def _what_is_needed(pairs: Sequence[ComparedPair]) -> str:
    """Say what would show the differences seen: the least of all pairs."""
    if not any(pair.difference for pair in pairs):
        return " (their scores are equal)"
    with_needed = [pair for pair in pairs if pair.needed is not None]
    if not with_needed:
        return " (the differences seen are too small for any reasonable number of rows or tasks)"
    least = min(with_needed, key=lambda pair: pair.needed or 0)
    subject = "the difference" if len(pairs) == 1 else "the largest of these differences"
    return f" ({subject} would show with {needed(least)})"


def _pairs(comparison: Comparison, model: str, names: Sequence[str]) -> Iterator[ComparedPair]:
    for pair in comparison.pairs:
        if model in (pair.first, pair.second) and {pair.first, pair.second} & set(names) - {model}:
            yield pair


def _p(p: float) -> str:
    return "p < 0.001" if p < 0.001 else f"p {formatted(p)}"
