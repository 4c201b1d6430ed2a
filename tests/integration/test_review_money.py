"""A review costs what was allowed, and an estimate nothing."""

from __future__ import annotations

import hashlib
from pathlib import Path

import orjson
import pytest

from goldpan.annotation.review.run import run_review
from tests.filtering import REPO
from tests.integration.test_review import PRICES
from tests.openai_server import OpenAIServer
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


def test_an_estimate_sends_and_writes_nothing(tmp_path: Path) -> None:
    lab = workspace(tmp_path)
    with OpenAIServer(keeps) as server:
        options = settings(server, prices=PRICES)
        before = sorted(path for path in lab.root.rglob("*") if path.is_file())
        planned = run_review(lab, [REPO], profile(lab), options, QUIET, dry_run=True)
        estimated = planned.estimate
        assert sorted(path for path in lab.root.rglob("*") if path.is_file()) == before
        assert not server.chats
        counts = (planned.subjects, estimated.requests, estimated.answered)
        assert counts == ({"question-answer": 3}, 3, 0)
        done = review(lab, server, prices=PRICES)
        assert estimated.cost is not None
        assert estimated.cost_at_most is not None
        assert estimated.cost < estimated.cost_at_most
        assert done.cost < estimated.cost_at_most
        later = run_review(lab, [REPO], profile(lab), options, QUIET, dry_run=True)
        after = later.estimate
        assert (after.requests, after.answered, after.cost) == (0, 3, 0)
        assert after.cost_before == pytest.approx(done.cost)


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
