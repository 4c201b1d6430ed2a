"""The small steps of mining discussions and of building rows out of them."""

from __future__ import annotations

from typing import Any

import duckdb
import pytest

from goldpan.builders.qa import ACCEPTED_BY
from goldpan.datasets.examples import QA, QA_WITH_DISCUSSIONS, known_family
from goldpan.datasets.family import described_family
from goldpan.miners.github.cost import discussion_requests
from goldpan.miners.github.queries import entries_batch
from goldpan.miners.tables.parse_graphql import parse_discussion
from goldpan.miners.tables.rows import Rows


def said(identity: int, **values: Any) -> dict[str, Any]:
    text = {"body": f"Text {identity}", "createdAt": "2024-01-02T00:00:00Z"}
    return {"id": f"DC_{identity}", "databaseId": identity, **text, **values}


def page(nodes: list[dict[str, Any]], total: int | None = None) -> dict[str, Any]:
    more = total is not None and total > len(nodes)
    info = {"hasNextPage": more, "endCursor": "c" if more else None}
    return {"totalCount": total or len(nodes), "pageInfo": info, "nodes": nodes}


def discussion(**values: Any) -> dict[str, Any]:
    return {
        "__typename": "Discussion",
        "id": "D_1",
        "number": 7,
        "title": "How?",
        "body": "See #3",
        "closed": False,
        "createdAt": "2024-01-01T00:00:00Z",
        "updatedAt": "2024-01-01T00:00:00Z",
        "category": {"id": "DIC_1", "name": "Q&A", "slug": "q-a", "isAnswerable": True},
        "comments": page([]),
        "labels": page([]),
        **values,
    }


def parsed(node: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    rows = Rows("o/n", ("github.com",))
    parse_discussion(rows, 7, node)
    return {name: table.to_pylist() for name, table in rows.tables().items()}


@pytest.mark.parametrize(("closed", "state"), [(True, "closed"), (False, "open")])
def test_a_discussion_is_an_entry(closed: bool, state: str) -> None:
    (entry,) = parsed(discussion(closed=closed, author=None, stateReason="OUTDATED"))["entry"]
    told = (entry["kind"], entry["state"], entry["state_reason"])
    assert told == ("discussion", state, "outdated")
    assert (entry["author"], entry["assignees"], entry["blocked_by"]) == (None, [], None)


def test_what_cannot_be_read_is_lost_alone() -> None:
    node = discussion(comments=page([said(11, isAnswer="yes"), said(12)]), category=None)
    rows = Rows("o/n", ("github.com",))
    rows.read(lambda rows, node: parse_discussion(rows, 7, node), node)
    tables = {name: table.to_pylist() for name, table in rows.tables().items()}
    assert [row["is_answer"] for row in tables["discussion_comments"]] == [None, None]
    assert {row["part"] for row in tables["losses"]} == {"entry", "comments"}


def test_the_cost_follows_from_how_long_discussions_are() -> None:
    assert entries_batch("discussion") == 4
    assert discussion_requests([]) == 0
    assert discussion_requests([5] * 8) == 2
    assert discussion_requests([6, 25, 26, 45]) == 1 + 1 + 1 + 2 + 2


@pytest.mark.parametrize(
    ("asker", "chooser", "is_maintainer", "role"),
    [
        ("ann", "ann", False, "asker"),
        ("ann", "ann", True, "asker"),
        ("ann", "bob", True, "maintainer"),
        ("ann", "bob", False, "other"),
        (None, "bob", True, "maintainer"),
        (None, None, False, "other"),
    ],
)
def test_who_accepted(
    asker: str | None, chooser: str | None, is_maintainer: bool, role: str
) -> None:
    with duckdb.connect() as connection:
        found = connection.execute(
            f"SELECT {ACCEPTED_BY} FROM (SELECT $asker AS author) i, "
            "(SELECT $chooser AS answer_chosen_by) d, (SELECT $maintainer AS author) m",
            {"asker": asker, "chooser": chooser, "maintainer": chooser if is_maintainer else None},
        )
        assert found.fetchall() == [(role,)]


@pytest.mark.parametrize("family", [QA, QA_WITH_DISCUSSIONS])
def test_a_dataset_is_known_again_by_its_columns(family: Any) -> None:
    assert known_family(described_family(family), family.schema) is family
