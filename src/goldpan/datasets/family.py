"""Families of datasets: their columns, and the limits that people must know."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Literal

import pyarrow as pa

from goldpan.core.errors import choices
from goldpan.core.schemas.table import TableSchema
from goldpan.core.settings.file import read_toml

REPO = "repo"
"""The column that every family has for the repository of a row."""
GROUP = "group"
"""An input column that is not published: rows that share it are near duplicates."""
TIER = "answer_tier"
"""The column, where a family has it, of how likely a row's answer is one."""
_BATCH = 64
_KINDS = {
    "string": pa.string(),
    "int32": pa.int32(),
    "int64": pa.int64(),
    "double": pa.float64(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "list<string>": pa.list_(pa.field("item", pa.string(), nullable=False)),
}
"""Types of columns by their names in files."""


class _ByName:
    """Makes pydantic read a type by its name; it is imported only then."""

    def __get_pydantic_core_schema__(self, source: object, handler: object) -> Any:
        from pydantic_core import core_schema

        return core_schema.no_info_plain_validator_function(kind_named)


def kind_named(name: object) -> pa.DataType:
    """Return a type by its name, or for a table of names the type of a list of structs."""
    if isinstance(name, dict):
        fields = [(str(field), kind_named(kind)) for field, kind in name.items()]
        return pa.list_(pa.field("item", pa.struct(fields), nullable=False))
    if name not in _KINDS:
        raise ValueError(f"{name!r} is none of {choices(_KINDS)}")
    return _KINDS[str(name)]


DataType = Annotated[pa.DataType, _ByName()]


@dataclass(frozen=True, slots=True)
class Column:
    """A published column, described in one sentence."""

    name: str
    kind: DataType
    description: str
    holds: Literal["fact", "prose", "code"] = "fact"
    """Its origin: `prose` and `code` come from people and are searched for secrets."""
    parts: Mapping[str, str] = field(default_factory=dict)
    """The descriptions of a struct's fields."""


def column_of(declared: Mapping[str, Any]) -> Column:
    """Return a column that a file of ours declares; without a kind, it is one of strings."""
    return Column(**{**declared, "kind": kind_named(declared.get("kind", "string"))})


@dataclass(frozen=True, slots=True, eq=False)
class Family:
    """A kind of dataset; a later one is one more value of this class."""

    name: str
    title: str
    task: str
    """The input and the answer of a model, in a few sentences."""
    source: str
    """The paper and section that it follows, or why Goldpan adds it; empty for a table of one's
    own."""
    citation: str
    """The paper as a BibTeX entry; empty for none."""
    columns: tuple[Column, ...]
    order: tuple[str, ...]
    """The columns by which rows are sorted."""
    subject: tuple[str, ...]
    """The columns that say what a row is about: splits never part rows that share them."""
    inputs: tuple[str, ...]
    target: str
    task_categories: tuple[str, ...]
    """The Hub's names of the task."""
    tags: tuple[str, ...] = ()
    limits: tuple[str, ...] = ()
    """Limits of conclusions from such a dataset, a sentence each."""
    known_right: str = ""
    """How right rows of this family were found to be elsewhere; empty where nobody looked."""
    moment: str = "created_at"
    """The column that splits by time go by."""
    stratum: str = ""
    """The column of labels whose shares stratified splits keep; empty for none."""
    partition: str = ""
    """The column of the official split, which the split `given` goes by; empty for none."""
    origin: str = ""
    """The published work that the rows were taken from; empty for what Goldpan mined."""
    works: str = ""
    """The column of the work that a row without a repository is from; empty where all such rows
    are of `origin`."""

    def __post_init__(self) -> None:
        names = {column.name for column in self.columns}
        used = {*self.order, *self.subject, *self.inputs, self.target, self.moment}
        used |= {self.stratum, self.partition, self.works}
        if missing := used - names - {"", GROUP}:
            raise ValueError(f"{self.name} has no column {', '.join(sorted(missing))}")

    @property
    def table(self) -> TableSchema:
        """The published table."""
        return TableSchema(self.name, self.schema, self.order, ("id",))

    @property
    def schema(self) -> pa.Schema:
        """The published columns as an Arrow schema."""
        return pa.schema([pa.field(column.name, column.kind) for column in self.columns])

    @property
    def spooled(self) -> pa.Schema:
        """The published columns and the group of near duplicates, which is not published."""
        return self.schema.append(pa.field(GROUP, pa.string()))

    def column(self, name: str) -> Column:
        """Return the column of that name."""
        return next(column for column in self.columns if column.name == name)

    def batches(self, rows: Iterable[Mapping[str, Any]]) -> Iterator[pa.RecordBatch]:
        """Yield rows of builders as batches for `write_dataset`.

        Raises `ValueError` for a row that lacks a column, which would be published as null.
        """
        schema = self.spooled
        names = set(self.schema.names)
        remaining = iter(rows)
        while chunk := list(islice(remaining, _BATCH)):
            for row in chunk:
                if missing := names - row.keys():
                    raise ValueError(f"{row.get('id')} lacks {', '.join(sorted(missing))}")
            yield pa.RecordBatch.from_pylist(chunk, schema=schema)


def read_family(path: Path) -> Family:
    """Return the kind of dataset that a TOML file describes; raises `UsageError`."""
    return read_toml(path).read(Family)


def read_columns(path: Path) -> tuple[Column, ...]:
    """Return the columns that a TOML file describes; raises `UsageError`."""
    return read_toml(path).read(dict[str, tuple[Column, ...]])["columns"]


COLUMNS = "columns"
"""The key of provenance that describes the columns."""
_HOLDS = ("fact", "prose", "code")


def described_family(family: Family) -> dict[str, Any]:
    """Return the description of a family for provenance, which `known_family` reads."""
    columns = [
        {"name": column.name, "type": _type(column.kind), "holds": column.holds}
        for column in family.columns
    ]
    origins = {"origin": family.origin, "works": family.works}
    stated = {name: text for name, text in origins.items() if text}
    return {"family": family.name, COLUMNS: columns, **stated}


def _type(kind: pa.DataType) -> str:
    """Return a type's name; Parquet names the items of a list differently than Arrow."""
    if pa.types.is_list(kind):
        return f"list<{_type(kind.value_type)}>"
    if pa.types.is_struct(kind):
        return f"struct<{', '.join(f'{field.name}: {_type(field.type)}' for field in kind)}>"
    return str(kind)


def described_by(provenance: Mapping[str, Any], schema: pa.Schema | None) -> Family | None:
    """Return the family that provenance describes, as `described_family` does; None for none.

    None, too, where the files have other columns than those that are described.
    """
    try:
        columns = tuple(
            Column(field.name, field.type, "", described["holds"])
            for field, described in zip(schema or (), provenance[COLUMNS], strict=True)
        )
        family = Family(
            name=str(provenance["family"]),
            title=str(provenance["family"]),
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
            origin=str(provenance.get("origin", "")),
            works=str(provenance.get("works", "")),
        )
    except (KeyError, TypeError, ValueError):
        return None
    is_known = family.name and all(column.holds in _HOLDS for column in columns)
    same = described_family(family)[COLUMNS] == provenance[COLUMNS]
    return family if is_known and same else None
