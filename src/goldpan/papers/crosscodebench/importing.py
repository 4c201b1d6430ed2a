"""Brings task files, and the prompts of built splits, back as datasets of the workspace."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from goldpan.papers.crosscodebench.build import FAMILY, side_rows
from goldpan.papers.crosscodebench.instances import FACTS, Instance, read_instances, refused
from goldpan.papers.crosscodebench.meta import DATA, META, Meta, TaskExample, read_meta, slug
from goldpan.papers.crosscodebench.prompts import SHARDS, TRAIN_CAP
from goldpan.plugins import data

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
    """Read a task's two files into a dataset, as a task of the user's own in the workspace.

    Memory follows a batch of rows. Raises `DatasetError` that names file, field and instance;
    nothing is written then.
    """
    meta = read_meta(meta_path)
    data_path = meta_path.with_name(f"{meta.stem}{DATA}")
    task = public_task(meta, read_instances(data_path))
    settings = {
        "crosscode": meta.stem,
        "inputs": {at.name: data.file_digest(at) for at in (meta_path, data_path)},
    }
    summary = f"The task {task.name}, read from files of CrossCodeBench."
    return _store(workspace, task, _rows(meta, task, data_path), settings, summary)


def import_split(workspace: data.WorkspaceLayout, directory: Path) -> Imported:
    """Make a task of free text of a split: its prompts are the texts, its outputs the answers.

    Training prompts are the train rows, those of evaluation the test rows, each with its task of
    origin as `document`. Memory follows a batch. Raises `DatasetError` where a file is damaged.
    """
    task = _task(split_task_name(directory.name), f"CrossCodeBench {directory.name}")
    provenance = {data.PROVENANCE: data.file_digest(directory / data.PROVENANCE)}
    settings = {"crosscode": directory.name, "inputs": provenance}
    summary = f"The prompts of {directory.name}, a split of CrossCodeBench."
    return _store(workspace, task, _prompts(directory, task), settings, summary)


def split_by_group(task: data.Task) -> data.Family:
    """Return the family of a task's rows whose column `group` names the split of each row.

    The official partition of rows stays as it is, even where it is null.
    """
    return replace(data.task_family(task), partition=data.GROUP)


def _store(
    workspace: data.WorkspaceLayout,
    task: data.Task,
    rows: Iterator[dict[str, Any]],
    settings: Mapping[str, Any],
    summary: str,
) -> Imported:
    """Write rows as the dataset of a task, and the task's file if the registry lacks it."""
    task_file = _new_task_file(workspace, task)
    family = split_by_group(task)
    empty = dict.fromkeys(family.schema.names)
    card = data.CardInputs(
        title=task.title, summary=summary, languages=(task.language,), subjects="rows"
    )
    written = data.write_dataset(
        workspace,
        workspace.dataset(task.name),
        family,
        family.batches({**empty, **row} for row in rows),
        data.SplitPlan("given"),
        data.Provenance(settings=settings),
        card,
    )
    if task_file:
        data.make_directory(task_file.parent)
        data.write_whole(task_file, task_toml(task).encode())
    splits = {split.name: split.rows for split in written.splits}
    return Imported(task, written.directory, splits, task_file)


def _rows(meta: Meta, task: data.Task, path: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of a data file, under names that are unique in the task.

    Raises `DatasetError` where the file has another count than its meta information says.
    """
    count = 0
    target = data.target_column(task.type).name
    for instance in read_instances(path):
        try:
            origin = instance.origin(count)
        except data.FieldError as error:
            raise refused(error, path.name) from None
        yield {
            **origin,
            "id": f"{task.name}:{count:08}",
            "license": origin["license"] or meta.license or _UNKNOWN,
            "source": f"{path.name}#{instance.split}/{instance.idx}",
            "text": instance.input,
            target: instance.output,
            data.GROUP: instance.split,
        }
        count += 1
    announced = meta.counts.get("total")
    if announced not in (None, count):
        text = f"{count:,} instances, but {meta.stem}{META} announces {announced:,}"
        raise refused(data.FieldError("", text), path.name)


def _prompts(directory: Path, task: data.Task) -> Iterator[dict[str, Any]]:
    columns = ("id", "task", *FACTS, "prompt", "output")
    target = data.target_column(task.type).name
    for side, split in SHARDS.items():
        for row in side_rows(directory, side, columns):
            yield {
                "id": f"{task.name}:{row['id']}",
                "document": row["task"],
                **{name: row[name] for name in FACTS},
                "text": row["prompt"],
                target: row["output"],
                data.GROUP: split,
            }


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


def task_toml(task: data.Task) -> str:
    """Return the text of a task's file; its name is left out, as the file's name says it."""
    return data.toml_text({name: value for name, value in asdict(task).items() if name != "name"})
