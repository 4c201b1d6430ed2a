"""Every type of task and what Goldpan builds is asked, answered and scored; shortcuts beside."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import orjson
import pyarrow.parquet as pq
import pytest

from goldpan.core.errors import EvaluationError, UsageError
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.datasets.examples import CODE_EDIT, FAULT_LOCALIZATION, QA
from goldpan.datasets.tasks.registry import find_task
from goldpan.datasets.tasks.task import Task, TaskPrompt, TaskType
from goldpan.evaluation.record import RunRecord, read_runs
from goldpan.evaluation.task_input import files_to_score, read_task_input
from tests.crosscode_tasks import make_task
from tests.evaluating import ran
from tests.examples import examples, write
from tests.invoking import invoke
from tests.openai_server import KEY, Body, Fault, OpenAIServer, Said
from tests.prompting import PRICES, answers, ask, issues, only_test, question_of, schema_of

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


RIGHT = "src/a.c\n<<<<<<< SEARCH\nint x = 1;\n=======\nint x = 2;\n>>>>>>> REPLACE\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    edits = [
        {**row, "file_before": f"int x = 1;\n{'int y;' * at}\n", "patch": RIGHT}
        for at, row in enumerate(examples(CODE_EDIT, 6))
    ]
    write(tmp_path, CODE_EDIT, edits, name="code-edit")
    write(tmp_path, FAULT_LOCALIZATION, examples(FAULT_LOCALIZATION, 4), name="fault-localization")
    write(tmp_path, QA, examples(QA, 4), name="qa")
    return tmp_path


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer(_model) as running:
        yield running


def _model(body: Body) -> Said:
    text = question_of(body)
    if "begin folder tree" in text:
        return Said("src/a.c")
    if "begin file before the change" in text:
        return Said(RIGHT if "Crash 1\n" not in text else RIGHT.replace("x = 1", "z = 1"))
    return Said("Mend it")


def goldpan(root: Path, *words: str) -> Any:
    """Run a command of goldpan evaluate and return what it prints as JSON."""
    done = invoke("evaluate", *words, "--workspace", str(root), "--json")
    assert done.exit_code == 0, done.output
    return orjson.loads(done.stdout)


def evaluate(root: Path, server: OpenAIServer, *words: str) -> Any:
    """Run a prompted model."""
    settings = ["--set", "model=judge", "--set", f"base_url={server.url}"]
    return goldpan(root, "run", "--model", "prompted", "--protocol", "faun-eval", *settings, *words)


def scores(result: Any) -> dict[str, float | None]:
    """Return the scores of a result by name."""
    return {metric["name"]: metric["value"] for metric in result["scores"]["metrics"]}


def test_all_three_run_on_a_test_split_alone(root: Path, server: OpenAIServer) -> None:
    tasks = ("--task", "qa", "--task", "fault_localization", "--task", "code_edit")
    answer, path, edit = evaluate(root, server, *tasks)
    assert scores(answer)["rouge_l"] == 1.0
    assert scores(path)["exact_match"] == 1.0
    assert scores(edit)["patch_applied"] == pytest.approx(5 / 6)
    assert scores(edit)["file_exact"] == pytest.approx(5 / 6)
    assert all(body["temperature"] == 0.2 for body in server.chats)
    copied = goldpan(root, "run", "--model", "copy-ins-input", *tasks)
    assert len(copied) == 3


def test_rescoring_finds_the_files_again(root: Path, server: OpenAIServer) -> None:
    (before,) = evaluate(root, server, "--task", "code_edit")
    (after,) = goldpan(root, "score", "--task", "code_edit")
    assert after["scores"] == before["scores"]
    assert scores(after)["patch_applied"] == pytest.approx(5 / 6)


def test_rescoring_with_other_rows_loses_nothing(root: Path, server: OpenAIServer) -> None:
    evaluate(root, server, "--task", "code_edit")
    write(root, CODE_EDIT, examples(CODE_EDIT, 5), name="other")
    task = find_task("code_edit")
    with pytest.raises(EvaluationError, match="holds other rows"):
        files_to_score(WorkspaceLayout(root), task, "0" * 64, root / "datasets" / "other")
    assert files_to_score(WorkspaceLayout(root), find_task("issue_type"), "0") == {}


def test_a_part_is_taken_out_of_what_a_model_sees(root: Path, server: OpenAIServer) -> None:
    (whole,) = evaluate(root, server, "--task", "code_edit")
    full = [question_of(body) for body in server.chats]
    (part,) = evaluate(
        root, server, "--task", "code_edit", "--ablate", "title", "--ablate", "pull_body"
    )
    without = [question_of(body) for body in server.chats[6:]]
    assert all("begin issue title" in text for text in full)
    assert all("Crash" not in text for text in without)
    assert not any("begin issue title" in text or "Fixes #" in text for text in without)
    assert all("begin issue body" in text for text in without)
    assert part["settings"]["ablate"] == "title+pull_body"
    assert "ablate" not in whole["settings"]
    assert (part["data_hash"], part["split_hash"]) == (whole["data_hash"], whole["split_hash"])
    assert scores(part)["patch_applied"] == 1.0


def test_models_that_read_the_joined_text_see_the_part_gone_too(root: Path) -> None:
    task, directory = find_task("qa"), root / "datasets" / "qa"
    whole = read_task_input(directory, task).data.splits["test"]["text"].to_pylist()
    gone = read_task_input(directory, task, ["title"]).data.splits["test"]["text"].to_pylist()
    assert [text.partition("\n")[2] for text in whole] == gone
    for words, removed in (("Choose title, body", "tree"), ("no part 'pull_body'", "pull_body")):
        with pytest.raises(UsageError, match=words):
            read_task_input(directory, task, [removed])


def test_the_estimate_of_the_command_sends_nothing(root: Path, server: OpenAIServer) -> None:
    path = root / "prices.toml"
    path.write_text(PRICES, encoding="utf-8")
    (result,) = evaluate(root, server, "--task", "qa", "--dry-run", "--set", f"prices={path}")
    assert result["estimate"]["requests"] == 4
    assert result["estimate"]["cost"] > 0
    assert not server.chats
    assert not (root / "runs").exists()
    (free,) = goldpan(root, "run", "--task", "qa", "--model", "copy-ins-input", "--dry-run")
    assert free["estimate"] is None


def test_scores_by_the_length_of_the_input(root: Path, server: OpenAIServer) -> None:
    evaluate(root, server, "--task", "code_edit", "--by", "input-length")
    (run,) = read_runs(WorkspaceLayout(root))
    thirds = {part.value.split()[0]: part for part in run.scores_by["input-length"].parts}
    assert {name: third.examples for name, third in thirds.items()} == dict.fromkeys(
        ("short", "medium", "long"), 2
    )
    assert (thirds["short"].score or 1) < 1
    assert thirds["medium"].score == thirds["long"].score == 1


def test_what_people_see(root: Path, server: OpenAIServer) -> None:
    server.model = lambda _: Said("")
    workspace = ["--workspace", str(root)]
    words = ["run", "--model", "prompted", "--task", "qa", "--set", "model=judge"]
    done = invoke("evaluate", *words, "--set", f"base_url={server.url}", *workspace)
    assert "4 of 4 answers are not valid" in done.stdout
    assert "Answers: empty 4" in done.stdout
    assert "400 tokens read and 80 written" in done.stdout
    dry = invoke("evaluate", *words, "--set", f"base_url={server.url}", *workspace, "--dry-run")
    assert "0 requests to send" in dry.stdout
    assert "answered from the archive: 4" in dry.stdout
    scored = ["score", "--task", "qa", "--by", "input-length"]
    assert "short" in invoke("evaluate", *scored, *workspace).stdout


def test_one_task_that_waits_does_not_keep_the_others(root: Path, server: OpenAIServer) -> None:
    server.model = lambda body: Fault(500) if "folder tree" in question_of(body) else _model(body)
    words = ["run", "--model", "prompted", "--task", "fault_localization", "--task", "qa"]
    words += ["--set", "model=judge", "--set", f"base_url={server.url}", "--set", "retries=0"]
    done = invoke("evaluate", *words, "--workspace", str(root), "--json")
    assert done.exit_code == 3
    assert "0 of 4 rows of fault_localization are answered, 4 requests failed" in done.stderr
    assert [result["task"] for result in orjson.loads(done.stdout)] == ["qa"]


def test_the_answer_never_stands_beside_the_input(root: Path) -> None:
    for name, target in (("code-edit", "patch"), ("qa", "answer")):
        task = find_task(name.replace("-", "_"))
        rows = read_task_input(root / "datasets" / name, task).data.splits["test"]
        others = set(rows.column_names) - {"target"}
        assert target not in others
        assert not {"diff", "edits", "dialogue"} & others
    stored = pq.read_table(next((root / "datasets" / "code-edit" / "data").glob("*.parquet")))
    assert "diff" in stored.column_names
