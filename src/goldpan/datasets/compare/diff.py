"""Differences between two versions of a dataset, with their causes and reasons."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any, Literal

import duckdb
import orjson

from goldpan.core.errors import UsageError
from goldpan.core.result import Result
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.datasets.card import markdown
from goldpan.datasets.compare.versions import DatasetVersion, open_differences, read_version
from goldpan.datasets.examples import known_family
from goldpan.datasets.provenance import content_digest
from goldpan.datasets.table_files import check_form, write_rows

Kind = Literal["added", "gone", "changed", "moved"]
KINDS: tuple[Kind, ...] = ("added", "gone", "changed", "moved")


@dataclass(frozen=True, slots=True)
class VersionFacts:
    """A version that was compared."""

    directory: str
    content: str
    """The start of the digest that its card asks to cite."""
    goldpan: str
    """The version of Goldpan that built it."""
    rows: int


@dataclass(frozen=True, slots=True)
class Cause:
    """A fact of the provenance that differs between the two versions."""

    what: str
    old: str | None
    new: str | None


@dataclass(frozen=True, slots=True)
class Reason:
    """Why rows came or went."""

    change: str
    """added or gone."""
    reason: str
    rows: int


@dataclass(frozen=True, slots=True)
class RowChange:
    """A row that is not the same in both versions."""

    id: str
    change: str
    """added, gone, changed, or moved where it lies in another split and is else the same."""
    columns: tuple[str, ...]
    """The columns of a changed row that differ."""
    old_split: str | None
    new_split: str | None
    reason: str | None


@dataclass(frozen=True, slots=True)
class DiffResult(Result):
    """Differences between two versions of a dataset, and their reasons."""

    family: str
    old: VersionFacts
    new: VersionFacts
    same: int
    """Rows that are equal in all columns and lie in the same split."""
    added: int
    gone: int
    changed: int
    """Rows of which some column differs."""
    changed_in_task: int | None
    """Changed rows whose input or target differs, where these columns are known."""
    moved: int
    """Rows that lie in another split, changed or not."""
    columns: Mapping[str, int]
    """How many rows differ in a column, the most first."""
    columns_added: tuple[str, ...]
    columns_gone: tuple[str, ...]
    columns_retyped: tuple[str, ...]
    """Columns of another type, which are not compared."""
    causes: tuple[Cause, ...]
    reasons: tuple[Reason, ...]
    """The most rows first."""
    notes: tuple[str, ...]
    """Rows whose reasons are not known."""
    examples: Mapping[str, tuple[RowChange, ...]]
    """The first rows of each kind, by id."""


_MOST_NAMED = 20


def changelog(difference: DiffResult) -> str:
    """Return Markdown without a heading; texts from GitHub are escaped."""
    values = {item.name: getattr(difference, item.name) for item in fields(difference)}
    removed = difference.examples["gone"][:_MOST_NAMED]
    return markdown("changes.md.jinja", **values, removed=removed).strip()


# Differences in the provenance of two versions: settings, rules, dates, versions.

_SETTINGS = ("profile", "settings", "plugins", "versions")
_OF_SOURCES = ("rules", "mined_from", "mined_until")
_NOT_SETTINGS = ("profile.description", "settings.since")
_LONGEST = 200
"""Characters of a value that are shown."""
_Value = str | list[str]


def find_causes(old: DatasetVersion, new: DatasetVersion) -> tuple[Cause, ...]:
    """Return the facts that differ, in the order in which they affect the rows."""
    return (
        *_different(_sources(old), _sources(new)),
        *_different(_settings(old), _settings(new)),
        *_criteria(old, new),
    )


def _different(old: Mapping[str, _Value], new: Mapping[str, _Value]) -> Iterator[Cause]:
    for what in sorted({*old, *new}):
        before, after = old.get(what), new.get(what)
        if isinstance(before, list) and isinstance(after, list) and set(before) != set(after):
            removed = [item for item in before if item not in after]
            added = [item for item in after if item not in before]
            yield Cause(f"{what}, where they differ", _text(removed), _text(added))
        elif before != after:
            yield Cause(what, _text(before), _text(after))


def _text(value: _Value | None) -> str | None:
    text = ", ".join(value) if isinstance(value, list) else value
    if not text:
        return None
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"


def _sources(version: DatasetVersion) -> dict[str, _Value]:
    values: dict[str, _Value] = {}
    for source in version.sources.values():
        for name in _OF_SOURCES:
            if source.get(name) is not None:
                values[f"{source['repo']}: {name}"] = str(source[name])
    return values


def _settings(version: DatasetVersion) -> dict[str, _Value]:
    values: dict[str, _Value] = {
        "goldpan": str(version.provenance.get("goldpan", {}).get("version"))
    }
    for name in _SETTINGS:
        values |= _flat(name, version.provenance.get(name, {}))
    return {name: value for name, value in values.items() if name not in _NOT_SETTINGS}


def _flat(name: str, value: Any) -> dict[str, _Value]:
    if isinstance(value, Mapping):
        inner = [_flat(f"{name}.{key}", item) for key, item in value.items()]
        return {key: item for values in inner for key, item in values.items()}
    if isinstance(value, list):
        return {name: [_plain(item) for item in value]}
    return {name: _plain(value)}


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else orjson.dumps(value, default=str).decode()


def _criteria(old: DatasetVersion, new: DatasetVersion) -> Iterator[Cause]:
    """Yield the criteria that judge differently although their settings are the same."""
    settings = [version.provenance.get("profile", {}).get("settings", {}) for version in (old, new)]
    digests = [version.provenance.get("digests", {}) for version in (old, new)]
    for name in sorted(digests[0].keys() & digests[1].keys()):
        same = settings[0].get(name) == settings[1].get(name)
        if same and digests[0][name] != digests[1][name]:
            yield Cause(f"method of the criterion {name}", digests[0][name], digests[1][name])


_SELECT = "SELECT id, change, columns, old_split, new_split, reason FROM differences"


def compare_versions(
    old: Path,
    new: Path,
    workspace: WorkspaceLayout | None = None,
    *,
    most: int = 20,
    output: Path | None = None,
) -> DiffResult:
    """Return the changes from one version of a dataset to another, and their reasons.

    Reasons come from the verdicts of `workspace`. At most `most` rows of each kind are named;
    `output` takes all of them, as Parquet, JSON lines or CSV. Raises `DatasetError` where a
    directory holds no dataset, and `UsageError` where the two are of different families.
    """
    if output is not None:
        check_form(output)
    before, after = read_version(old), read_version(new)
    if before.family != after.family:
        raise UsageError(
            f"{old} is a dataset of {before.family}, and {new} of {after.family}",
            "Compare two versions of one dataset",
        )
    old_columns, new_columns = before.schema, after.schema
    both = [name for name in new_columns.names if name in old_columns.names]
    same = [name for name in both if old_columns.field(name).type == new_columns.field(name).type]
    with open_differences(before, after, same, workspace) as (connection, notes):
        ask = partial(_ask, connection)
        counts = dict(ask("SELECT change, count(*) FROM differences GROUP BY change"))
        if output is not None:
            write_rows(connection.sql(f"{_SELECT} ORDER BY change, id").to_arrow_reader(), output)
        old_facts, new_facts = _facts(before), _facts(after)
        family = known_family(after.provenance, after.schema)
        task = [*family.inputs, family.target] if family and family.target else []
        in_task = ask(
            "SELECT count(*) FROM differences WHERE change = 'changed' "
            "AND len(list_intersect(columns, $1)) > 0",
            task,
        )
        moved = ask("SELECT count(*) FROM differences WHERE old_split <> new_split")
        differing = ask(
            "SELECT name, count(*) FROM (SELECT unnest(columns) AS name FROM differences) "
            "GROUP BY name ORDER BY count(*) DESC, name"
        )
        reasons = ask(
            "SELECT change, reason, count(*) FROM differences WHERE reason IS NOT NULL "
            "GROUP BY ALL ORDER BY change, count(*) DESC, reason"
        )
        examples = {
            kind: ask(f"{_SELECT} WHERE change = $1 ORDER BY id LIMIT $2", kind, most)
            for kind in KINDS
        }
    return DiffResult(
        family=after.family,
        old=old_facts,
        new=new_facts,
        same=old_facts.rows - sum(counts.get(kind, 0) for kind in ("gone", "changed", "moved")),
        added=counts.get("added", 0),
        gone=counts.get("gone", 0),
        changed=counts.get("changed", 0),
        changed_in_task=in_task[0][0] if task else None,
        moved=moved[0][0],
        columns=dict(differing),
        columns_added=tuple(name for name in new_columns.names if name not in old_columns.names),
        columns_gone=tuple(name for name in old_columns.names if name not in new_columns.names),
        columns_retyped=tuple(name for name in both if name not in same),
        causes=find_causes(before, after),
        reasons=tuple(Reason(*reason) for reason in reasons),
        notes=tuple(notes),
        examples={
            kind: tuple(
                RowChange(name, change, tuple(differ), old_split, new_split, reason)
                for name, change, differ, old_split, new_split, reason in rows
            )
            for kind, rows in examples.items()
        },
    )


def _facts(version: DatasetVersion) -> VersionFacts:
    return VersionFacts(
        str(version.directory),
        content_digest(version.provenance),
        str(version.provenance["goldpan"].get("version")),
        int(version.provenance.get("examples", 0)),
    )


def _ask(connection: duckdb.DuckDBPyConnection, query: str, *values: Any) -> list[tuple[Any, ...]]:
    return connection.execute(query, list(values)).fetchall()
