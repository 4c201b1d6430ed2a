"""Prompting a real server: a model of random weights that has to follow the schema."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.evaluation.model import find_model
from goldpan.evaluation.protocol import find_protocol
from goldpan.evaluation.record import AnswerNotes, RunRecord
from goldpan.evaluation.run import run
from tests.llama import needs_llama
from tests.prompting import QUIET, answers, issues

pytestmark = needs_llama


@pytest.fixture(autouse=True)
def _no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


def ask(root: Path, address: str, **settings: Any) -> RunRecord:
    options = {"model": "tiny", "base_url": address, "temperature": 1.0, "concurrency": 2}
    model = find_model("prompted", {**options, **settings})
    return run(WorkspaceLayout(root), issues(8), model, find_protocol("default"), 0, QUIET)


def test_a_model_that_babbles_still_answers_with_labels(tmp_path: Path, address: str) -> None:
    done = ask(tmp_path, address, max_tokens=200)  # it likes white space
    assert set(answers(done).values()) <= {"bug", "feature", "question"}
    assert done.answers == AnswerNotes({}, ())
    assert done.costs.input_tokens > 8 * 50
    assert ask(tmp_path, address, max_tokens=200).again


def test_without_a_schema_it_babbles_and_every_answer_counts_as_wrong(
    tmp_path: Path, address: str
) -> None:
    done = ask(tmp_path, address, structured="no")
    summary = done.answers
    assert summary.notes["without-schema"] == 8
    assert summary.notes["truncated"] >= 1
    assert summary.notes["no-answer"] >= 1
    assert any(answer.raw for answer in summary.invalid)
    assert done.scores.invalid >= 1


def test_examples_and_instructions_are_taken_by_a_real_chat_template(
    tmp_path: Path, address: str
) -> None:
    for method in ("2-shot", "2/2-instruct"):
        done = ask(tmp_path, address, method=method, max_tokens=200)
        assert None not in answers(done).values()
