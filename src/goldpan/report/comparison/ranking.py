"""The ranking of models with its ties, and the decisions of step 10 of ECSER behind it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from goldpan.datasets.tasks.task import Task
from goldpan.evaluation.comparison.facts import Skipped
from goldpan.evaluation.comparison.question import ComparisonResult, mean_score
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
    Content,
    Figure,
    Remark,
    ReportTable,
    Section,
    cut,
    folded,
    formatted,
    listed,
    with_interval,
)

# Parts of a comparison that fit a page.

MOST_DRAWN = 40
"""Models in one figure."""


def first_models(comparison: Comparison, most: int = MOST_DRAWN) -> Comparison:
    """Return a comparison with its first models alone, for figures of a bounded size."""
    if len(comparison.models) <= most:
        return comparison
    names = set(comparison.models[:most])
    pairs = tuple(pair for pair in comparison.pairs if pair.first in names and pair.second in names)
    return replace(comparison, standings=comparison.standings[:most], pairs=pairs)


def significance(compared: ComparisonResult, tasks: Mapping[str, Task]) -> tuple[Content, ...]:
    """Fill the step, a question after the other; raises `Skipped` where nothing was tested."""
    comparison = compared.comparison
    if isinstance(comparison, str):
        raise Skipped(comparison)
    alone = _single_results(compared)
    on_tasks = compared.new_tasks
    if comparison.test.name == "none" and not alone and on_tasks is None:
        raise Skipped(comparison.test.why)
    content: list[Content] = [Remark(asked(comparison))]
    if comparison.test.name != "none":
        content += decided(comparison)
    content += [Remark(f"{note}.") for note in comparison.notes]
    if on_tasks is not None:
        content.append(Remark(asked(on_tasks)))
        if on_tasks.test.name != "none":
            content += decided(on_tasks)
    if comparison.test.approach != "calibrated":
        caveat = _shared_sources(comparison, tasks)
        if caveat:
            content.append(Remark(caveat))
    return (*content, *alone)


def pairs_table(comparison: Comparison) -> ReportTable:
    """Return what was decided of each pair."""
    test = comparison.test
    if test.approach == "calibrated":
        shares: tuple[str, ...] = ("p", "difference", "may lie in", "would show with")
    elif test.approach == "bayesian":
        shares = ("P(better)", "P(equal)", "P(worse)", "difference", "effect", "effect is")
    else:
        shares = ("p", "difference", "effect", "effect is")
    rows = tuple(_row(pair, comparison) for pair in comparison.pairs)
    columns = ("first", "second", "the first is", *shares)
    shown = [
        at
        for at, name in enumerate(columns)
        if name != "would show with" or any(row[at] for row in rows)
    ]
    note = "Difference: of the mean scores. "
    if test.approach == "calibrated":
        note += "p and the interval hold for all pairs at once. "
    if any(pair.fragile for pair in comparison.pairs):
        note += "* Another random seed could decide otherwise."
    title = f"Every pair, {test.question}" if test.question else "Every pair"
    return ReportTable(title, columns, rows, note.strip()).only(shown)


def asked(comparison: Comparison) -> str:
    """Return the question, what decided it and what its words mean."""
    test = comparison.test
    if not test.question:
        return " ".join(filter(None, [f"{test.name.capitalize()}. {test.why}.", meaning(test)]))
    question = {
        "new rows": "Would it hold on new rows of these tasks?",
        "new tasks": "Would it hold on new tasks?",
    }[test.question]
    start = "" if test.name != "none" else "It cannot be told. "
    return " ".join(filter(None, [f"{question} {start}{test.why}.", meaning(test)]))


def decided(comparison: Comparison) -> list[Content]:
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


def _row(pair: ComparedPair, comparison: Comparison) -> tuple[str | float | None, ...]:
    word = decision_words(comparison.test)[pair.decision]
    start = (pair.first, pair.second, f"{word}{'*' if pair.fragile else ''}")
    if comparison.test.approach == "calibrated":
        return (*start, pair.p, pair.difference, _interval(pair), needed(pair))
    shares: tuple[float | None, ...] = (pair.p,)
    if comparison.test.approach == "bayesian":
        odds = pair.posterior
        shares = (odds.better, odds.equal, odds.worse) if odds else (None, None, None)
    return (*start, *shares, pair.difference, pair.effect, pair.magnitude)


def _interval(pair: ComparedPair) -> str:
    if pair.low is None or pair.high is None:
        return NOTHING
    return f"{formatted(pair.low)} to {formatted(pair.high)}"


def _single_results(compared: ComparisonResult) -> tuple[Content, ...]:
    if not compared.alone:
        return ()
    calibrated = compared.alone[0].test.approach == "calibrated"
    columns: tuple[str, ...] = ("task", "first", "second", "the first is", "p", "difference")
    if calibrated:
        columns = (*columns, "may lie in", "would show with")
    rows = tuple(
        (comparison.tasks[0], *_row(pair, comparison))[: len(columns)]
        for comparison in compared.alone
        for pair in comparison.pairs
    )
    corrected = (
        f"p is corrected for the pairs of a task; a difference counts below"
        f" {compared.alone[0].test.alpha:.3g}, so that all tasks together are wrong as seldom as"
        " one question."
        if calibrated
        else "p is corrected for the pairs of a task, not for tasks."
    )
    table = ReportTable(
        "Each task by itself", columns, rows, f"{compared.alone[0].test.why}. {corrected}"
    )
    notes = [
        f"{comparison.tasks[0]}: {note}."
        for comparison in compared.alone
        for note in comparison.notes
    ]
    return (cut(table), *map(Remark, notes))


def _shared_sources(comparison: Comparison, tasks: Mapping[str, Task]) -> str:
    datasets = [tasks[name].source.dataset for name in comparison.tasks if name in tasks]
    if len(comparison.tasks) < 2 or len(set(datasets)) == len(datasets):
        return ""
    return (
        f"The {len(comparison.tasks)} tasks come from {len(set(datasets))} data"
        f" set{'s' if len(set(datasets)) > 1 else ''} ({', '.join(sorted(set(datasets))[:6])})."
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
    """Return the standings: places that decisions leave open are ties."""
    if len(comparison.tasks) == 1:
        return _on_one_task(compared, comparison)
    by_median = comparison.by_median
    enough = len(comparison.tasks) >= FEWEST_TASKS
    level = f" [{100 * (comparison.confidence or 0):.4g} % interval]" if enough else ""
    columns = (
        "place",
        "model",
        "mean",
        f"{'median' if by_median else 'mean'}{level}",
        "sd over tasks",
        "sd over seeds",
        "mean rank",
        "effect",
        "tier",
    )
    rows = tuple(
        (
            rank_range(standing),
            standing.model,
            standing.mean if by_median or not enough else None,
            _central(comparison, standing) if enough or by_median else None,
            standing.sd,
            standing.seed_sd,
            standing.mean_rank,
            _effect(standing) if at else None,
            standing.tier,
        )
        for at, standing in enumerate(comparison.standings)
    )
    shown = [at for at in range(len(columns)) if any(row[at] is not None for row in rows)]
    note = (
        f"Ordered by the {comparison.central}. Effect: {_EFFECTS[comparison.effect_size]} against"
        " the first. Tiers cut the ranking where most decisions lie."
    )
    return ReportTable(f"Ranking by {comparison.metric}", columns, rows, note).only(shown)


_EFFECTS = {
    "cohen d": "Cohen's d, the difference of means in pooled standard deviations,",
    "akinshin gamma": "Akinshin's gamma, the difference of medians in pooled median absolute"
    " deviations,",
}


def _effect(standing: Standing) -> str:
    return (
        NOTHING if standing.effect is None else f"{formatted(standing.effect)} {standing.magnitude}"
    )


def _on_one_task(compared: ComparisonResult, comparison: Comparison) -> ReportTable:
    task = comparison.tasks[0]
    runs = {system.name: system.runs[task] for system in compared.systems if task in system.runs}
    rows = tuple(
        (
            rank_range(standing),
            standing.model,
            score_with_spread(runs[standing.model]),
            standing.tier,
        )
        for standing in comparison.standings
    )
    note = (
        "In brackets the 95 % bootstrap interval over test examples; or, of several seeds, their"
        " standard deviation after ±."
    )
    columns = ("place", "model", comparison.metric, "tier")
    return ReportTable(f"Ranking on {task}", columns, rows, note)


def _central(comparison: Comparison, standing: Standing) -> str:
    middle = standing.median if comparison.by_median else standing.mean
    if len(comparison.tasks) < FEWEST_TASKS:
        return formatted(middle)
    return with_interval(middle, standing.low, standing.high)


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
    rows = tuple(
        (system.name, task, compared.metrics[task], mean_score(system, task))
        for system in compared.ranked
        for task in sorted(system.runs)
    )
    return ReportTable("Scores", ("model", "task", "metric", "mean over seeds"), rows[:60], "")


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
