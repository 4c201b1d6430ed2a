"""The comparison in plain sentences: what differs, what cannot be told apart, on how much data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from goldpan.evaluation.comparison.facts import chosen_by
from goldpan.evaluation.comparison.question import ComparisonResult, System, mean_score, split_of
from goldpan.evaluation.score import ranking_score
from goldpan.evaluation.statistics.comparison import Comparison
from goldpan.evaluation.statistics.decide import FEWEST_TASKS
from goldpan.evaluation.statistics.scores import as_decimal
from goldpan.evaluation.training import TEST
from goldpan.report.comparison.added import SECTIONS
from goldpan.report.comparison.wording import answer, decision_words, first_place, meaning, where
from goldpan.report.document import listed
from goldpan.report.number_format import count, formatted

_MOST_PAIRS = 4
_MOST_LEFT_OUT = 3
_OVERFIT = 0.1
"""From which loss between train and test on the summary speaks of it."""


def heading(compared: ComparisonResult) -> str:
    """Return what is compared, in a line."""
    tasks = compared.tasks[0] if len(compared.tasks) == 1 else f"{len(compared.tasks)} tasks"
    models = (
        compared.systems[0].name
        if len(compared.systems) == 1
        else (f"{len(compared.systems)} models")
    )
    return f"{models} on {tasks}"


def facts(compared: ComparisonResult) -> tuple[tuple[str, str], ...]:
    """Return numbers with what they count."""
    runs = [run for system in compared.systems for run in system.every()]
    invalid = sum(run.scores.invalid for run in runs)
    seeds = {run.seed for run in runs}
    return (
        (f"{len(compared.systems):,}", "models" if len(compared.systems) > 1 else "model"),
        (f"{len(compared.tasks):,}", "tasks" if len(compared.tasks) > 1 else "task"),
        (f"{examples(compared, compared.tasks):,}", "test examples"),
        (f"{len(runs):,}", "runs" if len(runs) > 1 else "run"),
        (f"{len(seeds):,}", "seeds" if len(seeds) > 1 else "seed"),
        (f"{invalid:,}", "answers not valid"),
    )


def examples(compared: ComparisonResult, tasks: Iterable[str]) -> int:
    """Return the number of test examples of these tasks."""
    first = (
        next(system.runs[task][0] for system in compared.systems if task in system.runs)
        for task in tasks
    )
    return sum(run.scores.examples for run in first)


def sentences(compared: ComparisonResult) -> tuple[str, ...]:
    """Return what a stranger should take away, the most important first."""
    comparison = compared.comparison
    if isinstance(comparison, str):
        return (
            f"{comparison}, so nothing is ranked. What there is stands below.",
            *_best(compared),
        )
    texts = [_first(comparison), *_undecided_pairs(comparison)]
    if compared.new_tasks is not None:
        texts.append(answer(compared.new_tasks, comparison.models[0]))
    texts += [f"One task by itself: {_first(single)}" for single in compared.alone]
    texts += filter(None, [section.sentence(compared) for section in SECTIONS])
    tests = [comparison.test]
    if compared.new_tasks is not None:
        tests.append(compared.new_tasks.test)
    texts += filter(None, [_on_what(compared, comparison), *map(meaning, tests)])
    if compared.block.left_out:
        more = len(compared.block.left_out) - _MOST_LEFT_OUT
        rest = f"; and {more} more" if more > 0 else ""
        shown = "; ".join(compared.block.left_out[:_MOST_LEFT_OUT])
        texts.append(f"Outside the ranking: {shown}{rest}.")
    return tuple(texts)


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


def _undecided_pairs(comparison: Comparison) -> Iterator[str]:
    """Tell the pairs without the first model that are not told apart."""
    best = comparison.standings[0].model
    rest = [pair for pair in comparison.pairs if best not in (pair.first, pair.second)]
    if comparison.test.name == "none":
        return
    words = decision_words(comparison.test)
    for decision, text in (("equal", words["equal"]), ("undecided", words["undecided"])):
        pairs = [
            f"{rated.first} and {rated.second}" for rated in rest if rated.decision == decision
        ]
        if pairs:
            more = (
                f"; and {len(pairs) - _MOST_PAIRS} more pairs" if len(pairs) > _MOST_PAIRS else ""
            )
            yield f"{text.capitalize()}: {'; '.join(pairs[:_MOST_PAIRS])}{more}."
    decided = [pair for pair in rest if pair.decision in ("better", "worse")]
    if decided and len(comparison.models) > 2:
        every = [pair for pair in comparison.pairs if pair.decision in ("better", "worse")]
        where_ = where(comparison.test, comparison.tasks)
        yield (
            f"{where_}, one model is {words['better']} in {len(every)} of all"
            f" {len(comparison.pairs)} pairs."
        )


def _on_what(compared: ComparisonResult, comparison: Comparison) -> str:
    number = len(comparison.tasks)
    data = f"{count(number, 'task')} with {examples(compared, comparison.tasks):,} test examples"
    times = f"each model ran at least {_times(comparison.seeds)} on each"
    if comparison.test.name == "randomization":
        held = "It says what holds for other examples of this task, and nothing of other tasks."
    elif comparison.test.approach != "calibrated" and number < FEWEST_TASKS:
        held = "That is too few tasks to say anything of others."
    else:
        units, unit = comparison.test.units, comparison.test.unit
        of = f" The units that are resampled are its {units:,} {unit}." if units else ""
        return f"This rests on {data}; {times}.{of}"
    return f"This rests on {data}. {held}"


def _times(number: int) -> str:
    return {1: "once", 2: "twice"}.get(number, f"{number} times")


def _best(compared: ComparisonResult) -> Iterator[str]:
    """Tell each task's highest score, and all models that reached it."""
    for task in compared.tasks[:_MOST_PAIRS]:
        scored = {
            system.name: as_decimal(mean)
            for system in compared.systems
            if (mean := mean_score(system, task)) is not None
        }
        if scored:
            highest = max(scored.values())
            models = [name for name, mean in scored.items() if mean == highest]
            verb = "has" if len(models) == 1 else "have"
            metric = compared.metrics[task]
            yield f"{task}: {listed(models)} {verb} a {metric} of {formatted(highest)}."


def _protocol_warnings(compared: ComparisonResult) -> Iterator[str]:
    defects: dict[str, list[str]] = {}
    tests = set()
    for system in compared.systems:
        for run in system.every():
            protocol = run.record.protocol
            if chosen_by(run) == TEST:
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
    opened: dict[str, int] = {}
    for run in compared.every:
        compared_runs = [
            system.runs[run.task][0] for system in compared.systems if run.task in system.runs
        ]
        if compared_runs and split_of(run) == split_of(compared_runs[0]):
            opened[run.task] = opened.get(run.task, 0) + run.record.test_opened
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
        gaps = [
            train - test
            for run in system.every()
            if (train := ranking_score(run.train_scores).value) is not None
            and (test := ranking_score(run.scores).value) is not None
        ]
        if gaps and sum(gaps) / len(gaps) > _OVERFIT:
            lost.append((sum(gaps) / len(gaps), system.name))
    if lost:
        lost.sort(key=lambda pair: (-pair[0], pair[1]))
        gap, worst = lost[0]
        others = f" and {len(lost) - 1} more lose over {_OVERFIT}" if len(lost) > 1 else ""
        who = "they overfit" if len(lost) > 1 else "it overfits"
        yield f"From train to test {worst} loses {formatted(gap)} on average{others}: {who}."


def _unseen_noise(compared: ComparisonResult) -> Iterator[str]:
    single = [system.name for system in compared.systems if _single(system)]
    if single:
        yield (
            f"One seed alone stands behind scores of {listed(sorted(single))}: the noise of"
            " training is not seen."
        )


def _single(system: System) -> bool:
    return any(len(runs) == 1 and bool(runs[0].record.settings) for runs in system.runs.values())


def _invalid(compared: ComparisonResult) -> Iterator[str]:
    for system in compared.systems:
        runs = system.every()
        whole = sum(run.scores.examples for run in runs)
        invalid = sum(run.scores.invalid for run in runs)
        if whole and invalid / whole > 0.01:
            yield f"{100 * invalid / whole:.1f} % of the answers of {system.name} are not valid."
