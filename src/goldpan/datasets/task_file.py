"""Reads one task out of TOML, or out of the provenance of a dataset that was made for it."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import asdict, fields
from functools import cache
from pathlib import PurePath
from typing import Any

from pydantic import TypeAdapter, ValidationError

from goldpan.core.errors import UsageError
from goldpan.core.suggest import question
from goldpan.datasets.licenses import UNKNOWN
from goldpan.datasets.task import Label, Task, TaskColumns, TaskPrompt, TaskSource

_NAME = re.compile(r"[a-z][a-z0-9_]{0,79}")
_TASK_KEYS = frozenset(field.name for field in fields(Task))
_PARTS: dict[str, type] = {"source": TaskSource, "prompt": TaskPrompt, "columns": TaskColumns}


def read_task(file: str, text: str) -> Task:
    """Read the text of a task's file; the name of the file, without `.toml`, is the task's.

    Raises `UsageError` that names the file, the key and the remedy.
    """
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{file} is not valid TOML: {error}", "Correct it") from None
    name = PurePath(file).name.removesuffix(".toml")
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{file}: {name!r} is not a name for a task",
            "Name the file in snake_case: small letters, digits and underscores, such as "
            "issue_type.toml",
        )
    if "name" in values:
        raise UsageError(f"{file}: name is given twice", "Remove it; the file's name says it")
    return task_of({**values, "name": name}, file)


def task_of(values: Mapping[str, Any], source: str) -> Task:
    """Make a task of plain data; raises `UsageError` that begins with `source`."""
    unknown = list(_unknown_keys(values))
    problems = [f"{problem} ({remedy[:1].lower()}{remedy[1:]})" for problem, remedy in unknown]
    task_values = {key: value for key, value in values.items() if key in _TASK_KEYS}
    try:
        task = _adapter().validate_python(_with_texts(_with_defaults(task_values)))
    except ValidationError as error:
        problems += [_problem_text(part) for part in error.errors(include_url=False)]
        if len(problems) == 1:
            missing = problems[0].endswith(" is missing")
            remedy = f"{'Add' if missing else 'Correct'} it. {_HELP}"
            raise UsageError(f"{source}: {problems[0]}", remedy) from None
    if len(problems) == 1:
        raise UsageError(f"{source}: {unknown[0][0]}", unknown[0][1])
    if problems:
        many = f"{len(problems)} things are missing or wrong: {'; '.join(problems)}"
        raise UsageError(f"{source}: {many}", f"Correct them all. {_HELP}")
    return task


def _problem_text(error: Any) -> str:
    """Return what is wrong with one key."""
    key = _path(error["loc"])
    if error["type"] in ("missing", "missing_argument"):
        return f"{key} is missing"
    return f"{key}: {error['msg']}"


def plain_task(task: Task) -> dict[str, Any]:
    """Return a task as plain data, of which `task_of` makes the same task again."""
    return asdict(task)


_HELP = "docs/tasks.md describes every key"


@cache
def _adapter() -> TypeAdapter[Task]:
    return TypeAdapter(Task)


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


def _unknown_keys(values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    tables: list[tuple[str, object, type]] = [("", values, Task)]
    tables += [(f"{name}.", values.get(name), kind) for name, kind in _PARTS.items()]
    labels = values.get("labels")
    if isinstance(labels, list | tuple):
        tables += [(f"labels[{at}].", label, Label) for at, label in enumerate(labels)]
    for prefix, table, kind in tables:
        names = [field.name for field in fields(kind)]
        for key in table if isinstance(table, Mapping) else ():
            if key not in names:
                remedy = question(str(key), names) or f"It may hold {', '.join(names)}"
                yield f"the key {prefix}{key} is unknown", remedy


def _path(location: tuple[int | str, ...]) -> str:
    parts = [f"[{part}]" if isinstance(part, int) else f".{part}" for part in location]
    return "".join(parts).removeprefix(".")
