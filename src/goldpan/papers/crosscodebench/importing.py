"""Brings task files, and the prompts of built splits, back as datasets of the workspace."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from importlib.resources import files
from itertools import chain, islice
from pathlib import Path
from typing import Any

import pyarrow as pa

from goldpan.papers.crosscodebench.build import FAMILY, side_rows
from goldpan.papers.crosscodebench.instances import (
    INSTANCES,
    Instance,
    read_instances,
    refused,
    task_rows,
)
from goldpan.papers.crosscodebench.meta import DATA, META, Meta, TaskExample, read_meta, slug
from goldpan.papers.crosscodebench.prompts import SHARDS, TRAIN_CAP
from goldpan.plugins import data

_BATCH = 256
_MOST_LABELS = 1_000
_UNKNOWN = "unknown"
_NEGATIVE = ("no", "correct", "false", "0", "negative")
"""Outputs that say that what is looked for is not there: not the positive class."""


@dataclass(frozen=True, slots=True)
class Imported(data.Result):
    """A task whose files were read into a dataset."""

    task: data.Task = field(metadata=data.NAME_IN_JSON)
    directory: Path
    splits: Mapping[str, int]
    """Rows by split."""
    task_file: Path | None
    """Where the task was written down, if the registry did not know it."""


@data.renders(Imported)
def imported(result: Imported) -> Iterator[data.Block]:
    """Yield the rows of the task, and whether it is new."""
    rows = ", ".join(f"{count:,} {split}" for split, count in sorted(result.splits.items()))
    yield data.Line(f"{result.task.name}: {result.task.type}, {rows}")
    if result.task_file:
        yield data.Line(f"  a new task, which {result.task_file} describes")


def import_task(workspace: data.WorkspaceLayout, meta_path: Path) -> Imported:
    """Read a task's two files into a dataset, and make the registry know the task.

    A task that Goldpan wrote comes back row by row as it was. One of the public benchmark becomes
    a task of the user's own in the workspace. Memory follows a batch of rows, beside the rows'
    names. Raises `DatasetError` that names file, field and instance; nothing is written then.
    """
    meta = read_meta(meta_path)
    data_path = meta_path.with_name(f"{meta.stem}{DATA}")
    task = meta.task or public_task(meta, read_instances(data_path))
    instances = read_instances(data_path)
    if not meta.task:
        instances = _named_instances(meta, task, instances)
    return _store(
        workspace,
        task,
        _read_rows(meta, task, instances),
        data_path.name,
        {
            "crosscode": meta.stem,
            "inputs": {at.name: data.file_digest(at) for at in (meta_path, data_path)},
        },
        f"The task {task.name}, read from files of CrossCodeBench.",
        data.DatasetError(f"{data_path} holds no instances", "Write the task files again"),
    )


def import_split(workspace: data.WorkspaceLayout, directory: Path) -> Imported:
    """Make a task of free text of a split: its prompts are the texts, its outputs the answers.

    Training prompts are the train rows, those of evaluation the test rows, each with its task of
    origin as `document`. Memory follows a batch. Raises `DatasetError` where a file is damaged.
    """
    task = _task(split_task_name(directory.name), f"CrossCodeBench {directory.name}")
    provenance = {data.PROVENANCE: data.file_digest(directory / data.PROVENANCE)}
    return _store(
        workspace,
        task,
        task_rows(task, _prompt_instances(directory, task)),
        directory.name,
        {"crosscode": directory.name, "inputs": provenance},
        f"The prompts of {directory.name}, a split of CrossCodeBench.",
        data.DatasetError(f"{directory} holds no prompts", "Build the split again"),
    )


def split_by_group(task: data.Task) -> data.Family:
    """Return the family of a task's rows whose column `group` names the split of each row.

    The official partition of rows stays as it is, even where it is null.
    """
    return replace(data.task_family(task), partition=data.GROUP)


def _store(
    workspace: data.WorkspaceLayout,
    task: data.Task,
    rows: Iterator[tuple[str, dict[str, Any]]],
    file: str,
    settings: Mapping[str, Any],
    summary: str,
    empty: data.DatasetError,
) -> Imported:
    """Write rows as the dataset of a task, and the task's file if the registry lacks it."""
    task_file = _new_task_file(workspace, task)
    counts: Counter[str] = Counter()
    batches = _batches(task, rows, file, counts)
    first = next(batches, None)
    if first is None:
        raise empty
    where = workspace.dataset(task.name)
    card = data.CardInputs(
        title=task.title, summary=summary, languages=(task.language,), subjects="rows"
    )
    data.write_dataset(
        workspace,
        where,
        split_by_group(task),
        chain([first], batches),
        data.SplitPlan("given"),
        data.Provenance(settings=settings),
        card,
    )
    if task_file:
        data.make_directory(task_file.parent)
        data.write_whole(task_file, task_toml(task).encode())
    return Imported(task, where, dict(counts), task_file)


def _batches(
    task: data.Task, rows: Iterator[tuple[str, dict[str, Any]]], file: str, counts: Counter[str]
) -> Iterator[pa.RecordBatch]:
    """Yield rows with their splits in `group`; `counts` fill by split."""
    schema = data.task_family(task).schema.append(pa.field(data.GROUP, pa.string()))
    while batch := [{**row, data.GROUP: split} for split, row in islice(rows, _BATCH)]:
        yield _packed(batch, schema, file, counts.total())
        counts.update(row[data.GROUP] for row in batch)


def _packed(rows: list[dict[str, Any]], schema: pa.Schema, file: str, start: int) -> pa.RecordBatch:
    """Return rows as a batch; raises `DatasetError` that names the instance that does not fit."""
    try:
        return pa.RecordBatch.from_pylist(rows, schema=schema)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        for number, row in enumerate(rows if len(rows) > 1 else (), start):
            _packed([row], schema, file, number)
        problem = data.FieldError(f"{INSTANCES}[{start}]", f"a column does not fit: {error}")
        raise refused(problem, file) from None


def _read_rows(
    meta: Meta, task: data.Task, instances: Iterable[Instance]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield split and row of the instances of a data file.

    Raises `DatasetError` for an instance that does not fit its task, or where the file has other
    counts than its meta information says.
    """
    counts: Counter[str] = Counter()
    try:
        for split, row in task_rows(task, instances):
            counts[split] += 1
            yield split, row
    except data.FieldError as error:
        raise refused(error, f"{meta.stem}{DATA}") from None
    announced, count = meta.counts.get("total"), counts.total()
    if announced not in (None, count):
        text = f"{count:,} instances, but {meta.stem}{META} announces {announced:,}"
        raise refused(data.FieldError("", text), f"{meta.stem}{DATA}")


def _new_task_file(workspace: data.WorkspaceLayout, task: data.Task) -> Path | None:
    """Return where to write a task that the registry lacks; None where it knows the same one."""
    own = data.tasks_directory(workspace.root)
    existing = data.load_tasks(own).get(task.name)
    if existing is None:
        return own / f"{task.name}.toml"
    if (existing.type, existing.label_names) != (task.type, task.label_names):
        raise data.UsageError(
            f"The registry has another task {task.name}, with another type or other labels",
            f"Remove {own / task.name}.toml if it is your own, or use another --workspace",
        )
    return None


def public_task(meta: Meta, instances: Iterable[Instance]) -> data.Task:
    """Return the task of a file that Goldpan did not write, whose labels are its outputs.

    A classification has two labels, or more; with over 1,000 outputs, and for all other types,
    the task is one of free text. `instances` are gone through once. `settings.crosscode` keeps what
    the registry has no field for, so that writing it again gives the same type and number.
    """
    outputs: set[str] = set()
    total = 0
    for instance in instances:
        total += 1
        if len(outputs) <= _MOST_LABELS:
            outputs.add(instance.output)
    labels = _labels(outputs) if meta.kind.type == "Classification" else []
    kind: data.TaskType = "text-generation"
    if labels:
        kind = "binary" if len(labels) == 2 else "multi-class"
    shared = _task(slug(meta.stem), f"{meta.description} ({meta.source})")
    return replace(
        shared,
        type=kind,
        description=meta.description,
        definition=meta.definition,
        category=meta.category or _UNKNOWN,
        source=replace(
            shared.source,
            title=meta.source,
            url=meta.url,
            citation=meta.bibtex,
            dataset=slug(meta.source).replace("_", "-"),
            note="It came as a file of CrossCodeBench.",
        ),
        prompt=replace(
            shared.prompt,
            instruction=meta.description.replace("{", "").replace("}", ""),
            examples=_plain(meta.positive),
            negative_examples=_plain(meta.negative),
        ),
        labels=tuple(data.Label(text, "", text) for text in labels),
        metric="macro_f1" if labels else "rouge_l",
        counts={"total": total},
        columns=data.TaskColumns(("input",), ("output",)),
        settings={
            "crosscode": {
                "number": meta.number,
                "type": meta.kind.names,
                "categories": list(meta.categories),
                "input_language": meta.input_language,
                "output_language": meta.output_language,
                "definition_is_whole": True,
            }
        },
    )


def _labels(outputs: set[str]) -> list[str]:
    if not 2 <= len(outputs) <= _MOST_LABELS:
        return []
    return sorted(outputs, key=lambda text: (text.casefold() in _NEGATIVE, text))


def _plain(examples: Iterable[TaskExample]) -> tuple[tuple[str, str, str], ...]:
    return tuple((example.input, example.output, example.reason) for example in examples)


def _named_instances(
    meta: Meta, task: data.Task, instances: Iterable[Instance]
) -> Iterator[Instance]:
    """Yield the instances under names that are unique in the task, with their place of origin."""
    for index, instance in enumerate(instances):
        source = f"{meta.stem}{DATA}#{instance.split}/{instance.idx}"
        facts = {"license": _UNKNOWN, "source": source}
        yield replace(instance, idx=f"{task.name}:{index:08}", facts=facts, exact={})


def is_split(directory: Path) -> bool:
    """Return whether a directory holds what `goldpan build crosscode split` wrote."""
    if not (directory / data.PROVENANCE).is_file():
        return False
    return data.read_provenance(directory).get("family") == FAMILY


def split_folder(split: str, method: str, layout: str = "lines", train_cap: int = TRAIN_CAP) -> str:
    """Return what the directory of a built split is called by default."""
    name = f"{split}-{method}".lower().replace("/", "-")
    if layout != "lines":
        name += f"-{layout}"
    return name if train_cap == TRAIN_CAP else f"{name}-{train_cap}"


def split_task_name(folder: str) -> str:
    """Return what the task of such a directory is called."""
    return f"crosscode_{slug(folder)}"


def _task(name: str, title: str) -> data.Task:
    """Return the task of `split_task.toml` under a name and a title."""
    values = data.read_toml(files(__package__) / "split_task.toml").values
    task = data.task_of({**values, "name": name, "title": title}, "split_task.toml")
    return replace(task, source=replace(task.source, title=title))


def _prompt_instances(directory: Path, task: data.Task) -> Iterator[Instance]:
    columns = ("id", "task", "repo", "license", "created_at", "prompt", "output")
    for side, split in SHARDS.items():
        for row in side_rows(directory, side, columns):
            moment = row["created_at"]
            facts = {
                "repo": row["repo"],
                "license": row["license"],
                "document": row["task"],
                "created_at": None if moment is None else moment.isoformat(),
            }
            yield Instance(row["prompt"], row["output"], split, f"{task.name}:{row['id']}", facts)


def task_toml(task: data.Task) -> str:
    """Return the text of a task's file; its name is left out, as the file's name says it."""
    return data.toml_text(
        {name: value for name, value in data.plain_task(task).items() if name != "name"}
    )
