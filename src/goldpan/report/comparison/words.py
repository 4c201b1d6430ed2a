"""A comparison in words: three sentences, and what must be known before quoting a score."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
    error_rate,
)
from goldpan.evaluation.record import RunRecord
from goldpan.evaluation.slices import headline
from goldpan.evaluation.training import TEST
from goldpan.evaluation.units import MANY_PROJECTS
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
    below: dict[str, list[str]] = {model: [] for model in comparison.models}
    for pair in comparison.pairs:
        if pair.decision == "better":
            below[pair.first].append(pair.second)
        elif pair.decision == "worse":
            below[pair.second].append(pair.first)
    many = len(comparison.models) - 1
    return {
        model: f"all {many} others" if len(names) == many > 2 else listed(names, 3)
        for model, names in below.items()
    }


def rank_range(standing: Standing) -> str:
    """Return the places that a model may have, as 2 or 2–4."""
    best, worst = standing.best, standing.worst
    return str(best) if best == worst else f"{best}–{worst}"


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
        reached += f" (mean {metric} {formatted(best.mean)})"
    else:
        value = best.median if comparison.central == "median" else best.mean
        reached = f"the highest {comparison.central} {metric} {over}, {formatted(value)}"
    return f"{listed(leaders)} {verb} {reached}"


def answer(comparison: Comparison, model: str) -> str:
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
    others = len(comparison.models) - 1
    clauses = [
        _clause(test, decision, groups[decision], others)
        for decision in ("better", "equal", "undecided", "worse")
        if decision in groups
    ]
    return f"{start}, {model} {'; it '.join(clauses)}"


def _clause(
    test: ChosenTest, decision: Decision, pairs: Sequence[ComparedPair], others: int
) -> str:
    names = [pair.second for pair in pairs]
    who = f"all {others} others" if len(names) == others > 2 else listed(names)
    ps = [pair.p for pair in pairs if pair.p is not None]
    word = decision_words(test)[decision]
    if decision == "undecided":
        if test.approach != "calibrated":
            return f"is not told apart from {who}"
        return f"cannot be told apart from {who}{_span(pairs)}"
    sure = f" ({_p(max(ps))})" if ps and decision in ("better", "worse") else ""
    return f"is {word} {who}{sure}"


def _span(pairs: Sequence[ComparedPair]) -> str:
    """Return where the difference of a single pair may lie, or that scores are equal."""
    if not any(pair.difference for pair in pairs):
        return " (their scores are equal)"
    low, high = pairs[0].low, pairs[0].high
    if len(pairs) > 1 or low is None or high is None:
        return ""
    return f" (the difference may lie between {formatted(low)} and {formatted(high)})"


def _p(p: float) -> str:
    return "p < 0.001" if p < 0.001 else f"p {formatted(p)}"


def meaning(test: ChosenTest) -> str:
    """Return the meaning of a test's words, in a clause; empty where nothing was tested."""
    share = f"{100 * test.alpha:g} %"
    if test.name == "none":
        return ""
    if test.approach == "calibrated":
        rope = (
            f", and about equal means a difference of at most {test.rope:g} points"
            if test.rope
            else ""
        )
        return f"better means significant at {share}, corrected for all pairs{rope}"
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


def short(comparison: Comparison, second: str, data: str, unit: str = "task") -> tuple[str, ...]:
    """Return the result in three sentences: who leads, what else holds, what that rests on."""
    first = f"{first_place(comparison, unit)}: {answer(comparison, comparison.models[0])}."
    test = comparison.test
    units = f", resampled over {test.units:,} {test.unit}" if test.units else ""
    rate = error_rate(test.name).removeprefix("Measured: ").removesuffix(".")
    rate = "" if test.approach == "calibrated" else rate
    third = "; ".join(filter(None, [f"Based on {data}{units}", meaning(test), rate]))
    return tuple(filter(None, [first, second, f"{third}."]))


def sentences(compared: ComparisonResult) -> tuple[str, ...]:
    """Return the main results of stored runs in three sentences."""
    comparison = compared.comparison
    if isinstance(comparison, str):
        return (f"{comparison}, so there is no ranking.",)
    rows = sum(compared.first_run(task).scores.examples for task in comparison.tasks)
    tasks = count(len(comparison.tasks), "task")
    second = ""
    if compared.new_tasks is not None and len(comparison.tasks) > 1:
        second = f"{_capital(answer(compared.new_tasks, comparison.models[0]))}."
    elif len(comparison.tasks) == 1:
        first, other = compared.ranked[:2]
        second = _differing(first, other, comparison.tasks[0])
    examples, seeds = count(rows, "test example"), count(comparison.seeds, "seed")
    data = f"{tasks} with {examples} and at least {seeds} per model"
    return short(comparison, second, data)


def _differing(first: System, second: System, task: str) -> str:
    """Return on how many rows of a task the first seeds of two models answer differently."""
    answers, others = (_answers(system.runs[task][0]) for system in (first, second))
    shared = answers.keys() & others.keys()
    differ = sum(answers[row] != others[row] for row in shared)
    rows = count(len(shared), "row")
    return f"{first.name} and {second.name} answer {differ:,} of {rows} differently."


def _answers(run: RunRecord) -> dict[str, Any]:
    table = run.predictions().select(["id", "answer"])
    return {row["id"]: row["answer"] for row in table.to_pylist()}


def _capital(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


_MOST_LEFT_OUT = 3
_MOST_HEADLINES = 3


def heading(compared: ComparisonResult) -> str:
    """Return the models and tasks of a comparison in a line."""
    names, systems = compared.tasks, compared.systems
    tasks = names[0] if len(names) == 1 else count(len(names), "task")
    models = systems[0].name if len(systems) == 1 else f"{len(systems)} models"
    return f"{models} on {tasks}"


def warnings(compared: ComparisonResult) -> tuple[str, ...]:
    """Return what a reader must know before quoting a score, leaks between the splits first."""
    elsewhere = sorted({f"{run.model} on {run.task}" for run in compared.elsewhere})
    return (
        *_repeated_texts(compared),
        *_telling_dates(compared),
        *_protocol_warnings(compared),
        *_opened(compared),
        *_unseen_noise(compared),
        *_invalid(compared),
        *_few_projects(compared),
        *some("Outside the ranking", compared.block.left_out),
        *some("Without a score", compared.without_value),
        *some("Not compared, as these runs are on other data or another split", elsewhere),
    )


def some(start: str, left_out: Sequence[str]) -> Iterator[str]:
    """Yield the first of what is left out, if any, as a sentence."""
    more = len(left_out) - _MOST_LEFT_OUT
    ending = f"; and {more} more" if more > 0 else ""
    if left_out:
        yield f"{start}: {'; '.join(left_out[:_MOST_LEFT_OUT])}{ending}."


def _repeated_texts(compared: ComparisonResult) -> Iterator[str]:
    """Yield a sentence for each task whose test repeats texts of train, the worst first."""
    leaking = []
    for name in compared.tasks:
        runs = (system.runs[name][0] for system in compared.ranked_on(name))
        leaking += [run for run in runs if run.leaks.level in ("warning", "alarm")][:1]
    leaking.sort(key=lambda run: -run.leaks.share)
    for run in leaking[:_MOST_HEADLINES]:
        text = headline(run.leaks, f"{run.scores.main} of {run.model}", run.value)
        yield text.replace("test rows", f"test rows of {run.task}", 1)
    if len(leaking) > _MOST_HEADLINES:
        yield f"The same is true of {count(len(leaking) - _MOST_HEADLINES, 'more task')}."


def _telling_dates(compared: ComparisonResult) -> Iterator[str]:
    """Yield a sentence for each task whose labels the date alone tells."""
    for name in compared.tasks:
        runs = (system.runs[name][0] for system in compared.ranked_on(name))
        signal = next((run.date_signal for run in runs if run.date_signal), None)
        if signal is not None and (sentence := signal.sentence()):
            yield f"{sentence.replace('train rows', f'train rows of {name}', 1)}."


def _protocol_warnings(compared: ComparisonResult) -> Iterator[str]:
    defects: dict[str, set[str]] = {}
    partly: dict[str, set[str]] = {}
    tests = set()
    for system in compared.systems:
        for run in system.every():
            if run.learning.chosen_on == TEST:
                tests.add(system.name)
            for defect in run.protocol.defects:
                defects.setdefault(defect, set()).add(run.protocol.name)
            if run.in_part:
                gaps = f"{run.protocol.name} in part ({'; '.join(run.in_part)})"
                partly.setdefault(gaps, set()).add(system.name)
    if tests:
        yield (
            f"Settings or the best epoch of {listed(sorted(tests))} were chosen on the test set, so"
            " these scores are too high."
        )
    for defect, names in defects.items():
        yield f"Protocol {listed(sorted(names))}: {defect}"
    for gaps, names in list(partly.items())[:_MOST_LEFT_OUT]:
        yield f"{listed(sorted(names))} ran under {gaps}."
    if len({system.protocol for system in compared.systems}) > 1:
        yield "The models ran under different protocols: compare them with care."


def _opened(compared: ComparisonResult) -> Iterator[str]:
    opened = {task: compared.times_opened(task) for task in compared.tasks}
    most = max(opened.values(), default=0)
    if most > 1:
        task = max(sorted(opened), key=lambda name: opened[name])
        yield (
            f"Test sets were scored {sum(opened.values()):,} times in this workspace, {task} alone"
            f" {most:,} times; picking the best of many scores overstates it."
        )


def _unseen_noise(compared: ComparisonResult) -> Iterator[str]:
    single = [system.name for system in compared.systems if _single(system)]
    if single:
        yield (
            f"Scores of {listed(sorted(single))} come from a single seed, so how much they vary"
            " from training to training is unknown."
        )


def _single(system: System) -> bool:
    return any(len(runs) == 1 and bool(runs[0].settings) for runs in system.runs.values())


def _few_projects(compared: ComparisonResult) -> Iterator[str]:
    """Yield the tasks that name too few projects to draw whole ones."""
    counts = {name: compared.first_run(name).scores.projects for name in compared.tasks}
    few = [f"{name} ({many})" for name, many in counts.items() if 1 < many < MANY_PROJECTS]
    if few:
        yield (
            f"Tests have fewer than {MANY_PROJECTS} projects: {listed(few, _MOST_LEFT_OUT)};"
            " answers hold on new rows of these projects, and others may differ."
        )


def _invalid(compared: ComparisonResult) -> Iterator[str]:
    for system in compared.systems:
        runs = system.every()
        whole = sum(run.scores.examples for run in runs)
        invalid = sum(run.scores.invalid for run in runs)
        if whole and invalid / whole > 0.01:
            yield f"{100 * invalid / whole:.1f} % of the answers of {system.name} are not valid."
