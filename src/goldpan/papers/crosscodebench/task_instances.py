"""A task's rows as instances, and instances as rows: one is the exact reverse of the other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from goldpan.core.errors import DatasetError
from goldpan.datasets.task import Task
from goldpan.datasets.task_data import task_batches
from goldpan.datasets.task_rows import input_column, target_column, task_family
from goldpan.datasets.wording import (
    Wording,
    WordingError,
    input_text,
    output_text,
    read_texts,
    wording_of,
)
from goldpan.papers.crosscodebench.instance import INSTANCES, Instance
from goldpan.papers.crosscodebench.problems import FieldError, text_of


def task_instances(directory: Path, task: Task) -> Iterator[Instance]:
    """Yield the rows of a task's dataset as instances, in the order in which they lie.

    Memory follows a batch of rows. Raises `DatasetError` where the directory holds no dataset of
    the task, or a row does not fit it.
    """
    wording = wording_of(task)
    for split, batch in task_batches(directory, task):
        for row in batch.to_pylist():
            yield instance_of_row(wording, row, split)


def instance_of_row(wording: Wording, row: Mapping[str, Any], split: str) -> Instance:
    """Return a row as an instance; raises `DatasetError` where it does not fit its task."""
    task = wording.task
    given_name, target_name = input_column(task.type).name, target_column(task.type).name
    input_value, target = row[given_name], row[target_name]
    try:
        for name in ("id", given_name, target_name):
            if row[name] is None:
                raise WordingError(f"the column {name} is null")
        texts = input_text(wording, input_value, target), output_text(wording, input_value, target)
    except WordingError as error:
        raise DatasetError(
            f"The row {row['id']} of {task.name} cannot be written as text: {error}",
            f"Fix its source and run goldpan tasks import {task.name}",
        ) from None
    facts = {
        name: value.isoformat() if isinstance(value, datetime) else value
        for name, value in row.items()
        if value is not None and name not in ("id", given_name, target_name)
    }
    exact = (
        {}
        if _texts_suffice(wording, texts, input_value, target)
        else {given_name: input_value, target_name: target}
    )
    return Instance(*texts, split, row["id"], facts, exact)


class RowReader:
    """Makes rows of a task out of its instances."""

    def __init__(self, task: Task) -> None:
        self._wording = wording_of(task)
        self._given = input_column(task.type).name
        self._target = target_column(task.type).name
        self._facts = {
            column.name: column.kind
            for column in task_family(task).columns
            if column.name not in ("id", self._given, self._target)
        }

    def row(self, instance: Instance, index: int) -> dict[str, Any]:
        """Return the row of an instance; `index` is its number in the file, for the message.

        Raises `FieldError` where the instance does not fit the task.
        """
        where = f"{INSTANCES}[{index}]"
        input_value, target = self._values(instance, where)
        row = {"id": instance.idx, self._given: input_value, self._target: target}
        if strange := sorted(instance.facts.keys() - self._facts.keys()):
            raise FieldError(f"{where}.facts.{strange[0][:80]}", "is not a column of the task")
        for name, kind in self._facts.items():
            value = instance.facts.get(name)
            row[name] = None if value is None else _fact(value, kind, f"{where}.facts.{name}")
        return row

    def _values(self, instance: Instance, where: str) -> tuple[Any, Any]:
        if instance.exact:
            for name in (self._given, self._target):
                if instance.exact.get(name) is None:
                    raise FieldError(f"{where}.exact.{name}", "is missing")
            return instance.exact[self._given], instance.exact[self._target]
        try:
            return read_texts(self._wording, instance.input, instance.output)
        except WordingError as error:
            raise FieldError(where, str(error)) from None


def task_rows(task: Task, instances: Iterable[Instance]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the split and the row of each instance; raises `FieldError` for one that fits not."""
    reader = RowReader(task)
    for index, instance in enumerate(instances):
        yield instance.split, reader.row(instance, index)


def _texts_suffice(wording: Wording, texts: tuple[str, str], input_value: Any, target: Any) -> bool:
    """Say whether the texts alone give the row back; else its values go along with them."""
    try:
        read = read_texts(wording, *texts)
    except WordingError:
        return False
    return read == (input_value, target)


def _fact(value: object, kind: pa.DataType, field: str) -> object:
    if not pa.types.is_timestamp(kind):
        return text_of(value, field) if pa.types.is_string(kind) else value
    try:
        return datetime.fromisoformat(text_of(value, field))
    except ValueError:
        raise FieldError(field, f"{str(value)[:40]!r} is not a time") from None
