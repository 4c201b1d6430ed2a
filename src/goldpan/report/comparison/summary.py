"""The comparison in plain sentences: what differs, what cannot be told apart, on how much data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from goldpan.evaluation.comparison.question import ComparisonResult, System, mean_of
from goldpan.evaluation.score import is_bounded, ranking_score
from goldpan.evaluation.statistics.comparison import (
    FEWEST_TASKS,
    ChosenTest,
    ComparedPair,
    Comparison,
    Decision,
    Question,
    Standing,
    error_rate,
)
from goldpan.evaluation.statistics.scores import as_decimal
from goldpan.evaluation.training import TEST
from goldpan.report.comparison.rows import SECTIONS
from goldpan.report.document import count, formatted, listed

# The words for decisions on pairs: `better` is only said by the calibrated method.

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
    """Return the words for the decisions of a test about the first model of a pair."""
    return _CALIBRATED if test.approach == "calibrated" else _BY_NAME


def where(test: ChosenTest, tasks: Sequence[str]) -> str:
    """Return the beginning of a sentence: where an answer holds, or by which test it does."""
    if test.question == "new rows" and len(tasks) == 1:
        return f"On new rows of {tasks[0]}"
    return _WHERE.get(test.question, "" if test.name == "none" else f"By the {test.name} test")


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
        it = f"{start} it" if start else "It"
        return f"{it} cannot be told which model is better: {comparison.test.why}."
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
    """Return the meaning of a test's words, and how often it is wrong."""
    if test.name == "none":
        return ""
    if test.approach == "calibrated":
        rope = f" About equal: by no more than {test.rope:g} points." if test.rope else ""
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
    return f"{text} {error_rate(test.name)}".strip()


def needed(pair: ComparedPair) -> str:
    """Return the amount of data that would decide a pair, empty where decided or unknown."""
    if pair.decision not in ("undecided", "untested") or not pair.needed_unit:
        return ""
    if not pair.difference:
        return "scores are equal"
    amounts = ((pair.needed, pair.needed_unit), (pair.needed_seeds, "seeds"))
    parts = [f"{number:,} {unit}" for number, unit in amounts if number is not None]
    return f"about {' and '.join(parts)}" if parts else "more than can be asked for"


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
    """Return the least amount of data that would show a difference of these pairs."""
    if not any(pair.difference for pair in pairs):
        return " (their scores are equal)"
    with_needed = [pair for pair in pairs if pair.needed or pair.needed_seeds]
    if not with_needed:
        small = "the difference seen is" if len(pairs) == 1 else "the differences seen are"
        return f" ({small} too small for any reasonable number of {pairs[0].needed_unit} or seeds)"
    least = max(with_needed, key=lambda pair: abs(pair.difference))
    subject = "the difference" if len(pairs) == 1 else "the largest of these differences"
    return f" ({subject} would show with {needed(least)})"


def _pairs(comparison: Comparison, model: str, names: Sequence[str]) -> Iterator[ComparedPair]:
    for pair in comparison.pairs:
        if model in (pair.first, pair.second) and {pair.first, pair.second} & set(names) - {model}:
            yield pair


def _p(p: float) -> str:
    return "p < 0.001" if p < 0.001 else f"p {formatted(p)}"


_MOST_PAIRS = 4
_MOST_LEFT_OUT = 3
_OVERFIT = 0.1
"""The loss between train and test from which on the summary reports it."""


def heading(compared: ComparisonResult) -> str:
    """Return the models and tasks of a comparison in a line."""
    names, systems = compared.tasks, compared.systems
    tasks = names[0] if len(names) == 1 else f"{len(names)} tasks"
    models = systems[0].name if len(systems) == 1 else f"{len(systems)} models"
    return f"{models} on {tasks}"


def examples(compared: ComparisonResult, tasks: Iterable[str]) -> int:
    """Return the number of test examples of these tasks."""
    return sum(compared.first_run(task).scores.examples for task in tasks)


def sentences(compared: ComparisonResult) -> tuple[str, ...]:
    """Return the main results in sentences, the most important first."""
    comparison = compared.comparison
    if isinstance(comparison, str):
        return (
            f"{comparison}, so nothing is ranked. What there is stands below.",
            *_best(compared),
            *_elsewhere(compared),
        )
    texts = [_first(comparison), *_undecided_pairs(comparison)]
    if compared.new_tasks is not None:
        texts.append(answer(compared.new_tasks, comparison.models[0]))
    texts += _deciding(compared)
    texts += [f"One task by itself: {_first(single)}" for single in compared.alone]
    texts += filter(None, [section.sentence(compared) for section in SECTIONS])
    tests = [comparison.test]
    if compared.new_tasks is not None:
        tests.append(compared.new_tasks.test)
    texts += filter(None, [_on_what(compared, comparison), *map(meaning, tests)])
    texts += [f"{note}." for note in comparison.notes]
    texts += _some("Outside the ranking", compared.block.left_out)
    return (*texts, *_elsewhere(compared))


def _elsewhere(compared: ComparisonResult) -> Iterator[str]:
    runs = sorted({f"{run.model} on {run.task}" for run in compared.elsewhere})
    return _some("Not compared, as these runs are on other data or another split", runs)


def _some(start: str, left_out: Sequence[str]) -> Iterator[str]:
    """Yield the first of what is left out, if any, as a sentence."""
    more = len(left_out) - _MOST_LEFT_OUT
    ending = f"; and {more} more" if more > 0 else ""
    if left_out:
        yield f"{start}: {'; '.join(left_out[:_MOST_LEFT_OUT])}{ending}."


def warnings(compared: ComparisonResult, distances: Iterable[str]) -> tuple[str, ...]:
    """Return what a reader must know before quoting a score."""
    return (
        *distances,
        *_protocol_warnings(compared),
        *_opened(compared),
        *_fitted(compared),
        *_unseen_noise(compared),
        *_invalid(compared),
    )


def _first(comparison: Comparison) -> str:
    return f"{first_place(comparison)}. {answer(comparison, comparison.models[0])}"


def _deciding(compared: ComparisonResult) -> Iterator[str]:
    if rows := compared.deciding:
        yield (
            f"{rows.differ:,} of {count(rows.rows, 'row')} decide between {rows.first} and "
            f"{rows.second}: on the others they do not differ."
        )


def _undecided_pairs(comparison: Comparison) -> Iterator[str]:
    best = comparison.standings[0].model
    others = [pair for pair in comparison.pairs if best not in (pair.first, pair.second)]
    if comparison.test.name == "none":
        return
    words = decision_words(comparison.test)
    for decision in ("equal", "undecided"):
        names = [f"{pair.first} and {pair.second}" for pair in others if pair.decision == decision]
        if names:
            hidden = len(names) - _MOST_PAIRS
            more = f"; and {hidden} more pairs" if hidden > 0 else ""
            yield f"{words[decision].capitalize()}: {'; '.join(names[:_MOST_PAIRS])}{more}."
    if any(pair.decision in ("better", "worse") for pair in others):
        decided = sum(pair.decision in ("better", "worse") for pair in comparison.pairs)
        start = where(comparison.test, comparison.tasks)
        all_pairs = f"all {len(comparison.pairs)} pairs"
        yield f"{start}, one model is {words['better']} in {decided} of {all_pairs}."


def _on_what(compared: ComparisonResult, comparison: Comparison) -> str:
    number = len(comparison.tasks)
    data = f"{count(number, 'task')} with {examples(compared, comparison.tasks):,} test examples"
    often = {1: "once", 2: "twice"}.get(comparison.seeds, f"{comparison.seeds} times")
    times = f"each model ran at least {often} on each"
    if comparison.test.name == "randomization":
        limit = "It says what holds for other examples of this task, and nothing of other tasks."
    elif comparison.test.approach != "calibrated" and number < FEWEST_TASKS:
        limit = "That is too few tasks to say anything of others."
    else:
        units, unit = comparison.test.units, comparison.test.unit
        resampled = f" The units that are resampled are its {units:,} {unit}." if units else ""
        return f"This rests on {data}; {times}.{resampled}"
    return f"This rests on {data}. {limit}"


def _best(compared: ComparisonResult) -> Iterator[str]:
    """Yield each task's highest score, and all models that reached it."""
    for task in compared.tasks[:_MOST_PAIRS]:
        scored = {
            system.name: as_decimal(mean)
            for system in compared.systems
            if (mean := system.mean(task)) is not None
        }
        if scored:
            highest = max(scored.values())
            models = [name for name, mean in scored.items() if mean == highest]
            verb = "has" if len(models) == 1 else "have"
            best = f"the highest {compared.metrics[task]}, {formatted(highest)}"
            yield f"{task}: {listed(models)} {verb} {best}."


def _protocol_warnings(compared: ComparisonResult) -> Iterator[str]:
    defects: dict[str, list[str]] = {}
    tests = set()
    for system in compared.systems:
        for run in system.every():
            protocol = run.protocol
            if run.learning.chosen_on == TEST:
                tests.add(system.name)
            for defect in protocol.defects:
                names = defects.setdefault(defect, [])
                if protocol.name not in names:
                    names.append(protocol.name)
    if tests:
        yield (
            f"The test itself chose settings or the best epoch of {listed(sorted(tests))}: these"
            " scores are too high."
        )
    for defect, names in defects.items():
        yield f"Protocol {listed(sorted(names))}: {defect}"
    if len({system.protocol for system in compared.systems}) > 1:
        yield "Models under different protocols stand side by side: compare them with care."


def _opened(compared: ComparisonResult) -> Iterator[str]:
    opened = {task: compared.times_opened(task) for task in compared.tasks}
    most = max(opened.values(), default=0)
    if most > 1:
        task = max(sorted(opened), key=lambda name: opened[name])
        yield (
            f"Test sets were opened {sum(opened.values()):,} times in this workspace, up to"
            f" {most} times each ({task}): the more often, the less the best of many scores says."
        )


def _fitted(compared: ComparisonResult) -> Iterator[str]:
    lost: list[tuple[float, str]] = []
    for system in compared.systems:
        gap = mean_of(
            train - test
            for run in system.every()
            if is_bounded(ranking_score(run.scores).name)
            if (train := ranking_score(run.train_scores).value) is not None
            and (test := ranking_score(run.scores).value) is not None
        )
        if gap is not None and gap > _OVERFIT:
            lost.append((gap, system.name))
    if lost:
        lost.sort(key=lambda pair: (-pair[0], pair[1]))
        gap, worst = lost[0]
        many = len(lost) > 1
        others = f" and {len(lost) - 1} more lose over {_OVERFIT}" if many else ""
        who = "they overfit" if many else "it overfits"
        yield f"From train to test {worst} loses {formatted(gap)} on average{others}: {who}."


def _unseen_noise(compared: ComparisonResult) -> Iterator[str]:
    single = [system.name for system in compared.systems if _single(system)]
    if single:
        yield (
            f"One seed alone stands behind scores of {listed(sorted(single))}: the noise of"
            " training is not seen."
        )


def _single(system: System) -> bool:
    return any(len(runs) == 1 and bool(runs[0].settings) for runs in system.runs.values())


def _invalid(compared: ComparisonResult) -> Iterator[str]:
    for system in compared.systems:
        runs = system.every()
        whole = sum(run.scores.examples for run in runs)
        invalid = sum(run.scores.invalid for run in runs)
        if whole and invalid / whole > 0.01:
            yield f"{100 * invalid / whole:.1f} % of the answers of {system.name} are not valid."
