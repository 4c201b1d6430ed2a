"""Files of tasks, written from the registry's tasks (sections III-A and III-B)."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from goldpan.papers.crosscodebench.instances import Instance, task_instances, write_instances
from goldpan.papers.crosscodebench.kinds import kind_of_task, number_tasks, task_settings
from goldpan.papers.crosscodebench.meta import (
    DATA,
    EXAMPLES,
    META,
    Meta,
    TaskExample,
    meta_json,
    stem_of,
)
from goldpan.plugins import data

TASK_FILES = "crosscode-tasks"
"""The family of a directory of task files, in its provenance."""
_LANGUAGES = {"en": "English"}
_SHORT = 400
"""Characters of input and output together up to which an instance is no worse for its length."""
_OUTPUTS = 64
"""Different outputs that are kept apart; further ones share a place."""


@dataclass(frozen=True, slots=True)
class TaskDataset:
    """A task and the directory of its rows."""

    task: data.Task
    directory: Path


@dataclass(frozen=True, slots=True)
class Exported(data.Result):
    """The task files that were written."""

    shown_in_json = ("instances", "tasks")

    directory: Path
    metas: tuple[Meta, ...] = field(metadata=data.NOT_IN_JSON)
    without_rows: tuple[str, ...] = ()
    """Tasks of the registry that the workspace has no rows of."""

    @property
    def instances(self) -> int:
        """The instances of all tasks."""
        return sum(meta.counts["total"] for meta in self.metas)

    @property
    def tasks(self) -> dict[str, dict[str, Any]]:
        """The tasks and the instances of each side, by the names of their files."""
        return {
            meta.stem: {"task": meta.name, "type": meta.kind.names, "instances": meta.counts}
            for meta in self.metas
        }


@data.renders(Exported)
def exported(result: Exported) -> Iterator[data.Block]:
    """Yield the written tasks."""
    for meta in result.metas:
        total = meta.counts["total"]
        yield data.Line(f"{meta.stem}: {meta.name}, {meta.kind}, {total:,} instances")
    if result.without_rows:
        yield data.Line(f"Without rows in the workspace: {', '.join(result.without_rows)}")
    yield data.Line(f"{result.instances:,} instances written to {result.directory}")


def export_tasks(
    workspace: data.WorkspaceLayout,
    datasets: Sequence[TaskDataset],
    directory: Path,
    reporter: data.Reporter,
    *,
    seed: int = 0,
) -> Exported:
    """Write two files for each task to a directory, in place of an earlier one there.

    Instances stream: memory follows a batch of rows. `seed` draws the examples that the registry
    does not give. Numbers stay: those of tasks that are not shipped are kept in the provenance
    of the directory. Raises `DatasetError` where a dataset is not that of its task.
    """
    stored = data.refuse_foreign(directory, TASK_FILES).get("settings", {}).get("numbers", {})
    numbers = number_tasks([dataset.task for dataset in datasets], stored)
    metas = []
    inputs: dict[str, str] = {}
    try:
        with workspace.replacing(directory) as building:
            with reporter.task("tasks", len(datasets)) as progress:
                for dataset in sorted(datasets, key=lambda dataset: dataset.task.name):
                    metas.append(_export(dataset, building, numbers[dataset.task.name], seed))
                    inputs[dataset.task.name] = data.file_digest(
                        dataset.directory / data.PROVENANCE
                    )
                    progress.advance()
            total = sum(meta.counts["total"] for meta in metas)
            about = {"family": TASK_FILES, "examples": total, "inputs": inputs}
            settings = {"seed": seed, "numbers": dict(sorted(numbers.items()))}
            files = {
                path.name: {"sha256": data.file_digest(path), "bytes": path.stat().st_size}
                for path in sorted(building.iterdir())
            }
            data.write_provenance(building, data.Provenance(settings=settings), about, files)
    except OSError as error:
        raise data.unwritable(directory, error, data.DatasetError) from None
    return Exported(directory, tuple(metas))


def meta_of(task: data.Task, number: int) -> Meta:
    """Return what a task's file says before its instances are known."""
    kind = kind_of_task(task)
    own_settings = task_settings(task)
    language = f"Natural Language -> {_LANGUAGES.get(task.language, task.language)}"
    form = "" if own_settings.definition_is_whole else data.answer_form(task)
    return Meta(
        stem=stem_of(number, task.source.dataset, kind),
        kind=kind,
        description=task.description,
        definition=" ".join(part for part in (task.definition.strip(), form) if part),
        source=task.source.dataset,
        categories=own_settings.categories or (task.category,),
        input_language=own_settings.input_language or language,
        output_language=own_settings.output_language or language,
        bibtex=task.source.citation,
        url=task.source.url,
        task=task,
    )


def _export(dataset: TaskDataset, building: Path, number: int, seed: int) -> Meta:
    task = dataset.task
    meta = meta_of(task, number)
    if (building / f"{meta.stem}{META}").exists():
        raise data.DatasetError(
            f"{task.name} and another task are both called {meta.stem}",
            "Give one of them another number or source dataset",
        )
    positive, negative = choose_examples(task, task_instances(dataset.directory, task), seed)
    counts: Counter[str] = Counter()

    def counted() -> Iterator[Instance]:
        for instance in task_instances(dataset.directory, task):
            counts[instance.split] += 1
            yield instance

    total = write_instances(building / f"{meta.stem}{DATA}", counted())
    if not total:
        raise data.DatasetError(f"{task.name} has no rows", f"Run goldpan tasks import {task.name}")
    sizes = {**dict(sorted(counts.items())), "total": total}
    whole = replace(meta, positive=positive, negative=negative, counts=sizes)
    (building / f"{meta.stem}{META}").write_bytes(meta_json(whole))
    return whole


def choose_examples(
    task: data.Task, instances: Iterable[Instance], seed: int
) -> tuple[tuple[TaskExample, ...], tuple[TaskExample, ...]]:
    """Return positive and negative examples, the task's own first, four of each where possible.

    The paper's coders chose four of each among short instances (section III-B2). Where the
    registry has fewer, `instances`, gone through once, make up for them: short ones, each output
    in turn, and those for training before others, so that tests stay unseen. A negative example is
    an input with the output of another, and says what would be right.
    """
    positive = [TaskExample(*fields) for fields in task.prompt.examples]
    negative = [TaskExample(*fields) for fields in task.prompt.negative_examples]
    needed = max(0, EXAMPLES - len(positive))
    if not needed and len(negative) >= EXAMPLES:
        return tuple(positive), tuple(negative)
    inputs = {example.input for example in (*positive, *negative)}
    candidates = _candidates(task, instances, seed, inputs)
    positive += [TaskExample(instance.input, instance.output) for instance in candidates[:needed]]
    outputs = [instance.output for instance in candidates]
    outputs += [example.output for example in positive]
    for instance in candidates[needed:] + candidates[:needed]:
        others = list(dict.fromkeys(output for output in outputs if output != instance.output))
        if len(negative) < EXAMPLES and others:
            wrong = others[len(negative) % len(others)]
            reason = f"The right output is: {instance.output}"
            negative.append(TaskExample(instance.input, wrong, reason))
    return tuple(positive), tuple(negative)


def _candidates(
    task: data.Task, instances: Iterable[Instance], seed: int, taken_inputs: set[str]
) -> list[Instance]:
    """Return short instances with different inputs, each output in turn."""
    most = 2 * EXAMPLES
    best: dict[str, list[tuple[tuple[int, int, int], int, Instance]]] = {}
    for index, instance in enumerate(instances):
        if instance.input in taken_inputs or not instance.input.strip():
            continue
        length = max(_SHORT, len(instance.input) + len(instance.output))
        drawn = data.draw_number(seed, task.name, instance.split, instance.idx, "example")
        rank = (-(instance.split != "train"), -length, -drawn)
        output = instance.output if instance.output in best or len(best) < _OUTPUTS else ""
        heap = best.setdefault(output, [])
        heapq.heappush(heap, (rank, -index, instance))  # no two indexes are the same
        if len(heap) > most:
            heapq.heappop(heap)
    groups = sorted((sorted(heap, reverse=True) for heap in best.values()), reverse=True)
    candidates: dict[str, Instance] = {}
    for turn in range(most):
        for _, _, instance in (group[turn] for group in groups if turn < len(group)):
            candidates.setdefault(instance.input, instance)
    return list(candidates.values())[:most]
