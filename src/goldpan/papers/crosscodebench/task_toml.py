"""Writes a task as TOML, as the registry reads it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from goldpan.datasets.task import Task
from goldpan.datasets.task_file import plain_task


def task_toml(task: Task) -> str:
    """Return the text of a task's file; its name is left out, as the file's name says it."""
    plain = {name: value for name, value in plain_task(task).items() if name != "name"}
    lines = [f"{_key(name)} = {_value(value)}" for name, value in plain.items() if _flat(value)]
    for name, value in plain.items():
        if not _flat(value):
            lines += ["", f"[{_key(name)}]"]
            lines += [f"{_key(key)} = {_value(inner)}" for key, inner in value.items()]
    return "\n".join(lines) + "\n"


def _flat(value: object) -> bool:
    return not isinstance(value, Mapping)


def _key(name: str) -> str:
    return _text(name)


def _value(value: Any) -> str:
    match value:
        case str():
            return _text(value)
        case Mapping():
            inner = ", ".join(f"{_key(name)} = {_value(item)}" for name, item in value.items())
            return f"{{{inner}}}"
        case list() | tuple():
            return f"[{', '.join(map(_value, value))}]"
        case _:
            return orjson.dumps(value).decode()


def _text(text: str) -> str:
    """Write a text as JSON does, which TOML reads alike but for one character."""
    return orjson.dumps(text).decode().replace("\x7f", "\\u007f")
