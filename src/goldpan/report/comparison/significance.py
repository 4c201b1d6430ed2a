"""S10: which models differ, by which test, on how much data."""

from __future__ import annotations

from collections.abc import Mapping

from goldpan.datasets.task import Task
from goldpan.evaluation.comparing import ComparisonResult
from goldpan.evaluation.ecser import Skipped
from goldpan.evaluation.statistics.comparison import Comparison, Pair
from goldpan.report.comparison.plots import (
    critical_difference_plot,
    decision_plot,
    posterior_plot,
)
from goldpan.report.comparison.slices import MOST_DRAWN, first_models
from goldpan.report.document import Content, Figure, Table, Text, cut, folded
from goldpan.report.numbers import formatted


def significance(compared: ComparisonResult, tasks: Mapping[str, Task]) -> tuple[Content, ...]:
    """Fill the step; raises `Skipped` where nothing was tested."""
    comparison = compared.comparison
    if isinstance(comparison, str):
        raise Skipped(comparison)
    alone = _alone(compared)
    if comparison.test.name == "none" and not alone:
        raise Skipped(comparison.test.why)
    content: list[Content] = [Text(f"{comparison.test.name.capitalize()}. {comparison.test.why}.")]
    if comparison.test.name != "none":
        content += _decided(comparison)
    caveat = _shared_sources(comparison, tasks)
    if caveat:
        content.append(Text(caveat))
    content += [Text(f"{note}.") for note in comparison.notes]
    return (*content, *alone)


def pairs_table(comparison: Comparison) -> Table:
    """Return what was decided of each pair."""
    bayesian = comparison.test.approach == "bayesian"
    rows = tuple(_row(pair, bayesian) for pair in comparison.pairs)
    shares = ("P(better)", "P(equal)", "P(worse)") if bayesian else ("p",)
    columns = ("first", "second", "the first is", *shares, "difference", "effect", "effect is")
    note = "Difference: of the mean scores. "
    if any(pair.fragile for pair in comparison.pairs):
        note += "* Another random seed could decide otherwise."
    return Table("Every pair", columns, rows, note.strip())


def _decided(comparison: Comparison) -> list[Content]:
    content: list[Content] = []
    test = comparison.test
    if test.omnibus and test.omnibus_p is not None:
        content.append(
            Text(
                f"Is there any difference at all? {test.omnibus}: p = {formatted(test.omnibus_p)}."
            )
        )
    shown = first_models(comparison)
    if len(shown.models) < len(comparison.models):
        content.append(Text(f"The figures show the first {MOST_DRAWN} models."))
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
        content.append(Figure("Decisions", caption, decision_plot(shown)))
    content.append(folded(pairs_table(comparison)))
    return content


def _row(pair: Pair, bayesian: bool) -> tuple[str | float | None, ...]:
    decision = f"{pair.decision}{'*' if pair.fragile else ''}"
    shares: tuple[float | None, ...] = (pair.p,)
    if bayesian:
        posterior = pair.posterior
        shares = (
            (posterior.better, posterior.equal, posterior.worse)
            if posterior
            else (None, None, None)
        )
    return (
        pair.first,
        pair.second,
        decision,
        *shares,
        pair.difference,
        pair.effect,
        pair.magnitude,
    )


def _alone(compared: ComparisonResult) -> tuple[Content, ...]:
    if not compared.alone:
        return ()
    rows = tuple(
        (comparison.tasks[0], *_row(pair, False))
        for comparison in compared.alone
        for pair in comparison.pairs
    )
    columns = ("task", "first", "second", "the first is", "p", "difference", "effect", "effect is")
    kept = tuple(at for at, name in enumerate(columns) if not name.startswith("effect"))
    table = Table(
        "Each task by itself",
        tuple(columns[at] for at in kept),
        tuple(tuple(row[at] for at in kept) for row in rows),
        compared.alone[0].test.why + ". p is corrected for the pairs of a task, not for tasks.",
    )
    notes = [
        f"{comparison.tasks[0]}: {note}."
        for comparison in compared.alone
        for note in comparison.notes
    ]
    return (cut(table), *map(Text, notes))


def _shared_sources(comparison: Comparison, tasks: Mapping[str, Task]) -> str:
    known = [tasks[name].source.dataset for name in comparison.tasks if name in tasks]
    if len(comparison.tasks) < 2 or len(set(known)) == len(known):
        return ""
    return (
        f"The {len(comparison.tasks)} tasks come from {len(set(known))} data"
        f" set{'s' if len(set(known)) > 1 else ''} ({', '.join(sorted(set(known))[:6])}). Tests"
        " take tasks as independent; tasks that share texts are not, so read the decisions as"
        " being about these tasks and not about others."
    )
