"""The family of a dataset in a directory, whoever built or imported it.

The three families of FAUN-Eval are known by name. Every other dataset, of a task or a builder,
says in its provenance which columns it has and which of them people wrote.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, cast

import pyarrow as pa

from goldpan.datasets.examples import find_family
from goldpan.datasets.family import Column, Family

COLUMNS = "columns"
"""Where provenance describes the columns."""
_ORIGIN = "origin"
_WORKS = "works"
_HOLDS = ("fact", "prose", "code")


def described_family(family: Family) -> dict[str, Any]:
    """Return what provenance says of a family, so that `known_family` knows it again."""
    columns = [
        {"name": column.name, "type": _type(column.kind), "holds": column.holds}
        for column in family.columns
    ]
    origin = {_ORIGIN: family.origin, _WORKS: family.works}
    named = {name: text for name, text in origin.items() if text}
    return {"family": family.name, COLUMNS: columns, **named}


def _type(kind: pa.DataType) -> str:
    """Return a type's name; Parquet calls what a list holds otherwise than Arrow does."""
    if pa.types.is_list(kind):
        return f"list<{_type(kind.value_type)}>"
    if pa.types.is_struct(kind):
        return f"struct<{', '.join(f'{field.name}: {_type(field.type)}' for field in kind)}>"
    return str(kind)


def known_family(provenance: Mapping[str, Any], schema: pa.Schema | None) -> Family | None:
    """Return the family of a dataset, given the columns of one of its files.

    None where neither Goldpan nor the provenance knows it, or the files have other columns than
    the provenance describes.
    """
    name = str(provenance.get("family", ""))
    if family := find_family(name):
        return family
    described = provenance.get(COLUMNS)
    if schema is None or not isinstance(described, Sequence) or isinstance(described, str):
        return None
    families = [
        (column.get("name"), column.get("type"))
        for column in described
        if isinstance(column, Mapping)
    ]
    if not name or families != [(field.name, _type(field.type)) for field in schema]:
        return None
    if any(column.get("holds") not in _HOLDS for column in described):
        return None
    works = str(provenance.get(_WORKS, ""))
    if not {"id", works or "id"} <= set(schema.names):
        return None
    columns = tuple(
        Column(field.name, field.type, "", cast(Literal["fact", "prose", "code"], column["holds"]))
        for field, column in zip(schema, described, strict=True)
    )
    return Family(
        name=name,
        title=name,
        task="",
        source="",
        citation="",
        columns=columns,
        order=("id",),
        subject=("id",),
        inputs=(),
        target="",
        task_categories=(),
        moment="",  # nothing is split by it any more
        origin=str(provenance.get(_ORIGIN, "")),
        works=works,
    )
