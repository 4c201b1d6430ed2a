from __future__ import annotations

from typing import Any

import pytest

from goldpan.miners.tables.columns import UnreadableValue, actor, user


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
