"""Reads one task out of TOML, or out of the provenance of a dataset that was made for it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from goldpan.core.errors import UsageError
from goldpan.core.settings_file import Source, parse_toml, read_toml
from goldpan.datasets.licenses import UNKNOWN
from goldpan.datasets.task import Task

_NAME = re.compile(r"[a-z][a-z0-9_]{0,79}")
_PAGE = "docs/tasks.md"


def read_path(path: Path) -> Task:
    """Read the task of one file; raises `UsageError` where it is none."""
    return _named(read_toml(path, _PAGE))


def read_task(file: str, text: str) -> Task:
    """Read the text of a task's file; the name of the file, without `.toml`, is the task's.

    Raises `UsageError` that names the file, the line, the key and the remedy.
    """
    return _named(parse_toml(file, text, _PAGE))


def _named(source: Source) -> Task:
    name = Path(source.name).name.removesuffix(".toml")
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{source.name}: {name!r} is not a name for a task",
            "Name the file in snake_case: small letters, digits and underscores, such as "
            "issue_type.toml",
        )
    return _task(source, source.named(name))


def task_of(values: Mapping[str, Any], source: str) -> Task:
    """Make a task of plain data; raises `UsageError` that begins with `source`."""
    return _task(Source(source, values, _PAGE), values)


def _task(source: Source, values: Mapping[str, Any]) -> Task:
    return source.read(Task, _with_texts(_with_defaults(values)))


def plain_task(task: Task) -> dict[str, Any]:
    """Return a task as plain data, of which `task_of` makes the same task again."""
    return asdict(task)


def _with_defaults(values: Mapping[str, Any]) -> dict[str, Any]:
    """Fill in what a task on data that were never published need not say.

    These are tasks whose source has no address: nobody else can have written its license, its
    citation or its prompts.
    """
    source, labels = values.get("source", {}), values.get("labels", [])
    if not isinstance(source, Mapping) or "url" in source or not isinstance(labels, list | tuple):
        return dict(values)
    names = [repr(label.get("name")) for label in labels if isinstance(label, Mapping)]
    choice = f"one of {', '.join(names)}" if names else "what the task asks for"
    title = str(values.get("title", values.get("name"))).replace("_", " ")
    unpublished = {
        "title": title,
        "reader": "table",
        "url": "",
        "license": UNKNOWN,
        "citation": "",
        "access": "no-copy",
        "dataset": str(values.get("name")).replace("_", "-"),
    }
    return {
        "title": title,
        "description": f"Answer with {choice}.",
        "activity": "maintenance",
        "definition": f"The input is a text. The output is {choice}.",
        "category": "Other",
        "prompt": {
            "context": "software engineering",
            "instruction": f"read the next text and answer with {choice}",
            "answer": "Answer with nothing else",
            "entity": "TEXT",
        },
        **values,
        "source": {**unpublished, **source},
    }


def _with_texts(values: Mapping[str, Any]) -> dict[str, Any]:
    """Call labels in prompts by their name where the file gives no other text."""
    labels = values.get("labels", [])
    if not isinstance(labels, list | tuple):
        return dict(values)
    named = [
        {"text": label.get("name"), "description": label.get("name"), **label}
        if isinstance(label, Mapping)
        else label
        for label in labels
    ]
    return {**values, "labels": named}
