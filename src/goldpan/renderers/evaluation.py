"""What people see of models, runs and labels."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean, stdev

from goldpan.core.result import Block, Line, Table, Title, count, renders
from goldpan.core.sanitize import line
from goldpan.evaluation.finetune.job import FEWEST_STEPS
from goldpan.evaluation.label_errors import LabelErrors
from goldpan.evaluation.lengths import LengthScores
from goldpan.evaluation.metrics.estimate import Interval, Scores
from goldpan.evaluation.model import ModelEntry
from goldpan.evaluation.protocol import Protocol
from goldpan.evaluation.record import Learning, RunRecord
from goldpan.evaluation.resolved import ResolvedResult
from goldpan.evaluation.run import RunResult
from goldpan.evaluation.score import main_metrics
from goldpan.evaluation.slices import ByColumn, Leaks, RowDates, headline
from goldpan.evaluation.units import MANY_PROJECTS
from goldpan.execution.resolve import EXPLAINED

_ANSWERS = 5
"""Number of invalid answers that are shown."""
_LABELS, _PARTS = 30, 20
"""Number of labels, and of values of a column, that have a line."""
_MOST_NAMED = 3


@renders(list[ModelEntry])
def models(results: Sequence[ModelEntry]) -> Iterator[Block]:
    """Yield one table."""
    yield Table(("model", ""), [(entry.name, entry.about) for entry in results])


@renders(Protocol)
def protocol(result: Protocol) -> Iterator[Block]:
    """Yield its source and its defects."""
    yield Line(f"{result.name}: {result.title}")
    yield Line(f"  {result.source}")
    yield from (Line(f"  - {defect}") for defect in result.defects)


@renders(ResolvedResult)
def resolved(result: ResolvedResult) -> Iterator[Block]:
    """Yield how many issues are resolved, and what similarity says of the same patches."""
    share, resolved = result.resolved, result.counts.get("resolved", 0)
    if share.value is not None:
        issues = count(len(result.resolutions), "issue")
        interval = f"[{share.low:.1%}, {share.high:.1%}]"
        yield Line(f"{resolved:,} of {issues} resolved, {share.value:.1%} {interval}")
    yield Table(
        ("outcome", "rows", "meaning"),
        [(outcome, rows, EXPLAINED[outcome]) for outcome, rows in result.counts.items()],
    )
    if undone := sum(bool(resolution.restored) for resolution in result.resolutions):
        yield Line(
            f"Changes to tests or their settings were undone in {count(undone, 'patch')} (--json)"
        )
    for name, similarity in (("resolved", result.right), ("failed", result.wrong)):
        if similarity.codebleu is not None:
            yield Line(
                f"{count(similarity.patches, 'patch')} that {name}: mean CodeBLEU "
                f"{similarity.codebleu:.3f}, {similarity.exact:,} identical to the merged fix"
            )
    if result.separation is not None:
        yield Line(
            "CodeBLEU ranks a patch that resolves its issue above one that does not in "
            f"{result.separation:.0%} of pairs (50% is chance)"
        )


@renders(LabelErrors)
def suspects(result: LabelErrors) -> Iterator[Block]:
    """Yield which labels are suspect."""
    yield Line(
        f"{result.task}: {result.suspects:,} of {count(result.rows, 'label')} suspect; "
        f"cross-validated accuracy {result.right_out_of_fold:.1%}"
    )
    for row in result.ranked:
        stated, rather = (" and ".join(names) or "none" for names in (row.given, row.suggested))
        mark = "" if row.suspect else " (not suspect)"
        yield Line(f"  {row.id}: {stated}, predicted {rather}; margin {row.margin:+.2f}{mark}")
        yield Line(f"    {row.text}")


@renders(RunResult)
def finished(result: RunResult) -> Iterator[Block]:
    """Yield its scores and where it lies; what makes them worth less comes first."""
    record = result.record
    scores = record.scores
    ablated = f", without {record.settings['ablate']}" if "ablate" in record.settings else ""
    yield Title(
        f"{record.task} by {record.model}, seed {record.seed}",
        f", protocol {record.protocol.name}{' in part' if record.in_part else ''}{ablated}"
        + (" (was run before)" if result.again else ""),
    )
    yield from (Line(f"  {sentence}") for sentence in _cautions(record))
    for metric in map(scores.metric, main_metrics(scores)):
        value = metric.value
        text = f"not defined ({metric.reason})" if value is None else _number_text(value)
        text += _interval_text(metric.interval)
        if metric.name == scores.main:
            if metric.interval is None and value is not None and metric.reason:
                text += f" ({metric.reason})"
            text += _score_on_new(record.leaks)
        yield Line(f"  {metric.name}: {text}")
    if 1 < scores.projects < MANY_PROJECTS:
        others = "intervals hold for new rows of these, not for other projects"
        yield Line(f"  the test set covers {scores.projects} projects: {others}")
    yield from _label_blocks(scores)
    for part in record.scores_by.values():
        yield from _by_blocks(part)
    yield from _closing_blocks(record, result.directory)


@renders(list[LengthScores])
def lengths(results: Sequence[LengthScores]) -> Iterator[Block]:
    """Yield how scores change with the length of the input."""
    cells = []
    for result in results:
        run = result.run
        name = f"{run.task} by {run.model}, seed {run.seed}: {run.scores.main}"
        for index, third in enumerate(result.thirds):
            value = third.scores.value(third.scores.main)
            cells.append(
                (
                    "" if index else name,
                    third.name,
                    f"{third.shortest:,} to {third.longest:,}",
                    third.scores.examples,
                    "not defined" if value is None else f"{value:.4f}",
                )
            )
    yield Table(("run", "inputs", "characters", "examples", "score"), cells)


def _cautions(record: RunRecord) -> list[str]:
    """Return the _cautions for whoever quotes a run's scores, the most important first."""
    scores = record.scores
    texts = [
        headline(record.leaks, scores.main, scores.value(scores.main)),
        _caution_of_dates(record),
        *cautions_of_steps(record.learning),
    ]
    if record.dates is not None and (caution := _caution_of_cutoff(record.dates)):
        texts.append(caution)
    if record.in_part:
        gaps = "; ".join(record.in_part)
        texts.append(f"Protocol {record.protocol.name} in part: {gaps}")
    return [text for text in texts if text]


def _caution_of_dates(record: RunRecord) -> str:
    """Return the caution that labels follow from dates, and that this model reads them."""
    sentence = record.date_signal.sentence() if record.date_signal else ""
    reads = sentence and record.uses_dates
    return f"{sentence}. This model reads the date itself" if reads else sentence


def _caution_of_cutoff(dates: RowDates) -> str:
    """Return how many test rows the model may have read in training; empty where none is known."""
    if dates.cutoff is None or dates.until is None or dates.after is None:
        return ""
    dated = dates.until + dates.after
    if not dated:
        return f"No test row has a date to compare with the model's cut-off {dates.cutoff}"
    undated = f"; {dates.undated:,} have no date" if dates.undated else ""
    return (
        f"{dates.until:,} of {dated:,} test rows are from {dates.cutoff} or before, the model's "
        f"cut-off{undated}"
    )


def cautions_of_steps(learning: Learning) -> list[str]:
    """Return the caution that a model was trained for too few steps to learn; none else."""
    facts = learning.facts
    parts = [facts, *facts.get("parts", {}).values()]
    steps = [int(part["planned_steps"]) for part in parts if "planned_steps" in part]
    if not steps or min(steps) >= FEWEST_STEPS:
        return []
    return [
        f"Warning: it was trained for only {count(min(steps), 'step')}; use at least "
        f"{FEWEST_STEPS}, by more --epochs or a smaller --set batch"
    ]


def _score_on_new(leaks: Leaks) -> str:
    """Return the scores without rows seen in train, to stand beside the score with them."""
    if not leaks.learned:
        return ""
    return "".join(
        f"; without {part.seen} seen in train {_number_text(part.value)}"
        f"{_interval_text(part.interval)} on {count(part.left, 'row')}"
        for part in leaks.without
        if part.value is not None
    )


def _label_blocks(scores: Scores) -> Iterator[Block]:
    """Yield precision, recall and F1 of each label of a classification task."""
    counts = scores.label_confusions
    if not counts:
        return
    names = ("precision", "recall", "f1")
    cells = [
        (
            f"  {confusion.label}",
            *(_number_text(scores.value(name, confusion.label)) for name in names),
            confusion.tp + confusion.fn,
        )
        for confusion in counts[:_LABELS]
    ]
    yield Table(("  label", *names, "rows"), cells)
    if len(counts) > _LABELS:
        yield Line(f"  and {count(len(counts) - _LABELS, 'more label')} in result.json")


def _by_blocks(by: ByColumn) -> Iterator[Block]:
    """Yield a run's scores by a column, the values with most rows first."""
    if by.mean is not None:
        spread = "" if by.spread is None else f" ± {by.spread:.4f}"
        over = f"{count(len(by.parts), 'value')} of {by.column}"
        yield Line(f"  mean {by.metric} over {over}: {_number_text(by.mean)}{spread}")
    cells = [
        (
            f"  {line(part.value, 60)}",
            _number_text(part.score),
            _interval_text(part.interval).strip(),
            part.examples,
        )
        for part in by.parts[:_PARTS]
    ]
    yield Table((f"  {line(by.column)}", by.metric, "95 %", "rows"), cells)
    if len(by.parts) > _PARTS:
        yield Line(f"  and {len(by.parts) - _PARTS:,} more in result.json")


def _closing_blocks(record: RunRecord, directory: Path) -> Iterator[Block]:
    """Yield the size, cost and notes of a run."""
    scores, costs, answers = record.scores, record.costs, record.answers
    invalid = f", {count(scores.invalid, 'invalid answer')}" if scores.invalid else ""
    seconds = f"{costs.wall_seconds:.1f} s"
    yield Line(f"  {count(scores.examples, 'example')}{invalid}; {seconds}; {directory}")
    if costs.input_tokens:
        money = f", cost {costs.money:,.2f}" if costs.money else ""
        tokens = f"{costs.input_tokens:,} input and {costs.output_tokens:,} output tokens"
        yield Line(f"  {tokens}{money}")
    if answers.notes:
        notes = ", ".join(f"{name} {number:,}" for name, number in answers.notes.items())
        yield Line(f"  answers: {notes}")
    for answer in answers.invalid[:_ANSWERS]:
        if answer.raw:
            yield Line(f"  invalid, {count(answer.count, 'time')}: {line(answer.raw)}")


def _number_text(value: float | None) -> str:
    """Return a score as screens show it."""
    return "-" if value is None else f"{value:.4f}"


def _interval_text(interval: Interval | None) -> str:
    """Return an interval as screens show it, after a blank."""
    return "" if interval is None else f" [{interval.low:.4f}, {interval.high:.4f}]"


def overview(records: Sequence[RunRecord], directories: Sequence[Path]) -> Iterator[Block]:
    """Yield the main metrics of each run, task by task, and what makes them worth less."""
    by_task: dict[str, list[RunRecord]] = defaultdict(list)
    for record in records:
        by_task[record.task].append(record)
    for task, runs in by_task.items():
        names = list(main_metrics(runs[0].scores))
        yield Table(
            ("model", "seed", *names), [(*_named(run), *_cells(run, names)) for run in runs], task
        )
        yield from _spread(runs)
    told: dict[str, list[str]] = defaultdict(list)
    for record in records:
        for text in _cautions(record):
            told[text].append(f"{record.model} on {record.task}")
    for text, names in told.items():
        unique = list(dict.fromkeys(names))
        more = f" and {len(unique) - _MOST_NAMED} more" if len(unique) > _MOST_NAMED else ""
        yield Line(f"{text} ({', '.join(unique[:_MOST_NAMED])}{more})")
    seconds = sum(record.costs.wall_seconds for record in records)
    folder = directories[0].parents[2]
    yield Line(f"{count(len(records), 'run')}; {seconds:.1f} s; in {folder}")


def _named(run: RunRecord) -> tuple[str, int]:
    ablated = f", without {run.settings['ablate']}" if "ablate" in run.settings else ""
    return f"{run.model}{ablated}", run.seed


def _cells(run: RunRecord, names: Sequence[str]) -> Iterator[str]:
    values = main_metrics(run.scores)
    for name in names:
        interval = run.scores.metric(name).interval if name == run.scores.main else None
        yield f"{_number_text(values.get(name))}{_interval_text(interval)}"


def _spread(runs: Sequence[RunRecord]) -> Iterator[Block]:
    """Yield the mean over seeds of each model that has several."""
    main = runs[0].scores.main
    scores: dict[str, list[float]] = defaultdict(list)
    for run in runs:
        if (value := run.scores.value(run.scores.main)) is not None:
            scores[_named(run)[0]].append(value)
    cells = [
        (model, len(values), _number_text(fmean(values)), _number_text(stdev(values)))
        for model, values in scores.items()
        if len(values) > 1
    ]
    if cells:
        yield Table(("model", "seeds", f"mean {main}", "standard deviation"), cells)
