"""Builds a split of CrossCodeBench: prompts for training and for evaluation on unseen tasks."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from goldpan.core.errors import DatasetError
from goldpan.core.progress import Reporter
from goldpan.core.result import Block, Line, Result, Table, Title
from goldpan.core.workspace import Workspace
from goldpan.datasets.files import write_dataset
from goldpan.datasets.manifest import Extras
from goldpan.datasets.prompt_methods import Side
from goldpan.datasets.splits import SplitPlan
from goldpan.papers.crosscodebench.described import (
    Sides,
    describe_card,
    describe_provenance,
    describe_split,
)
from goldpan.papers.crosscodebench.directory import stored_provenance
from goldpan.papers.crosscodebench.family import CROSSCODE
from goldpan.papers.crosscodebench.leaks import leaking_places
from goldpan.papers.crosscodebench.meta import DATA, META, Meta, meta_json
from goldpan.papers.crosscodebench.prompt_table import CrossSettings, prompt_rows
from goldpan.papers.crosscodebench.read_meta import list_metas, read_meta
from goldpan.papers.crosscodebench.splits import Assigned
from goldpan.papers.crosscodebench.spool import TaskCount, TaskFiles, spool_side

FAMILY = CROSSCODE.name
"""The family of a built split, in its provenance."""
TASKS = "tasks"
"""The folder of the tasks' meta information."""


@dataclass(frozen=True, slots=True)
class CrossCodeResult(Result):
    """The result of building a split."""

    directory: Path
    assigned: Assigned
    train: tuple[TaskCount, ...]
    evaluation: tuple[TaskCount, ...]
    leaks: dict[str, int]
    """Training instances that stand in the evaluation, by relation: exact, near."""
    examples_cut: int
    """Prompts that show fewer examples than the method wants, to keep to their length."""
    inputs_cut: int
    """Prompts whose input lacks its end."""
    seconds: float

    def plain(self) -> dict[str, Any]:
        """Return what was built as plain data."""
        return {
            "directory": str(self.directory),
            "split": self.assigned.name,
            "train": [asdict(task_count) for task_count in self.train],
            "evaluation": [asdict(task_count) for task_count in self.evaluation],
            "left_out": [asdict(left_out) for left_out in self.assigned.left_out],
            "leaking": self.leaks,
            "examples_cut": self.examples_cut,
            "inputs_cut": self.inputs_cut,
            "seconds": round(self.seconds, 3),
        }

    def blocks(self) -> Iterator[Block]:
        """Yield what the split holds, and what was left out of it."""
        cells = []
        for side, counts in (("train", self.train), ("evaluation", self.evaluation)):
            prompts = sum(count.drawn - count.leaking for count in counts)
            available = sum(count.available for count in counts)
            cells.append((side, len(counts), prompts, available))
        training, evaluating = (prompts for _, _, prompts, _ in cells)
        yield Title(
            self.assigned.name,
            f": {training:,} prompts to train on, {evaluating:,} to evaluate on"
            f" in {self.seconds:.1f} s",
        )
        yield Table(("side", "tasks", "prompts", "instances available"), cells)
        for task in self.assigned.left_out:
            yield Line(str(task))
        yield Line(
            f"{sum(self.leaks.values()):,} training instances dropped, as they also occur in the "
            f"evaluation: {self.leaks['exact']:,} exactly, {self.leaks['near']:,} nearly"
        )
        if self.examples_cut or self.inputs_cut:
            yield Line(
                f"{self.examples_cut:,} prompts lack examples for their length, "
                f"{self.inputs_cut:,} the end of the input"
            )
        yield Line(f"Written to {self.directory}")


def find_tasks(directories: Sequence[Path]) -> list[TaskFiles]:
    """Return the tasks of directories of task files, sorted by the names of their files.

    Raises `DatasetError` where a file is not as it should be, or two tasks have one name.
    """
    read_files: list[TaskFiles] = []
    path_of: dict[str, Path] = {}
    for path in (path for directory in directories for path in list_metas(directory)):
        meta = read_meta(path)
        for name in {meta.name, meta.stem}:
            if name in path_of:
                raise DatasetError(
                    f"{path} describes the task {name}, as {path_of[name]} does",
                    "Remove one of the two, or give --from once",
                )
            path_of[name] = path
        data = path.with_name(f"{meta.stem}{DATA}")
        if not data.is_file():
            raise DatasetError(f"{data} is missing", "Write the task's files again")
        read_files.append(TaskFiles(meta, data))
    return sorted(read_files, key=lambda task: task.meta.stem)


def build_split(
    workspace: Workspace,
    tasks: Sequence[TaskFiles],
    assigned: Assigned,
    settings: CrossSettings,
    directory: Path,
    reporter: Reporter,
) -> CrossCodeResult:
    """Write the prompts of a split to a directory, in place of an earlier one there.

    Up to 10,000 instances of a training task and 500 of an evaluation task are drawn; training
    instances whose input stands in the evaluation, exactly or nearly, are dropped. Raises
    `DatasetError` where one side has no task, or the directory holds something else.
    """
    started = time.monotonic()
    if assigned.empty:
        raise DatasetError(
            f"The split {assigned.name} has no task for {assigned.empty}",
            f"It evaluates on {assigned.split.evaluate}: add tasks with --source, or choose "
            "another of goldpan build crosscode splits",
        )
    stored_provenance(directory, FAMILY)
    by_stem = {task.meta.stem: task for task in tasks}
    tasks_of: dict[Side, list[TaskFiles]] = {
        "train": [by_stem[meta.stem] for meta in assigned.train],
        "evaluation": [by_stem[meta.stem] for meta in assigned.evaluation],
    }
    with workspace.scratch() as scratch, reporter.task(assigned.name, 4) as progress:
        evaluation = spool_side(
            scratch / "evaluation", tasks_of["evaluation"], settings.evaluation_cap, settings.seed
        )
        progress.advance()
        train = spool_side(scratch / "train", tasks_of["train"], settings.train_cap, settings.seed)
        progress.advance()
        leaks: Counter[str] = Counter()
        dropped = leaking_places(
            train.inputs(), evaluation.inputs, settings.duplicates, leaks, scratch=scratch
        )
        progress.advance()
        sides = Sides(
            assigned,
            tasks_of,
            {"train": train.counts_without(dropped), "evaluation": evaluation.counts},
        )
        counts = Counter(
            leaking_exact=leaks["exact"], leaking_near=leaks["near"], examples_cut=0, inputs_cut=0
        )
        rows = chain(
            prompt_rows("train", tasks_of["train"], train, dropped, settings, counts),
            prompt_rows("evaluation", tasks_of["evaluation"], evaluation, (), settings, counts),
        )
        write_dataset(
            workspace,
            directory,
            CROSSCODE,
            CROSSCODE.batches(rows),
            SplitPlan("given", seed=settings.seed),
            describe_provenance(sides, settings, counts),
            describe_card(sides, settings),
            extras=Extras(
                {f"{TASKS}/{meta.stem}{META}": meta_json(meta) for meta in sides.metas},
                describe_split(sides),
                (*train.quoted, *evaluation.quoted),
            ),
        )
        progress.advance()
    return CrossCodeResult(
        directory,
        assigned,
        sides.counts["train"],
        sides.counts["evaluation"],
        {relation: leaks[relation] for relation in ("exact", "near")},
        counts["examples_cut"],
        counts["inputs_cut"],
        time.monotonic() - started,
    )


def read_tasks(directory: Path) -> dict[str, Meta]:
    """Return the tasks of a built split by name."""
    metas = [read_meta(path) for path in list_metas(directory / TASKS)]
    return {meta.name: meta for meta in metas}
