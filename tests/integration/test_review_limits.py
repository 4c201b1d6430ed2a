"""A review costs what was allowed, and ends with words for people where nobody serves it."""

from __future__ import annotations

import hashlib
from pathlib import Path

import orjson
import pytest

from goldpan.annotation.review.run import run_review
from goldpan.core.errors import WorkspaceError
from goldpan.llm.exchange import EndpointError
from goldpan.llm.response_store import open_responses
from tests.filtering import REPO
from tests.integration.test_review import PRICES
from tests.openai_server import KEY, Fault, OpenAIServer
from tests.reviewing import QUIET, keeps, profile, review, rows, settings, workspace


def test_a_review_stops_before_it_costs_too_much(tmp_path: Path) -> None:
    lab = workspace(tmp_path, 20)
    with OpenAIServer(keeps) as server:
        options = settings(server, prices=PRICES)
        whole = run_review(lab, [REPO], profile(lab), options, QUIET, dry_run=True).estimate
        assert whole.cost_at_most is not None
        limit = whole.cost_at_most / 20 + 0.02
        done = review(lab, server, prices=PRICES, max_cost=limit)
        assert not done.complete
        assert 0 < done.sent < 20
        assert done.cost == pytest.approx(done.sent * (100 * 10 + 20 * 100) / 1e6)
        assert 0 < done.cost <= limit
        assert list(done.reasons) == ["not-asked"]
        assert sum(row["keep"] is True for row in rows(lab).values()) == done.sent
        assert done.cost > limit / 10
        again = review(lab, server, prices=PRICES, max_cost=limit)
        assert again.sent <= 1, "what earlier runs paid counts"
        rest = review(lab, server, prices=PRICES, max_cost=10.0)
        assert rest.complete
        assert len(server.chats) == 20


def test_money_is_set_aside_for_what_is_under_way(tmp_path: Path) -> None:
    with OpenAIServer(keeps) as server:
        server.delay = 0.02
        # A request can cost 0.14 and costs 0.003: there is room for one at a time.
        review(workspace(tmp_path, 6), server, prices=PRICES, max_cost=0.2)
        assert len(server.chats) == 6
    assert server.busiest == 1


def drawn_by(issue: int) -> bytes:
    return hashlib.sha256(orjson.dumps([REPO, issue, None, None])).digest()


def test_a_limit_draws_the_same_subjects_each_time(tmp_path: Path) -> None:
    lab = workspace(tmp_path, 10)
    with OpenAIServer(keeps) as server:
        review(lab, server, limit=4)
        four = set(rows(lab))
        review(lab, server, limit=6)
        assert len(server.chats) == 6
        assert four < set(rows(lab))
        assert four == set(sorted(range(1, 11), key=drawn_by)[:4])


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (Fault(404, "model_not_found", "The model judge does not exist"), "--model"),
        (Fault(403, "forbidden", "Not for you"), "may do this"),
        (Fault(429, "insufficient_quota", "You exceeded your quota"), "account"),
    ],
)
def test_an_endpoint_that_serves_nobody_ends_the_review(
    tmp_path: Path, fault: Fault, words: str
) -> None:
    with OpenAIServer(lambda _: fault) as server, pytest.raises(EndpointError, match=words):
        review(workspace(tmp_path, 30), server)
    assert len(server.chats) < 15


def test_a_wrong_key_is_told_without_showing_it(tmp_path: Path) -> None:
    with OpenAIServer(keeps, key="sk-another") as server:
        options = settings(server)
        server.key = KEY
        lab = workspace(tmp_path)
        with pytest.raises(EndpointError, match="OPENAI_API_KEY") as caught:
            run_review(lab, [REPO], profile(lab), options, QUIET)
    assert "sk-another" not in str(caught.value)


def test_nobody_listens(tmp_path: Path) -> None:
    with OpenAIServer(keeps) as server:
        options = settings(server, retries=0)
    lab = workspace(tmp_path, 20)
    with pytest.raises(EndpointError, match="no-connection"):
        run_review(lab, [REPO], profile(lab), options, QUIET)


def test_two_reviews_at_once_are_told_apart(tmp_path: Path) -> None:
    lab = workspace(tmp_path)
    with (
        OpenAIServer(keeps) as server,
        open_responses(lab.root / "reviews", "review"),
        pytest.raises(WorkspaceError, match="Another review"),
    ):
        review(lab, server)
