"""The trainings of one run: a single one, one for each project, or one without each project."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa

from goldpan.core.errors import EvaluationError, UsageError
from goldpan.datasets.task_data import TaskData
from goldpan.evaluation.columns import NO_VALUE, values_of
from goldpan.evaluation.protocol import Protocol


@dataclass(frozen=True, slots=True)
class Part:
    """What one model learns from and answers."""

    name: str
    """The value of the column that parts the rows; empty where one model does all."""
    splits: Mapping[str, pa.Table]


def parts_of(data: TaskData, protocol: Protocol, *, needs_train: bool = True) -> tuple[Part, ...]:
    """Return the parts that a protocol asks for; every test row is in one of them.

    Raises `UsageError` where rows lack the column, `EvaluationError` where a part has nothing to
    learn from.
    """
    column = protocol.leave_out or protocol.model_per
    if not column:
        return (Part("", data.splits),)
    for name, rows in data.splits.items():
        if column not in rows.column_names or rows[column].null_count:
            raise UsageError(
                f"The protocol {protocol.name} wants a {column} of each row, and the {name} rows "
                f"of {data.task.name} lack some",
                "Choose another --protocol, or import the rows with their projects",
            )
    values = {name: values_of(rows, column) for name, rows in data.splits.items()}
    parts = []
    for value in sorted(set(values["test"]) - {NO_VALUE}):
        splits = dict(_split(data.splits, values, value, without=bool(protocol.leave_out)))
        if needs_train and not len(splits.get("train", ())):
            raise EvaluationError(
                f"{data.task.name} has no train rows for {column} {value}, and the protocol "
                f"{protocol.name} trains a model for each",
                "Choose another --protocol",
            )
        parts.append(Part(value, splits))
    return tuple(parts)


def _split(
    splits: Mapping[str, pa.Table],
    values: Mapping[str, list[str]],
    value: str,
    *,
    without: bool,
) -> Iterator[tuple[str, pa.Table]]:
    """Yield the rows of one part; `without` learns from all other values."""
    for name, rows in splits.items():
        same = name == "test" or not without
        matching = rows.filter(
            pa.array([(other == value) == same for other in values[name]], pa.bool_())
        )
        if len(matching):
            yield name, matching
