"""`goldpan review` and what builds on it, against a local OpenAI-compatible server."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from goldpan.core.storage.workspace import WorkspaceLayout
from tests import filtering, reviewing
from tests.console import run
from tests.openai_server import OpenAIServer, answer
from tests.places import files_below
from tests.program import Done
from tests.reviewing import QUOTE, by_number, workspace


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a filtered workspace of three answered issues."""
    workspace(tmp_path / "place")
    return tmp_path


def command(folder: Path, *arguments: str, key: str | None = None) -> Done:
    where = ("--profile", folder / "place" / "own.toml", "--workspace", folder / "place")
    return run(*arguments, *where, folder=folder, OPENAI_API_KEY=key or "")


def reviewed(folder: Path, answers: dict[int, Any]) -> None:
    """Review the issues of the workspace by a model that answers so."""
    with OpenAIServer(by_number(answers)) as server:
        arguments = ("--model", "judge", "--base-url", server.url, "--subject", "issue")
        done = command(folder, "review", *arguments, key=server.key)
        assert done.code == 0, done.err


UNFIT = answer("drop", reasons=())


def test_a_review_is_estimated_made_and_free_the_second_time(folder: Path) -> None:
    before = files_below(folder)
    with OpenAIServer(by_number({2: UNFIT})) as server:
        arguments = ["--model", "judge", "--base-url", server.url, "--subject", "issue"]
        done = command(folder, "review", *arguments, "--dry-run", key=server.key)
        assert (done.code, len(server.chats)) == (0, 0), done.err
        assert "3 requests to send" in done.out
        assert files_below(folder) == before
        done = command(folder, "review", *arguments, key=server.key)
        assert done.code == 0, done.err
        assert "4 requests sent" in done.out  # one without a quote is asked once more
        done = command(folder, "review", *arguments, "--json", key=server.key)
        output = json.loads(done.out)
        assert (output["sent"], output["estimate"]["answered"]) == (0, 4)
        assert output["keep"] == {"question-answer": 2}
    texts = b"".join(files_below(folder).values())
    assert not server.key or server.key.encode() not in texts


def test_a_build_takes_only_what_the_review_keeps(folder: Path) -> None:
    done = command(folder, "build", "qa", "--answer", "first", "--require", "question-answer")
    assert done.code == 1
    assert "was not reviewed under the profile own" in done.err
    reviewed(folder, {2: UNFIT})
    done = command(folder, "build", "qa", "--answer", "first", "--require", "question-answer")
    assert done.code == 0, done.err
    assert "1 without an example: question-answer" in done.out
    table = pq.read_table(folder / "place" / "datasets" / "qa" / "data")
    assert sorted(table["issue"].to_pylist()) == [1, 3]


def test_a_repository_without_issues_needs_no_review(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with OpenAIServer(by_number({})) as server:
        command(folder, "review", "--model", "judge", "--base-url", server.url, key=server.key)
    for module in (filtering, reviewing):
        monkeypatch.setattr(module, "REPO", "octo/pan")
    reviewing.filtered(filtering.build(folder / "place"))
    done = command(folder, "build", "qa", "--answer", "first", "--require", "question-answer")
    assert done.code == 0, done.err
    table = pq.read_table(folder / "place" / "datasets" / "qa" / "data")
    assert table["repo"].to_pylist() == ["Octo/Gem"] * 3


def test_a_row_has_the_reply_that_the_review_names(tmp_path: Path) -> None:
    workspace(tmp_path / "place", replies=2)
    named = {1: answer("keep", QUOTE, reply=1), 2: answer("keep", QUOTE, reply=2)}
    reviewed(tmp_path, {**named, 3: UNFIT})
    build = ("build", "qa", "--require", "question-answer", "--answer")
    done = command(tmp_path, *build, "first")
    assert done.code == 0, done.err
    assert "1 without an example: another-reply" in done.out
    data = tmp_path / "place" / "datasets" / "qa"
    assert pq.read_table(data / "data")["issue"].to_pylist() == [1]
    done = command(tmp_path, *build, "reviewed")
    assert done.code == 0, done.err
    rows = pq.read_table(data / "data").to_pylist()
    assert {row["issue"]: row["answer"].count("!") for row in rows} == {1: 0, 2: 1}
    assert all(row["answer"] == row["dialogue"][row["issue"]]["content"] for row in rows)
    card = (data / "README.md").read_text(encoding="utf-8")
    assert "The answer is the reply that the review `question-answer` names" in card
    done = command(tmp_path, "build", "qa", "--answer", "reviewed")
    assert done.code == 2
    assert "needs a review that names the reply. Add --require question-answer" in done.err


def test_a_review_that_does_not_fit_is_told(folder: Path) -> None:
    done = command(folder, "build", "qa", "--require", "problem-solution")
    assert done.code == 2
    assert "qa has no review 'problem-solution'. Choose question-answer" in done.err
    done = command(folder, "review")
    assert done.code == 2
    assert "No model is named. Give --model NAME" in done.err


def test_reviews_are_compared_with_people(folder: Path) -> None:
    reviewed(folder, {2: UNFIT})
    root = folder / "place"
    models = pq.read_table(WorkspaceLayout(root).verdicts("octo/gem", "own.llm"))
    rows = models.to_pylist()
    for row in rows:
        row |= {"keep": row["issue"] == 1, "stage": "people", "criterion": "acceptance"}
    people = folder / "people.parquet"
    pq.write_table(pa.Table.from_pylist(rows, schema=models.schema), people)
    done = command(folder, "review", "--calibrate", str(people))
    assert done.code == 0, done.err
    assert "model keep: people keep 1, drop 1, undecided 0" in done.out
    assert "They disagree on 1; judged by the model alone: 0, by people alone: 0" in done.out
    output = json.loads(command(folder, "review", "--calibrate", str(people), "--json").out)
    assert output[0]["precision"]["value"] == 0.5
    project = root / "annotations" / "round1"
    project.mkdir(parents=True)
    people.rename(project / "verdicts.parquet")
    assert json.loads(command(folder, "review", "--calibrate", "round1", "--json").out) == output
    done = command(folder, "review", "--calibrate", str(folder / "none.parquet"))
    assert done.code == 2
    assert "none.parquet cannot be read" in done.err
