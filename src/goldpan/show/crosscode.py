"""Shows what commands for CrossCodeBench gave."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rich.table import Table

from goldpan.core.terminal import Terminal, clean, titled

if TYPE_CHECKING:  # these take long to import, and each command needs one of them
    from goldpan.builders.crosscode.build import CrossCodeResult
    from goldpan.builders.crosscode.check import Checked
    from goldpan.builders.crosscode.export import Exported
    from goldpan.builders.crosscode.importing import Imported
    from goldpan.builders.crosscode.splits import Assigned, LeftOut


def exported_json(found: Exported, absent: Sequence[str]) -> dict[str, Any]:
    """Return what was written as plain data."""
    return {
        "directory": str(found.directory),
        "instances": found.instances,
        "tasks": {
            meta.stem: {"task": meta.name, "type": meta.kind.names, "instances": meta.counts}
            for meta in found.metas
        },
        "without_rows": list(absent),
    }


def exported(found: Exported, absent: Sequence[str]) -> None:
    """Show the written tasks."""
    console = Terminal()
    for meta in found.metas:
        line = f"{meta.stem}: {meta.name}, {meta.kind}, {meta.counts['total']:,} instances"
        console.print(clean(line))
    if absent:
        console.print(clean("Without rows in the workspace: ") + clean(", ".join(absent)))
    console.print(clean(f"{found.instances:,} instances written to {found.directory}"))


def imported_json(found: Sequence[Imported]) -> dict[str, Any]:
    """Return what was read as plain data."""
    return {
        one.task.name: {
            "directory": str(one.directory),
            "type": one.task.type,
            "splits": dict(one.splits),
            "task_file": str(one.task_file) if one.task_file else None,
        }
        for one in found
    }


def imported(found: Sequence[Imported]) -> None:
    """Show the tasks that were read, and which of them are new."""
    console = Terminal()
    for one in found:
        rows = ", ".join(f"{count:,} {split}" for split, count in sorted(one.splits.items()))
        console.print(clean(f"{one.task.name}: {one.task.type}, {rows}"))
        if one.task_file:
            console.print(clean(f"  a new task, which {one.task_file} describes"))


def checked(found: Checked) -> None:
    """Show what is wrong with task files."""
    console = Terminal()
    for problem in found.problems:
        style = "yellow" if problem.kind == "warning" else "red"
        console.print(clean(f"{problem.kind}: ", style=style) + clean(problem))
    if found.unlisted:
        console.print(f"and {found.unlisted:,} more")
    state = "All is well" if found.passed and not found.problems else ""
    if found.passed and found.problems:
        state = "No errors, but see the warnings"
    console.print(f"{found.tasks:,} tasks, {found.instances:,} instances. {state}".rstrip())


def splits_json(found: Sequence[Assigned]) -> list[dict[str, Any]]:
    """Return the splits and their tasks as plain data."""
    return [
        {
            "name": one.name,
            **asdict(one.split),
            "train": [meta.name for meta in one.train],
            "evaluation": [meta.name for meta in one.evaluation],
            "left_out": [asdict(task) for task in one.left_out],
            "empty": one.empty,
        }
        for one in found
    ]


def splits(found: Sequence[Assigned]) -> None:
    """Show how many tasks each split has."""
    console = Terminal()
    table = Table("split", "train", "evaluation", "paper", "", box=None, header_style="dim")
    for one in found:
        paper = "/".join(map(str, one.split.paper)) if one.split.paper else ""
        empty = f"no task for {one.empty}" if one.empty else ""
        counts = (str(len(one.train)), str(len(one.evaluation)))
        table.add_row(clean(one.name), *counts, paper, empty)
    console.print(table)
    for one in found:
        for task in one.left_out:
            console.print(clean(f"{one.name}: {_not_trained_on(task)}"))


def built_json(found: CrossCodeResult) -> dict[str, Any]:
    """Return what was built as plain data."""
    return {
        "directory": str(found.directory),
        "split": found.assigned.name,
        "train": [asdict(one) for one in found.train],
        "evaluation": [asdict(one) for one in found.evaluation],
        "left_out": [asdict(one) for one in found.assigned.left_out],
        "leaking": found.leaks,
        "examples_cut": found.examples_cut,
        "inputs_cut": found.inputs_cut,
        "seconds": round(found.seconds, 3),
    }


def built(found: CrossCodeResult) -> None:
    """Show what a split holds, and what was left out of it."""
    console = Terminal()
    console.print(titled(found.assigned.name, f" in {found.seconds:.1f} s"))
    table = Table("side", "tasks", "prompts", "instances there", box=None, header_style="dim")
    for side, counts in (("train", found.train), ("evaluation", found.evaluation)):
        kept = sum(count.drawn - count.leaking for count in counts)
        there = sum(count.available for count in counts)
        table.add_row(side, f"{len(counts):,}", f"{kept:,}", f"{there:,}")
    console.print(table)
    for task in found.assigned.left_out:
        console.print(clean(_not_trained_on(task)))
    console.print(
        f"{sum(found.leaks.values()):,} training instances dropped, as they also occur in the "
        f"evaluation: {found.leaks['exact']:,} exactly, {found.leaks['near']:,} nearly"
    )
    if found.examples_cut or found.inputs_cut:
        console.print(
            f"{found.examples_cut:,} prompts lack examples for their length, "
            f"{found.inputs_cut:,} the end of the input"
        )
    console.print(clean(f"Written to {found.directory}"))


def scored(value: dict[str, Any]) -> None:
    """Show the scores of a shortcut."""
    console = Terminal()
    console.print(f"{value['shortcut']} on {value['instances']:,} instances")
    for name in ("exact_match", "bleu", "rouge_l"):
        score = value[name]
        console.print(f"  {name}: " + ("none" if score is None else f"{score:.2f}"))


def _not_trained_on(task: LeftOut) -> str:
    return f"{task.task} is left out of training: {task.shared_with} has the same source dataset"
