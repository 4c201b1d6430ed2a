"""Reviewing against a local OpenAI: verdicts, votes, failures, the archive, and fix pairs."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pyarrow.parquet as pq
import pytest

from goldpan.annotation.review import votes as planner
from goldpan.annotation.review.request import load_prompt
from goldpan.annotation.review.run import run_review
from goldpan.annotation.review.stored import read_reviews
from goldpan.annotation.review.subjects import KINDS, read_cases
from goldpan.core.storage.archive import Archive
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.git.refs import write_refs_record
from tests import filtering
from tests.filtering import REPO, Row, comment, issue, pair, pull
from tests.git_repositories import Repository
from tests.openai_server import CUT, KEY, Body, Fault, OpenAIServer, Said, answer
from tests.reviewing import (
    QUIET,
    QUOTE,
    by_number,
    filtered,
    keeps,
    number,
    profile,
    prompt_text,
    review,
    rows,
    settings,
    workspace,
)

PRICES = {"judge": {"input": 10.0, "output": 100.0}}
BAD = "words that nobody wrote"


def nightly(*case: object) -> Any:
    return pytest.param(*case, marks=pytest.mark.nightly)


def test_verdicts_stand_beside_those_of_the_filter(tmp_path: Path) -> None:
    lab = workspace(tmp_path)
    answers = {2: answer("drop", "Leak 2", confidence=0.7, reasons=["off-topic"])}
    with OpenAIServer(by_number(answers)) as server:
        done = review(lab, server)
    decided = (done.keep, done.drop, done.people)
    assert decided == ({"question-answer": 2}, {"question-answer": 1}, {})
    verdicts = rows(lab)
    assert list(verdicts) == [1, 2, 3]
    found = [(row["keep"], row["reason"], row["value"]) for row in verdicts.values()]
    assert found == [(True, None, 0.9), (False, "off-topic", 0.7), (True, None, 0.9)]
    assert re.fullmatch(rf"comment [0-9]+: {QUOTE}", verdicts[1]["evidence"])
    shared = {(row["stage"], row["criterion"], row["decides"]) for row in verdicts.values()}
    assert shared == {("llm", "question-answer", False)}


def seen_of(lab: WorkspaceLayout) -> str:
    """Return what a model is shown of the only issue."""
    with OpenAIServer(keeps) as server:
        review(lab, server)
        body, *_ = server.chats
    return prompt_text(body)


def test_a_model_sees_texts_and_roles_and_nothing_private(tmp_path: Path) -> None:
    seen = seen_of(workspace(tmp_path, 1, issue1="Write to jane.roe@sluiceworks.org please"))
    for text in ("Leak 1\n", "Write to <EMAIL> please\n", f"{QUOTE} of box 1\n",
                 "reply 1 of 1 by somebody else"):  # fmt: skip
        assert text in seen
    for text in ("erin", "alice", "jane.roe"):
        assert text not in seen


def test_a_long_discussion_is_shown_by_its_ends(tmp_path: Path) -> None:
    comments = [filtering.comment(1, f"Reply number {n}", "alice") for n in range(1, 101)]
    comments.append(filtering.comment(1, "Mended", "erin", author_association="member"))
    lab = filtered(filtering.build(tmp_path, [filtering.issue(1)], comments))
    seen = [line for line in seen_of(lab).split("\n") if " begin reply " in line]
    assert len(seen) == 64
    assert seen[0].endswith("begin reply 1 of 101 by the asker ===")
    assert seen[39].endswith("begin reply 40 of 101 by the asker ===")
    assert seen[40].endswith("begin reply 78 of 101 by the asker ===")
    assert seen[63].endswith("begin reply 101 of 101 by member ===")


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (Said(None, refusal="I will not"), "refused"),
        nightly(Said("", finish="content_filter"), "refused"),
        (Said('{"evidence": ["Tigh', finish="length"), "truncated"),
        (Said("Sure! Here is the JSON"), "malformed"),
        nightly(
            Said('{"evidence": [], "reasons": [], "verdict": "yes", "confidence": 1}'), "malformed"
        ),
        (answer("drop", QUOTE, reasons=["made-up"]), "malformed"),
        nightly(answer("keep", QUOTE, confidence=7), "malformed"),
        (answer("keep", BAD), "quote-not-found"),
        nightly(answer("keep"), "quote-not-found"),
        nightly(answer("keep", " \n "), "quote-not-found"),
        (answer("keep", QUOTE, reply=2), "reply-not-found"),
        nightly(answer("keep", QUOTE, reply=-1), "reply-not-found"),
        (answer("unsure", QUOTE), "unsure"),
        (Fault(400, "context_length_exceeded", "maximum context length is 8"), "context-overflow"),
        (Fault(400, "unsupported_value", "temperature"), "bad-request"),
        (Fault(400, "content_filter", "The prompt was filtered"), "refused"),
        (Fault(429, "rate_limit_exceeded"), "rate-limited"),
        (Fault(500), "server-error"),
        (CUT, "no-connection"),
    ],
)
def test_what_fails_is_a_verdict_for_people(tmp_path: Path, reply: Any, reason: str) -> None:
    lab = workspace(tmp_path)
    with OpenAIServer(by_number({2: reply})) as server:
        done = review(lab, server)
        row = rows(lab)[2]
        assert (row["keep"], row["reason"]) == (None, reason)
        assert [rows(lab)[n]["keep"] for n in (1, 3)] == [True, True]
        assert done.people == {"question-answer": 1}
        first = len(server.chats)
        server.model = keeps
        again = review(lab, server)
        transient = reason in ("bad-request", "rate-limited", "server-error", "no-connection")
        assert [number(body) for body in server.chats[first:]] == [2] * transient
        assert again.keep == {"question-answer": 2 + transient}


def test_a_failure_that_passes_is_tried_again_at_once(tmp_path: Path) -> None:
    faults = [Fault(429, "rate_limit_exceeded"), Fault(503), CUT]
    with OpenAIServer(lambda _: faults.pop() if faults else answer("keep", QUOTE)) as server:
        done = review(workspace(tmp_path, 1), server, retries=3)
    assert done.keep == {"question-answer": 1}
    assert len(server.chats) == 4


@pytest.mark.parametrize("mended", [True, False])
def test_a_reply_that_breaks_the_form_is_asked_once_more(tmp_path: Path, mended: bool) -> None:
    def model(body: Body) -> Said:
        again = len(body["messages"]) > 2
        return answer("keep", QUOTE) if again and mended else Said("Sure, I keep it")

    lab = workspace(tmp_path, 1)
    prices = {"prices": PRICES}
    with OpenAIServer(model) as server:
        done = review(lab, server, **prices)
        assert (done.keep == {"question-answer": 1}) is mended
        assert (done.reasons == {}) is mended and (mended or done.reasons == {"malformed": 1})
        first, second = server.chats
        assert second["messages"][:2] == first["messages"]
        assert second["messages"][2] == {"role": "assistant", "content": "Sure, I keep it"}
        assert "there is no JSON object" in second["messages"][3]["content"]
        again = review(lab, server, **prices)
        assert len(server.chats) == 2
    assert (again.keep, again.sent, again.estimate.answered) == (done.keep, 0, 2)
    assert again.estimate.cost_before == pytest.approx(done.cost) and done.complete is mended


def test_a_quote_that_is_not_in_the_texts_is_asked_for_once_more(tmp_path: Path) -> None:
    def model(body: Body) -> Said:
        told = "\n".join(message["content"] for message in body["messages"][2:])
        return answer("keep", QUOTE if "words that nobody wrote" in told else BAD)

    with OpenAIServer(model) as server:
        done = review(workspace(tmp_path, 1), server)
        assert (done.keep, len(server.chats)) == ({"question-answer": 1}, 2)


def test_evidence_is_pointed_at_by_numbers_of_sentences(tmp_path: Path) -> None:
    lab = workspace(tmp_path, 2)

    def model(body: Body) -> Said:
        text = prompt_text(body)
        mark = re.search(rf"\[(\d+)\] {QUOTE}", text)
        assert mark
        assert "[1] Leak" in text
        items = body["response_format"]["json_schema"]["schema"]["properties"]["evidence"]["items"]
        assert items == {"type": "integer"}
        assert "numbers" in body["messages"][0]["content"]
        chosen: Any = int(mark[1]) if number(body) == 1 else 99
        said = {"evidence": [chosen], "reasons": [], "verdict": "keep", "confidence": 0.9}
        return Said(orjson.dumps(said).decode())

    with OpenAIServer(model) as server:
        review(lab, server, evidence="numbers")
        assert len(server.chats) == 3
        assert (
            "quotes: 99, and evidence must be numbers"
            in server.chats[-1]["messages"][-1]["content"]
        )
    first, second = rows(lab)[1], rows(lab)[2]
    assert re.fullmatch(rf"comment [0-9]+: {QUOTE} of box 1", first["evidence"])
    assert (second["keep"], second["reason"]) == (None, "quote-not-found")


def test_a_second_run_is_free_and_gives_the_same_bytes(tmp_path: Path) -> None:
    lab = workspace(tmp_path)
    with OpenAIServer(keeps) as server:
        first = review(lab, server, prices=PRICES)
        bytes_before = (lab.root / "verdicts/octo/gem/unpaired/own.llm.parquet").read_bytes()
        again = review(lab, server, prices=PRICES)
        assert len(server.chats) == 3
    assert (first.sent, again.sent, again.estimate.answered, again.cost) == (3, 0, 3, 0)
    assert again.estimate.cost_before == pytest.approx(first.cost)
    assert (lab.root / "verdicts/octo/gem/unpaired/own.llm.parquet").read_bytes() == bytes_before


def test_other_models_parameters_and_rubrics_are_asked_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = workspace(tmp_path, 1)
    changes: list[dict[str, Any]] = [
        {"models": ["other"]},
        {"temperature": 0.5},
        {"max_tokens": 50},
        {"seed": 5},
    ]
    with OpenAIServer(keeps) as server:
        review(lab, server)
        for change in changes:
            review(lab, server, **change)
        assert len(server.chats) == 1 + len(changes)
        new = replace(load_prompt("question-answer"), label="question-answer@9-0")
        monkeypatch.setattr(planner, "load_prompt", lambda _: new)
        review(lab, server)
        assert len(server.chats) == 2 + len(changes)


def test_every_request_and_reply_is_archived_without_the_key(tmp_path: Path) -> None:
    lab = workspace(tmp_path)
    leaky = Fault(500, message=f"Key {KEY} made me fail")
    with OpenAIServer(by_number({2: leaky})) as server:
        review(lab, server)
    records = Archive(lab.root / "reviews").records
    assert sorted(record.meta["part"] for record in records) == ["reply"] * 3 + ["request"] * 3
    bodies = b"".join(record.read() for record in records)
    assert b"Key *** made me fail" in bodies
    assert KEY.encode() not in bodies + str([record.meta for record in records]).encode()
    assert KEY not in repr(settings(server))


def test_models_that_disagree_send_a_subject_to_people(tmp_path: Path) -> None:
    lab = workspace(tmp_path)

    def model(body: Body) -> Said:
        if body["model"] == "second" and number(body) == 2:
            return answer("drop", "Leak 2", reasons=["unclear"])
        if body["model"] == "second" and number(body) == 3:
            return answer("unsure")
        return keeps(body)

    with OpenAIServer(model) as server:
        review(lab, server, models=["first", "second"])
        verdicts = rows(lab)
        assert [row["keep"] for row in verdicts.values()] == [True, None, None]
        assert [verdicts[n]["reason"] for n in (2, 3)] == ["disagreement", "unsure"]
        assert [row["value"] for row in verdicts.values()] == [1.0, 0.5, 0.5]
        assert verdicts[2]["evidence"] == "first: keep 0.90; second: drop 0.90"


def test_models_that_name_different_replies_disagree(tmp_path: Path) -> None:
    lab = workspace(tmp_path, 1, replies=2)

    def model(body: Body) -> Said:
        if body["model"] == "first":
            return answer("keep", "Leak of kind 1", reply=1)
        return answer("keep", QUOTE, reply=2)

    with OpenAIServer(model) as server:
        review(lab, server, models=["first", "second"])
        assert (rows(lab)[1]["keep"], rows(lab)[1]["reason"]) == (None, "disagreement")
        review(lab, server, models=["first", "second", "third"], agreement=0.6)
        decided = rows(lab)[1]
    comments = pq.read_table(lab.table(REPO, "comments"))["comment_id"].to_pylist()
    assert decided["keep"] is True
    assert decided["evidence"] == f"comment {comments[1]}: {QUOTE}"


def test_a_text_too_long_for_the_model_is_cut_until_it_fits(tmp_path: Path) -> None:
    lab = workspace(tmp_path, 1, issue1="a word\n" * 3000)

    def model(body: Body) -> Said | Fault:
        if len(prompt_text(body)) > 8_000:
            return Fault(400, "exceed_context_size_error", "the request exceeds the context size")
        return keeps(body)

    with OpenAIServer(model) as server:
        review(lab, server)
        assert rows(lab)[1]["keep"] is True
        sizes = [len(prompt_text(body)) for body in server.chats]
        assert sizes[0] > 20_000 > 12_000 > sizes[1] > 8_000 > sizes[2]
        assert "characters are left out ]]" in prompt_text(server.chats[2])
        review(lab, server)
        assert len(server.chats) == 3


def test_equal_texts_are_asked_once(tmp_path: Path) -> None:
    issues = [filtering.issue(number, title="The same") for number in (1, 2, 3)]
    replies = [filtering.comment(number, QUOTE) for number in (1, 2, 3)]
    lab = filtered(filtering.build(tmp_path, issues, replies))
    with OpenAIServer(keeps) as server:
        done = review(lab, server)
        assert (len(server.chats), done.keep) == (1, {"question-answer": 3})


def test_concurrency_is_bounded_and_used(tmp_path: Path) -> None:
    with OpenAIServer(keeps) as server:
        server.delay = 0.02
        review(workspace(tmp_path, 20), server, concurrency=3)
    assert server.busiest == 3


def paired(root: Path, comments: Iterable[Row] = ()) -> WorkspaceLayout:
    """Return a workspace with a pair that has a diff, and two that have none."""
    lab = WorkspaceLayout(root)
    lab.clone(REPO).parent.mkdir(parents=True)
    clone = Repository.create(lab.clone(REPO))
    before = clone.commit({b"pump": b"flow = 1\n", b"other": b"1\n"})
    after = clone.commit({b"pump": b"flow = 2\n", b"other": b"2\n"}, before)
    clone.point("refs/heads/main", after)
    write_refs_record(clone.path)
    shas = {"state": "base", "before_sha": before, "after_sha": after, "merge_base": before}
    filtering.build(
        root,
        [issue(1, "The pump leaks"), issue(3), pull(2, body="Fixes #1"), pull(4)],
        comments,
        pairs=[pair(1, 2), pair(3, 4), pair(3, 9, pull_repo="else/where")],
        revisions=[{"number": 2, **shas}, {"number": 4, "state": "none"}],
        changes=[],
    )
    return filtered(lab)


def test_a_model_sees_issue_pull_and_every_changed_file(tmp_path: Path) -> None:
    lab = paired(tmp_path)
    reply = answer("keep", "The pump leaks", "+flow = 2")
    with OpenAIServer(lambda _: reply) as server:
        options = settings(server, subjects=["pair"])
        planned = run_review(lab, [REPO], profile(lab), options, QUIET, dry_run=True)
        done = run_review(lab, [REPO], profile(lab), options, QUIET)
        (body,) = server.chats
    assert "2 subjects not sent, left to people: no-diff\n1 request to send" in str(planned)
    assert (done.keep, done.reasons) == ({"problem-solution": 1}, {"no-diff": 2})
    seen = prompt_text(body)
    names = [line.split(" begin ")[1] for line in seen.split("\n") if " begin " in line]
    assert names[:2] == ["issue title ===", "issue body ==="]
    assert names[2:4] == ["pull request title ===", "pull request body ==="]
    assert names[4:] == ["change 1 of 2 ===", "change 2 of 2 ==="]
    assert "-flow = 1\n+flow = 2\n" in seen
    assert "Fixes #1" in seen
    assert "FAUN" not in str(body)


def test_without_a_clone_nobody_is_asked(tmp_path: Path) -> None:
    lab = filtering.build(tmp_path, [issue(1), pull(2)], pairs=[pair(1, 2)])
    filtered(lab)
    (case,) = read_cases(lab, REPO, profile(lab), KINDS["pair"])
    assert (case.obstacle, case.parts) == ("no-diff", ())


def test_one_review_leaves_the_verdicts_of_another(tmp_path: Path) -> None:
    lab = paired(tmp_path, [comment(1, "Tighten it", "erin")])
    with OpenAIServer(lambda _: answer("keep", "The pump leaks")) as server:
        for subject in ("pair", "issue", "pair"):
            options = settings(server, subjects=[subject])
            run_review(lab, [REPO], profile(lab), options, QUIET)
    rows = read_reviews(lab, REPO, "own").to_pylist()
    verdicts = [(row["subject"], row["issue"], row["keep"]) for row in rows]
    assert verdicts == [("issue", 1, True), ("pair", 1, True), ("pair", 3, None), ("pair", 3, None)]
