"""What the commands for CrossCodeBench show, on the terminal and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rich.table import Table

from goldpan.core.terminal import Terminal, clean, titled

if TYPE_CHECKING:  # these take long to import
    from goldpan.builders.crosscode.build import CrossCodeResult
    from goldpan.builders.crosscode.check import Checked
    from goldpan.builders.crosscode.export import Exported
    from goldpan.builders.crosscode.importing import Imported
    from goldpan.builders.crosscode.splits import Assigned, LeftOut


def exported_json(exported: Exported, absent: Sequence[str]) -> dict[str, Any]:
    """Return what was written as plain data."""
    return {
        "directory": str(exported.directory),
        "instances": exported.instances,
        "tasks": {
            meta.stem: {"task": meta.name, "type": meta.kind.names, "instances": meta.counts}
            for meta in exported.metas
        },
        "without_rows": list(absent),
    }


def print_exported(exported: Exported, absent: Sequence[str]) -> None:
    """Show the written tasks."""
    console = Terminal()
    for meta in exported.metas:
        line = f"{meta.stem}: {meta.name}, {meta.kind}, {meta.counts['total']:,} instances"
        console.print(clean(line))
    if absent:
        console.print(clean("Without rows in the workspace: ") + clean(", ".join(absent)))
    console.print(clean(f"{exported.instances:,} instances written to {exported.directory}"))


def imported_json(imports: Sequence[Imported]) -> dict[str, Any]:
    """Return what was read as plain data."""
    return {
        imported.task.name: {
            "directory": str(imported.directory),
            "type": imported.task.type,
            "splits": dict(imported.splits),
            "task_file": str(imported.task_file) if imported.task_file else None,
        }
        for imported in imports
    }


def print_imported(imports: Sequence[Imported]) -> None:
    """Show the tasks that were read, and which of them are new."""
    console = Terminal()
    for imported in imports:
        rows = ", ".join(f"{count:,} {split}" for split, count in sorted(imported.splits.items()))
        console.print(clean(f"{imported.task.name}: {imported.task.type}, {rows}"))
        if imported.task_file:
            console.print(clean(f"  a new task, which {imported.task_file} describes"))


def print_checked(checked: Checked) -> None:
    """Show what is wrong with task files."""
    console = Terminal()
    for problem in checked.problems:
        style = "yellow" if problem.kind == "warning" else "red"
        console.print(clean(f"{problem.kind}: ", style=style) + clean(problem))
    if checked.unlisted:
        console.print(f"and {checked.unlisted:,} more")
    state = "All is well" if checked.passed and not checked.problems else ""
    if checked.passed and checked.problems:
        state = "No errors, but see the warnings"
    console.print(f"{checked.tasks:,} tasks, {checked.instances:,} instances. {state}".rstrip())


def splits_json(splits: Sequence[Assigned]) -> list[dict[str, Any]]:
    """Return the splits and their tasks as plain data."""
    return [
        {
            "name": assigned.name,
            **asdict(assigned.split),
            "train": [meta.name for meta in assigned.train],
            "evaluation": [meta.name for meta in assigned.evaluation],
            "left_out": [asdict(task) for task in assigned.left_out],
            "empty": assigned.empty,
        }
        for assigned in splits
    ]


def print_splits(splits: Sequence[Assigned]) -> None:
    """Show how many tasks each split has."""
    console = Terminal()
    table = Table("split", "train", "evaluation", "paper", "", box=None, header_style="dim")
    for assigned in splits:
        paper = "/".join(map(str, assigned.split.paper)) if assigned.split.paper else ""
        empty = f"no task for {assigned.empty}" if assigned.empty else ""
        counts = (str(len(assigned.train)), str(len(assigned.evaluation)))
        table.add_row(clean(assigned.name), *counts, paper, empty)
    console.print(table)
    for assigned in splits:
        for task in assigned.left_out:
            console.print(clean(f"{assigned.name}: {_not_trained_on(task)}"))


def built_json(result: CrossCodeResult) -> dict[str, Any]:
    """Return what was built as plain data."""
    return {
        "directory": str(result.directory),
        "split": result.assigned.name,
        "train": [asdict(task_count) for task_count in result.train],
        "evaluation": [asdict(task_count) for task_count in result.evaluation],
        "left_out": [asdict(left_out) for left_out in result.assigned.left_out],
        "leaking": result.leaks,
        "examples_cut": result.examples_cut,
        "inputs_cut": result.inputs_cut,
        "seconds": round(result.seconds, 3),
    }


def print_built(result: CrossCodeResult) -> None:
    """Show what a split holds, and what was left out of it."""
    console = Terminal()
    console.print(titled(result.assigned.name, f" in {result.seconds:.1f} s"))
    table = Table("side", "tasks", "prompts", "instances there", box=None, header_style="dim")
    for side, counts in (("train", result.train), ("evaluation", result.evaluation)):
        prompts = sum(count.drawn - count.leaking for count in counts)
        available = sum(count.available for count in counts)
        table.add_row(side, f"{len(counts):,}", f"{prompts:,}", f"{available:,}")
    console.print(table)
    for task in result.assigned.left_out:
        console.print(clean(_not_trained_on(task)))
    console.print(
        f"{sum(result.leaks.values()):,} training instances dropped, as they also occur in the "
        f"evaluation: {result.leaks['exact']:,} exactly, {result.leaks['near']:,} nearly"
    )
    if result.examples_cut or result.inputs_cut:
        console.print(
            f"{result.examples_cut:,} prompts lack examples for their length, "
            f"{result.inputs_cut:,} the end of the input"
        )
    console.print(clean(f"Written to {result.directory}"))


def print_scored(value: dict[str, Any]) -> None:
    """Show the scores of a shortcut."""
    console = Terminal()
    console.print(f"{value['shortcut']} on {value['instances']:,} instances")
    for name in ("exact_match", "bleu", "rouge_l"):
        score = value[name]
        console.print(f"  {name}: " + ("none" if score is None else f"{score:.2f}"))


def _not_trained_on(task: LeftOut) -> str:
    return f"{task.task} is left out of training: {task.shared_with} has the same source dataset"
