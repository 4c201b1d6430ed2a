"""Which reply is taken as the answer (docs/datasets.md)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from goldpan.filters.answers import (
    AskedQuestion,
    Choice,
    IssueReply,
    choose,
    comment_evidence,
    named_comment,
    rated_answers,
)
from goldpan.text.remarks import read_remarks

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
QUESTION = AskedQuestion("asker", "The sluice leaks at the gate", NOON + timedelta(days=1), "m")
ADVICE = (
    "The gate leaks because the seal dries out in summer. You need to soak it overnight, then "
    "close the gate with the new lever:\n\n```\nsluice --soak 8h gate\n```\n"
)


def reply(author: str | None, role: str | None, text: str = ADVICE, hours: float = 1) -> IssueReply:
    return IssueReply(0, author, role, NOON + timedelta(hours=hours), text)


def chosen(choice: Choice, *replies: IssueReply, question: AskedQuestion = QUESTION) -> list[int]:
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
    gone = AskedQuestion(None, "The sluice leaks at the gate", None, None)
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
        "Duplicate of #3, closing in favor of that one.",
        "Thanks a lot for the report!",
        "Me too, I am seeing the same issue.",
        "Can you provide the version and a log?",
        "I'll open a pull request tomorrow.",
        "> The sluice leaks at the gate\n> because of the seal",
        "Any updates on this?",
        "This is still an issue with the newest release.",
        "Triage: the two tests are not in `gates/` yet. You need to move them, which is easy.",
        "I sent in a patch for the gate, unsure why it is not linked here.",
        "This sample now compiles. Well, it cannot link, but that is to be expected.",
        "The example above no longer fails on the newest version.",
        "Today, the original code errors, but in a different way.\n\n```\nerror: no gate\n```",
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
        "Use the lever at the gate of the sluice instead of the rope, because it slips when wet: "
        "`sluice --lever`.",
    ],
)
def test_an_explanation_or_a_step_is_an_answer(text: str) -> None:
    assert chosen("best", reply("s", "none", "Same here."), reply("m", "member", text)) == [1]


def test_the_best_says_why() -> None:
    note, answer = reply("s", "none", "cc @digger"), reply("m", "member")
    thanks = reply("asker", "none", "Thank you, that works now.", 2)
    (choice,) = choose(QUESTION, [note, answer, thanks], "best")
    assert choice.reply is answer
    assert {"code", "steps", "reasons", "confirmed", "knows the repository"} <= set(choice.because)
    plain = max(rated_answers(QUESTION, [note, answer]), key=lambda answer: answer.points or 0)
    assert (choice.points or 0) > (plain.points or 0)


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


def earned(text: str, *earlier: IssueReply, question: AskedQuestion = QUESTION) -> int:
    answers = rated_answers(question, [*earlier, reply("m", "member", text)])
    return answers[-1].points or 0


@pytest.mark.parametrize(
    "text",
    [
        "Not sure, but the seal may be dry, because nobody soaked it since last summer.",
        "I guess the seal is dry, because nobody soaked it since last summer.",
        "Perhaps the seal is dry, because nobody soaked it since last summer.",
        "I don't know whether the seal is dry, because nobody soaked it last summer.",
    ],
)
def test_a_guess_earns_less_than_a_statement(text: str) -> None:
    assert earned(text) < earned("The seal is dry, because nobody soaked it since last summer.")


def test_doubt_in_a_question_or_a_quote_is_no_guess() -> None:
    plain = read_remarks("The seal is dry. Could you soak it, perhaps?\n\n> I guess it is dry")
    assert not plain.unsure


def test_a_reply_to_another_reply_earns_less_than_one_to_the_question() -> None:
    before = reply("s", "none", "Would a second gate behind the first one help against it?")
    to_reply = f"> {before.text}\n\n{ADVICE}"
    to_question = f"> The sluice leaks as soon as the gate is closed.\n\n{ADVICE}"
    assert earned(to_reply, before) < earned(to_question, before)


@pytest.mark.parametrize("sign", "\u2028\u2029\x0b\x0c\x1c\x85")
def test_a_quoted_line_ends_at_a_line_feed_alone(sign: str) -> None:
    before = reply("s", "none", f"Would a{sign}second gate behind the first help against it?\r\n")
    to_reply = f"> {before.text}\r\n\r\n{ADVICE}"
    to_question = f"> The sluice leaks as soon as the gate is closed.\n\n{ADVICE}"
    assert earned(to_reply, before) < earned(to_question, before)


@pytest.mark.parametrize(
    ("title", "body"),
    [
        ("How do I close the gate", "It leaks."),
        ("The gate leaks, is this expected?", "It leaks."),
        ("The gate leaks", "It leaks since yesterday. What can I do?\n"),
    ],
)
def test_a_reply_to_a_question_earns_more_than_one_to_a_wish(title: str, body: str) -> None:
    open_question = AskedQuestion("asker", title, None, None, body)
    wished = AskedQuestion("asker", "Add a second gate", None, None, "It leaks.")
    stated = AskedQuestion("asker", "The gate leaks", None, None, "It leaks.")
    assert earned(ADVICE, question=open_question) > earned(ADVICE, question=stated)
    assert earned(ADVICE, question=stated) > earned(ADVICE, question=wished)


@pytest.mark.parametrize("title", ["Can't close the gate", "Does not close", "Cannot close it"])
def test_a_report_of_what_does_not_work_is_no_question(title: str) -> None:
    stated, reported = (AskedQuestion("asker", t, None, None) for t in ("The gate leaks", title))
    advice = "Soak the seal in water."
    assert earned(advice, question=reported) == earned(advice, question=stated)


def test_evidence_names_the_reply_that_answers() -> None:
    assert named_comment(comment_evidence(17, "soak the seal")) == 17
    assert named_comment(comment_evidence(17, "")) == 17
    for evidence in (None, "", "soak the seal", "see comment 17: soak", "comment 17 says so"):
        assert named_comment(evidence) is None
