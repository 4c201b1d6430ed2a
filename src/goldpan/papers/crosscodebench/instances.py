"""Instances of a task: in its data file, and out of the rows of its dataset."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

import orjson

from goldpan.plugins import data
from goldpan.plugins.data import input_text

INSTANCES = "Instances"
FACTS = ("repo", "license", "created_at")
PARTS = " ||| "
"""The joint of an input's parts, such as two pieces of code, as the paper's authors have it."""
_SPLITS = {
    "train": "train",
    "valid": "validation",
    "validation": "validation",
    "dev": "validation",
    "test": "test",
}
_BATCH = 512


def refused(error: data.FieldError, file: str) -> data.DatasetError:
    """Return the error that names the file, the field and what is wrong with it."""
    where = f"{file}: {error.field}" if error.field else file
    return data.DatasetError(f"{where}: {error.text}", "Correct the file")


def text_of(value: object, field: str = "") -> str:
    """Return a value that has to be text; raises `FieldError`."""
    if not isinstance(value, str):
        shown = "null" if value is None else f"{type(value).__name__} {str(value)[:40]}"
        raise data.FieldError(field, f"{shown} is not text")
    return value


@dataclass(frozen=True, slots=True)
class Instance:
    """One input and its right output."""

    input: str
    output: str
    split: str
    """The split of its own task: train, validation or test."""
    idx: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    """Where it is from, as far as known: repo, license, created_at."""

    def plain(self) -> dict[str, Any]:
        """Return it as a data file holds it, by the names that the paper's authors use."""
        plain = asdict(self)
        return plain if self.facts else {key: plain[key] for key in plain if key != "facts"}

    def origin(self, index: int) -> dict[str, Any]:
        """Return its facts as columns of a row, null where not said; raises `FieldError`."""
        where = f"{INSTANCES}[{index}].facts"
        facts = {
            name: None if self.facts.get(name) is None else text_of(self.facts[name], where)
            for name in FACTS
        }
        if (moment := facts["created_at"]) is None:
            return facts
        try:
            at = datetime.fromisoformat(moment)
        except ValueError:
            problem = f"{moment[:40]!r} is not a time"
            raise data.FieldError(f"{where}.created_at", problem) from None
        return {**facts, "created_at": at if at.tzinfo else at.replace(tzinfo=UTC)}


def read_instances(path: Path) -> Iterator[Instance]:
    """Yield the instances of a data file as they stand there.

    Raises `DatasetError` that names file and instance, after those that could be read.
    """
    try:
        for index, value in enumerate(read_values(path)):
            yield instance_of(value, index)
    except data.FieldError as error:
        raise refused(error, path.name) from None
    except OSError as error:
        raise data.DatasetError(
            f"{path} cannot be read: {error.strerror}", "Check the file"
        ) from None


def read_values(path: Path) -> Iterator[object]:
    """Yield what a data file has as instances; raises `FieldError`, and `OSError`."""
    with path.open("rb") as file:
        yield from data.read_array(file, INSTANCES)


def instance_of(value: object, index: int) -> Instance:
    """Return what an element of a data file holds; `index` is its number there, from 0.

    An input of several texts is joined. Case does not count in names, an instance without a
    number goes by its place, and without a split it is for training. Raises `FieldError`.
    """
    where = f"{INSTANCES}[{index}]"
    if not isinstance(value, dict):
        raise data.FieldError(where, "is not an object with input and output")
    fields = value if "input" in value else {key.lower(): item for key, item in value.items()}
    for name in ("input", "output"):
        if name not in fields:
            raise data.FieldError(f"{where}.{name}", "is missing")
    idx, facts = fields.get("idx", index), fields.get("facts", {})
    if not isinstance(facts, dict):
        raise data.FieldError(f"{where}.facts", "is not an object")
    return Instance(
        joined_text(fields["input"], f"{where}.input"),
        joined_text(fields["output"], f"{where}.output"),
        _split(fields.get("split", "train"), f"{where}.split"),
        str(idx) if isinstance(idx, int) else text_of(idx, f"{where}.idx"),
        facts,
    )


def joined_text(value: object, field_name: str) -> str:
    """Return a text, or several as one; raises `FieldError` for anything else."""
    if isinstance(value, list):
        return PARTS.join(text_of(part, f"{field_name}[{at}]") for at, part in enumerate(value))
    return text_of(value, field_name)


def _split(value: object, field_name: str) -> str:
    name = text_of(value, field_name).lower()
    if name not in _SPLITS:
        raise data.FieldError(field_name, f"{name[:40]!r} is none of {', '.join(_SPLITS)}")
    return _SPLITS[name]


def write_instances(path: Path, instances: Iterable[Instance]) -> int:
    """Write a data file, an instance a line, and return how many there are."""
    count = 0
    waiting = iter(instances)
    with data.named(path), path.open("wb") as file:
        file.write(b'{"Instances": [')
        while batch := list(islice(waiting, _BATCH)):
            lines = b",\n".join(orjson.dumps(instance.plain()) for instance in batch)
            file.write((b",\n" if count else b"\n") + lines)
            count += len(batch)
        file.write(b"\n]}\n")
    return count


def task_instances(directory: Path, task: data.Task) -> Iterator[Instance]:
    """Yield the rows of a task's dataset as instances, in the order in which they lie.

    Memory follows a batch of rows. Raises `DatasetError` where the directory holds no dataset of
    the task, or a row does not fit it.
    """
    wording = data.wording_of(task)
    for split, batch in data.task_batches(directory, task):
        for row in batch.to_pylist():
            yield instance_of_row(wording, row, split)


def instance_of_row(wording: data.Wording, row: Mapping[str, Any], split: str) -> Instance:
    """Return a row as an instance; raises `DatasetError` where it does not fit its task."""
    task = wording.task
    names = data.input_column(task.type).name, data.target_column(task.type).name
    values = row[names[0]], row[names[1]]
    try:
        for name in ("id", *names):
            if row[name] is None:
                raise data.WordingError(f"the column {name} is null")
        texts = input_text(wording, *values), data.output_text(wording, *values)
    except data.WordingError as error:
        raise data.DatasetError(
            f"The row {row['id']} of {task.name} cannot be written as text: {error}",
            f"Fix its source and run goldpan tasks import {task.name}",
        ) from None
    facts = {
        name: value.isoformat() if isinstance(value, datetime) else value
        for name in FACTS
        if (value := row[name]) is not None
    }
    return Instance(*texts, split, row["id"], facts)
