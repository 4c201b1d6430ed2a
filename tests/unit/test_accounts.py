"""An account has one login, whichever API names it and whatever it is displayed as."""

from __future__ import annotations

import pytest

from goldpan.miners.tables.columns import Person, actor, user

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
