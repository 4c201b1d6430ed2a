"""Small tasks of every type for prompts, and what models say to them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.core.terminal import Reporter
from goldpan.datasets.tasks.data import TaskData, task_data
from goldpan.datasets.tasks.task import Task, TaskPrompt
from goldpan.evaluation.model import find_model
from goldpan.evaluation.protocol import find_protocol
from goldpan.evaluation.record import RunRecord
from goldpan.evaluation.run import run
from tests.crosscode_tasks import make_task
from tests.evaluating import rows
from tests.openai_server import Body, Fault, OpenAIServer, Said, answer

QUIET = Reporter(quiet=True)
PRICES = '[prices."judge"]\ninput = 10.0\noutput = 100.0\n'
PROMPT = TaskPrompt(
    "software development repositories",
    "classify the next issue as 'bug', 'feature' or 'question'",
    "Answer only with the selected class without quotation marks",
    "ISSUE",
    examples=(
        ("It crashes", "bug", "Something does not work."),
        ("Add tabs", "feature", "It asks for something new."),
        ("How do I start it?", "question", "It asks how."),
        ("Wrong total", "bug", "A result is wrong."),
    ),
    negative_examples=(
        ("Add a menu", "bug", "It asks for something new."),
        ("It hangs", "question", "Something does not work."),
    ),
)


def issue_task() -> Task:
    """Return a task with three classes."""
    return make_task("kinds", "multi-class", prompt=PROMPT)


def issues(count: int = 6, train: int = 0) -> TaskData:
    """Return test rows of that task, with train rows where wanted."""
    task = issue_task()
    names = task.label_names
    pairs = [(f"Text {index}", names[index % 3]) for index in range(train + count)]
    splits: dict[str, pa.Table] = {"test": rows(task, pairs[train:], start=train)}
    if train:
        splits = {"train": rows(task, pairs[:train]), **splits}
    return task_data(task, splits)


def only_test(task: Task, pairs: Iterable[tuple[Any, Any]]) -> TaskData:
    """Return data of a task that has a test split alone."""
    return task_data(task, {"test": rows(task, list(pairs))})


def ask(
    root: Path,
    data: TaskData,
    server: OpenAIServer,
    *,
    seed: int = 0,
    protocol: str = "default",
    **settings: Any,
) -> RunRecord:
    """Run the model `judge` behind a server on data."""
    quick = {"retries": 0, "timeout": 10.0, "poll_seconds": 0.01, "concurrency": 4}
    options = {"model": "judge", "base_url": server.url, **quick, **settings}
    model = find_model("prompted", options)
    return run(WorkspaceLayout(root), data, model, find_protocol(protocol), seed, QUIET)


def answers(done: RunRecord) -> dict[str, Any]:
    """Return the answers of a run by the number of the row."""
    table = pq.read_table(done.directory / "predictions.parquet")
    ids = [int(name.rpartition(":")[2]) for name in table["id"].to_pylist()]
    return dict(zip(map(str, ids), table["answer"].to_pylist(), strict=True))


def question_of(body: Body) -> str:
    """Return the last message that a model was sent."""
    content = body["messages"][-1]["content"]
    assert isinstance(content, str)
    return content


def keep(body: Body) -> Said:
    """Say that a reply answers, or that a fix fixes, with the first line as its proof."""
    replies = re.findall(r"^=== \w+ begin reply (\d+) of[^\n]*\n+([^\n]+)", question_of(body), re.M)
    if replies:
        number, quote = replies[-1]
        return answer("keep", quote.strip()[:100], reply=int(number))
    (quote, *_) = re.findall(r"^=== \w+ begin [^\n]*\n+([^\n]+)", question_of(body), re.M)
    return answer("keep", quote.strip()[:100])


def says(*values: str) -> Callable[[Body], Said]:
    """Say each in turn, by the number at the end of the text that is asked about."""
    return lambda body: Said(values[number(body) % len(values)])


def labels(*values: str) -> Callable[[Body], Said | Fault]:
    """Say labels in the form of JSON, as a server that holds models to a schema does."""

    def model(body: Body) -> Said | Fault:
        allowed = schema_of(body)["label"]["enum"]
        value = values[number(body) % len(values)]
        assert value in allowed
        return Said(json.dumps({"label": value}))

    return model


def refuses_schemas(model: Callable[[Body], Said | Fault]) -> Callable[[Body], Said | Fault]:
    """Answer as a server that knows no response_format."""

    def refusing(body: Body) -> Said | Fault:
        if "response_format" in body:
            return Fault(400, "unsupported", "response_format is not supported")
        return model(body)

    return refusing


def number(body: Body) -> int:
    """Return the number at the end of the text that a model was asked about."""
    return int(question_of(body).split()[-1])


def schema_of(body: Body) -> Mapping[str, Any]:
    """Return the properties of the schema that an answer has to follow."""
    schema = body["response_format"]["json_schema"]["schema"]
    properties: Mapping[str, Any] = schema["properties"]
    return properties
