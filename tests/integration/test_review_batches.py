"""Reviewing through the Batch API: out of order, with errors, killed and taken up again."""

from __future__ import annotations

import os
import signal
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.llm.exchange import EndpointError
from tests.openai_server import CUT, KEY, Body, Fault, OpenAIServer, Said, answer
from tests.program import Running, start
from tests.reviewing import QUOTE, by_number, keeps, number, prompt_text, review, rows, workspace

_REVIEW = """
import sys
from pathlib import Path
from goldpan.annotation.review.run import run_review
from goldpan.annotation.review.request import load_review_settings
from goldpan.filters.profile import load_profile
from goldpan.core.terminal import Reporter
from goldpan.core.storage.workspace import WorkspaceLayout
root, url, batch = sys.argv[1:]
flags = {"models": ["judge"], "base_url": url, "subjects": ["issue"], "batch": batch == "batch",
         "poll_seconds": 0.05, "retries": 0, "concurrency": 4}
run_review(WorkspaceLayout(Path(root)), ["Octo/Gem"], load_profile(str(Path(root) / "own.toml")),
           load_review_settings(None, flags), Reporter(quiet=True))
"""


def reviewing(
    workspace: WorkspaceLayout, server: OpenAIServer, way: str
) -> AbstractContextManager[Running]:
    """Start a review in a process of its own."""
    environment = {**os.environ, "OPENAI_API_KEY": KEY}
    return start(workspace.root, server.url, way, environment=environment, program=_REVIEW)


def test_answers_come_out_of_order_and_errors_in_a_file_of_their_own(tmp_path: Path) -> None:
    lab = workspace(tmp_path, 6)
    drops = answer("drop", "Leak 2", reasons=["unclear"])
    answers = {2: drops, 3: Fault(500), 4: CUT, 5: Said(None, refusal="No")}
    with OpenAIServer(by_number(answers), polls=2) as server:
        done = review(lab, server, batch=True)
        assert len(server.batches) == 1
        reasons = [row["reason"] for row in rows(lab).values()]
        assert reasons[:3] == [None, "unclear", "server-error"]
        assert reasons[3:] == ["batch-expired", "refused", None]
        assert not done.complete, "what failed on the way is asked again"
        server.model = keeps
        review(lab, server, batch=True)
        assert sorted(number(body) for body in server.chats[6:]) == [3, 4]
        assert [row["keep"] for row in rows(lab).values()] == [True, False, True, True, None, True]


def test_a_batch_holds_one_model_and_not_too_many_requests(tmp_path: Path) -> None:
    lab = workspace(tmp_path, 5)
    with OpenAIServer(keeps) as server:
        review(lab, server, batch=True, models=["a", "b"], batch_requests=2)
        assert len(server.batches) == 6
        assert len(server.chats) == 10
    assert all(row["keep"] for row in rows(lab).values())


def test_a_batch_that_is_not_valid_is_told(tmp_path: Path) -> None:
    lab = workspace(tmp_path)
    with OpenAIServer(keeps) as server:
        server.fail_validation = True
        assert review(lab, server, batch=True).reasons == {"batch-failed": 3}
        assert "Line 1 is not valid" in rows(lab)[1]["evidence"]


def test_texts_that_are_too_long_go_into_another_batch(tmp_path: Path) -> None:
    lab = workspace(tmp_path, 2, issue1="a word\n" * 3000)

    def model(body: Body) -> Said | Fault:
        if len(prompt_text(body)) > 15_000:
            return Fault(400, "context_length_exceeded", "maximum context length is 4096")
        return keeps(body)

    with OpenAIServer(model) as server:
        assert review(lab, server, batch=True).keep == {"question-answer": 2}
        assert len(server.batches) == 2
        assert len(server.chats) == 3


def test_without_waiting_a_later_run_collects(tmp_path: Path) -> None:
    lab = workspace(tmp_path)
    with OpenAIServer(keeps, polls=2) as server:
        first = review(lab, server, batch=True, wait=False)
        assert (first.complete, first.sent, first.reasons) == (False, 3, {"not-asked": 3})
        assert not review(lab, server, batch=True, wait=False).complete
        last = review(lab, server, batch=True, wait=False)
        assert (last.complete, last.sent, last.keep) == (True, 0, {"question-answer": 3})
        assert len(server.batches) == 1


def test_a_run_without_batches_takes_up_what_one_with_batches_left(tmp_path: Path) -> None:
    lab = workspace(tmp_path)
    prices = {"judge": {"input": 10.0, "output": 100.0}}
    with OpenAIServer(keeps) as server:
        review(lab, server, batch=True, wait=False, prices=prices, limit=2)
        done = review(lab, server, prices=prices)
        assert done.keep == {"question-answer": 3}
        assert done.cost == pytest.approx((2 / 2 + 1) * (100 * 10 + 20 * 100) / 1e6)
        assert len(server.chats) == 3


def test_half_the_price_and_never_more_than_allowed(tmp_path: Path) -> None:
    lab = workspace(tmp_path, 20)
    prices = {"judge": {"input": 10.0, "output": 100.0}}
    with OpenAIServer(keeps) as server:
        done = review(lab, server, batch=True, prices=prices, max_cost=0.11)
        assert done.cost == pytest.approx(done.sent * (100 * 10 + 20 * 100) / 1e6 / 2)
        assert done.cost <= 0.11
        assert len(server.batches) > 1, "what a batch really cost leaves room for another"
        assert done.sent > 1
        assert review(lab, server, batch=True, prices=prices, max_cost=9.0).complete
        assert len(server.chats) == 20


def test_a_killed_run_finds_its_batch_again(tmp_path: Path) -> None:
    lab = workspace(tmp_path)
    with OpenAIServer(keeps, polls=10**9) as server:
        with reviewing(lab, server, "batch") as running:
            running.until(lambda: bool(server.batches))
            running.kill()
        for job in server.batches.values():
            job.polls = 0
        done = review(lab, server, batch=True)
        assert done.keep == {"question-answer": 3}
        assert (len(server.batches), len(server.chats)) == (1, 3)


@pytest.mark.parametrize("arrived", [True, False])
def test_a_batch_whose_id_was_never_heard_is_found_or_submitted_again(
    tmp_path: Path, arrived: bool
) -> None:
    lab = workspace(tmp_path)
    with OpenAIServer(keeps) as server:
        server.refuse_batches = 1  # it is made, and the reply with its id is lost
        with pytest.raises(EndpointError):
            review(lab, server, batch=True)
        if not arrived:
            server.batches.clear()
        for _ in range(150):  # others' batches, more than a page
            server.submit({"metadata": {"else": "1"}, "input_file_id": "x"})
        assert review(lab, server, batch=True).keep == {"question-answer": 3}
        assert (len(server.batches), len(server.chats)) == (151, 3)


def test_a_batch_whose_reply_was_lost_is_not_made_twice(tmp_path: Path) -> None:
    lab = workspace(tmp_path)
    with OpenAIServer(keeps) as server:
        server.refuse_batches, server.refusal = 1, 500
        assert review(lab, server, batch=True).keep == {"question-answer": 3}
        assert (len(server.batches), len(server.chats)) == (1, 3)


def test_ctrl_c_keeps_what_was_under_way(tmp_path: Path) -> None:
    lab = workspace(tmp_path, 30)
    with OpenAIServer(keeps) as server:
        server.delay = 0.1
        with reviewing(lab, server, "single") as running:
            running.until(lambda: len(server.chats) >= 8)
            running.send_signal(signal.SIGINT)
            assert running.wait().code != 0
        server.delay = 0
        assert review(lab, server).keep == {"question-answer": 30}
        assert len(server.chats) == 30


def test_an_endpoint_without_batches_is_told(tmp_path: Path) -> None:
    with OpenAIServer(lambda _: answer("keep", QUOTE)) as server:
        plain = server.url
        with pytest.raises(EndpointError, match="Batch API"):
            review(workspace(tmp_path), server, batch=True, base_url=plain + "/none")
