"""What people see of models, runs and labels."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean, stdev

from goldpan.core.result import Piece, Table, count, counts_text, names_text, renders
from goldpan.core.sanitize import line
from goldpan.evaluation.finetune.job import FEWEST_STEPS
from goldpan.evaluation.label_errors import LabelErrors
from goldpan.evaluation.metrics.estimate import Interval, Scores
from goldpan.evaluation.model import Learning
from goldpan.evaluation.protocol import Protocol
from goldpan.evaluation.record import RunRecord
from goldpan.evaluation.resolved import ResolvedResult
from goldpan.evaluation.score import main_metrics
from goldpan.evaluation.slices import ByColumn, RowDates, headline
from goldpan.evaluation.units import MANY_PROJECTS
from goldpan.execution.resolve import EXPLAINED

_ANSWERS = 3
"""Number of invalid answers that are shown."""
_LABELS, _PARTS = 30, 20
"""Number of labels, and of values of a column, that have a line."""


@renders(Protocol)
def _protocol(result: Protocol) -> Iterator[Piece]:
    yield f"{result.name}: {result.title}"
    yield f"  {result.source}"
    yield from (f"  - {defect}" for defect in result.defects)


@renders(ResolvedResult)
def _resolved(result: ResolvedResult) -> Iterator[Piece]:
    share, resolved = result.resolved, result.counts.get("resolved", 0)
    if share.value is not None:
        issues = count(len(result.resolutions), "issue")
        interval = f"[{share.low:.1%}, {share.high:.1%}]"
        yield f"{resolved:,} of {issues} resolved, {share.value:.1%} {interval}"
    yield Table(
        ("outcome", "rows", "meaning"),
        [(outcome, rows, EXPLAINED[outcome]) for outcome, rows in result.counts.items()],
    )
    if undone := sum(bool(resolution.restored) for resolution in result.resolutions):
        yield (
            f"Changes to tests or their settings were undone in {count(undone, 'patch')} (--json)"
        )
    for name, similarity in (("resolved", result.right), ("failed", result.wrong)):
        if similarity.codebleu is not None:
            yield (
                f"{count(similarity.patches, 'patch')} that {name}: mean CodeBLEU "
                f"{similarity.codebleu:.3f}, {similarity.exact:,} identical to the merged fix"
            )
    if result.separation is not None:
        yield (
            "CodeBLEU ranks a patch that resolves its issue above one that does not in "
            f"{result.separation:.0%} of pairs (50% is chance)"
        )


@renders(LabelErrors)
def _suspects(result: LabelErrors) -> Iterator[Piece]:
    yield (
        f"{result.task}: {result.suspects:,} of {count(result.rows, 'label')} suspect; "
        f"cross-validated accuracy {result.right_out_of_fold:.1%}"
    )
    for row in result.ranked:
        stated, rather = (" and ".join(names) or "none" for names in (row.given, row.suggested))
        mark = "" if row.suspect else " (not suspect)"
        yield f"  {row.id}: {stated}, predicted {rather}; margin {row.margin:+.2f}{mark}"
        yield f"    {row.text}"


@renders(RunRecord)
def _finished(result: RunRecord) -> Iterator[Piece]:
    yield from overview([result])
    yield from _label_blocks(result.scores)
    for part in result.scores_by.values():
        yield from by_blocks(part)


def _cautions(record: RunRecord) -> Iterator[str]:
    """Yield what to know before quoting a run's scores, the most important first."""
    scores = record.scores
    main = scores.metric(scores.main)
    yield headline(record.leaks, scores.main, main.value)
    if main.value is None:
        yield f"{main.name} is not defined: {main.reason}"
    elif main.interval is None:
        yield f"{main.name}: {main.reason}"
    without = sum(not one.tp + one.fn for one in scores.label_confusions)
    if without and scores.main == "macro_f1":
        labels = len(scores.label_confusions)
        yield (
            f"{without:,} of {count(labels, 'label')} have no test row and count 0:"
            f" macro_f1 is at most {(labels - without) / labels:.2f}"
        )
    yield _caution_of_one_answer(record)
    yield record.date_signal.sentence() if record.date_signal else ""
    yield from cautions_of_steps(record.learning)
    yield _caution_of_cutoff(record.dates)
    if record.in_part:
        yield f"Protocol {record.protocol.name} in part: {'; '.join(record.in_part)}"
    if 1 < scores.projects < MANY_PROJECTS:
        others = "intervals hold for new rows of these, not for other projects"
        yield f"The test rows come from {scores.projects} projects: {others}"
    if scores.invalid:
        texts = [line(answer.raw, 60) for answer in record.answers.invalid if answer.raw]
        such = f", such as {', '.join(map(repr, texts[:_ANSWERS]))}" if texts else ""
        yield f"{scores.invalid:,} of {count(scores.examples, 'answer')} are not valid{such}"
    if record.answers.notes:
        yield f"Answers: {counts_text(record.answers.notes)}"


def _caution_of_one_answer(record: RunRecord) -> str:
    """Return that a model tells no labels apart; empty where it does, and of the baseline."""
    if record.model == "majority":
        return ""
    confusion, several = record.scores.confusion, record.scores.label_confusions
    if confusion is None:
        names_none = bool(several) and not any(each.tp + each.fp for each in several)
        return "No answer names a label" if names_none else ""
    columns = map(sum, zip(*confusion.counts, strict=True))  # the last one of invalid answers
    answered = {label: rows for label, rows in zip(confusion.labels, columns, strict=False) if rows}
    if len(answered) != 1 or sum(any(row) for row in confusion.counts) == 1:
        return ""
    ((label, rows),) = answered.items()
    return f"All {count(rows, 'valid answer')} are {label}"


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


def _label_blocks(scores: Scores) -> Iterator[Piece]:
    """Yield precision, recall and F1 of each label of a classification task."""
    counts, names = scores.label_confusions, ("precision", "recall", "f1")
    cells = [
        (
            f"  {confusion.label}",
            *(_number_text(scores.value(name, confusion.label)) for name in names),
            confusion.tp + confusion.fn,
        )
        for confusion in counts[:_LABELS]
    ]
    yield Table(("  label", *names, "rows"), cells) if cells else None
    if len(counts) > _LABELS:
        yield f"  and {count(len(counts) - _LABELS, 'more label')} in result.json"


def by_blocks(by: ByColumn) -> Iterator[Piece]:
    """Yield a run's scores by a column, the values with most rows first."""
    if by.mean is not None:
        spread = "" if by.spread is None else f" ± {by.spread:.4f}"
        over = f"{count(len(by.parts), 'value')} of {by.column}"
        yield f"  mean {by.metric} over {over}: {_number_text(by.mean)}{spread}"
    cells = [
        (
            f"  {line(part.value, 60)}",
            _number_text(part.score),
            _interval_text(part.interval).strip(),
            part.examples,
        )
        for part in by.parts[:_PARTS]
    ]
    yield Table((f"  {line(by.column)}", by.metric, "95%", "rows"), cells)
    if len(by.parts) > _PARTS:
        yield f"  and {len(by.parts) - _PARTS:,} more in result.json"


def _number_text(value: float | None) -> str:
    """Return a score as screens show it."""
    return "-" if value is None else f"{value:.4f}"


def _interval_text(interval: Interval | None) -> str:
    """Return an interval as screens show it, after a blank."""
    return "" if interval is None else f" [{interval.low:.4f}, {interval.high:.4f}]"


def overview(records: Sequence[RunRecord]) -> Iterator[Piece]:
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
    told: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for record in records:
        for text in filter(None, _cautions(record)):
            told[text][record.task].append(record.model)
    for text, models in told.items():
        yield f"{text}{_whose(models, by_task)}"
    if records:
        yield _closing(records)


def _whose(models: Mapping[str, Sequence[str]], runs: Mapping[str, Sequence[RunRecord]]) -> str:
    """Return whose caution it is: by task, the models; empty where it is that of all runs."""
    names: list[str] = []
    for task, told in models.items():
        every = len(told) == len(runs[task])
        names += [task] if every else [f"{model} on {task}" for model in dict.fromkeys(told)]
    return "" if names == list(runs) and len(names) == 1 else f" ({names_text(names)})"


def _closing(records: Sequence[RunRecord]) -> str:
    """Return how many runs there are, what they took, and where they lie."""
    costs = [record.costs for record in records]
    parts = [count(len(records), "run"), f"{sum(cost.wall_seconds for cost in costs):.1f} s"]
    again = sum(record.again for record in records)
    if again:
        parts[0] += ", done before" if again == len(records) else f", {again:,} of them done before"
    if read := sum(cost.input_tokens for cost in costs):
        written = sum(cost.output_tokens for cost in costs)
        parts.append(f"{read:,} tokens read and {written:,} written")
    if money := sum(cost.money for cost in costs):
        parts.append(f"cost {money:,.2f}")
    folder = records[0].directory
    return f"{'; '.join(parts)}; in {folder if len(records) == 1 else folder.parents[2]}"


def _named(run: RunRecord) -> tuple[str, int]:
    ablated = f", without {run.settings['ablate']}" if "ablate" in run.settings else ""
    return f"{run.model}{ablated}", run.seed


def _cells(run: RunRecord, names: Sequence[str]) -> Iterator[str]:
    values = main_metrics(run.scores)
    for name in names:
        interval = run.scores.metric(name).interval if name == run.scores.main else None
        yield f"{_number_text(values.get(name))}{_interval_text(interval)}"


def _spread(runs: Sequence[RunRecord]) -> Iterator[Piece]:
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
    columns = ("model", "seeds", f"mean {main}", "standard deviation")
    yield Table(columns, cells) if cells else None
