"""Builds a split of CrossCodeBench: prompts for training and for evaluation on unseen tasks."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from pathlib import Path

from goldpan.builders.crosscode.directory import files_of, replacing
from goldpan.builders.crosscode.leaks import leaking_places
from goldpan.builders.crosscode.meta import DATA, META, Meta, meta_json
from goldpan.builders.crosscode.prompt_table import CrossSettings, write_side
from goldpan.builders.crosscode.read_meta import list_metas, read_meta
from goldpan.builders.crosscode.splits import Assigned
from goldpan.builders.crosscode.spool import TaskCount, TaskFiles, spool_side
from goldpan.core.errors import DatasetError
from goldpan.core.progress import Reporter
from goldpan.core.workspace import Workspace
from goldpan.datasets.provenance import Provenance, digest, write_provenance

FAMILY = "crosscode"
"""The family of a built split, in its provenance."""
TASKS = "tasks"
"""The folder of the tasks' meta information."""


@dataclass(frozen=True, slots=True)
class CrossCodeResult:
    """What building a split gave."""

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


def find_tasks(directories: Sequence[Path]) -> list[TaskFiles]:
    """Return the tasks of directories of task files, sorted by the names of their files.

    Raises `DatasetError` where a file is not as it should be, or two tasks have one name.
    """
    read_files: list[TaskFiles] = []
    taken: dict[str, Path] = {}
    for path in (path for directory in directories for path in list_metas(directory)):
        meta = read_meta(path)
        for name in {meta.name, meta.stem}:
            if name in taken:
                raise DatasetError(
                    f"{path} describes the task {name}, as {taken[name]} does",
                    "Remove one of the two, or give --from once",
                )
            taken[name] = path
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
    begun = time.monotonic()
    if assigned.empty:
        raise DatasetError(
            f"The split {assigned.name} has no task for {assigned.empty}",
            f"It evaluates on {assigned.split.evaluate}: add tasks with --from, or choose another "
            "of goldpan build crosscode splits",
        )
    by_stem = {task.meta.stem: task for task in tasks}
    sides = {
        "train": [by_stem[meta.stem] for meta in assigned.train],
        "evaluation": [by_stem[meta.stem] for meta in assigned.evaluation],
    }
    with replacing(workspace, directory, FAMILY) as building:
        scratch = building.parent
        with reporter.task(assigned.name, 4) as progress:
            evaluation = spool_side(
                scratch / "evaluation", sides["evaluation"], settings.evaluation_cap, settings.seed
            )
            progress.advance()
            train = spool_side(scratch / "train", sides["train"], settings.train_cap, settings.seed)
            progress.advance()
            leaks: Counter[str] = Counter()
            dropped = leaking_places(
                train.inputs(), evaluation.inputs, settings.duplicates, leaks, scratch=scratch
            )
            progress.advance()
            cuts: Counter[str] = Counter()
            lost = write_side(building, "train", sides["train"], train, dropped, settings, cuts)
            write_side(
                building, "evaluation", sides["evaluation"], evaluation, set(), settings, cuts
            )
            progress.advance()
        trained = tuple(
            replace(count, leaking=lost[number]) for number, count in enumerate(train.counts)
        )
        built = CrossCodeResult(
            directory,
            assigned,
            trained,
            evaluation.counts,
            {relation: leaks[relation] for relation in ("exact", "near")},
            cuts["examples"],
            cuts["input"],
            time.monotonic() - begun,
        )
        _write_tasks(building, (*assigned.train, *assigned.evaluation))
        _write_provenance(building, built, sides, settings)
    return built


def _write_tasks(building: Path, metas: Iterable[Meta]) -> None:
    """Keep what prompts and shortcut baselines were made of beside them."""
    folder = building / TASKS
    folder.mkdir()
    for meta in metas:
        (folder / f"{meta.stem}{META}").write_bytes(meta_json(meta))


def _write_provenance(
    building: Path,
    built: CrossCodeResult,
    sides: dict[str, list[TaskFiles]],
    settings: CrossSettings,
) -> None:
    assigned = built.assigned
    budget = settings.budget
    about = {
        "family": FAMILY,
        "examples": sum(count.drawn - count.leaking for count in (*built.train, *built.evaluation)),
        "split": {"name": assigned.name, **asdict(assigned.split)},
        "train": [asdict(count) for count in built.train],
        "evaluation": [asdict(count) for count in built.evaluation],
        "left_out": [asdict(left_out) for left_out in assigned.left_out],
        "inputs": {
            path.name: digest(path)
            for tasks in sides.values()
            for task in tasks
            for path in (task.data, task.data.with_name(f"{task.meta.stem}{META}"))
        },
    }
    provenance = Provenance(
        settings={
            "method": settings.method.name,
            "seed": settings.seed,
            "budget": {"most": budget.most, "unit": budget.unit} if budget else None,
            "train_cap": settings.train_cap,
            "evaluation_cap": settings.evaluation_cap,
            "duplicates": asdict(settings.duplicates),
            "layout": settings.layout,
        },
        versions={"rensa": version("rensa")},
        counts={
            "leaking_exact": built.leaks["exact"],
            "leaking_near": built.leaks["near"],
            "examples_cut": built.examples_cut,
            "inputs_cut": built.inputs_cut,
        },
    )
    write_provenance(building, provenance, about, files_of(building))


def read_tasks(directory: Path) -> dict[str, Meta]:
    """Return the tasks of a built split by name."""
    metas = [read_meta(path) for path in list_metas(directory / TASKS)]
    return {meta.name: meta for meta in metas}
