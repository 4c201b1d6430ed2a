"""The published example tables, whose columns `families.toml` describes."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import replace
from importlib.resources import files
from typing import Any

import pyarrow as pa

from goldpan.core.plugins.loading import find, names_of
from goldpan.datasets.family import Column, Family, column_of, described_by

_DECLARED = tomllib.loads((files("goldpan.datasets") / "families.toml").read_text("utf-8"))
EDITED_SINCE: str = _DECLARED["edited_since"]


def _columns(declared: list[str | dict[str, Any]]) -> tuple[Column, ...]:
    columns: list[dict[str, Any]] = []
    for entry in declared:
        columns += _DECLARED["shared"][entry] if isinstance(entry, str) else [entry]
    return tuple(map(column_of, columns))


def _family(declared: Mapping[str, Any], before: tuple[Column, ...] = ()) -> Family:
    values = {name: tuple(v) if isinstance(v, list) else v for name, v in declared.items()}
    limits = (*values["limits"], EDITED_SINCE, *_DECLARED["mined_limits"])
    citation = _DECLARED["citations"][values["citation"]]
    columns = (*before, *_columns(declared["columns"]))
    return Family(**{**values, "citation": citation, "limits": limits, "columns": columns})


FAMILIES = {declared["name"]: _family(declared) for declared in _DECLARED["families"]}
"""All kinds of datasets by name."""
QA, FAULT_LOCALIZATION, CODE_EDIT, ISSUE_RESOLUTION = FAMILIES.values()


def _with_discussions(column: Column) -> Column:
    """Return a column of `QA` described for discussions, too."""
    text = column.description.replace("the issue", "the issue or discussion")
    text = text.replace("where the first counts", "where the first counts or one was accepted")
    return replace(column, description=text)


QA_WITH_DISCUSSIONS = _family(
    {**_DECLARED["families"][0], **_DECLARED["discussed"]},
    tuple(map(_with_discussions, QA.columns[:-1])),
)
"""Question answering where discussions are a source, too."""


def find_family(name: str) -> Family | None:
    """Return the family that Goldpan or a plugin builds by that name, None of others."""
    if name in FAMILIES:
        return FAMILIES[name]
    family: Family | None = find("dataset", name).family if name in names_of("dataset") else None
    return family


def known_family(provenance: Mapping[str, Any], schema: pa.Schema | None) -> Family | None:
    """Return the family of a dataset, given its provenance and the columns of one of its files.

    None where neither Goldpan nor the provenance knows it, or the files have other columns than
    the provenance describes.
    """
    name = str(provenance.get("family", ""))
    if name == QA.name and schema == QA_WITH_DISCUSSIONS.schema:
        return QA_WITH_DISCUSSIONS
    return find_family(name) or described_by(provenance, schema)
