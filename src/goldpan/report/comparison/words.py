"""A comparison in sentences: three main results, and what must be known before quoting them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
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
from goldpan.evaluation.slices import headline
from goldpan.evaluation.training import TEST
from goldpan.evaluation.units import MANY_PROJECTS
from goldpan.report.document import formatted, listed

# The words for decisions on pairs: `better` is only said by the calibrated method.

_CALIBRATED: dict[Decision, str] = {
    "better": "better than",
    "worse": "worse than",
    "equal": "about equal to",
    "undecided": "not told apart from",
    "untested": "not told apart from",
}
_BY_NAME: dict[Decision, str] = {
    "better": "ahead of",
    "worse": "behind",
    "equal": "equal within the ROPE to",
    "undecided": "not told apart from",
    "untested": "not tested against",
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
        runs = {len(results) for one in compared.ranked for results in one.results.values()}
        least = "at least " if len(runs) > 1 else ""
        data += f" and {least}{count(comparison.seeds, 'seed')} per model"
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
    start = "With their first seeds, " if len(first.runs[task]) > 1 else ""
    return f"{start}{first.name} and {second.name} answer {differ:,} of {rows} differently."


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
    if len(comparison.tasks) == 1:
        start = start.replace("these tasks", "this task")
    if test.name == "none":
        why = f"{test.why[:1].lower()}{test.why[1:]}"
        return f"{start} it is unknown which model is better: {why}".strip()
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
    share = f"{100 * test.alpha:g}%"
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
            f"ahead means a probability of at least {100 * (1 - test.alpha):g}% of a higher"
            f" score{width} on tasks like these, not corrected for multiple comparisons"
        )
    return (
        f"ahead means significant at {share} by this test; a difference that is not significant"
        " does not show that two models are equal"
    )


_MOST = 3
"""Things of one kind that are named."""
_FEW_INVALID = 0.01


def warnings(compared: ComparisonResult) -> Iterator[str]:
    """Yield what a reader must know before quoting a score."""
    invalid = "are not valid"
    if compared.origin:
        invalid = "are empty or not among the labels, and count as wrong"
        yield (
            f"Goldpan did not run the models of these {compared.origin}, so leaks between training"
            " and test are unknown."
        )
    else:
        yield from _of_runs(compared)
    for system in compared.systems:
        scores = [own for results in system.results.values() for own in results]
        share = sum(own.invalid for own in scores) / (sum(own.examples for own in scores) or 1)
        if share > _FEW_INVALID:
            yield f"{100 * share:.1f}% of the answers of {system.name} {invalid}."
    yield from _some("Outside the ranking", compared.block.left_out)
    yield from _some("Without a score", compared.without_value)
    elsewhere = sorted({f"runs of {run.model} on {run.task}" for run in compared.elsewhere})
    yield from _some("Not compared, because data, split or labels differ", elsewhere)


def _of_runs(compared: ComparisonResult) -> Iterator[str]:
    """Yield what is known of stored runs alone."""
    yield from _repeated_texts(compared)
    yield from _telling_dates(compared)
    yield from _protocols(compared)
    opened = {task: compared.times_opened(task) for task in compared.tasks}
    most = max(opened.values(), default=0)
    if most > 1:
        task = max(sorted(opened), key=lambda name: opened[name])
        others = len(opened) > 1
        yield (
            f"Test sets were scored {sum(opened.values()):,} times in this workspace"
            f"{f', that of {task} {most:,} times' if others else ''}: the best of many scores is"
            " too high an estimate."
        )
    single = sorted(
        system.name
        for system in compared.systems
        if any(len(runs) == 1 and runs[0].settings for runs in system.runs.values())
    )
    if single:
        yield (
            f"Scores of {listed(single)} come from a single seed, so how much they vary"
            " from training to training is unknown."
        )
    projects = {name: compared.first_run(name).scores.projects for name in compared.tasks}
    few = [f"{name} ({many})" for name, many in projects.items() if 1 < many < MANY_PROJECTS]
    if few:
        yield (
            f"Tests have fewer than {MANY_PROJECTS} projects: {listed(few, _MOST)};"
            " the result holds for new rows of these projects, and others may differ."
        )


def _some(start: str, left_out: Sequence[str]) -> Iterator[str]:
    """Yield the first of what is left out, if any, as a sentence."""
    more = len(left_out) - _MOST
    ending = f"; and {more} more" if more > 0 else ""
    if left_out:
        yield f"{start}: {'; '.join(left_out[:_MOST])}{ending}."


def _repeated_texts(compared: ComparisonResult) -> Iterator[str]:
    """Yield a sentence for each task whose test repeats texts of train, the worst first."""
    leaking = []
    for name in compared.tasks:
        runs = (system.runs[name][0] for system in compared.ranked_on(name))
        leaking += [run for run in runs if run.leaks.level in ("warning", "alarm")][:1]
    leaking.sort(key=lambda run: -run.leaks.share)
    for run in leaking[:_MOST]:
        text = headline(run.leaks, f"{run.scores.main} of {run.model}", run.value)
        yield text.replace("test rows", f"test rows of {run.task}", 1)
    if len(leaking) > _MOST:
        yield f"The same is true of {count(len(leaking) - _MOST, 'more task')}."


def _telling_dates(compared: ComparisonResult) -> Iterator[str]:
    """Yield a sentence for each task whose labels the date alone tells."""
    for name in compared.tasks:
        runs = (system.runs[name][0] for system in compared.ranked_on(name))
        signal = next((run.date_signal for run in runs if run.date_signal), None)
        if signal is not None and (sentence := signal.sentence()):
            yield f"{sentence.replace('train rows', f'train rows of {name}', 1)}."


def _protocols(compared: ComparisonResult) -> Iterator[str]:
    runs = [(system.name, run) for system in compared.systems for run in system.every()]
    if tests := [name for name, run in runs if run.learning.chosen_on == TEST]:
        yield (
            f"Settings or the best epoch of {_each(tests)} were chosen on the test set, so"
            " these scores are too high."
        )
    defects: dict[str, list[str]] = defaultdict(list)
    partly: dict[str, list[str]] = defaultdict(list)
    for name, run in runs:
        for defect in run.protocol.defects:
            defects[defect].append(run.protocol.name)
        if run.in_part:
            partly[f"{run.protocol.name} in part ({'; '.join(run.in_part)})"].append(name)
    for defect, names in defects.items():
        yield f"Protocol {_each(names)}: {defect}"
    for gaps, names in list(partly.items())[:_MOST]:
        yield f"{_each(names)} ran under {gaps}."
    if len({run.protocol.name for _, run in runs}) > 1:
        yield "The models ran under different protocols: compare them with care."


def _each(names: Iterable[str]) -> str:
    return listed(sorted(set(names)))
