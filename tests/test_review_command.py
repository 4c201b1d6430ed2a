"""`goldpan review` and what builds on it, against a local OpenAI-compatible server."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.openai_server import OpenAIServer, answer
from tests.reviewing import each, workspace
from tests.test_cli import Done, run


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a filtered workspace of three answered issues."""
    workspace(tmp_path / "place")
    return tmp_path


def command(folder: Path, *arguments: str, key: str | None = None) -> Done:
    place = folder / "place"
    return run(
        *arguments,
        "--profile",
        place / "own.toml",
        "--workspace",
        place,
        folder=folder,
        OPENAI_API_KEY=key or "",
    )


def test_a_review_is_estimated_made_and_free_the_second_time(folder: Path) -> None:
    with OpenAIServer(each({2: answer("drop", reasons=())})) as server:
        given = ["--model", "judge", "--base-url", server.url, "--subjects", "issue"]
        done = command(folder, "review", *given, "--dry-run", key=server.key)
        assert (done.code, len(server.chats)) == (0, 0), done.err
        assert "3 requests to send" in done.out
        done = command(folder, "review", *given, key=server.key)
        assert done.code == 0, done.err
        assert "3 requests sent" in done.out
        done = command(folder, "review", *given, "--json", key=server.key)
        found = json.loads(done.out)
        assert (found["sent"], found["answered"]) == (0, 3)
        assert found["keep"] == {"question-answer": 2}
    texts = "".join(
        path.read_bytes().decode("latin-1") for path in folder.rglob("*") if path.is_file()
    )
    assert not server.key or server.key not in texts


def test_a_build_takes_only_what_the_review_keeps(folder: Path) -> None:
    done = command(folder, "build", "qa", "--require", "question-answer")
    assert done.code == 1
    assert "was not reviewed under the profile own" in done.err
    with OpenAIServer(each({2: answer("drop", reasons=())})) as server:
        given = ["--model", "judge", "--base-url", server.url, "--subjects", "issue"]
        command(folder, "review", *given, key=server.key)
    done = command(folder, "build", "qa", "--require", "question-answer")
    assert done.code == 0, done.err
    assert "1 gave no example: question-answer" in done.out
    table = pq.read_table(folder / "place" / "datasets" / "qa" / "data")
    assert sorted(table["issue"].to_pylist()) == [1, 3]


def test_a_review_that_does_not_fit_is_told(folder: Path) -> None:
    done = command(folder, "build", "qa", "--require", "problem-solution")
    assert done.code == 2
    assert "qa has no review 'problem-solution'. Choose question-answer" in done.err
    done = command(folder, "review")
    assert done.code == 2
    assert "No model is named. Give --model NAME" in done.err
