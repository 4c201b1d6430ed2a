"""Honest distances: how much of a score rests on texts, documents and neighbors seen before."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import chain

from goldpan.core.result import count
from goldpan.evaluation.compare.question import ComparisonResult, System, mean_of
from goldpan.evaluation.record import RunRecord
from goldpan.evaluation.score import ranking_metric
from goldpan.evaluation.slices import FEWEST_ROWS, headline
from goldpan.report.document import Content, Remark, ReportTable, Row, Section, formatted, listed

_MOST_MODELS = 8
_MOST_TASKS = 60
_MOST_HEADLINES = 3
_NOTABLE = 0.01
_WITH, _WITHOUT = "all test rows", "only these"
_PARTS: Mapping[str, str] = {
    "texts": "rows whose text is also in train, exactly or nearly",
    "documents": "rows of a document that has other rows in train",
    "projects": "rows of a project that has other rows in train",
}
"""Parts of test rows that `Leaks` counts, in the words of a sentence."""


def distance_section(compared: ComparisonResult) -> Section:
    """Return the scores on harder terms."""
    content = (
        *chain(*(_part(compared, part) for part in _PARTS)),
        *_neighbors(compared),
        *_cutoffs(compared),
    )
    return Section(
        "distance",
        "Honest distances",
        content,
        "What is left of the scores on harder terms. A test row whose text, document or project"
        " was seen in training says little of those that nobody has seen.",
    )


def headlines(compared: ComparisonResult) -> tuple[str, ...]:
    """Return the warnings that go before any score: repeated texts, then dates that tell labels."""
    return (*_repeated_texts(compared), *_telling_dates(compared))


def _telling_dates(compared: ComparisonResult) -> Iterator[str]:
    """Yield a sentence for each task whose labels the date alone tells."""
    for name in compared.tasks:
        runs = (system.runs[name][0] for system in compared.ranked_on(name))
        signal = next((run.date_signal for run in runs if run.date_signal), None)
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
        runs = (system.runs[name][0] for system in compared.ranked_on(name))
        first = next((run for run in runs if run.leaks.level in ("warning", "alarm")), None)
        if first is None:
            continue
        leaks = first.leaks
        text = headline(leaks, f"{first.scores.main} of {first.model}", first.value)
        sentences.append((leaks.share, text.replace("test rows", f"test rows of {name}", 1)))
    sentences.sort(key=lambda pair: -pair[0])
    texts = [text for _, text in sentences[:_MOST_HEADLINES]]
    if len(sentences) > _MOST_HEADLINES:
        texts.append(f"The same is true of {count(len(sentences) - _MOST_HEADLINES, 'more task')}.")
    return tuple(texts)


def _part(compared: ComparisonResult, part: str) -> Iterator[Content]:
    """Yield the scores without the test rows of a part, or why there are none."""
    title = f"{part.capitalize()} that are not in train"
    seen = {
        task: number
        for task in compared.tasks
        if (number := compared.first_run(task).leaks.seen(part)) is not None
    }
    if not seen:
        return
    names = list(seen)[:_MOST_TASKS]
    tested = {name: compared.first_run(name).scores.examples for name in names}
    whole, count_seen = sum(tested.values()), sum(seen[name] for name in names)
    share = f"{100 * count_seen / whole:.1f} %" if whole else "none"
    yield Remark(
        f"Of {whole:,} test rows in {count(len(names), 'task')}, {count_seen:,} ({share}) are"
        f" {_PARTS[part]}."
    )
    if not count_seen:
        return
    rows: list[Row] = []
    used: set[str] = set()
    for system in compared.ranked[:_MOST_MODELS]:
        scored = {
            name: score for name in names if (score := _without(system, name, part)) is not None
        }
        all_rows, unseen = system.mean(*scored), mean_of(scored.values())
        if all_rows is not None and unseen is not None:
            used.update(scored)
            cells = {_WITH: all_rows, _WITHOUT: unseen, "difference": unseen - all_rows}
            rows.append({"model": system.name, **cells, "tasks": len(scored)})
    if not rows:
        yield Remark(f"{title}: too few such rows are left to score them ({FEWEST_ROWS} needed).")
        return
    note = (
        f"The same predictions, scored on the {sum(tested[name] - seen[name] for name in used):,}"
        f" rows that are left, in tasks with at least {FEWEST_ROWS} of them. The models were not"
        " trained again."
    )
    yield ReportTable.of(title, rows, note)


def _without(system: System, task: str, part: str) -> float | None:
    """Return the score without the test rows of a part, the mean over seeds."""
    values = [_score_without(run, part) for run in system.runs.get(task, ())]
    return None if None in values else mean_of(values)


def _score_without(run: RunRecord, part: str) -> float | None:
    main = run.scores.metric(run.scores.main)
    if run.leaks.seen(part):
        left = run.leaks.score_without(part)
        return None if left is None else ranking_metric(replace(main, value=left.value)).value
    return ranking_metric(main).value if run.scores.examples >= FEWEST_ROWS else None


def lost_on_parts(section: Section) -> Iterator[str]:
    """Yield how far the first model's score falls on each part."""
    for part in section.content:
        if isinstance(part, ReportTable) and part.columns[1:3] == (_WITH, _WITHOUT):
            model, all_rows, unseen, difference = part.rows[0][:4]
            if isinstance(difference, float) and difference < -_NOTABLE:
                title = f"{part.title[:1].lower()}{part.title[1:]}"
                scores = f"{formatted(unseen)} on average, not {formatted(all_rows)}"
                yield f"On {title}, {model} scores {scores}."


def _neighbors(compared: ComparisonResult) -> Iterator[Content]:
    """Yield models that read the texts around a row beside those that do not."""
    reading = [system for system in compared.ranked if _reads(system)]
    if not reading:
        return
    models = {system.model for system in reading}
    shown = [system for system in compared.ranked if system.model in models]
    note = (
        "Texts before and after a row, and the name of its document, may be test rows themselves;"
        " their answers are never seen. A tool that reads single sentences reaches the lower score."
    )
    rows: Iterator[Row] = (
        {
            "model": system.name,
            "reads the texts around a row": "yes" if _reads(system) else "no",
            f"mean {compared.metric}": system.mean(*compared.block.tasks),
            "tasks": sum(bool(system.scores(task)) for task in compared.block.tasks),
        }
        for system in shown
    )
    yield ReportTable.of("With and without the texts around", rows, note)


def _reads(system: System) -> bool:
    return any(run.uses_neighbors for run in system.every())


def _cutoffs(compared: ComparisonResult) -> Iterator[Content]:
    """Yield the cut-offs of models, where runs name them, beside the dates of test rows."""
    rows: list[Row] = []
    for system in compared.ranked:
        for run in system.every():
            dates = run.dates
            if dates.cutoff is None:
                continue
            row: Row = {
                "model": system.name,
                "task": run.task,
                "cut-off": dates.cutoff,
                "oldest test row": dates.oldest or "not known",
                "newest test row": dates.newest or "not known",
                "until the cut-off": dates.until,
                "after it": dates.after,
                "without a date": dates.undated,
                "share after it": dates.after and dates.after / ((dates.until or 0) + dates.after),
            }
            if row not in rows:
                rows.append(row)
    if rows:
        note = (
            "The cut-off is the last day of a model's training data, as the run names it"
            " (--set cutoff=DATE). It may have read earlier rows, with their answers, in training."
        )
        yield ReportTable.of("Cut-offs of models", rows, note)
