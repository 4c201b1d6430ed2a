"""Bots: told by type, name, catalog and what they say; people with such names are none."""

from __future__ import annotations

import time
from pathlib import Path

import duckdb

from goldpan.filters.bots import Bots, bot_sign, catalog
from tests.filtering import LONG, build, comment, dropped, issue, judge, judge_all

PEOPLE = """
abbott talbot cabot botond robotnik robot-dreams boy1bot2 nabot Turbot jabbot Botelho bottero
BottleFlask botany101 botanist sabotage-fan bothwell thibot rabot Chabot ribot tibot gerbot
joebotham mr-bottom elbottom robothead turbots lobotomy both botvinnik botcherby bottomless
robotics-fan RobotoMono roboticist iRobotic talbot-lab Arbot abbotsford sabot ribota embottled
Cabothe bothie botwright-j robotpony tobotras Robots4Ever wobot-ninja hobotkin kabotchi fabpot
"""

ROBOTS = """
dependabot[bot] github-actions[bot] k8s-ci-robot fejta-bot my_bot bot-of-ours snyk-bot bot
nodejs-github-bot azure-sdk-bot-2 ci-bot2 renovate-bot RenovateBot MyRepoBot robot team-bots
discourse_bot foo-bot-bar bot_7
"""


def test_people_are_no_robots() -> None:
    assert len(PEOPLE.split()) >= 50
    assert [login for login in PEOPLE.split() if bot_sign(login, "user", Bots())] == []


def test_the_papers_rule_takes_people_for_robots() -> None:
    literal = Bots(login_rule="contains", catalog=False)
    taken = [login for login in PEOPLE.split() if bot_sign(login, "user", literal)]
    assert {"abbott", "robot-dreams", "Chabot", "RobotoMono"} <= set(taken)
    assert "fabpot" not in taken


def test_robots_by_name() -> None:
    assert {bot_sign(login, "user", Bots()) for login in ROBOTS.split()} == {"login"}


def test_robots_by_type_and_catalog() -> None:
    assert bot_sign("Copilot", "bot", Bots()) == "type"
    assert bot_sign("GordonTheTurtle", "user", Bots()) == "catalog"
    assert bot_sign("GordonTheTurtle", "user", Bots(catalog=False)) is None
    assert bot_sign("Ours", "user", Bots(logins=("OURS",))) == "catalog"
    assert bot_sign("ci-bot", None, Bots(people=("CI-Bot",))) is None
    assert bot_sign("ci-bot", "bot", Bots(people=("ci-bot",))) == "type"
    assert bot_sign("anna", "bot", Bots(types=())) is None


def matches(texts: list[str]) -> list[bool]:
    with duckdb.connect() as connection:
        query = "SELECT regexp_matches(t, $p) FROM (SELECT unnest($t) AS t)"
        values = {"p": catalog().pattern(), "t": texts}
        return [row[0] for row in connection.execute(query, values).fetchall()]


def test_each_response_has_examples_that_match() -> None:
    for response in catalog().responses:
        assert response.examples
        assert matches(list(response.examples)) == [True] * len(response.examples), response.name


def test_people_who_speak_of_robots_are_none() -> None:
    stale = "This issue has been automatically marked as stale because it has not had activity."
    texts = [
        f"> {stale}\n\nIt is not stale.",
        f"The robot wrote: {stale}",
        f"```\n{stale}\n```",
        "This issue was automatically closed by the commit, but it is not fixed.",
        "This issue was closed because I merged the wrong branch.",
        "I'm a bot developer and see the same.",
        "Thanks for opening this issue!",
        "Thank you for your pull request.",
        "This issue is currently in progress.",
        "Is this stale because it has been open for so long?",
        "The coverage status badge is broken",
        "Dear all, this has been mentioned on the list.",
        "bots",
        "",
    ]
    assert matches(texts) == [False] * len(texts)


def test_hostile_texts_cost_little() -> None:
    hostile = [part * 20_000 for part in ("<!--", ":a", "@a", "hi ", "👋", "# * ", "this issue ")]
    begun = time.process_time()
    assert not any(matches(hostile))
    assert time.process_time() - begun < 5


def test_what_robots_say_and_open_is_marked(tmp_path: Path) -> None:
    stale = "Hi @alice! This issue is stale because it has been open 30 days with no activity."
    again = (
        "Hello @{}, please attach your configuration as described in the handbook, version {}, "
        "and thank you for your help with finding this leak."
    )
    entries = [
        issue(1),
        issue(2, author="dependabot[bot]", author_type="bot"),
        issue(3, "This issue lists Renovate updates and detected dependencies.\n" + LONG),
        issue(4, author=None, author_type=None),
        *(issue(number) for number in range(10, 20)),
    ]
    comments = [
        comment(1, stale, author="anna"),
        comment(1, "Not stale.", author="bob"),
        comment(4, "Stale?", author="k8s-ci-robot", author_type=None),
        *(comment(n, again.format(f"user{n}", n), author="dora") for n in range(10, 20)),
        comment(10, "Attached.", author="bob"),
    ]
    workspace = build(tmp_path, entries, comments)
    verdicts = judge_all(workspace)
    bots = verdicts["bots"]
    assert dropped(bots) == {2: "bot-type", 3: "bot-response"}
    assert bots[2]["evidence"] == "opened by dependabot[bot]"
    counts = {number: row["value"] for number, row in bots.items() if row["value"]}
    assert counts == {1: 1, 4: 1} | dict.fromkeys(range(10, 20), 1)
    assert bots[4]["evidence"] == "comments by bots: k8s-ci-robot"
    people = {number: row["value"] for number, row in verdicts["participants"].items()}
    assert people == {1: 2, 2: 0, 3: 0, 4: 1, 10: 2} | dict.fromkeys(range(11, 20), 1)


def test_a_series_of_issues_is_automatic(tmp_path: Path) -> None:
    """Digests that a script opens under a person's account differ in dates and numbers."""
    digests = [
        issue(n, title=f"Weekly digest ({n} January, 2020 - {n + 7} May, 2020)", author="erin")
        for n in range(1, 11)
    ]
    others = [issue(n, title=f"Weekly digest, {n} March", author=f"user{n}") for n in range(20, 30)]
    reports = [issue(n, title=f"Crash {n}", author="frank") for n in range(30, 40)]
    judged = judge(build(tmp_path, [*digests, *others, *reports]), "bots")
    assert dropped(judged) == dict.fromkeys(range(1, 11), "bot-repeated")
