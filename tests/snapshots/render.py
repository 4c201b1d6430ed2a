"""Renders the public names and the tables."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa
from pydantic import BaseModel

import goldpan
from goldpan import plugins
from goldpan.core.schemas import stages
from goldpan.core.schemas.mined import MINED
from goldpan.core.schemas.table import TableSchema
from goldpan.datasets.examples import FAMILIES, QA_WITH_DISCUSSIONS
from goldpan.datasets.tasks.task import TaskType
from goldpan.evaluation.score import predictions_schema

FOLDER = Path(__file__).parent
_TYPES: tuple[TaskType, ...] = (
    "binary",
    "multi-class",
    "multi-label",
    "regression",
    "ner",
    "mlm",
    "text-generation",
)


def python() -> str:
    """Return the public names of `goldpan` and `goldpan.plugins` with their signatures."""
    return "\n".join(line for module in (goldpan, plugins) for line in _module(module)) + "\n"


def tables() -> str:
    """Return the columns of every table and dataset."""
    others = [value for value in vars(stages).values() if isinstance(value, TableSchema)]
    listed = [each for of in (MINED, others) for each in sorted(of, key=lambda each: each.name)]
    listed += [family.table for family in FAMILIES.values()]
    listed.append(replace(QA_WITH_DISCUSSIONS, name="qa --source discussions").table)
    lines = []
    for table in listed:
        lines.append(f"{table.name}: key {', '.join(table.key)}; order {', '.join(table.order)}")
        lines += [*_columns(table.schema), ""]
    for kind in _TYPES:
        lines += [f"predictions, {kind}:", *_columns(predictions_schema(kind)), ""]
    return "\n".join(lines).strip() + "\n"


def _module(module: ModuleType) -> Iterator[str]:
    for name in sorted(module.__all__):
        full = f"{module.__name__}.{name}"
        thing = getattr(module, name)
        if name == "__version__":
            yield full
        elif inspect.isclass(thing):
            yield from _class(full, thing)
        elif callable(thing):
            yield f"{full}{_signature(thing)}"
        else:
            yield f"{full} = {thing!r}"
        yield ""


def _class(name: str, kind: type[Any]) -> Iterator[str]:
    if issubclass(kind, Exception):
        yield f"{name}({kind.__base__.__name__ if kind.__base__ else ''})"
        return
    if is_dataclass(kind):
        yield name
        for field in fields(kind):
            yield f"    {field.name}: {field.type}"
    elif issubclass(kind, BaseModel):
        yield name
        yield from (
            f"    {field}: {annotation}" for field, annotation in kind.__annotations__.items()
        )
        return
    else:
        yield f"{name}{_signature(kind)}"
    for attribute, held in sorted(vars(kind).items()):
        if attribute.startswith("_") and attribute != "__len__":
            continue
        if inspect.isfunction(held):
            yield f"    {attribute}{_signature(held)}"
        elif hasattr(held, "__get__") and not inspect.ismemberdescriptor(held):
            getter = getattr(held, "fget", None) or getattr(held, "func", None)
            if getter is not None:
                of_group = isinstance(getter, type)
                given = getter.__name__ if of_group else _signature(getter).return_annotation
                yield f"    {attribute} -> {given}"


class _Plain(str):
    """An annotation that is written without quotes."""

    __slots__ = ()
    __repr__ = str.__str__


def _signature(thing: Callable[..., Any]) -> inspect.Signature:
    signature = inspect.signature(thing)
    parameters = [
        parameter.replace(
            annotation=parameter.empty if name == "self" else _plain(parameter.annotation)
        )
        for name, parameter in signature.parameters.items()
    ]
    return signature.replace(
        parameters=parameters, return_annotation=_plain(signature.return_annotation)
    )


def _plain(annotation: object) -> object:
    return _Plain(annotation) if isinstance(annotation, str) else annotation


def _columns(schema: pa.Schema) -> list[str]:
    return [f"    {f.name}: {f.type}{'' if f.nullable else ', never null'}" for f in schema]


SNAPSHOTS: dict[str, Callable[[], str]] = {"python.txt": python, "tables.txt": tables}
