"""Which reply is taken as the answer (docs/datasets.md)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from goldpan.filters.answers import Choice, Question, Reply, choose, rated_answers
from goldpan.text.remarks import read_remarks

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
QUESTION = Question("asker", "The sluice leaks at the gate", NOON + timedelta(days=1), "m")
ADVICE = (
    "The gate leaks because the seal dries out in summer. You need to soak it overnight, then "
    "close the gate with the new lever:\n\n```\nsluice --soak 8h gate\n```\n"
)


def reply(author: str | None, role: str | None, text: str = ADVICE, hours: float = 1) -> Reply:
    return Reply(0, author, role, NOON + timedelta(hours=hours), text)


def chosen(choice: Choice, *replies: Reply, question: Question = QUESTION) -> list[int]:
    return [replies.index(answer.reply) for answer in choose(question, replies, choice)]


def test_the_earliest_who_speaks_for_the_repository_is_first() -> None:
    stranger, helper = reply("s", "none"), reply("h", "contributor")
    for role in ("owner", "member", "collaborator"):
        assert chosen("first", stranger, helper, reply("m", role), reply("n", "owner")) == [2]
    assert chosen("first", stranger, helper) == [1]
    assert chosen("first", stranger) == [0]
    assert chosen("first", reply("s", None)) == [0]


def test_nobody_is_first_to_answer_themselves() -> None:
    assert chosen("first", reply("asker", "owner")) == []
    assert chosen("first", reply("asker", "owner"), reply("s", "none")) == [1]
    assert chosen("first") == []


def test_a_deleted_account_is_somebody_else() -> None:
    assert chosen("first", reply(None, None)) == [0]
    gone = Question(None, "The sluice leaks at the gate", None, None)
    assert chosen("first", reply(None, None), question=gone) == [0]


def test_who_asks_back_gives_way_to_the_next_of_the_rank() -> None:
    asks = reply("m", "member", "Which version do you use?\n")
    emphatic = reply("m", "member", "Which version (and **why?**) ")
    answers = reply("n", "owner", "Close the gate. Why? Because it leaks.")
    assert chosen("first", asks, answers) == [1]
    assert chosen("first", emphatic, answers) == [1]
    assert chosen("first", asks, reply("s", "none")) == [0]
    assert chosen("first", asks) == [0]


@pytest.mark.parametrize(
    "text",
    [
        "cc @digger @washer",
        "Closed in f463e69",
        "Fixed by #12.",
        "Visiting for triage; no change.",
        "Nominating for discussion, labelling as P-high.",
        "Duplicate of #3, closing in favour of that one.",
        "Thanks a lot for the report!",
        "+1",
        "Me too, I am seeing the same issue.",
        "Can you provide the version and a log?",
        "I'll open a pull request tomorrow.",
        "> The sluice leaks at the gate\n> because of the seal",
        "Any updates on this?",
        "This is still an issue with the newest release.",
        "https://example.org/sluice",
    ],
)
def test_a_note_is_no_answer(text: str) -> None:
    assert chosen("best", reply("m", "member", text)) == []
    assert chosen("all", reply("m", "member", text)) == []


@pytest.mark.parametrize(
    "text",
    [
        ADVICE,
        "The leak is expected: the gate has no seal by design, since it would silt up. "
        "You can add one by running `sluice --seal`.",
        "Use the lever at the gate instead of the rope, because the rope slips when it is wet.",
    ],
)
def test_an_explanation_or_a_step_is_an_answer(text: str) -> None:
    assert chosen("best", reply("s", "none", "Same here."), reply("m", "member", text)) == [1]


def test_the_best_says_why() -> None:
    note, answer = reply("s", "none", "cc @digger"), reply("m", "member")
    thanks = reply("asker", "none", "Thank you, that works now.", 2)
    (found,) = choose(QUESTION, [note, answer, thanks], "best")
    assert found.reply is answer
    assert {"code", "steps", "reasons", "confirmed", "knows the repository"} <= set(found.because)
    plain = max(rated_answers(QUESTION, [note, answer]), key=lambda one: one.points or 0)
    assert (found.points or 0) > (plain.points or 0)


def test_a_solution_of_the_asker_can_be_best_and_a_complaint_cannot() -> None:
    solved = "I solved it by replacing the seal: the gate leaks no longer, because it is new.\n\n"
    own = reply("asker", "contributor", solved + "```\nsluice --seal new\n```")
    complaint = reply("asker", "contributor", "The gate of the sluice leaks on Monday as well.")
    assert chosen("best", own) == [0]
    assert chosen("best", complaint) == []


def test_all_are_those_of_others_that_are_no_notes() -> None:
    replies = [reply("s", "none"), reply("asker", "none"), reply("m", "member", "cc @digger")]
    assert chosen("all", *replies) == [0]


def test_code_and_quotes_are_no_words_of_a_reply() -> None:
    remarks = read_remarks("> quoted words of others\n\n@Digger it is the seal.\n\n```\na b c\n```")
    assert (remarks.words, remarks.quotes, remarks.code) == (4, 2, True)
    assert remarks.addressed == "digger"
