"""Which reply is taken as the answer (docs/datasets.md)."""

from __future__ import annotations

from typing import Any

from goldpan.builders.qa import choose_answer


def reply(author: str | None, role: str | None, text: str = "Close the gate first.") -> Any:
    return {"author": author, "role": role, "text": text}


def chosen(*replies: Any) -> int | None:
    answer = choose_answer(replies, "asker")
    return None if answer is None else replies.index(answer)


def test_the_earliest_who_speaks_for_the_repository_answers() -> None:
    stranger, helper = reply("s", "none"), reply("h", "contributor")
    for role in ("owner", "member", "collaborator"):
        assert chosen(stranger, helper, reply("m", role), reply("n", "owner")) == 2
    assert chosen(stranger, helper) == 1
    assert chosen(stranger) == 0
    assert chosen(reply("s", None)) == 0


def test_nobody_answers_themselves() -> None:
    assert chosen(reply("asker", "owner")) is None
    assert chosen(reply("asker", "owner"), reply("s", "none")) == 1
    assert chosen() is None


def test_a_deleted_account_is_somebody_else() -> None:
    assert chosen(reply(None, None)) == 0
    replies = [reply(None, None)]
    assert choose_answer(replies, None) is replies[0]


def test_who_asks_back_gives_way_to_the_next_of_the_rank() -> None:
    asks = reply("m", "member", "Which version do you use?\n")
    emphatic = reply("m", "member", "Which version (and **why?**) ")
    answers = reply("n", "owner", "Close the gate. Why? Because it leaks.")
    assert chosen(asks, answers) == 1
    assert chosen(emphatic, answers) == 1
    assert chosen(asks, reply("s", "none")) == 0
    assert chosen(asks) == 0
