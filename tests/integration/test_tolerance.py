"""What cannot be read costs its field or its row, which the ledger names; never the tables."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldpan.core.schemas import MINED
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.core.terminal import Reporter
from goldpan.miners.coverage import measure_coverage
from goldpan.miners.github.announced import Path as Via
from goldpan.miners.tables.normalize import normalize
from tests.archives import keep, make_tables, records_of
from tests.drawing import examples
from tests.mining import BOTH, SLUICE, Row, rows, rows_of, undisturbed

FAR = "10000-01-01T00:00:00Z"
HUGE = 2**70


@dataclass(frozen=True)
class Damage:
    """One bad value in the replies of one path, and what it may cost."""

    via: Via
    part: str
    """The archive's name of the replies that have it."""
    spoil: Callable[[Any], object]
    """Makes the first item bad that it can be made bad in; returns its number, or None."""
    table: str
    column: str | None
    """The column that is lost, or None where it is the row."""
    reported: str
    """The ledger's name of the part."""


def node_with(path: str) -> Callable[[Any], Any]:
    """Return how to find the first GraphQL entry whose list at `path` has items."""

    def find(data: Any) -> Any:
        nodes = [node for node in data["data"]["nodes"] if node and path in node]
        return next((node for node in nodes if not path or node[path]["nodes"]), None)

    return find


def entry_field(name: str, value: object) -> Callable[[Any], object]:
    def spoil(data: Any) -> object:
        node = data["data"]["nodes"][0]
        node[name] = value
        return node["number"]

    return spoil


def item_field(connection: str, name: str, value: object) -> Callable[[Any], object]:
    def spoil(data: Any) -> object:
        node = node_with(connection)(data)
        if node is None:
            return None
        node[connection]["nodes"][0][name] = value
        return node["number"]

    return spoil


def without(name: str) -> Callable[[Any], object]:
    def spoil(data: Any) -> object:
        node = data["data"]["nodes"][0]
        del node[name]
        return node["number"]

    return spoil


def whole_item(connection: str, value: object) -> Callable[[Any], object]:
    def spoil(data: Any) -> object:
        node = node_with(connection)(data)
        if node is None:
            return None
        node[connection]["nodes"][0] = value
        return node["number"]

    return spoil


def surplus_item(connection: str, value: object) -> Callable[[Any], object]:
    def spoil(data: Any) -> object:
        node = node_with(connection)(data)
        if node is None:
            return None
        node[connection]["nodes"].insert(0, value)
        return node["number"]

    return spoil


def listed(name: str, value: object) -> Callable[[Any], object]:
    def spoil(data: Any) -> object:
        data[0][name] = value
        return data[0].get("number", 0)

    return spoil


def event(kind: str, name: str, value: object) -> Callable[[Any], object]:
    def spoil(data: Any) -> object:
        match = next((item for item in data if item["event"] == kind), None)
        if match is None:
            return None
        match[name] = value
        return 0

    return spoil


DAMAGES = [
    Damage("graphql", "entries", entry_field("createdAt", FAR), "entries", "created_at", "entry"),
    Damage("graphql", "entries", entry_field("title", 7), "entries", "title", "entry"),
    Damage("graphql", "entries", without("title"), "entries", "title", "entry"),
    Damage("graphql", "entries", entry_field("author", "me"), "entries", "author", "entry"),
    Damage("graphql", "entries", entry_field("milestone", 7), "entries", "any", "entry"),
    Damage("graphql", "entries", entry_field("state", 7), "entries", "state", "entry"),
    Damage("graphql", "entries", item_field("labels", "name", None), "entries", "labels", "entry"),
    Damage(
        "graphql",
        "entries",
        item_field("comments", "createdAt", "soon"),
        "comments",
        "created_at",
        "comments",
    ),
    Damage(
        "graphql",
        "entries",
        item_field("comments", "fullDatabaseId", str(HUGE)),
        "comments",
        None,
        "comments",
    ),
    Damage("graphql", "entries", whole_item("comments", 7), "comments", None, "comments"),
    Damage("graphql", "entries", item_field("files", "path", None), "files", None, "files"),
    Damage(
        "graphql", "entries", item_field("files", "additions", "9"), "files", "additions", "files"
    ),
    Damage(
        "graphql", "entries", surplus_item("timelineItems", {"x": 1}), "events", "any", "timeline"
    ),
    Damage("rest", "issues", listed("created_at", FAR), "entries", "created_at", "entry"),
    Damage("rest", "issues", listed("comments", "9"), "entries", "comment_count", "entry"),
    Damage("rest", "issues", listed("labels", [None]), "entries", "labels", "entry"),
    Damage("rest", "issues", listed("number", HUGE), "entries", None, "issues"),
    Damage("rest", "pulls", listed("head", 7), "entries", "head_sha", "entry"),
    Damage("rest", "files", listed("filename", None), "files", None, "files"),
    Damage("rest", "review_comments", listed("id", None), "comments", None, "review_comments"),
    Damage("rest", "timeline", event("commented", "id", "x"), "comments", "any", "comments"),
    Damage("rest", "timeline", event("committed", "sha", 7), "commits", None, "commits"),
    Damage("rest", "timeline", lambda data: data.insert(0, None) or 0, "events", "any", "timeline"),
]


@pytest.mark.parametrize(
    "damage", DAMAGES, ids=lambda damage: f"{damage.via}-{damage.table}-{damage.column}"
)
def test_one_bad_value_costs_its_field_or_row(damage: Damage, tmp_path: Path) -> None:
    spoiled: list[Any] = []

    def change(meta: dict[str, Any], data: Any) -> None:
        if meta["part"] == damage.part and not spoiled and data:
            number = damage.spoil(data)
            if number is not None:
                spoiled.append(meta.get("number") or number)

    workspace = keep(tmp_path, records_of(damage.via), change)
    assert spoiled
    make_tables(workspace)
    gaps = [gap for gap in measure_coverage(workspace, SLUICE).gaps if gap.state == "failed"]
    assert [gap.part for gap in gaps] == [damage.reported]
    assert "cannot be read" in gaps[0].reason or "missing" in gaps[0].reason
    if damage.reported != "issues" and spoiled[0]:
        assert gaps[0].number == spoiled[0]
    expected, actual = rows_of(undisturbed(damage.via), damage.table), rows(tmp_path, damage.table)
    if damage.column is None:
        assert len(actual) == len(expected) - 1
    elif damage.column != "any":
        assert differing(actual, expected) >= {damage.column}
        assert len(actual) == len(expected)
    for table in ("repositories", "commits", "files", "comments", "entries"):
        if table != damage.table:
            assert len(rows(tmp_path, table)) == len(rows_of(undisturbed(damage.via), table))


def differing(actual: list[Row], expected: list[Row]) -> set[str]:
    """Return the columns in which any row differs."""
    return {
        name
        for row, other in zip(actual, expected, strict=True)
        for name in row
        if row[name] != other[name]
    }


@pytest.mark.parametrize("via", BOTH)
def test_a_reply_that_is_no_json_is_named(via: Via, tmp_path: Path) -> None:
    part = "entries" if via == "graphql" else "timeline"
    spoiled: list[dict[str, Any]] = []

    def change(meta: dict[str, Any], data: Any) -> object:
        if meta["part"] == part and not spoiled:
            spoiled.append(meta)
            return b"{<html>"
        return None

    workspace = keep(tmp_path, records_of(via), change)
    make_tables(workspace)
    gaps = measure_coverage(workspace, SLUICE).gaps
    numbers = [node[1] for node in spoiled[0].get("nodes", ())] or [spoiled[0]["number"]]
    failed = {gap.number for gap in gaps if gap.state == "failed"}
    assert failed == set(numbers)
    assert all("run-0001.zst@" in gap.reason for gap in gaps if gap.state == "failed")


HOSTILE: st.SearchStrategy[Any] = st.sampled_from(
    [None, True, -1, 0, 1.5, HUGE, -HUGE, "", "x", "\ud800", FAR, "0000-00-00", [], {}, [None]]
)


def leaves(data: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the place of each value: what holds it, and its key there."""
    items = data.items() if isinstance(data, dict) else enumerate(data)
    for key, value in items:
        yield data, key
        if isinstance(value, dict | list):
            yield from leaves(value)


@pytest.mark.parametrize("via", BOTH)
@examples(10)
@given(data=st.data())
def test_no_value_costs_the_tables(via: Via, data: st.DataObject) -> None:
    records = records_of(via)
    bodies = [
        index
        for index, (meta, body) in enumerate(records)
        if meta["part"] not in ("repository", "begin", "end") and body.startswith((b"{", b"["))
    ]
    chosen = data.draw(st.sampled_from(bodies))
    spot = data.draw(st.integers(0, 10**9))
    value = data.draw(HOSTILE)
    target = records[chosen][0]

    def change(meta: dict[str, Any], parsed: Any) -> None:
        if meta is target:
            places = list(leaves(parsed))
            if places:
                holder, key = places[spot % len(places)]
                holder[key] = value

    with tempfile.TemporaryDirectory() as directory:
        workspace = keep(Path(directory), records, change)
        counts = normalize(workspace, SLUICE, Reporter(quiet=True), workers=1)
        assert set(counts) == {table.name for table in MINED}
        assert counts["entries"] >= 60 - len(target.get("nodes") or [1])
        measure_coverage(WorkspaceLayout(Path(directory)), SLUICE)
