"""Endpoints that serve nobody end a review with words for people."""

from __future__ import annotations

from pathlib import Path

import pytest

from goldpan.annotation.review.run import run_review
from goldpan.core.errors import WorkspaceError
from goldpan.llm.exchange import EndpointError
from goldpan.llm.response_store import open_responses
from tests.filtering import REPO
from tests.openai_server import KEY, Fault, OpenAIServer
from tests.reviewing import QUIET, keeps, profile, review, settings, workspace


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


def test_an_endpoint_that_always_fails_is_given_up(tmp_path: Path) -> None:
    lab = workspace(tmp_path, 40)
    with OpenAIServer(lambda _: Fault(500)) as server:
        with pytest.raises(EndpointError, match="none of 10 requests"):
            review(lab, server, retries=0)
        assert len(server.chats) < 20
        server.model = keeps
        assert review(lab, server).keep == {"question-answer": 40}


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
