"""Screen of a run: cautions before quoting it, then scores, by label and by project."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from goldpan.core.result import Block, Line, Table, Title
from goldpan.core.sanitize import line
from goldpan.evaluation.finetune.settings import FEWEST_STEPS
from goldpan.evaluation.leaks import Leaks, RowDates, headline
from goldpan.evaluation.metrics.estimate import Interval, Metric, Scores
from goldpan.evaluation.record import Learning, RunRecord
from goldpan.evaluation.slices import ByColumn

if TYPE_CHECKING:
    from goldpan.evaluation.run import RunResult

_METRICS = 6
"""Number of metrics that are shown beside the main one."""
_ANSWERS = 5
"""Number of invalid answers that are shown."""
_LABELS, _PARTS = 30, 20
"""Number of labels, and of values of a column, that have a line."""


def run_blocks(result: RunResult) -> Iterator[Block]:
    """Yield the scores of a run and where it lies; what makes them worth less comes first."""
    record = result.record
    scores = record.scores
    ablated = f", without {record.settings['ablate']}" if "ablate" in record.settings else ""
    yield Title(
        f"{record.task} by {record.model}, seed {record.seed}",
        f", protocol {record.protocol.name}{' in part' if record.in_part else ''}{ablated}"
        + (" (was run before)" if result.again else ""),
    )
    yield from (Line(f"  {sentence}") for sentence in cautions(record))
    metrics = [metric for metric in scores.metrics if metric.label is None]
    metrics.sort(key=lambda metric: metric.name != scores.main)
    for metric in metrics[: _METRICS + 1]:
        value = metric.value
        text = f"not defined ({metric.reason})" if value is None else _number(value)
        text += _interval(metric.interval)
        if metric.name == scores.main:
            text += _without(record.leaks)
        yield Line(f"  {metric.name}: {text}")
    yield from _label_blocks(scores)
    for part in record.scores_by.values():
        yield from _by_blocks(part)
    yield from _rest(result)


def cautions(record: RunRecord) -> list[str]:
    """Return what to know before a run's scores are quoted, the most important first."""
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


def _label_blocks(scores: Scores) -> Iterator[Block]:
    """Yield precision, recall and F1 of each label of a classification task."""
    counts = scores.label_confusions
    if not counts:
        return
    cells = [
        (
            f"  {confusion.label}",
            *(_of(scores, name, confusion.label) for name in ("precision", "recall", "f1")),
            confusion.tp + confusion.fn,
        )
        for confusion in counts[:_LABELS]
    ]
    yield Table(("  label", "precision", "recall", "f1", "rows"), cells)
    if len(counts) > _LABELS:
        yield Line(f"  and {len(counts) - _LABELS:,} more labels in result.json")


def _of(scores: Scores, name: str, label: str) -> str:
    metric: Metric = scores.metric(name, label)
    return "-" if metric.value is None else _number(metric.value)


def _by_blocks(by: ByColumn) -> Iterator[Block]:
    """Yield a run's scores by a column, the values with most rows first."""
    if by.mean is not None:
        spread = "" if by.spread is None else f" ± {by.spread:.4f}"
        values = f"{len(by.parts):,} value{'' if len(by.parts) == 1 else 's'}"
        yield Line(f"  mean {by.metric} over {values} of {by.column}: {_number(by.mean)}{spread}")
    cells = [
        (
            f"  {line(part.value, 60)}",
            "-" if part.score is None else _number(part.score),
            _interval(part.interval).strip(),
            part.examples,
        )
        for part in by.parts[:_PARTS]
    ]
    yield Table((f"  {line(by.column)}", by.metric, "95 %", "rows"), cells)
    if len(by.parts) > _PARTS:
        yield Line(f"  and {len(by.parts) - _PARTS:,} more in result.json")


def _rest(result: RunResult) -> Iterator[Block]:
    record = result.record
    scores, costs, answers = record.scores, record.costs, record.answers
    invalid = f", {scores.invalid:,} answers not valid" if scores.invalid else ""
    seconds = f"{costs.wall_seconds:.1f} s"
    yield Line(f"  {scores.examples:,} examples{invalid}; {seconds}; {result.directory}")
    if costs.input_tokens:
        money = f", cost {costs.money:,.2f}" if costs.money else ""
        tokens = f"{costs.input_tokens:,} tokens read and {costs.output_tokens:,} written"
        yield Line(f"  {tokens}{money}")
    if answers.notes:
        notes = ", ".join(f"{name} {count:,}" for name, count in answers.notes.items())
        yield Line(f"  answers: {notes}")
    for answer in answers.invalid[:_ANSWERS]:
        if answer.raw:
            yield Line(f"  not valid, {answer.count:,} times: {line(answer.raw)}")


def _number(value: float) -> str:
    return f"{value:.4f}"


def _interval(interval: Interval | None) -> str:
    return "" if interval is None else f" [{interval.low:.4f}, {interval.high:.4f}]"
