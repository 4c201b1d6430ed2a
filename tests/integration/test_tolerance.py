"""What is null or cannot be read costs its field or its row, which is told; never the tables."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldpan.core.schemas.mined import MINED
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.core.terminal import Reporter
from goldpan.miners.coverage import measure_coverage
from goldpan.miners.github.announced import Path as Via
from goldpan.miners.tables.normalize import normalize
from tests.archives import keep, make_tables, records_of
from tests.drawing import daily, examples
from tests.mining import BOTH, SLUICE, Row, rows, rows_of, undisturbed
from tests.null_storm import HOPELESS, NOTABLE, NOTHING_TO_TELL, STORM, Field, check_null

FAR = "10000-01-01T00:00:00Z"
HUGE = 2**70


Spoil = Callable[[Any], object]
"""Makes the first item bad that it can be made bad in; returns its number, or None."""


def entry(**fields: object) -> Spoil:
    def spoil(data: Any) -> object:
        node = data["data"]["nodes"][0]
        node.update(fields)
        return node["number"]

    return spoil


def without(name: str) -> Spoil:
    def spoil(data: Any) -> object:
        node = data["data"]["nodes"][0]
        del node[name]
        return node["number"]

    return spoil


def items(connection: str, change: Callable[[list[Any]], object]) -> Spoil:
    """Change the list of the first entry that has items there."""

    def spoil(data: Any) -> object:
        nodes = [node for node in data["data"]["nodes"] if node and connection in node]
        node = next((node for node in nodes if node[connection]["nodes"]), None)
        if node is None:
            return None
        change(node[connection]["nodes"])
        return node["number"]

    return spoil


def item(connection: str, **fields: object) -> Spoil:
    return items(connection, lambda nodes: nodes[0].update(fields))


def listed(**fields: object) -> Spoil:
    def spoil(data: Any) -> object:
        data[0].update(fields)
        return data[0].get("number", 0)

    return spoil


def event(kind: str, **fields: object) -> Spoil:
    def spoil(data: Any) -> object:
        match = next((item for item in data if item["event"] == kind), None)
        if match is None:
            return None
        match.update(fields)
        return 0

    return spoil


def spoil_first(nodes: list[Any]) -> None:
    nodes[0] = 7


GRAPHQL: list[tuple[Spoil, str, str | None, str]] = [
    (entry(createdAt=FAR), "entries", "created_at", "entry"),
    (entry(title=7), "entries", "title", "entry"),
    (without("title"), "entries", "title", "entry"),
    (entry(author="me"), "entries", "author", "entry"),
    (entry(milestone=7), "entries", "any", "entry"),
    (entry(state=7), "entries", "state", "entry"),
    (item("labels", name=None), "entries", "labels", "entry"),
    (item("comments", createdAt="soon"), "comments", "created_at", "comments"),
    (item("comments", fullDatabaseId=str(HUGE)), "comments", None, "comments"),
    (items("comments", spoil_first), "comments", None, "comments"),
    (item("files", path=None), "files", None, "files"),
    (item("files", additions="9"), "files", "additions", "files"),
    (items("timelineItems", lambda all: all.insert(0, {"x": 1})), "events", "any", "timeline"),
]
REST: list[tuple[str, Spoil, str, str | None, str]] = [
    ("issues", listed(created_at=FAR), "entries", "created_at", "entry"),
    ("issues", listed(comments="9"), "entries", "comment_count", "entry"),
    ("issues", listed(labels=[None]), "entries", "labels", "entry"),
    ("issues", listed(number=HUGE), "entries", None, "issues"),
    ("pulls", listed(head=7), "entries", "head_sha", "entry"),
    ("files", listed(filename=None), "files", None, "files"),
    ("review_comments", listed(id=None), "comments", None, "review_comments"),
    ("timeline", event("commented", id="x"), "comments", "any", "comments"),
    ("timeline", event("committed", sha=7), "commits", None, "commits"),
    ("timeline", lambda data: data.insert(0, None) or 0, "events", "any", "timeline"),
]
"""The part of the replies that is spoiled, how, the table and column that this costs (the whole
row, where None), and the ledger's name of the part. GraphQL's part is always `entries`."""


@pytest.mark.parametrize(
    ("via", "part", "spoil", "table", "column", "reported"),
    [*(("graphql", "entries", *case) for case in GRAPHQL), *(("rest", *case) for case in REST)],
)
def test_one_bad_value_costs_its_field_or_row(
    via: Via, part: str, spoil: Spoil, table: str, column: str | None, reported: str, tmp_path: Path
) -> None:
    spoiled: list[Any] = []

    def change(meta: dict[str, Any], data: Any) -> None:
        if meta["part"] == part and not spoiled and data:
            number = spoil(data)
            if number is not None:
                spoiled.append(meta.get("number") or number)

    workspace = keep(tmp_path, records_of(via), change)
    assert spoiled
    make_tables(workspace)
    (gap,) = [gap for gap in measure_coverage(workspace, SLUICE).gaps if gap.state == "failed"]
    assert gap.part == reported
    assert "cannot be read" in gap.reason or "missing" in gap.reason
    if reported != "issues" and spoiled[0]:
        assert gap.number == spoiled[0]
    whole = undisturbed(via)
    expected, actual = rows_of(whole, table), rows(tmp_path, table)
    if column is None:
        assert len(actual) == len(expected) - 1
    elif column != "any":
        assert differing(actual, expected) >= {column}
        assert len(actual) == len(expected)
    for other in {"repositories", "commits", "files", "comments", "entries"} - {table}:
        assert len(rows(tmp_path, other)) == len(rows_of(whole, other))


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


CHOSEN: tuple[Field, ...] = (
    ("ClosedEvent", "closer"),
    ("MarkedAsDuplicateEvent", "canonical"),
    ("IssueConnection", "nodes"),
    ("Issue", "author"),
    ("LabelConnection", "nodes"),
    ("PageInfo", "endCursor"),
    ("Repository", "defaultBranchRef"),
)
OTHERS = (NOTHING_TO_TELL | HOPELESS | NOTABLE) - {*CHOSEN}


def test_the_storm_covers_what_is_asked() -> None:
    assert len(STORM) >= 45
    assert set(STORM) > NOTHING_TO_TELL | HOPELESS | NOTABLE


@pytest.mark.parametrize("field", daily(CHOSEN, sorted(OTHERS)), ids=".".join)
def test_a_null(field: Field, tmp_path: Path) -> None:
    check_null(field, tmp_path)
