"""Every type of task is asked, answered and scored; shortcuts stand beside."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from goldpan.core.errors import EvaluationError, UsageError
from goldpan.datasets.tasks.registry import find_task
from goldpan.datasets.tasks.task import Task, TaskPrompt, TaskType
from goldpan.evaluation.record import RunRecord
from tests.crosscode_tasks import make_task
from tests.evaluating import ran
from tests.openai_server import KEY, Body, OpenAIServer, Said
from tests.prompting import answers, ask, issues, only_test, question_of, schema_of

_PROMPT = TaskPrompt("testing", "solve it", "Answer", "TEXT")
_WORDS = ["use", "git", "daily"]


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def _of(kind: TaskType, **changes: Any) -> Task:
    return make_task(f"task_{kind}", kind, **{"prompt": _PROMPT, **changes})


def _binary(body: Body) -> Any:
    assert schema_of(body)["label"]["enum"] == ["Yes", "No"]
    return {"label": "Yes"}


def _labels(body: Body) -> Any:
    assert schema_of(body)["labels"]["items"]["enum"] == ["joy", "anger", "fear"]
    return {"labels": ["fear", "joy"]}


def _value(body: Body) -> Any:
    assert schema_of(body)["value"] == {"type": "number"}
    return {"value": 5}


def _tags(body: Body) -> Any:
    assert "use git daily" in question_of(body)
    tags = ["O", "B-tool", "O"]
    pairs = zip(_WORDS, tags, strict=True)
    return {"words": [{"word": word, "tag": tag} for word, tag in pairs]}


def _blanks(body: Body) -> Any:
    assert "He [MASK] and [MASK]." in question_of(body)
    assert "runs" not in question_of(body)
    return {"words": ["runs", "jumps"]}


_BLANKS = [{"start": 3, "end": 7}, {"start": 12, "end": 17}]
_CASES: list[tuple[TaskType, str, Any, Any, Callable[[Body], Any], Any]] = [
    ("binary", "", "Text", "bug", _binary, "bug"),
    ("multi-label", "", "Text", ["joy", "fear"], _labels, ["joy", "fear"]),
    ("regression", "smape", "Text", 5.0, _value, 5.0),
    ("ner", "seqeval_f1", _WORDS, ["O", "B-tool", "O"], _tags, ["O", "B-tool", "O"]),
    ("mlm", "mlm_accuracy", "He runs and jumps.", _BLANKS, _blanks, ["runs", "jumps"]),
]


@pytest.mark.parametrize(("kind", "metric", "content", "target", "says", "answer"), _CASES)
def test_a_type_of_task_end_to_end(
    tmp_path: Path,
    kind: TaskType,
    metric: str,
    content: Any,
    target: Any,
    says: Callable[[Body], Any],
    answer: Any,
) -> None:
    task = _of(kind, metric=metric) if metric else _of(kind)
    with OpenAIServer(lambda body: Said(json.dumps(says(body)))) as server:
        done = ask(tmp_path, only_test(task, [(content, target)]), server)
    assert answers(done) == {"0": answer}
    if metric:
        assert done.scores.value(done.scores.main) == (0 if kind == "regression" else 1)


def test_a_text_is_kept_verbatim_and_asked_for_without_a_form(tmp_path: Path) -> None:
    data = only_test(_of("text-generation", metric="exact_match"), [("Say it", "It.\n")])
    with OpenAIServer(lambda _: Said("It.\n")) as server:
        done = ask(tmp_path, data, server)
        assert "response_format" not in server.chats[0]
        assert server.chats[0]["max_completion_tokens"] == 4096
    assert answers(done) == {"0": "It.\n"}
    assert done.answers.notes == {}


@pytest.mark.parametrize("name", ["issue_type", "comment_type_java", "story_points", "se_entities"])
@pytest.mark.parametrize("method", ["zero-shot", "4-shot", "2/2-instruct"])
def test_shipped_tasks_can_be_asked_in_every_way(tmp_path: Path, name: str, method: str) -> None:
    task = find_task(name)
    content: Any = ["git"] if task.type == "ner" else "Text"
    right: dict[TaskType, Any] = {
        "multi-class": "bug",
        "multi-label": [],
        "regression": 1.0,
        "ner": ["O"],
    }
    data = only_test(task, [(content, right[task.type])] * 2)
    with OpenAIServer(lambda _: Said("nothing that is known")) as server:
        done = ask(tmp_path, data, server, method=method)
        assert len(server.chats) == 1, "rows with the same text are asked about once"
    assert done.scores.examples == 2


def test_examples_from_train_need_train(tmp_path: Path) -> None:
    with OpenAIServer(lambda _: Said('{"label": "bug"}')) as server:
        with pytest.raises(EvaluationError, match="kinds has no train split"):
            ask(tmp_path, issues(2), server, method="2-shot", examples="train")
        done = ask(tmp_path, issues(2, train=30), server, method="2-shot", examples="train")
        roles = [message["role"] for message in server.chats[0]["messages"]]
    assert roles == ["system", "user", "assistant", "user", "assistant", "user"]
    assert done.learned_from.train == 27


def test_a_task_with_few_examples_says_so(tmp_path: Path) -> None:
    data = only_test(_of("regression", metric="mae"), [("Text", 1.0)])
    with (
        OpenAIServer(lambda _: Said("1")) as server,
        pytest.raises(UsageError, match="has 0 examples in its file, not 4"),
    ):
        ask(tmp_path, data, server, method="4-shot")


def _shortcut(root: Path, name: str, data: Any, seed: int = 0) -> RunRecord:
    return ran(root, data, name, "crosscodebench", seed)


def test_copying_an_examples_output(tmp_path: Path) -> None:
    done = _shortcut(tmp_path, "copy-ex-output", issues(60))
    outputs = list(answers(done).values())
    assert set(outputs) == {"bug", "feature", "question"}
    assert outputs.count("bug") > 20, "half of the examples are bugs"
    assert outputs != list(answers(_shortcut(tmp_path, "copy-ex-output", issues(60), 1)).values())


def test_copying_the_input(tmp_path: Path) -> None:
    task = _of("text-generation", metric="exact_match")
    done = _shortcut(tmp_path, "copy-ins-input", only_test(task, [("same", "same"), ("a", "b")]))
    assert answers(done) == {"0": "same", "1": "a"}
    labels = _shortcut(tmp_path, "copy-ins-input", issues(3))
    assert set(answers(labels).values()) == {None}
    assert labels.answers.invalid[0].raw == "Text 0"


def test_shortcuts_refuse_what_cannot_be_copied(tmp_path: Path) -> None:
    data = only_test(_of("regression", metric="mae"), [("Text", 1.0)])
    with pytest.raises(EvaluationError, match="copy-ins-input does not answer task_regression"):
        _shortcut(tmp_path, "copy-ins-input", data)
