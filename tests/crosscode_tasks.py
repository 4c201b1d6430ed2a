"""Small tasks of every type, their rows as datasets, and files of the public benchmark's form."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.datasets.family import GROUP
from goldpan.datasets.files import write_dataset
from goldpan.datasets.manifest import CardInputs
from goldpan.datasets.provenance import Provenance
from goldpan.datasets.splits import SplitPlan
from goldpan.datasets.tasks.task import (
    Label,
    Task,
    TaskPrompt,
    TaskSource,
    TaskType,
    input_column,
    target_column,
    task_family,
)
from goldpan.papers.crosscodebench.importing import split_by_group

LABELS: dict[str, tuple[Label, ...]] = {
    "binary": (Label("bug", "A fault.", "Yes"), Label("other", "No fault.", "No")),
    "multi-class": tuple(Label(name, "", name) for name in ("bug", "feature", "question")),
    "multi-label": tuple(Label(name, "", name) for name in ("joy", "anger", "fear")),
    "ner": tuple(Label(name, "", name) for name in ("O", "B-tool", "I-tool")),
}
TYPES: tuple[TaskType, ...] = (
    *("binary", "multi-class", "multi-label", "regression", "ner", "mlm", "text-generation"),
)


def make_task(name: str, kind: TaskType, *, dataset: str = "", **changes: Any) -> Task:
    """Return a task of a type; its source dataset is called like itself where none is given."""
    task = Task(
        name=name,
        title=name,
        type=kind,
        description=f"Solve {name}",
        definition=f"The input is a text. The output solves {name}.",
        category=f"{name} category",
        activity="maintenance",
        source=TaskSource(
            name, "https://example.org", "MIT", "@misc{x}", "public", dataset or f"{name}-data"
        ),
        prompt=TaskPrompt("testing", f"solve {name}", "Answer", "TEXT"),
        labels=LABELS.get(kind, ()),
    )
    return replace(task, **changes)


def make_row(task: Task, name: str, content: Any, target: Any, **facts: Any) -> dict[str, Any]:
    """Return a row of a task with all its columns."""
    row = dict.fromkeys(task_family(task).schema.names)
    row |= {"id": f"{task.name}:{name}", "license": "MIT"}
    row |= {input_column(task.type).name: content, target_column(task.type).name: target}
    return {**row, **facts}


def sample_rows(task: Task, count: int = 12) -> list[dict[str, Any]]:
    """Return rows of a task's type, with hostile ones among them."""
    names = list(task.label_names) or ["x"]
    rows = []
    for at in range(count):
        text = f"row {at} of {task.name} says “hello” \U0001f600\r\n\tOutput: {at}"
        match task.type:
            case "binary" | "multi-class":
                values: tuple[Any, Any] = (text, names[at % len(names)])
            case "multi-label":
                values = (text, names[: at % (len(names) + 1)])
            case "regression":
                values = (text, [1.0, 0.1 + 0.2, -0.0, 1e300, 5e-324, 13.0][at % 6])
            case "ner":
                words = ["use", "git: now", "a b", "", "line\nbreak", "x"][: at % 7]
                values = (words, [names[index % len(names)] for index in range(len(words))])
            case "mlm":
                values = (f"[MASK] {text}", [{"start": 7, "end": 10}, {"start": 10, "end": 12}])
                values = values if at % 3 else (text, [])
            case _:
                values = (text, f"answer\n{at}")
        facts: dict[str, Any] = {}
        if at % 2:
            when = datetime(2022, 1, 1, 12, 30, 15, 123456, UTC)
            facts = {"repo": "o/n", "created_at": when, "position": at, "partition": "train"}
        rows.append(make_row(task, f"{at:05}", *values, **facts))
    return rows


def write_rows(
    workspace: WorkspaceLayout, task: Task, splits: Mapping[str, Iterable[Mapping[str, Any]]]
) -> Path:
    """Write rows as the dataset of a task, each in its split; return the directory."""
    schema = task_family(task).schema.append(pa.field(GROUP, pa.string()))
    rows = [{**row, GROUP: split} for split, mine in splits.items() for row in mine]
    directory = workspace.dataset(task.name)
    write_dataset(
        workspace,
        directory,
        split_by_group(task),
        pa.Table.from_pylist(rows, schema=schema),
        SplitPlan("given"),
        Provenance(),
        CardInputs(),
    )
    return directory


def write_public(
    directory: Path, stem: str, instances: Iterable[Mapping[str, Any]], **changes: Any
) -> Path:
    """Write the files of a task as the public benchmark has them; return the meta file.

    A change to None leaves the field out.
    """
    example = {"input": "int a;", "output": "Yes", "reason": "It is so."}
    wrong = {"input": "int b;", "output": "No", "reason": ""}
    meta: dict[str, Any] = {
        "Source": ["some_dataset"],
        "Type": ["Classification", "Binary"],
        "BibTex": ["@misc{y, author = {Doe, J.}, title = {Why}, year = {2020}}"],
        "URL": ["https://example.org/data"],
        "Categories": ["Detection -> Something New"],
        "Prompt": ["Detect it"],
        "Definition": ["Say 'Yes' if it is there, 'No' otherwise."],
        "Input_language": ["Programming Language -> Java"],
        "Output_language": ["Natural Language -> English"],
        "Positive Examples": [example] * 4,
        "Negative Examples": [wrong] * 4,
        **changes,
    }
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"{stem}.meta.json"
    plain = {name: value for name, value in meta.items() if value is not None}
    path.write_text(json.dumps(plain, indent=4), encoding="utf-8")
    data = {"Instances": list(instances)}
    (directory / f"{stem}.data.json").write_text(json.dumps(data, indent=4), encoding="utf-8")
    return path
