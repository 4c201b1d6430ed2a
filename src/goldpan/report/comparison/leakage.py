"""Honest distances: how much of a score rests on texts, documents and neighbours seen before."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from statistics import fmean

import pyarrow as pa
import pyarrow.compute as pc

from goldpan.datasets.tasks.task import Task
from goldpan.evaluation.comparison.question import ComparisonResult, System, mean_score, split_of
from goldpan.evaluation.score import ranking_score, score
from goldpan.evaluation.slices import COLUMN, headline
from goldpan.report.document import (
    Cell,
    Content,
    Remark,
    ReportTable,
    Section,
    count,
    folded,
    formatted,
    listed,
)

_MOST_MODELS = 8
_MOST_TASKS = 60
_MOST_HEADLINES = 3
_FEWEST_ROWS = 20
"""Fewer rows give no score worth comparing."""
_NOTABLE = 0.01
_COLUMNS = ("model", "all test rows", "only these", "difference", "tasks")
_MOST_TEXTS = 2_000
"""Generated texts of a task that are compared anew; more would take too long."""


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of each task's test rows."""

    title: str
    named: str
    """Its rows, in the words of a sentence."""
    kinds: frozenset[str]
    """How they resemble train."""


_PARTS = (
    _Part(
        "Texts that are not in train",
        "rows whose text is also in train, exactly or nearly",
        frozenset(("text", "near")),
    ),
    _Part(
        "Documents that are not in train",
        "rows of a document that has other rows in train",
        frozenset(("document",)),
    ),
    _Part(
        "Projects that are not in train",
        "rows of a project that has other rows in train",
        frozenset(("project",)),
    ),
)


def distance_section(compared: ComparisonResult, tasks: Mapping[str, Task]) -> Section:
    """Return what is known of scores on harder terms, and what is not known."""
    content: list[Content] = []
    for part in _PARTS:
        ids = {
            name: seen
            for name in compared.tasks
            if (seen := _rows_in_part(compared, name, part)) is not None
        }
        if ids:
            content += _part(compared, tasks, part, ids)
        else:
            what = part.title.partition(" ")[0].lower()
            content.append(
                Remark(f"Rows name no {what}, so whether a split by them is harder is not known.")
            )
    content += _neighbours(compared)
    content += _cutoffs(compared)
    content += _elsewhere(compared)
    return Section(
        "distance",
        "Honest distances",
        tuple(content),
        "What is left of the scores on harder terms. A test row whose text, document or project"
        " was seen in training says little of those that nobody has seen.",
    )


def headlines(compared: ComparisonResult) -> tuple[str, ...]:
    """Return what must be said before any score: repeated texts, then dates that tell labels."""
    return (*_repeated_texts(compared), *_telling_dates(compared))


def _telling_dates(compared: ComparisonResult) -> Iterator[str]:
    """Yield a sentence for each task whose labels the date alone tells."""
    for name in compared.tasks:
        runs = (run for system in compared.ranked for run in system.runs.get(name, ())[:1])
        signal = next((run.record.date_signal for run in runs if run.record.date_signal), None)
        if signal is not None and (sentence := signal.sentence()):
            text = sentence.replace("train rows", f"train rows of {name}", 1)
            yield f"{text}.{_reading_dates(compared)}"


def _reading_dates(compared: ComparisonResult) -> str:
    names = [system.name for system in compared.ranked if system.uses_dates]
    verb = "reads" if len(names) == 1 else "read"
    return f" {listed(names)} {verb} the date itself." if names else ""


def _repeated_texts(compared: ComparisonResult) -> tuple[str, ...]:
    """Return a sentence for each task whose test repeats texts of train, the worst first."""
    sentences = []
    for name in compared.tasks:
        runs = [
            run
            for system in compared.ranked
            for run in system.runs.get(name, ())[:1]
            if run.record.leaks.level in ("warning", "alarm")
        ]
        if not runs:
            continue
        first = runs[0]
        leaks = first.record.leaks
        text = headline(leaks, f"{first.scores.main} of {first.model}", first.value)
        sentences.append((leaks.share, text.replace("test rows", f"test rows of {name}", 1)))
    sentences.sort(key=lambda pair: -pair[0])
    texts = [text for _, text in sentences[:_MOST_HEADLINES]]
    if len(sentences) > _MOST_HEADLINES:
        texts.append(f"So it is on {len(sentences) - _MOST_HEADLINES:,} more tasks.")
    return tuple(texts)


def _rows_in_part(compared: ComparisonResult, task: str, part: _Part) -> Collection[str] | None:
    """Return the test rows of a task that belong to a part, None where that cannot be told."""
    run = next(system.runs[task][0] for system in compared.systems if task in system.runs)
    leaks = run.record.leaks
    counts = {"text": leaks.text, "document": leaks.document, "project": leaks.project}
    if any(counts[kind] is None for kind in part.kinds if kind in counts):
        return None
    table = run.predictions()
    marks = zip(table["id"].to_pylist(), table[COLUMN].to_pylist(), strict=True)
    return {name for name, kinds in marks if part.kinds & set(kinds)}


def _part(
    compared: ComparisonResult,
    tasks: Mapping[str, Task],
    part: _Part,
    ids: Mapping[str, Collection[str]],
) -> Iterator[Content]:
    names = list(ids)[:_MOST_TASKS]
    whole = sum(_tested(compared, name) for name in names)
    count_seen = sum(len(ids[name]) for name in names)
    share = f"{100 * count_seen / whole:.1f} %" if whole else "none"
    yield Remark(
        f"Of {whole:,} test rows in {count(len(names), 'task')}, {count_seen:,} ({share}) are"
        f" {part.named}."
    )
    if not count_seen:
        return
    rows: list[tuple[Cell, ...]] = []
    used: set[str] = set()
    for system in compared.ranked[:_MOST_MODELS]:
        pairs = []
        for name in names:
            if name not in tasks:
                continue
            without_shared = _without(system, tasks[name], ids[name])
            every = mean_score(system, name)
            if without_shared is not None and every is not None:
                pairs.append((every, without_shared))
                used.add(name)
        if pairs:
            every, without_shared = map(fmean, zip(*pairs, strict=True))
            rows.append((system.name, every, without_shared, without_shared - every, len(pairs)))
    if not rows:
        yield Remark(
            f"{part.title}: too few such rows are left in any task ({_FEWEST_ROWS} are needed) to"
            " score them. A split that keeps whole documents apart would tell."
        )
        return
    left = sum(_tested(compared, name) - len(ids[name]) for name in used)
    note = (
        f"The same predictions, scored on the {left:,} rows that are left, in tasks with at least "
        f"{_FEWEST_ROWS} of them. The models were not trained again."
    )
    yield ReportTable(part.title, _COLUMNS, tuple(rows), note)


def lost_on_parts(section: Section) -> Iterator[str]:
    """Yield how far the first model's score falls on each part."""
    for part in section.content:
        if isinstance(part, ReportTable) and part.columns[1:3] == _COLUMNS[1:3] and part.rows:
            model, every, without_shared, difference = part.rows[0][:4]
            if isinstance(difference, float) and difference < -_NOTABLE:
                what = f"{part.title[:1].lower()}{part.title[1:]}"
                scores = f"{formatted(without_shared)} on average, not {formatted(every)}"
                yield f"On {what}, {model} scores {scores}."


def _without(system: System, task: Task, ids: Collection[str]) -> float | None:
    """Return the score on the rows that are not among `ids`, the mean over seeds."""
    values = []
    for run in system.runs.get(task.name, ()):
        table = run.predictions()
        table = table.filter(pc.invert(pc.is_in(table["id"], pa.array(sorted(ids), pa.string()))))
        many = task.type == "text-generation" and len(table) > _MOST_TEXTS
        if len(table) < _FEWEST_ROWS or many:
            return None
        value = ranking_score(score(task, table, resamples=0)).value
        if value is None:
            return None
        values.append(value)
    return fmean(values) if values else None


def _tested(compared: ComparisonResult, task: str) -> int:
    return next(
        system.runs[task][0].scores.examples for system in compared.systems if task in system.runs
    )


def _neighbours(compared: ComparisonResult) -> Iterator[Content]:
    """Set models that read the texts around a row beside those that do not."""
    reading = [system for system in compared.ranked if _reads(system)]
    if not reading:
        yield Remark("No model here reads the texts around a row: each text is answered by itself.")
        return
    models = {system.model for system in reading}
    shown = [system for system in compared.ranked if system.model in models]
    rows: list[tuple[Cell, ...]] = []
    for system in shown:
        means = [
            mean for name in compared.block.tasks if (mean := mean_score(system, name)) is not None
        ]
        mean = fmean(means) if means else None
        rows.append((system.name, "yes" if _reads(system) else "no", mean, len(means)))
    columns = ("model", "reads the texts around a row", f"mean {compared.metric}", "tasks")
    note = (
        "Texts before and after a row, and the name of its document, may be test rows themselves;"
        " their answers are never seen. A tool that reads single sentences reaches the lower score."
    )
    yield ReportTable("With and without the texts around", columns, tuple(rows), note)
    alone = sorted(models - {system.model for system in shown if not _reads(system)})
    if alone:
        yield Remark(f"Not known: what {listed(alone)} would score on single texts.")


def _reads(system: System) -> bool:
    return any(run.record.uses_neighbours for run in system.every())


def _cutoffs(compared: ComparisonResult) -> Iterator[Content]:
    """Set the cut-offs of models, where runs name them, beside the dates of test rows."""
    rows: dict[tuple[Cell, ...], None] = {}
    for system in compared.ranked:
        for run in system.every():
            dates = run.record.dates
            if dates is not None and dates.cutoff is not None:
                span = (dates.oldest or "not known", dates.newest or "not known")
                counts = (dates.until, dates.after, dates.undated)
                share = dates.after and dates.after / ((dates.until or 0) + dates.after)
                rows[system.name, run.task, dates.cutoff, *span, *counts, share] = None
    if rows:
        columns = ("model", "task", "cut-off", "oldest test row", "newest test row")
        counts_of = ("until the cut-off", "after it", "without a date", "share after it")
        note = (
            "The cut-off is the last day of a model's training data, as the run names it"
            " (--set cutoff=DATE). It may have read earlier rows, with their answers, in training."
        )
        yield ReportTable("Cut-offs of models", (*columns, *counts_of), tuple(rows), note)


def _elsewhere(compared: ComparisonResult) -> Iterator[Content]:
    """List the runs on other splits of the same tasks."""
    rows: list[tuple[Cell, ...]] = []
    for run in sorted(
        compared.elsewhere, key=lambda cell: (cell.task, cell.model, split_of(cell), cell.seed)
    ):
        score = ranking_score(run.scores)
        settings = ", ".join(f"{key}={value}" for key, value in sorted(run.record.settings.items()))
        data, split = split_of(run)
        rows.append(
            (run.task, run.model, settings, run.seed, data[:8], split[:8], score.name, score.value)
        )
    if rows:
        columns = ("task", "model", "settings", "seed", "data", "split", "metric", "score")
        note = "They are not ranked: scores on two splits cannot be compared one by one."
        yield folded(
            ReportTable("The same tasks on other data or splits", columns, tuple(rows), note)
        )
