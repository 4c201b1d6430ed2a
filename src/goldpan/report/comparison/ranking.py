"""Who stands where: the ranking with its ties."""

from __future__ import annotations

from goldpan.evaluation.comparison_result import ComparisonResult, mean_score
from goldpan.evaluation.statistics.comparison import Comparison, Standing
from goldpan.evaluation.statistics.few_tasks import FEWEST_TASKS
from goldpan.report.comparison.measures import told_score
from goldpan.report.comparison.plots import interval_plot
from goldpan.report.comparison.significance import MOST_DRAWN, first_models
from goldpan.report.comparison.summary import rank_range
from goldpan.report.document import (
    NOTHING,
    Content,
    Figure,
    Section,
    Table,
    Text,
    formatted,
    listed,
    with_interval,
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
        content += [Text(f"Nothing is ranked: {comparison}."), _means(compared)]
    content += [Text(f"Left out of the ranking: {reason}.") for reason in compared.block.left_out]
    content += [Text(f"Without a score: {reason}.") for reason in compared.without_value[:12]]
    return Section("ranking", "Ranking", tuple(content), _note(compared))


def ranking_table(compared: ComparisonResult, comparison: Comparison) -> Table:
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
    return Table(f"Ranking by {comparison.metric}", columns, rows, note).only(shown)


_EFFECTS = {
    "cohen d": "Cohen's d, the difference of means in pooled standard deviations,",
    "akinshin gamma": "Akinshin's gamma, the difference of medians in pooled median absolute"
    " deviations,",
}


def _effect(standing: Standing) -> str:
    return (
        NOTHING if standing.effect is None else f"{formatted(standing.effect)} {standing.magnitude}"
    )


def _on_one_task(compared: ComparisonResult, comparison: Comparison) -> Table:
    task = comparison.tasks[0]
    runs = {system.name: system.runs[task] for system in compared.systems if task in system.runs}
    rows = tuple(
        (rank_range(standing), standing.model, told_score(runs[standing.model]), standing.tier)
        for standing in comparison.standings
    )
    note = (
        "In brackets the 95 % bootstrap interval over test examples; or, of several seeds, their"
        " standard deviation after ±."
    )
    columns = ("place", "model", comparison.metric, "tier")
    return Table(f"Ranking on {task}", columns, rows, note)


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
    return [figure, Text(f"The figure shows the first {MOST_DRAWN} models.")]


def _means(compared: ComparisonResult) -> Table:
    rows = tuple(
        (system.name, task, compared.metrics[task], mean_score(system, task))
        for system in compared.ranked
        for task in sorted(system.runs)
    )
    return Table("Scores", ("model", "task", "metric", "mean over seeds"), rows[:60], "")


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
