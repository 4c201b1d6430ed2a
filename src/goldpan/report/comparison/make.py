"""The report on a comparison, with steps 1 to 5 of ECSER."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence, Sized
from dataclasses import replace

from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.datasets.tasks.task import Task
from goldpan.evaluation.comparison.facts import Skipped, examples_learned
from goldpan.evaluation.comparison.question import ComparisonResult, System, setting
from goldpan.evaluation.runs import Run
from goldpan.evaluation.statistics.comparison import Comparison
from goldpan.report.comparison import summary
from goldpan.report.comparison.conditions import (
    conditions_section,
    costs_section,
    in_part_sentences,
    resolved_section,
)
from goldpan.report.comparison.leakage import distance_section, headlines, lost_on_parts
from goldpan.report.comparison.measures import (
    confusion,
    drift,
    groups_section,
    metrics,
    score_table,
)
from goldpan.report.comparison.plots import curves
from goldpan.report.comparison.ranking import (
    pairs_table,
    ranking_section,
    ranking_table,
    significance,
)
from goldpan.report.comparison.rows import (
    SECTIONS,
    TaskRow,
    Wrong,
    find_mistakes,
    mistakes_section,
    read_task_rows,
)
from goldpan.report.document import (
    Content,
    Remark,
    Report,
    ReportTable,
    Row,
    Section,
    count,
    folded,
    listed,
)

_NOTES = {
    6: "How often each right label was answered with each label.",
    7: "All that is measured on the test sets.",
    8: "How much lower scores are where a model has not seen the answers.",
    9: "What models trade between finding more and being wrong more often.",
    10: "Which differences are more than chance.",
}


def make_report(
    workspace: WorkspaceLayout,
    compared: ComparisonResult,
    tasks: Mapping[str, Task],
    title: str = "",
) -> Report:
    """Return the whole report; the same runs give the same one.

    `tasks` are those that the registry knows; rows of others cannot be read. `title` names what
    is compared, such as a suite.
    """
    mistakes = find_mistakes(compared)
    rows_by_task = _rows_by_task(workspace, compared, tasks, mistakes)
    distance = distance_section(compared)
    sections = [
        ranking_section(compared),
        resolved_section(compared),
        groups_section(compared),
        *(section.make(compared, tasks, rows_by_task) for section in SECTIONS),
        *_steps(compared, tasks),
        mistakes_section(compared, mistakes, rows_by_task),
        costs_section(compared),
        distance,
        conditions_section(compared),
    ]
    return Report(
        title=f"{title}: {summary.heading(compared)}" if title else summary.heading(compared),
        lead="Which models differ, which cannot be told apart, and what that rests on.",
        facts=_facts(compared),
        summary=(*headlines(compared), *summary.sentences(compared)),
        warnings=(
            *summary.warnings(compared, lost_on_parts(distance)),
            *in_part_sentences(compared),
        ),
        sections=tuple(section for section in sections if section is not None),
    )


def _facts(compared: ComparisonResult) -> tuple[tuple[str, str], ...]:
    runs = compared.runs
    invalid = sum(run.scores.invalid for run in runs)

    def counted(items: Sized, noun: str) -> tuple[str, str]:
        return f"{len(items):,}", f"{noun}s" if len(items) > 1 else noun

    return (
        counted(compared.systems, "model"),
        counted(compared.tasks, "task"),
        (f"{summary.examples(compared, compared.tasks):,}", "test examples"),
        counted(runs, "run"),
        counted({run.seed for run in runs}, "seed"),
        (f"{invalid:,}", "answers not valid"),
    )


def paper_tables(compared: ComparisonResult) -> Iterator[ReportTable]:
    """Yield the tables that a paper prints: ranking, scores, decisions and costs."""
    comparison = compared.comparison
    if isinstance(comparison, Comparison):
        yield ranking_table(compared, comparison)
    for added in SECTIONS:
        if (section := added.make(compared, {}, {})) is not None:
            yield from (part for part in section.content if isinstance(part, ReportTable))
    yield score_table(compared)
    if isinstance(comparison, Comparison) and comparison.test.name != "none":
        yield pairs_table(comparison)
    if compared.new_tasks is not None and compared.new_tasks.test.name != "none":
        yield pairs_table(compared.new_tasks)
    yield from (part for part in costs_section(compared).content if isinstance(part, ReportTable))


def _steps(compared: ComparisonResult, tasks: Mapping[str, Task]) -> list[Section]:
    """Return the ten steps of ECSER (Figure 1), each filled or with the reason why not."""
    fill: Sequence[tuple[str, bool, Callable[[], tuple[Content, ...]]]] = (
        ("Select an evaluation method and split the data", False, lambda: splits(compared)),
        ("Train the model", False, lambda: training(compared)),
        ("Tune hyper-parameters and validate", True, lambda: tuning(compared)),
        ("Re-train with optimized parameters", True, lambda: retraining(compared)),
        ("Test the model", False, lambda: testing(compared)),
        ("Report the confusion matrix", False, lambda: confusion(compared)),
        ("Report metrics", False, lambda: metrics(compared)),
        ("Analyze overfitting and degradation", False, lambda: drift(compared)),
        ("Visualize ROC", False, lambda: curves(compared)),
        ("Apply statistical significance tests", True, lambda: significance(compared, tasks)),
    )
    sections = []
    for step, (name, optional, content) in enumerate(fill, 1):
        section = Section(f"s{step}", name, (), _NOTES.get(step, ""), step=step, optional=optional)
        try:
            sections.append(replace(section, content=content()))
        except Skipped as skipped:
            sections.append(replace(section, skipped=f"{skipped.reason.rstrip('.')}."))
    return sections


def _rows_by_task(
    workspace: WorkspaceLayout,
    compared: ComparisonResult,
    tasks: Mapping[str, Task],
    mistakes: Mapping[str, list[Wrong]],
) -> dict[str, Mapping[str, TaskRow] | str]:
    rows_by_task: dict[str, Mapping[str, TaskRow] | str] = {}
    for name in compared.tasks:
        if name not in tasks:
            rows_by_task[name] = f"The registry does not know {name}"
            continue
        task = tasks[name]
        runs = [run for system in compared.systems for run in system.runs.get(name, ())]
        ids = {wrong.id for wrong in mistakes.get(name, ())}
        ids.update(*(section.rows(compared, task) for section in SECTIONS))
        rows_by_task[name] = read_task_rows(workspace, task, runs, ids)
    return rows_by_task


_HASH = re.compile(r"\b([0-9a-f]{12})[0-9a-f]{52}\b")
_WEIGHTS = "weights"


def splits(compared: ComparisonResult) -> tuple[Content, ...]:
    """Return how the data were split, with its seed, and how often each test was opened (S1)."""
    opened = {task: compared.times_opened(task) for task in compared.tasks}
    rows = (_split_row(compared.first_run(task), times) for task, times in opened.items())
    content = folded(ReportTable.of("How the data were split", rows))
    remark = Remark(
        f"A test set is opened once a run, {count(sum(opened.values()), 'time')} in all: by every"
        " run of the same split in this workspace, compared here or not. Who opens it often and"
        " reports the best has chosen by the test."
    )
    elsewhere = sorted({run.task for run in compared.elsewhere})
    if not elsewhere:
        return (content, remark)
    other = f"Runs on other data or another split are not compared: {listed(elsewhere)}."
    return (content, remark, Remark(other))


def _split_row(run: Run, opened: int) -> Row:
    return {
        "task": run.task,
        "method": run.split or "not known",
        **{part: run.rows.get(part) for part in ("train", "validation", "test")},
        "test opened": opened,
        "split hash": run.split_hash[:12] or None,
    }


def training(compared: ComparisonResult) -> tuple[Content, ...]:
    """Return the data that each model learned from (S2)."""
    if not any(map(examples_learned, compared.runs)):
        raise Skipped("No model was trained: all are prompted or follow fixed rules")
    rows = map(_training_row, compared.ranked)
    return (ReportTable.of("Models and what they learned from", rows),)


def _training_row(system: System) -> Row:
    seeds = sorted({run.seed for run in system.every()})
    return {
        "model": system.name,
        "tasks": len(system.runs),
        "seeds": listed(list(map(str, seeds))),
        "examples learned from": _span(list(map(examples_learned, system.every()))),
        "settings": _settings(system),
    }


def tuning(compared: ComparisonResult) -> tuple[Content, ...]:
    """Return the data on which settings were chosen (S3)."""
    if not any(run.learning.chosen_on for run in compared.runs):
        raise Skipped("Settings were fixed beforehand; none was chosen by a validation set")
    rows: list[Row] = []
    tuned_on_test = []
    for system in compared.ranked:
        sets = sorted({run.learning.chosen_on for run in system.every()})
        if any("test" in name.casefold().split() for name in sets):
            tuned_on_test.append(system.name)
        chosen_on = ", ".join(filter(None, sets)) or "nothing: fixed"
        counts = [run.learning.candidates for run in system.every() if run.learning.candidates]
        rows.append({"model": system.name, "chosen on": chosen_on, "candidates": _span(counts)})
    table = ReportTable.of("What settings were chosen on", rows)
    if not tuned_on_test:
        return (table,)
    names = ", ".join(sorted(tuned_on_test))
    return (table, Remark(f"The test set chose the settings of {names}: their scores are too high"))


def retraining(compared: ComparisonResult) -> tuple[Content, ...]:
    """Return the models trained again with the chosen settings (S4)."""
    if not any(run.learning.chosen_on for run in compared.runs):
        raise Skipped("There were no chosen settings to train again with")
    rows: list[Row] = []
    for system in compared.ranked:
        learned = [
            run for run in system.every() if run.learning.from_all and run.learning.chosen_on
        ]
        if learned:
            examples = _span([examples_learned(run) for run in learned])
            rows.append({"model": system.name, "examples": examples})
    if not rows:
        raise Skipped("The models that were validated are the ones that were tested")
    return (
        Remark("With the settings found in S3, on all rows of train and validation together:"),
        ReportTable.of("Trained again", rows),
    )


def testing(compared: ComparisonResult) -> tuple[Content, ...]:
    """Return the tests of each model, with the answers that are not valid (S5)."""
    note = "An answer that is not valid counts as wrong."
    return (ReportTable.of("Tested", map(_tested, compared.ranked), note),)


def _tested(system: System) -> Row:
    runs = system.every()
    examples = sum(run.scores.examples for run in runs)
    invalid = sum(run.scores.invalid for run in runs)
    share = f"{100 * invalid / examples:.2g} %" if examples else ""
    return {
        "model": system.name,
        "tasks": len(system.runs),
        "runs": len(runs),
        "answers": examples,
        "of them not valid": f"{invalid:,} ({share})" if invalid else "0",
    }


def _settings(system: System) -> str:
    """Return the settings of a system; those that differ between its tasks are marked."""
    values: dict[str, set[str]] = {}
    for run in system.every():
        for name, value in run.settings.items():
            values.setdefault(name, set()).add(_HASH.sub(r"\1", setting(value)))
    if not values:
        return "none"
    # Which weights were trained matters more than how: long lists lose their end.
    names = sorted(values, key=lambda name: (not name.startswith(_WEIGHTS), name))
    return ", ".join(
        f"{name}={''.join(values[name])}" if len(values[name]) == 1 else f"{name}: differs by task"
        for name in names
    )


def _span(values: Sequence[int]) -> str:
    if not values:
        return ""
    low, high = min(values), max(values)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"
