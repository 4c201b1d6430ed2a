"""Tables: their definitions hold together, and the rows that parsing makes."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import goldpan
from goldpan.core import schemas
from goldpan.core.schemas import MINED, PAIRS, TableSchema
from goldpan.miners.backup_shapes import read_shape
from goldpan.miners.tables.chunks import read_fields
from goldpan.miners.tables.columns import UnreadableValue, actor, user
from goldpan.miners.tables.normalize import deal
from goldpan.miners.tables.parse_rest import parse_backup
from goldpan.miners.tables.parse_timeline import SUBJECTS, WITHOUT_ROWS
from goldpan.miners.tables.rows import Rows

PACKAGE = Path(goldpan.__file__).parent
TABLES = [value for value in vars(schemas).values() if isinstance(value, TableSchema)]


def test_every_table_is_listed_once() -> None:
    names = [table.name for table in TABLES]
    assert len(set(names)) == len(names)
    assert {table.name for table in (*MINED, PAIRS)} <= set(names)
    assert {table.name for table in MINED} == {
        *("repositories", "entries", "comments", "discussions", "discussion_comments", "edits"),
        *("commits", "files", "references", "events", "ledger", "unknown"),
    }


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_schema_order_and_key_agree(table: TableSchema) -> None:
    names = table.schema.names
    assert names[0] == "repo"
    assert len(set(names)) == len(names)
    for columns in (table.order, table.key):
        assert set(columns) <= set(names)
        assert len(set(columns)) == len(columns)
    assert table.order
    # Rows that only the key tells apart would otherwise have no fixed order.
    assert set(table.key) <= set(table.order)
    for column in table.schema:
        if pa.types.is_timestamp(column.type):
            assert (column.type.unit, column.type.tz) == ("us", "UTC")
        named = column.name == "at" or column.name.endswith("_at")
        assert named == pa.types.is_timestamp(column.type)


def test_datasets_is_not_shadowed() -> None:
    assert str(PACKAGE) not in [str(Path(entry or ".").resolve()) for entry in sys.path]
    spec = importlib.util.find_spec("datasets")
    assert spec is None or not Path(str(spec.origin)).is_relative_to(PACKAGE)


AT = "2024-03-01T10:00:00Z"
URL = "https://api.github.com/repos/octo/gem/issues/1"


def person(login: str) -> dict[str, Any]:
    return {"login": login, "id": len(login), "avatar_url": URL, "type": "User", "site_admin": True}


def events() -> Iterator[dict[str, Any]]:
    """Yield an event of each kind that Goldpan knows, with every field that any of them has."""
    whole = {
        "id": 7,
        "node_id": "x",
        "url": URL,
        "body": "Fixes #3, \U0001fa99",
        "user": person("ann"),
        "actor": person("bo"),
        "assigner": person("cy"),
        "assignee": person("dee"),
        "author_association": "MEMBER",
        "created_at": AT,
        "updated_at": AT,
        "submitted_at": AT,
        "state": "approved",
        "label": {"name": "bug", "color": "red"},
        "milestone": {"title": "1.0", "id": 3},
        "rename": {"from": "a", "to": "b"},
        "commit_id": "c" * 40,
        "sha": "d" * 40,
        "message": "Close #4",
        "author": {"name": "A", "date": AT},
        "committer": {"name": "A", "date": AT},
        "source": {"type": "issue", "issue": {"number": 9, "repository": {"full_name": "o/p"}}},
        "path": "a.c",
        "pull_request_review_id": 5,
        "in_reply_to_id": 6,
    }
    for kind in sorted({*SUBJECTS, *WITHOUT_ROWS, "closed", "reopened", "unheard_of"}):
        yield {"event": kind, **whole}


def entry(kind: str) -> dict[str, Any]:
    branch = {"ref": "main", "sha": "e" * 40, "label": "x", "repo": {"full_name": "o/n", "id": 1}}
    comment = {**next(events()), "diff_hunk": "@@"}
    return {
        "type": kind,
        kind: {
            "number": 1,
            "title": "T #2",
            "body": "closes #5",
            "state": "closed",
            "state_reason": "completed",
            "user": person("ann"),
            "author_association": "NONE",
            "created_at": AT,
            "updated_at": AT,
            "closed_at": AT,
            "locked": True,
            "labels": [{"name": "b", "id": 1}, {"name": "a", "id": 2}],
            "assignees": [person("dee")],
            "milestone": {"title": "1.0", "id": 3},
            "type": {"name": "Bug", "id": 2},
            "comments": 2,
            "parent_issue_url": URL,
            "sub_issues_summary": {"total": 1, "completed": 0},
            "issue_dependencies_summary": {"total_blocked_by": 1, "total_blocking": 2, "x": 3},
            "pinned_comment": {"id": 8, "body": "x"},
            "head": branch,
            "base": branch,
            "merged_at": AT,
            "draft": True,
            "merge_commit_sha": "f" * 40,
            "changed_files": 3,
            "additions": 4,
            "deletions": 5,
            "commits": 6,
            "review_comments": 7,
            "_links": {"self": {"href": URL}},
        },
        "events": list(events()),
        "comments": [comment],
        "note": "of no table",
    }


def rows_of(data: Any) -> dict[str, list[tuple[Any, ...]]]:
    rows = Rows("octo/gem", ("github.com",))
    rows.begin(3)
    rows.read(lambda made, item: made.attempt(1, "entry", parse_backup, item), data)
    return {name: made for name, made in rows.facets.items() if made}


def assert_alike(body: bytes) -> None:
    fields = read_fields(body)
    assert fields is not None
    assert repr(rows_of(fields)) == repr(rows_of(read_shape(orjson.loads(body))))


@pytest.mark.parametrize("kind", ["issue", "pull"])
def test_every_field_of_every_kind_is_read(kind: str) -> None:
    """A field that parsing asks for and reading leaves out would be null in one of the two."""
    assert_alike(json.dumps(entry(kind)).encode())


def variants(value: Any) -> Iterator[Any]:
    """Yield a value with each of its parts in turn taken away, or put into another shape."""
    strange: list[Any] = [None, {}, 7, {"name": {"a": [1]}}, [{"login": 2}]]
    if isinstance(value, dict):
        for key in value:
            yield {name: inner for name, inner in value.items() if name != key}
            for inner in (*strange, *(variants(value[key]) if key != "events" else ())):
                yield {**value, key: inner}
    elif isinstance(value, list):
        yield from ([inner, *value[1:]] for inner in (*strange, *variants(value[0])))


def test_whatever_lacks_or_is_strange_is_read_as_it_stands() -> None:
    base = json.loads(json.dumps(entry("pull")).replace("Fixes #3", "x").replace("closes #5", "y"))
    shapes = list(variants(base | {"events": []}))
    plain = {"type": "issue", "issue": {"number": 1}}
    for event in base["events"]:
        shapes += [plain | {"events": [item]} for item in (event, *few(event))]
    read = 0
    for shape in shapes:
        body = orjson.dumps(shape)
        if read_fields(body) is not None:
            assert_alike(body)
            read += 1
    assert read > 0.3 * len(shapes)  # all that only lacks something


def few(event: dict[str, Any]) -> Iterator[Any]:
    for key in event:
        yield {name: value for name, value in event.items() if name != key}
        yield event | {key: {"login": ["x"], "name": 5, "date": {}, "issue": []}}


@pytest.mark.parametrize(
    "body",
    [
        *(b"", b"7", b"[]", b"{}", b'{"type": "issue"}', b'{"type": "issue", "issue": 7}'),
        *(b'{"type": "x", "x": {}}', b'{"type": ["issue"], "issue": {}}', b"{", b"\xff"),
        b'{"type": "issue", "issue": {"number": 1, "title": "\\ud800"}}',
        b'{"type": "issue", "issue": {"number": ' + b"9" * 40 + b"}}",
        b'{"type": "issue", "issue": ' + b"[" * 2_000 + b"]" * 2_000 + b"}",
    ],
)
def test_what_is_not_of_the_one_shape_is_left_to_others(body: bytes) -> None:
    assert read_fields(body) is None


def test_people_are_told_alike_by_both_apis() -> None:
    rest = user({"login": "renovate[bot]", "type": "Bot", "id": 7})
    assert rest == actor({"login": "renovate", "__typename": "Bot", "databaseId": 7})
    assert rest == ("renovate[bot]", 7, "bot")


@pytest.mark.parametrize("number", [1, True, 1.0, "1", [1], {"id": 1}, None])
def test_an_id_stays_as_it_came(number: Any) -> None:
    for value in (1, number, True):
        user_id = user({"login": "ann", "id": value}).id
        assert (user_id, type(user_id)) == (value, type(value))


@pytest.mark.parametrize("data", [None, {}, {"login": "ghost", "id": 1}, {"login": None}])
def test_deleted_accounts_are_nobody(data: Any) -> None:
    assert user(data) == (None, None, None)


@pytest.mark.parametrize("login", [7, ["ann"], {"login": "ann"}])
def test_a_login_that_is_none_is_unreadable(login: Any) -> None:
    assert user({"login": login, "id": 1}).login == UnreadableValue(login)


def test_the_largest_come_first() -> None:
    assert deal({"a/b": 3, "a/c": 5, "a/d": 4}, 2, worth=1) == ["a/c", "a/d", "a/b"]


def test_what_is_larger_than_a_share_is_left_to_all_processes() -> None:
    assert deal({"a/huge": 90, "a/b": 5, "a/c": 4}, 2, worth=1) == ["a/b", "a/c"]


def test_little_work_stays_in_this_process() -> None:
    sizes = {"a/b": 3, "a/c": 5}
    assert deal(sizes, 2, worth=9) == deal(sizes, 1, worth=1) == deal({"a/b": 3}, 2, worth=1) == []
    assert deal({}, 2, worth=1) == []


@given(
    st.dictionaries(st.text(max_size=3), st.integers(0, 100), max_size=6),
    st.integers(1, 4),
    st.integers(0, 200),
)
def test_only_known_units_are_dealt_each_once(
    sizes: dict[str, int], processes: int, worth: int
) -> None:
    dealt = deal(sizes, processes, worth)
    assert len(dealt) == len(set(dealt)) and set(dealt) <= set(sizes)
    assert len(dealt) != 1
