"""Issue reports are told by their own words, their template and their structure."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from goldpan.core.errors import EvaluationError, UsageError
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.core.terminal import Reporter
from goldpan.datasets.tasks.data import TaskData, task_data
from goldpan.datasets.tasks.registry import find_task
from goldpan.evaluation.model import find_model
from goldpan.evaluation.protocol import find_protocol
from goldpan.evaluation.run import RunResult, run
from goldpan.papers.nlbse.issue_texts import read_issue, template_lines
from tests.evaluating import comments, rows, rows_of, types
from tests.tiny_models import tiny

pytest.importorskip("sklearn")
QUIET = Reporter(quiet=True)
TEMPLATE = "<!-- Search first -->\n### Version 1.{}\n\n### What happened?\n{}\n"


@pytest.fixture(scope="module")
def weights() -> str:
    return str(tiny("bert"))


def _run(root: Path, data: TaskData, weights: str, **settings: Any) -> RunResult:
    chosen = {"weights": weights, "tokens": 32, "layers": 2, "folds": 2, **settings}
    model = find_model("issue-ensemble", chosen)
    return run(WorkspaceLayout(root), data, model, find_protocol("default"), 0, QUIET)


def _issues(count: int) -> list[tuple[str, str]]:
    """Issues that differ by nothing but the lines of their templates."""
    sections = {"bug": "Steps to reproduce", "feature": "Your wish", "question": "Where you looked"}
    labels = list(sections)
    return [
        (f"Title {index}\n### {sections[labels[index % 3]]}\nword {index}", labels[index % 3])
        for index in range(count)
    ]


def test_own_words_are_told_from_the_template() -> None:
    texts = [f"A title\n{TEMPLATE.format(number, f'It broke {number}')}" for number in range(6)]
    texts.append("No body")
    template = template_lines(texts)
    assert template == {"version", "what happened", "it broke"}, "digits do not tell lines apart"
    body = TEMPLATE.format(
        9,
        "It hangs, see [the log](http://x.y/z) and https://x.y\n![shot](a.png)\n```\nat 0x1 f\n```",
    )
    issue = read_issue(f"How to stop it?\n{body}", template)
    assert issue.title == "How to stop it?"
    assert issue.words == "It hangs, see the log and link screenshot errorlog at 0x1 f"
    assert issue.template == "version what_happened"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n",
        "only a title",
        "a\n" + "<!-- " * 4_000,
        "a\n```" + "[" * 9_000,
        "a\n" + "<a" * 9_000,
    ],
)
def test_any_text_is_read(text: str) -> None:
    issue = read_issue(text, template_lines([text] * 5))
    assert np.isfinite(issue.structure).all()


def test_lines_of_the_template_tell_types(weights: str, tmp_path: Path) -> None:
    task = find_task("nlbse24_issue_type")
    pairs = _issues(120)
    splits = {"train": rows(task, pairs[:90]), "test": rows(task, pairs[90:], start=90)}
    data = task_data(task, splits)
    done = _run(tmp_path / "a", data, weights)
    assert (done.record.scores.value("macro_f1") or 0) > 0.9
    unseen = done.record.validation_scores
    assert unseen.examples == 90, "each train row is answered by an ensemble without it"
    again = _run(tmp_path / "b", data, weights)
    assert again.result["scores"] == done.result["scores"]
    alone = _run(tmp_path / "b", data, weights, folds=1)
    assert alone.result["scores"] == done.result["scores"]
    assert alone.record.validation_scores.examples == 0


def test_what_it_cannot_answer_is_said(weights: str, tmp_path: Path) -> None:
    with pytest.raises(EvaluationError, match="which is multi-label"):
        _run(tmp_path, rows_of("comment_type_python", comments(), 120), weights)
    same = [(text, "bug") for text, _ in types(30)]
    with pytest.raises(EvaluationError, match="the same label"):
        _run(tmp_path, rows_of("issue_type", same, 20), weights)
    with pytest.raises(UsageError, match="2 layers, and 5 are read"):
        _run(tmp_path, rows_of("issue_type", types(40), 30), weights, layers=5)
    with pytest.raises(UsageError, match="layers of the model issue-ensemble"):
        find_model("issue-ensemble", {"layers": 0})
