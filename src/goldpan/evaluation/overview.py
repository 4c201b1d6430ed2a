"""Several runs on the screen: one line each, each model's mean and spread, and warnings once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean, stdev

from goldpan.core.result import Block, Line, Table
from goldpan.evaluation.record import RunRecord, cautions, interval_text, number_text
from goldpan.evaluation.score import main_metrics

_MOST_NAMED = 3


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
        for text in cautions(record):
            told[text].append(f"{record.model} on {record.task}")
    for text, names in told.items():
        unique = list(dict.fromkeys(names))
        more = f" and {len(unique) - _MOST_NAMED} more" if len(unique) > _MOST_NAMED else ""
        yield Line(f"{text} ({', '.join(unique[:_MOST_NAMED])}{more})")
    seconds = sum(record.costs.wall_seconds for record in records)
    folder = directories[0].parents[2]
    yield Line(f"{len(records)} runs; {seconds:.1f} s; in {folder}")


def _named(run: RunRecord) -> tuple[str, int]:
    ablated = f", without {run.settings['ablate']}" if "ablate" in run.settings else ""
    return f"{run.model}{ablated}", run.seed


def _cells(run: RunRecord, names: Sequence[str]) -> Iterator[str]:
    values = main_metrics(run.scores)
    for name in names:
        interval = run.scores.metric(name).interval if name == run.scores.main else None
        yield f"{number_text(values.get(name))}{interval_text(interval)}"


def _spread(runs: Sequence[RunRecord]) -> Iterator[Block]:
    """Yield the mean over seeds of each model that has several."""
    main = runs[0].scores.main
    scores: dict[str, list[float]] = defaultdict(list)
    for run in runs:
        if (value := run.scores.value(run.scores.main)) is not None:
            scores[_named(run)[0]].append(value)
    cells = [
        (model, len(values), number_text(fmean(values)), number_text(stdev(values)))
        for model, values in scores.items()
        if len(values) > 1
    ]
    if cells:
        yield Table(("model", "seeds", f"mean {main}", "standard deviation"), cells)
