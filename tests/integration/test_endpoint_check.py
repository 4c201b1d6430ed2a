"""`goldpan doctor --base-url`: what an endpoint serves, and how well."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.filters.pipeline import run_filters
from goldpan.filters.profile import load_profile
from goldpan.llm.check import Finding, examine_endpoint
from goldpan.llm.settings import EndpointSettings
from tests.console import run
from tests.filtering import REPO
from tests.local_server import Answer
from tests.openai_server import KEY, Body, Fault, OpenAIServer, Said
from tests.reviewing import QUIET, workspace


def obeys(body: Body) -> Said:
    """Keep to a schema, and count tokens."""
    text = '{"verdict": "keep"}' if "response_format" in body else "one two three"
    return Said(text, tokens=(len(body["messages"][0]["content"].split()) * 4 // 3, 100))


def found(server: OpenAIServer, *models: str, **changes: Any) -> dict[str, Finding]:
    options = {"retries": 0, "timeout": 5.0, **changes}
    settings = EndpointSettings(models, server.url, KEY, **options)
    return {finding.name: finding for finding in examine_endpoint(settings).findings}


def test_a_good_endpoint_is_told_to_be_one() -> None:
    with OpenAIServer(obeys) as server:
        server.models = [{"id": "judge", "max_model_len": 32_768}]
        findings = found(server)
        sizes = [len(body["messages"][0]["content"]) for body in server.chats]
    assert {finding.level for finding in findings.values()} == {"ok"}
    assert findings["Endpoint"].message.endswith("/v1 serves judge")
    assert findings["Schema"].message == "answers follow it"
    assert findings["Context"].message == "32,768 tokens"
    assert "tokens a second read" in findings["Speed"].message
    assert len(sizes) == 3
    assert max(sizes) < 4_000


def test_the_context_is_asked_of_llama_cpp_too() -> None:
    with OpenAIServer(obeys) as server:
        server.models = [{"id": "judge", "meta": {"n_ctx": 4_096, "n_ctx_train": 32_768}}]
        context = found(server)["Context"]
    assert (context.level, context.message[:12]) == ("note", "4,096 tokens")
    assert context.remedy == "Set max_characters=8384 to cut them at once"


def test_a_context_that_is_cut_in_silence_is_found() -> None:
    def cuts(body: Body) -> Said:
        said = obeys(body)
        return Said(said.content, tokens=(min(said.tokens[0], 2_048), 100))

    with OpenAIServer(cuts) as server:
        context = found(server)["Context"]
    assert context.level == "note"
    assert context.message.startswith("the endpoint read 2,048 tokens of 4,5")


def thinks(body: Body) -> Answer:
    message = {"content": obeys(body).content, "reasoning_content": "Hm, one word?"}
    choice = {"message": message, "finish_reason": "stop"}
    return Answer(body={"model": "judge", "choices": [choice]})


def test_thoughts_and_tokens_that_nobody_counts_are_told() -> None:
    with OpenAIServer(thinks) as server:
        findings = found(server)
    assert "in reasoning_content" in findings["Thoughts"].message
    assert findings["Tokens"].level == "note"


def refuses(body: Body) -> Said | Fault:
    if "response_format" in body:
        return Fault(400, "unsupported", "response_format is not supported")
    return obeys(body)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (lambda _: Said("Hello"), "not followed: it says Hello"),
        (refuses, "not supported: the answer format is described in words"),
    ],
)
def test_a_schema_that_is_ignored_or_refused_is_told(model: Any, message: str) -> None:
    with OpenAIServer(model) as server:
        schema = found(server)["Schema"]
    assert (schema.level, schema.message) == ("note", message)


def test_several_models_ask_for_one_of_them() -> None:
    with OpenAIServer(obeys) as server:
        server.models = [{"id": "judge"}, {"id": "other"}]
        failed = found(server)["Endpoint"]
        assert (failed.level, failed.remedy) == ("fail", "Choose one with --model")
        assert failed.message.endswith("serves judge, other")
        assert found(server, "judge")["Schema"].level == "ok"
        assert found(server, "third")["Model"].message == "third is not among those it lists"
        server.models = []
        assert "lists no models" in found(server, "judge")["Endpoint"].message


def other(body: Body) -> Answer:
    choice = {"message": {"content": obeys(body).content}, "finish_reason": "stop"}
    return Answer(body={"model": "llama-3", "choices": [choice]})


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (other, "llama-3 answered for judge"),
        (lambda _: Fault(500, message="Out of memory"), "Out of memory"),
        (lambda _: Fault(404, "model_not_found", "No such model"), "No such model"),
        (lambda _: Answer(seconds=30.0), "timeout"),
    ],
)
def test_an_endpoint_that_does_not_answer_fails(model: Any, words: str) -> None:
    with OpenAIServer(model) as server:
        failed = found(server, timeout=0.3 if words == "timeout" else 5.0)["Endpoint"]
    assert failed.level == "fail"
    assert words in failed.message


def test_nobody_listens() -> None:
    with OpenAIServer(obeys) as server:
        pass
    assert "does not answer" in found(server)["Endpoint"].message


def test_doctor_says_what_a_review_of_the_workspace_takes(tmp_path: Path) -> None:
    lab = workspace(tmp_path / "goldpan-workspace")
    run_filters(WorkspaceLayout(lab.root), [REPO], load_profile("default"), QUIET)
    with OpenAIServer(obeys) as server:
        given = {"OPENAI_API_KEY": KEY}
        done = run("doctor", "--json", "--base-url", server.url, folder=tmp_path, **given)
        told = {each["name"]: each for each in json.loads(done.out)}
        assert told["Schema"]["level"] == "ok"
        assert told["Review"]["message"].startswith(("0 requests", "3 requests"))
        assert KEY not in done.out + done.err
        server.key = "sk-another"
        done = run("doctor", "--base-url", server.url, folder=tmp_path, **given)
    assert done.code == 1
    assert "FAIL  Endpoint" in done.out
    assert "OPENAI_API_KEY" in done.out
