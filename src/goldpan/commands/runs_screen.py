"""How a run is shown: what to know before quoting it, its scores, by label and by project."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table

from goldpan.core.sanitize import line
from goldpan.core.terminal import Terminal, clean

if TYPE_CHECKING:  # these take long to import
    from goldpan.evaluation.by_column import ByColumn
    from goldpan.evaluation.dates import RowDates
    from goldpan.evaluation.leaks import Leaks
    from goldpan.evaluation.metrics.result import Interval, Metric, Scores
    from goldpan.evaluation.record import Learning, RunRecord
    from goldpan.evaluation.run import RunResult

_METRICS = 6
"""How many metrics beside the main one are shown."""
_ANSWERS = 5
"""How many answers that are not valid are shown."""
_LABELS, _PARTS = 30, 20
"""How many labels, and how many values of a column, have a line."""


def print_ran(result: RunResult) -> None:
    """Show the scores of a run and where it lies; what makes them worth less comes first."""
    console = Terminal()
    record = result.record
    scores = record.scores
    console.print(
        f"\n{record.task} by {record.model}, seed {record.seed}, "
        f"protocol {record.protocol.name}{' in part' if record.in_part else ''}"
        + (f", without {record.settings['ablate']}" if "ablate" in record.settings else "")
        + (" (was run before)" if result.again else "")
    )
    for sentence in cautions(record):
        console.print(clean(f"  {sentence}"))
    metrics = [metric for metric in scores.metrics if metric.label is None]
    metrics.sort(key=lambda metric: metric.name != scores.main)
    for metric in metrics[: _METRICS + 1]:
        value = metric.value
        text = f"not defined ({metric.reason})" if value is None else _number(value)
        text += _interval(metric.interval)
        if metric.name == scores.main:
            text += _without(record.leaks)
        console.print(clean(f"  {metric.name}: {text}"))
    _print_labels(console, scores)
    for part in record.scores_by.values():
        _print_by(console, part)
    _print_rest(console, result)


def cautions(record: RunRecord) -> list[str]:
    """Return what to know before a run's scores are quoted, the most important first."""
    from goldpan.evaluation.leaks import headline

    scores = record.scores
    texts = [
        headline(record.leaks, scores.main, scores.value(scores.main)),
        _caution_of_dates(record),
        *cautions_of_steps(record.learning),
    ]
    if record.dates is not None and (caution := caution_of_cutoff(record.dates)):
        texts.append(caution)
    if record.in_part:
        gaps = "; ".join(record.in_part)
        texts.append(f"Protocol {record.protocol.name} in part: {gaps}")
    return [text for text in texts if text]


def _caution_of_dates(record: RunRecord) -> str:
    """Say where labels follow from dates, and whether this model reads these."""
    sentence = record.date_signal.sentence() if record.date_signal else ""
    return (
        f"{sentence}. This model reads the date itself"
        if sentence and record.uses_dates
        else sentence
    )


def caution_of_cutoff(dates: RowDates) -> str:
    """Return how many test rows the model may have read in training; empty where none is known."""
    if dates.cutoff is None or dates.until is None or dates.after is None:
        return ""
    dated = dates.until + dates.after
    if not dated:
        return f"No test row has a date, so the cut-off {dates.cutoff} says nothing"
    undated = f"; {dates.undated:,} have no date" if dates.undated else ""
    return (
        f"{dates.until:,} of {dated:,} test rows are from {dates.cutoff} or before, the model's "
        f"cut-off{undated}"
    )


def cautions_of_steps(learning: Learning) -> list[str]:
    """Say where a model was trained for too few steps to learn."""
    from goldpan.evaluation.finetune.settings import FEWEST_STEPS

    facts = learning.facts
    parts = [facts, *facts.get("parts", {}).values()]
    steps = [int(part["planned_steps"]) for part in parts if "planned_steps" in part]
    if not steps or min(steps) >= FEWEST_STEPS:
        return []
    return [
        f"Warning: it learned in {min(steps):,} steps, too few for a model to change much (from "
        f"{FEWEST_STEPS} on it does): give more --epochs or a smaller --set batch"
    ]


def _without(leaks: Leaks) -> str:
    """Return the score without what was seen, to stand beside the one with it."""
    if not leaks.learned:
        return ""
    options = [
        f"; without {part.seen} seen in train {_number(part.value)}{_interval(part.interval)} "
        f"on {part.left:,} rows"
        for part in leaks.without
        if part.value is not None
    ]
    return "".join(options)


def _print_labels(console: Terminal, scores: Scores) -> None:
    """Show precision, recall and F1 of each label of a classification task."""
    counts = scores.label_confusions
    if not counts:
        return
    table = Table("  label", box=None, header_style="dim", padding=(0, 2, 0, 0))
    for name in ("precision", "recall", "f1", "rows"):
        table.add_column(name, justify="right")
    for confusion in counts[:_LABELS]:
        values = [_of(scores, name, confusion.label) for name in ("precision", "recall", "f1")]
        rows = f"{confusion.tp + confusion.fn:,}"
        table.add_row(clean(f"  {confusion.label}"), *values, rows)
    console.print(table)
    if len(counts) > _LABELS:
        console.print(f"  and {len(counts) - _LABELS:,} more labels in result.json")


def _of(scores: Scores, name: str, label: str) -> str:
    metric: Metric = scores.metric(name, label)
    return "-" if metric.value is None else _number(metric.value)


def _print_by(console: Terminal, by: ByColumn) -> None:
    """Show a run's scores by a column, the values with most rows first."""
    from goldpan.report.number_format import count

    if by.mean is not None:
        spread = "" if by.spread is None else f" ± {by.spread:.4f}"
        console.print(
            clean(
                f"  mean {by.metric} over {count(len(by.parts), 'value')} of {by.column}: "
                f"{_number(by.mean)}{spread}"
            )
        )
    table = Table(f"  {line(by.column)}", box=None, header_style="dim", padding=(0, 2, 0, 0))
    for name in (by.metric, "95 %", "rows"):
        table.add_column(name, justify="right")
    for part in by.parts[:_PARTS]:
        value = "-" if part.score is None else _number(part.score)
        table.add_row(
            clean(f"  {line(part.value, 60)}"),
            value,
            _interval(part.interval).strip(),
            f"{part.examples:,}",
        )
    console.print(table)
    if len(by.parts) > _PARTS:
        console.print(f"  and {len(by.parts) - _PARTS:,} more in result.json")


def _print_rest(console: Terminal, result: RunResult) -> None:
    record = result.record
    scores, costs, answers = record.scores, record.costs, record.answers
    invalid = f", {scores.invalid:,} answers not valid" if scores.invalid else ""
    console.print(
        f"  {scores.examples:,} examples{invalid}; {costs.wall_seconds:.1f} s; {result.directory}"
    )
    if costs.input_tokens:
        money = f", cost {costs.money:,.2f}" if costs.money else ""
        console.print(
            f"  {costs.input_tokens:,} tokens read and {costs.output_tokens:,} written{money}"
        )
    if answers.notes:
        notes = ", ".join(f"{name} {count:,}" for name, count in answers.notes.items())
        console.print(f"  answers: {notes}")
    for answer in answers.invalid[:_ANSWERS]:
        if answer.raw:
            console.print(f"  not valid, {answer.count:,} times: {line(answer.raw)}")


def _number(value: float) -> str:
    return f"{value:.4f}"


def _interval(interval: Interval | None) -> str:
    return "" if interval is None else f" [{interval.low:.4f}, {interval.high:.4f}]"
