"""An instance of a task: an input, its output, and what else is known of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import orjson

from goldpan.core.errors import DatasetError
from goldpan.core.resources import named
from goldpan.papers.crosscodebench.json_stream import read_array
from goldpan.papers.crosscodebench.problems import FieldError, refused, text_of

INSTANCES = "Instances"
PARTS = " ||| "
"""What joins an input of several parts, such as two pieces of code, as the paper's authors do."""
_SPLITS = {
    "train": "train",
    "valid": "validation",
    "validation": "validation",
    "dev": "validation",
    "test": "test",
}
_BATCH = 512


@dataclass(frozen=True, slots=True)
class Instance:
    """One input and its right output."""

    input: str
    output: str
    split: str
    """Of its own task: train, validation or test."""
    idx: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    """Columns of the task's row that are neither input nor output, those that are not null."""
    exact: Mapping[str, Any] = field(default_factory=dict)
    """The input and target columns, where the texts alone do not give them back."""

    def plain(self) -> dict[str, Any]:
        """Return it as a data file holds it, by the names that the paper's authors use."""
        values: dict[str, Any] = {
            "input": self.input,
            "output": self.output,
            "split": self.split,
            "idx": self.idx,
        }
        if self.facts:
            values["facts"] = self.facts
        if self.exact:
            values["exact"] = self.exact
        return values


def read_instances(path: Path) -> Iterator[Instance]:
    """Yield the instances of a data file as they stand there.

    Raises `DatasetError` that names file and instance, after those that could be read.
    """
    try:
        for index, value in enumerate(read_array(path, INSTANCES)):
            yield instance_of(value, index)
    except FieldError as error:
        raise refused(error.problem(path.name)) from None
    except OSError as error:
        raise DatasetError(f"{path} cannot be read: {error.strerror}", "Check the file") from None


def instance_of(value: object, index: int) -> Instance:
    """Return what an element of a data file holds; `index` is its number there, from 0.

    An input of several texts is joined. Case does not count in names, an instance without a
    number goes by its place, and without a split it is for training. Raises `FieldError`.
    """
    where = f"{INSTANCES}[{index}]"
    if not isinstance(value, dict):
        raise FieldError(where, "is not an object with input and output")
    fields = value if "input" in value else {key.lower(): item for key, item in value.items()}
    for name in ("input", "output"):
        if name not in fields:
            raise FieldError(f"{where}.{name}", "is missing")
    return Instance(
        joined_text(fields["input"], f"{where}.input"),
        joined_text(fields["output"], f"{where}.output"),
        _split(fields.get("split", "train"), f"{where}.split"),
        _idx(fields.get("idx", index), f"{where}.idx"),
        _object(fields.get("facts", {}), f"{where}.facts"),
        _object(fields.get("exact", {}), f"{where}.exact"),
    )


def joined_text(value: object, field_name: str) -> str:
    """Return a text, or several as one; raises `FieldError` for anything else."""
    if isinstance(value, list):
        parts = [text_of(part, f"{field_name}[{at}]") for at, part in enumerate(value)]
        return PARTS.join(parts)
    return text_of(value, field_name)


def write_instances(path: Path, instances: Iterable[Instance]) -> int:
    """Write a data file, an instance a line, and return how many there are."""
    count = 0
    left = iter(instances)
    with named(path), path.open("wb") as file:
        file.write(b'{"Instances": [')
        while batch := list(islice(left, _BATCH)):
            lines = b",\n".join(orjson.dumps(instance.plain()) for instance in batch)
            file.write((b",\n" if count else b"\n") + lines)
            count += len(batch)
        file.write(b"\n]}\n")
    return count


def _split(value: object, field_name: str) -> str:
    name = text_of(value, field_name).lower()
    if name not in _SPLITS:
        raise FieldError(field_name, f"{name[:40]!r} is none of {', '.join(_SPLITS)}")
    return _SPLITS[name]


def _idx(value: object, field_name: str) -> str:
    if isinstance(value, int):
        return str(value)
    return text_of(value, field_name)


def _object(value: object, field_name: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise FieldError(field_name, "is not an object")
    return value
