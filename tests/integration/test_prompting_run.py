"""Prompted runs against a local OpenAI: paid once, stopped by money, killed and taken up again."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest
import zstandard

from goldpan.core.errors import EvaluationError, UsageError
from goldpan.core.result import json_data
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.datasets.tasks.data import task_data
from goldpan.evaluation.model import UnansweredError, find_model
from goldpan.evaluation.models.prompted import REQUEST_SETTINGS, RUN_SETTINGS
from goldpan.evaluation.protocol import find_protocol
from goldpan.evaluation.record import AnswerNotes, LearnedFrom, read_runs
from goldpan.evaluation.run import estimate, run
from goldpan.evaluation.score import InvalidAnswer
from goldpan.llm.budget import RequestEstimate
from goldpan.renderers.evaluation import overview
from tests.evaluating import ran, rows, rows_of
from tests.openai_server import CUT, KEY, Body, Fault, Model, OpenAIServer, Said
from tests.places import ROOT, files_below
from tests.program import start
from tests.prompting import (
    PRICES,
    QUIET,
    answers,
    ask,
    issues,
    labels,
    number,
    question_of,
    refuses_schemas,
    says,
    schema_of,
)

PRICE = (100 * 10 + 20 * 100) / 1e6


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


@pytest.fixture
def prices(tmp_path: Path) -> str:
    path = tmp_path / "prices.toml"
    path.write_text(PRICES, encoding="utf-8")
    return str(path)


def test_answers_are_held_to_the_labels(tmp_path: Path) -> None:
    with OpenAIServer(labels("bug", "feature", "question")) as server:
        done = ask(tmp_path, issues(), server)
        assert schema_of(server.chats[0])["label"]["enum"] == ["bug", "feature", "question"]
    assert list(answers(done).values()) == ["bug", "feature", "question"] * 2
    assert done.answers == AnswerNotes({}, ())
    assert done.learned_from == LearnedFrom(0, 0)
    assert done.train_scores.examples == 0


SPOKEN = says("It is a BUG.", "No idea", "a question?")
IGNORED = says("bug", '```json\n{"label": "feature"}\n```', "none")


@pytest.mark.parametrize(
    ("model", "said", "notes"),
    [
        (refuses_schemas(SPOKEN), ["bug", None, "question"], {"no-answer": 1, "without-schema": 3}),
        (IGNORED, ["bug", "feature", None], {"no-answer": 1, "no-json": 1}),
    ],
)
def test_a_server_without_schemas_is_read_by_words(
    tmp_path: Path, model: Model, said: list[str | None], notes: dict[str, int]
) -> None:
    with OpenAIServer(model) as server:
        done = ask(tmp_path, issues(3), server)
        schemas = sum("response_format" in body for body in server.chats)
    assert list(answers(done).values()) == said
    assert done.answers.notes == notes
    assert (done.scores.invalid, schemas) == (1, 1 if "without-schema" in notes else 3)
    assert done.answers.invalid == (InvalidAnswer("No idea" if schemas == 1 else "none", 1),)


def test_structured_output_can_be_required_or_left_out(tmp_path: Path) -> None:
    data = issues(12)
    with OpenAIServer(refuses_schemas(says("bug"))) as server:
        with pytest.raises(EvaluationError, match="none of 10 requests") as caught:
            ask(tmp_path, data, server, structured="yes")
        assert "--" not in str(caught.value)
        server.chats.clear()
        ask(tmp_path, data, server, structured="no")
        assert len(server.chats) == 12


def test_papers_protocols_say_temperature_tokens_and_form(tmp_path: Path) -> None:
    data = issues(1)
    with OpenAIServer(says("bug")) as server:
        ask(tmp_path, data, server, protocol="selu-paper")
        ask(tmp_path, data, server, protocol="faun-eval")
        ask(tmp_path, data, server, temperature=0.7, max_tokens=99, send_seed=False, seed=5)
        ask(tmp_path, data, server, temperature="none", limit_parameter="max_completion_tokens")
    selu, faun, own, free = server.chats
    assert (selu["temperature"], selu["max_completion_tokens"]) == (0, 50)
    assert "response_format" not in selu
    assert (faun["temperature"], faun["max_completion_tokens"]) == (0.2, 4096)
    assert (own["temperature"], own["max_completion_tokens"]) == (0.7, 99)
    assert "seed" not in own
    assert selu["seed"] == 0
    assert "temperature" not in free


def test_costs_are_counted_with_what_earlier_tries_paid(tmp_path: Path, prices: str) -> None:
    data = issues(10)
    with OpenAIServer(labels("bug")) as server:
        with pytest.raises(UnansweredError, match=r"max_cost = 0\.03") as caught:
            ask(tmp_path, data, server, prices=prices, max_cost=0.03, concurrency=1)
        assert caught.value.exit_code == 3
        paid = len(server.chats)
        assert 0 < paid < 10
        with pytest.raises(UsageError, match="no finished run"):
            read_runs(WorkspaceLayout(tmp_path))
        done = ask(tmp_path, data, server, prices=prices, max_cost=5)
        assert len(server.chats) == 10, "nothing is paid for twice"
    costs = done.costs
    assert (costs.input_tokens, costs.output_tokens) == (1000, 200)
    assert costs.money == pytest.approx(10 * PRICE)


def test_what_earlier_tries_paid_counts_where_a_server_takes_no_schema(
    tmp_path: Path, prices: str
) -> None:
    with OpenAIServer(refuses_schemas(says("bug"))) as server:
        for _ in range(3):
            with pytest.raises(UnansweredError, match=r"max_cost = 0\.03"):
                ask(tmp_path, issues(10), server, prices=prices, max_cost=0.03, concurrency=1)
        paid = sum("response_format" not in body for body in server.chats)
    assert 0 < paid * PRICE <= 0.03


def test_a_finished_run_asks_nothing_and_other_settings_share_what_is_the_same(
    tmp_path: Path,
) -> None:
    data = issues(4)
    prompt = replace(data.task.prompt, context="testing")
    with OpenAIServer(labels("bug")) as server:
        first = ask(tmp_path, data, server)
        assert ask(tmp_path, data, server, concurrency=1, max_cost="none").again
        other = ask(tmp_path, data, server, max_characters=1000)
        assert not other.again
        assert len(server.chats) == 4
        ask(tmp_path, data, server, seed=1)
        assert len(server.chats) == 8
        changed = ask(tmp_path, replace(data, task=replace(data.task, prompt=prompt)), server)
        assert len(server.chats) == 12
    assert len({first.directory, other.directory, changed.directory}) == 3


def test_an_estimate_is_an_upper_bound_and_knows_what_is_answered(
    tmp_path: Path, prices: str
) -> None:
    data, workspace = issues(10), WorkspaceLayout(tmp_path / "place")
    with OpenAIServer(labels("bug")) as server:
        model = find_model("prompted", {"model": "judge", "base_url": server.url, "prices": prices})

        def estimated() -> RequestEstimate:
            made = estimate(workspace, data, model, find_protocol("default"), 0, QUIET)
            assert made is not None
            return made

        before = estimated()
        assert not server.chats
        assert not workspace.root.exists()
        assert (before.requests, before.answered, before.cost_before) == (10, 0, 0)
        done = ask(workspace.root, data, server, prices=prices)
        assert before.cost and before.cost_at_most
        assert 0 < before.cost < before.cost_at_most
        assert done.costs.money <= before.cost_at_most
        after = estimated()
    assert (after.requests, after.answered) == (0, 10)
    assert after.cost_before == pytest.approx(10 * PRICE)


def test_a_failing_server_finishes_no_run(tmp_path: Path) -> None:
    data = issues(6)

    def model(body: Body) -> Said | Fault:
        return {2: Fault(500), 4: CUT}.get(number(body)) or labels("bug")(body)

    with OpenAIServer(model) as server:
        half = "4 of 6 rows of kinds are answered, 2 requests failed"
        with pytest.raises(UnansweredError, match=half):
            ask(tmp_path, data, server)
        server.model = labels("bug")
        done = ask(tmp_path, data, server)
    assert sorted(map(number, server.chats[6:])) == [2, 4]
    assert done.scores.examples == 6
    assert done.test_opened == 2


def test_a_model_slower_than_the_timeout_is_told_with_what_to_raise(tmp_path: Path) -> None:
    def model(body: Body) -> Said | Fault:
        time.sleep(0.6 if number(body) == 1 else 0)
        return labels("bug")(body)

    told = "1 request failed .timeout: nothing came within 0.3 s: raise timeout"
    with OpenAIServer(model) as server:
        with pytest.raises(UnansweredError, match=told):
            ask(tmp_path, issues(3), server, timeout=0.3)
        assert ask(tmp_path, issues(3), server, timeout=5.0).scores.examples == 3


def test_people_are_told_that_all_answers_are_one_label(tmp_path: Path) -> None:
    with OpenAIServer(labels("bug")) as server:
        done = ask(tmp_path, issues(), server)
    assert "All 6 valid answers are bug" in list(overview([done]))


def test_people_are_told_that_no_answer_names_a_label(tmp_path: Path) -> None:
    texts: list[tuple[str, list[str]]] = [(f"gravel {at}", []) for at in range(40)]
    done = ran(tmp_path, rows_of("comment_type_python", texts, 30), "tfidf-svm")
    assert "No answer names a label" in list(overview([done]))


def test_refusals_and_requests_that_are_not_taken_are_answers_that_are_wrong(
    tmp_path: Path,
) -> None:
    replies: dict[int, Any] = {
        1: Said(None, refusal="I will not"),
        2: Said('{"label": "fea', finish="length"),
        3: Fault(400, "bad", "This text is not allowed"),
        4: Said(""),
        5: Said('{"label": "feature"', finish="length"),
    }
    with OpenAIServer(lambda body: replies.get(number(body)) or labels("bug")(body)) as server:
        done = ask(tmp_path, issues(6), server, concurrency=1)
    assert list(answers(done).values()) == ["bug", None, None, None, None, "feature"]
    summary = done.answers
    once = ("bad-request", "empty", "no-answer", "no-json", "refused")
    assert summary.notes == {**dict.fromkeys(once, 1), "truncated": 2}
    raw = {answer.raw for answer in summary.invalid}
    assert "I will not" in raw
    assert '{"label": "fea' in raw


def test_texts_that_are_too_long_are_cut(tmp_path: Path) -> None:
    data = issues(2)
    long = data.splits["test"].to_pylist()
    long[0]["text"] = "a word\n" * 3000 + " 0"

    def model(body: Body) -> Said | Fault:
        if len(question_of(body)) > 15_000:
            return Fault(400, "context_length_exceeded", "maximum context length is 4096")
        return Said('{"label": "bug"}')

    pairs = [(row["text"], row["label"]) for row in long]
    with OpenAIServer(model) as server:
        done = ask(tmp_path, task_data(data.task, {"test": rows(data.task, pairs)}), server)
        assert len(server.chats) == 3
    assert list(answers(done).values()) == ["bug", "bug"]
    assert done.answers.notes == {"text-shortened": 1}


def test_batches_cost_half_and_a_later_run_collects(tmp_path: Path, prices: str) -> None:
    data = issues(5)
    with OpenAIServer(labels("bug"), polls=2) as server:
        with pytest.raises(UnansweredError, match="batches are under way"):
            ask(tmp_path, data, server, batch=True, wait=False)
        done = ask(tmp_path, data, server, batch=True, prices=prices)
        assert (len(server.batches), len(server.chats)) == (1, 5)
    assert done.costs.money == pytest.approx(5 * PRICE / 2)


_RUN = """
import sys
from pathlib import Path
from tests.prompting import issues, ask

class At:
    url = sys.argv[2]

ask(Path(sys.argv[1]), issues(30), At)
"""


def test_a_killed_run_goes_on_without_paying_twice(tmp_path: Path) -> None:
    with OpenAIServer(labels("bug")) as server:
        server.delay = 0.03
        with start(tmp_path, server.url, program=_RUN) as running:
            running.until(lambda: len(server.chats) >= 12)
            running.kill()
        server.delay = 0
        done = ask(tmp_path, issues(30), server)
        # What was under way is lost, what was answered is not.
        assert 30 <= len(server.chats) <= 34
    assert done.test_opened == 2


def test_the_key_is_stored_nowhere(tmp_path: Path) -> None:
    def model(body: Body) -> Said | Fault:
        return Said(f'{{"label": "{KEY}"}}')

    with OpenAIServer(model) as server:
        done = ask(tmp_path, issues(2), server)
    assert KEY not in orjson.dumps(json_data(done)).decode()
    for name, data in files_below(tmp_path).items():
        packed = zstandard.ZstdDecompressor().stream_reader(data, read_across_frames=True)
        assert KEY.encode() not in (packed.read() if name.endswith(".zst") else data), name


def test_models_and_endpoints_keep_archives_of_their_own(tmp_path: Path) -> None:
    data = issues(2)
    with OpenAIServer(labels("bug")) as bugs, OpenAIServer(labels("feature")) as features:
        first = ask(tmp_path, data, bugs)
        second = ask(tmp_path, data, features)
        assert set(answers(first).values()) == {"bug"}
        assert set(answers(second).values()) == {"feature"}
        ask(tmp_path, data, bugs, model="org/Big Model:7b")
    names = sorted(path.name for path in (tmp_path / "prompts" / "kinds").iterdir())
    assert [name.rpartition("-")[0] for name in names] == ["judge", "judge", "org-big-model-7b"]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({}, "needs the name of a model"),
        ({"model": "m", "method": "5-shot"}, "There is no method '5-shot'"),
        ({"model": "m", "temperature": "warm"}, "temperature of the model prompted"),
        ({"model": "m", "max_tokens": "many"}, "max_tokens of the model prompted"),
        ({"model": "m", "max_cost": 3}, "max_cost needs the price of m"),
        ({"model": "m", "base_url": "http://me:pass@x/v1"}, "holds credentials"),
        ({"model": "m", "api_key": "sk"}, "the key api_key is unknown"),
        ({"model": "m", "examples": "train", "method": "2/2-instruct"}, "no explanations"),
        ({"model": "m", "prices": "/nowhere.toml"}, "cannot be read"),
    ],
)
def test_settings_that_cannot_be_are_told_before_anything_is_read(
    settings: dict[str, Any], words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        find_model("prompted", settings)


def test_openai_itself_wants_a_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    model = find_model("prompted", {"model": "gpt-x"})
    with pytest.raises(UsageError, match="OPENAI_API_KEY"):
        run(WorkspaceLayout(tmp_path), issues(1), model, find_protocol("default"), 0, QUIET)


def test_every_setting_is_documented_with_its_default() -> None:
    text = (ROOT / "docs" / "prompting.md").read_text("utf-8")
    for name, default in {**RUN_SETTINGS, **REQUEST_SETTINGS}.items():
        value = str(default).lower() if isinstance(default, bool) else str(default)
        assert f"| `{name}` | {value} |" in text, name
