"""The ranking of models with its ties, and the decisions of step 10 of ECSER behind it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from itertools import islice

from goldpan.datasets.tasks.task import Task
from goldpan.evaluation.comparison.facts import Skipped
from goldpan.evaluation.comparison.question import ComparisonResult
from goldpan.evaluation.statistics.comparison import (
    FEWEST_TASKS,
    ComparedPair,
    Comparison,
    Standing,
)
from goldpan.report.comparison.measures import score_with_spread
from goldpan.report.comparison.plots import (
    critical_difference_plot,
    decision_plot,
    interval_plot,
    posterior_plot,
)
from goldpan.report.comparison.summary import decision_words, meaning, needed, rank_range
from goldpan.report.document import (
    NOTHING,
    Cell,
    Content,
    Figure,
    Remark,
    ReportTable,
    Row,
    Section,
    count,
    cut,
    folded,
    formatted,
    listed,
    with_interval,
)

MOST_DRAWN = 40
"""Models in one figure."""
_NEEDED = "would show with"


def first_models(comparison: Comparison, most: int = MOST_DRAWN) -> Comparison:
    """Return a comparison with its first models alone, for figures of a bounded size."""
    if len(comparison.models) <= most:
        return comparison
    names = set(comparison.models[:most])
    pairs = tuple(pair for pair in comparison.pairs if pair.first in names and pair.second in names)
    return replace(comparison, standings=comparison.standings[:most], pairs=pairs)


def significance(compared: ComparisonResult, tasks: Mapping[str, Task]) -> tuple[Content, ...]:
    """Return the decisions on each question (S10); raises `Skipped` where nothing was tested."""
    comparison = compared.comparison
    if isinstance(comparison, str):
        raise Skipped(comparison)
    alone = _single_results(compared)
    on_tasks = compared.new_tasks
    if comparison.test.name == "none" and not alone and on_tasks is None:
        raise Skipped(comparison.test.why)
    content = [*question(comparison), *(Remark(f"{note}.") for note in comparison.notes)]
    if on_tasks is not None:
        content += question(on_tasks)
    if comparison.test.approach != "calibrated":
        caveat = _shared_sources(comparison, tasks)
        if caveat:
            content.append(Remark(caveat))
    return (*content, *alone)


def question(comparison: Comparison) -> Iterator[Content]:
    """Yield the question of a comparison, and the decisions where it was tested."""
    yield Remark(_question_text(comparison))
    if comparison.test.name != "none":
        yield from _decisions(comparison)


def pairs_table(comparison: Comparison) -> ReportTable:
    """Return the decision on each pair."""
    test = comparison.test
    rows = [_row(pair, comparison) for pair in comparison.pairs]
    if not any(row.get(_NEEDED) for row in rows):
        rows = [{name: row[name] for name in row if name != _NEEDED} for row in rows]
    note = "Difference: of the mean scores. "
    if test.approach == "calibrated":
        note += "p and the interval hold for all pairs at once. "
    if any(pair.fragile for pair in comparison.pairs):
        note += "* Another random seed could decide otherwise."
    title = f"Every pair, {test.question}" if test.question else "Every pair"
    return ReportTable.of(title, rows, note.strip())


def _question_text(comparison: Comparison) -> str:
    """Return the question, the test that decides it and the meaning of its words."""
    test = comparison.test
    if not test.question:
        return " ".join(filter(None, [f"{test.name.capitalize()}. {test.why}.", meaning(test)]))
    text = {
        "new rows": "Would it hold on new rows of these tasks?",
        "new tasks": "Would it hold on new tasks?",
    }[test.question]
    start = "" if test.name != "none" else "It cannot be told. "
    return " ".join(filter(None, [f"{text} {start}{test.why}.", meaning(test)]))


def _decisions(comparison: Comparison) -> list[Content]:
    """Return the figures and the table of all pairs."""
    content: list[Content] = []
    test = comparison.test
    if test.omnibus and test.omnibus_p is not None:
        content.append(
            Remark(
                f"Is there any difference at all? {test.omnibus}: p = {formatted(test.omnibus_p)}."
            )
        )
    shown = first_models(comparison)
    if len(shown.models) < len(comparison.models):
        content.append(Remark(f"The figures show the first {MOST_DRAWN} models."))
    if test.critical_difference is not None:
        caption = "Mean ranks, the best on the left. Models that a bar joins are not told apart."
        content.append(Figure("Critical differences", caption, critical_difference_plot(shown)))
    if test.approach == "bayesian" and all(pair.posterior for pair in shown.pairs):
        caption = (
            "Left: how probable it is that the model of the row is better than that of the"
            " column. Right: what is decided of them."
        )
        content.append(Figure("Posterior probabilities", caption, posterior_plot(shown)))
    else:
        caption = "What is decided of the model of the row and that of the column."
        title = f"Decisions, {test.question}" if test.question else "Decisions"
        content.append(Figure(title, caption, decision_plot(shown)))
    content.append(folded(pairs_table(comparison)))
    return content


def _row(pair: ComparedPair, comparison: Comparison) -> Row:
    word = decision_words(comparison.test)[pair.decision]
    row: Row = {
        "first": pair.first,
        "second": pair.second,
        "the first is": f"{word}{'*' if pair.fragile else ''}",
    }
    if comparison.test.approach == "calibrated":
        return {
            **row,
            "p": pair.p,
            "difference": pair.difference,
            "may lie in": _interval(pair),
            _NEEDED: needed(pair),
        }
    sizes = {"difference": pair.difference, "effect": pair.effect, "effect is": pair.magnitude}
    if comparison.test.approach != "bayesian":
        return {**row, "p": pair.p, **sizes}
    odds = {} if pair.posterior is None else asdict(pair.posterior)
    return {
        **row,
        **{f"P({name})": odds.get(name) for name in ("better", "equal", "worse")},
        **sizes,
    }


def _interval(pair: ComparedPair) -> str:
    if pair.low is None or pair.high is None:
        return NOTHING
    return f"{formatted(pair.low)} to {formatted(pair.high)}"


def _single_results(compared: ComparisonResult) -> tuple[Content, ...]:
    if not compared.alone:
        return ()
    calibrated = compared.alone[0].test.approach == "calibrated"
    shown = ["first", "second", "the first is", "p", "difference"]
    if calibrated:
        shown += ["may lie in", _NEEDED]
    rows: list[Row] = []
    for comparison in compared.alone:
        for pair in comparison.pairs:
            cells = _row(pair, comparison)
            rows.append({"task": comparison.tasks[0], **{name: cells[name] for name in shown}})
    corrected = (
        f"p is corrected for the pairs of a task; a difference counts below"
        f" {compared.alone[0].test.alpha:.3g}, so that all tasks together are wrong as seldom as"
        " one question."
        if calibrated
        else "p is corrected for the pairs of a task, not for tasks."
    )
    note = f"{compared.alone[0].test.why}. {corrected}"
    notes = [
        f"{comparison.tasks[0]}: {note}."
        for comparison in compared.alone
        for note in comparison.notes
    ]
    return (cut(ReportTable.of("Each task by itself", rows, note)), *map(Remark, notes))


def _shared_sources(comparison: Comparison, tasks: Mapping[str, Task]) -> str:
    datasets = [tasks[name].source.dataset for name in comparison.tasks if name in tasks]
    different = sorted(set(datasets))
    if len(comparison.tasks) < 2 or len(different) == len(datasets):
        return ""
    return (
        f"The {len(comparison.tasks)} tasks come from {count(len(different), 'data set')}"
        f" ({', '.join(different[:6])})."
        " Tests take tasks as independent; tasks that share texts are not, so read the decisions as"
        " being about these tasks and not about others."
    )


def ranking_section(compared: ComparisonResult) -> Section:
    """Return the ranking, or all scores where nothing can be ranked."""
    content: list[Content] = []
    comparison = compared.comparison
    if isinstance(comparison, Comparison):
        content.append(ranking_table(compared, comparison))
        if len(comparison.tasks) >= FEWEST_TASKS:
            content += _drawn(comparison)
    else:
        content += [Remark(f"Nothing is ranked: {comparison}."), _means(compared)]
    content += [Remark(f"Left out of the ranking: {reason}.") for reason in compared.block.left_out]
    content += [Remark(f"Without a score: {reason}.") for reason in compared.without_value[:12]]
    return Section("ranking", "Ranking", tuple(content), _note(compared))


def ranking_table(compared: ComparisonResult, comparison: Comparison) -> ReportTable:
    """Return the standings, where places that decisions leave open are ties."""
    if len(comparison.tasks) == 1:
        return _on_one_task(compared, comparison)
    by_median = comparison.by_median
    enough = len(comparison.tasks) >= FEWEST_TASKS
    level = f" [{100 * (comparison.confidence or 0):.4g} % interval]" if enough else ""
    rows: list[Row] = [
        {
            "place": rank_range(standing),
            "model": standing.model,
            "mean": standing.mean if by_median else None,
            f"{'median' if by_median else 'mean'}{level}": _central(comparison, standing),
            "sd over tasks": standing.sd,
            "sd over seeds": standing.seed_sd,
            "mean rank": standing.mean_rank,
            "effect": _effect(standing) if at else None,
            "tier": standing.tier,
        }
        for at, standing in enumerate(comparison.standings)
    ]
    shown = [name for name in rows[0] if any(row[name] is not None for row in rows)]
    note = (
        f"Ordered by the {comparison.central}. Effect: {_EFFECTS[comparison.effect_size]} against"
        " the first. Tiers cut the ranking where most decisions lie."
    )
    title = f"Ranking by {comparison.metric}"
    return ReportTable.of(title, ({name: row[name] for name in shown} for row in rows), note)


_EFFECTS = {
    "cohen d": "Cohen's d, the difference of means in pooled standard deviations,",
    "akinshin gamma": "Akinshin's gamma, the difference of medians in pooled median absolute"
    " deviations,",
}


def _effect(standing: Standing) -> str:
    if standing.effect is None:
        return NOTHING
    return f"{formatted(standing.effect)} {standing.magnitude}"


def _on_one_task(compared: ComparisonResult, comparison: Comparison) -> ReportTable:
    task = comparison.tasks[0]
    runs = {system.name: system.runs[task] for system in compared.systems if task in system.runs}
    rows: Iterator[Row] = (
        {
            "place": rank_range(standing),
            "model": standing.model,
            comparison.metric: score_with_spread(runs[standing.model]),
            "tier": standing.tier,
        }
        for standing in comparison.standings
    )
    note = (
        "In brackets the 95 % bootstrap interval over test examples; or, of several seeds, their"
        " standard deviation after ±."
    )
    return ReportTable.of(f"Ranking on {task}", rows, note)


def _central(comparison: Comparison, standing: Standing) -> Cell:
    """Return the value that ranks, with its interval where there are enough tasks for one."""
    middle = standing.median if comparison.by_median else standing.mean
    if len(comparison.tasks) >= FEWEST_TASKS:
        return with_interval(middle, standing.low, standing.high)
    return middle


def _drawn(comparison: Comparison) -> list[Content]:
    middle = "Median" if comparison.by_median else "Mean"
    caption = (
        f"{middle} over {len(comparison.tasks)} tasks with its interval; intervals of models that"
        " are told apart may still overlap, since tests compare models task by task. Models of"
        " one color share a tier; dashed lines part tiers."
    )
    title = f"{comparison.metric} of each model"
    figure = Figure(title, caption, interval_plot(first_models(comparison)))
    if len(comparison.models) <= MOST_DRAWN:
        return [figure]
    return [figure, Remark(f"The figure shows the first {MOST_DRAWN} models.")]


def _means(compared: ComparisonResult) -> ReportTable:
    rows: Iterator[Row] = (
        {
            "model": system.name,
            "task": task,
            "metric": compared.metrics[task],
            "mean over seeds": system.mean(task),
        }
        for system in compared.ranked
        for task in sorted(system.runs)
    )
    return ReportTable.of("Scores", islice(rows, 60))


def _note(compared: ComparisonResult) -> str:
    comparison = compared.comparison
    if isinstance(comparison, str):
        return ""
    note = "A place such as 2–4 is a tie: the decisions of S10 leave these places open."
    metrics = sorted({compared.metrics[task] for task in comparison.tasks})
    if len(metrics) > 1:
        return (
            f"{note} Tasks have scores of their own ({listed(metrics)}), higher is better, so a"
            " mean over tasks is a rough summary."
        )
    return f"{note} Scores are {metrics[0]}, higher is better."
