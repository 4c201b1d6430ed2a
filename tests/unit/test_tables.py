"""Tables: their definitions hold together; an account has one login, whichever API names it."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from goldpan.core.schemas import stages
from goldpan.core.schemas.mined import MINED
from goldpan.core.schemas.stages import PAIRS
from goldpan.core.schemas.table import TableSchema
from goldpan.miners.tables.columns import Person, UnreadableValue, actor, user

TABLES = [*MINED, *(value for value in vars(stages).values() if isinstance(value, TableSchema))]


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


APPS = {
    "copilot-pull-request-reviewer[bot]": (175728472, "Copilot"),
    "copilot-swe-agent[bot]": (198982749, "Copilot"),
    "anthropic-code-agent[bot]": (242468646, "Claude"),
    "openai-code-agent[bot]": (242516109, "Codex"),
    "dependabot[bot]": (49699333, "dependabot[bot]"),
}


@pytest.mark.parametrize("login", APPS)
def test_an_app_has_one_login(login: str) -> None:
    number, shown = APPS[login]
    known = Person(login, number, "bot")
    for name in (shown, login):
        assert user({"login": name, "id": number, "type": "Bot"}) == known
    plain = login.removesuffix("[bot]")
    assert actor({"__typename": "Bot", "login": plain, "databaseId": number}) == known


def test_people_keep_the_names_that_apps_are_displayed_by() -> None:
    for name in ("Copilot", "Claude", "Codex"):
        assert user({"login": name, "id": 7, "type": "User"}) == Person(name, 7, "user")


def test_which_copilot_is_unknown_without_an_id() -> None:
    assert user({"login": "Copilot", "type": "Bot"}) == Person("Copilot[bot]", None, "bot")


def test_an_id_that_is_none_names_nobody() -> None:
    assert user({"login": "Copilot", "id": [1], "type": "Bot"}).login == "Copilot[bot]"
