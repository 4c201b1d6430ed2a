"""Endpoints as providers have them: what they do not take, how they answer, fail and count."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from goldpan.core.errors import EvaluationError
from goldpan.evaluation.model import UnansweredError
from goldpan.llm.exchange import EndpointError
from tests.local_server import Answer
from tests.openai_server import KEY, Body, Fault, OpenAIServer, Said, answer
from tests.prompting import PRICES, answers, ask, issues
from tests.reviewing import QUOTE, keeps, review, rows, workspace

REFUSALS: dict[str, tuple[str, Callable[[str], Answer]]] = {
    "OpenAI, a value": (
        "temperature",
        lambda name: error(f"Unsupported value: '{name}' does not support 0 with this model. Only "
                           "the default (1) value is supported.", name, "unsupported_value"),
    ),
    "OpenAI, the limit": (
        "max_completion_tokens",
        lambda name: error(f"Unsupported parameter: '{name}' is not supported with this model. Use "
                           "'max_tokens' instead.", name, "unsupported_parameter"),
    ),
    "Azure": (
        "max_completion_tokens",
        lambda name: error(f"Unrecognized request argument supplied: {name}"),
    ),
    "Mistral": (
        "seed",
        lambda name: Answer(422, {"object": "error", "message": {"detail": [
            {"type": "extra_forbidden", "loc": ["body", name],
             "msg": "Extra inputs are not permitted", "input": 0}]}}),
    ),
    "FastAPI": (
        "seed",
        lambda name: Answer(422, {"detail": [{"type": "extra_forbidden", "loc": ["body", name],
                                              "msg": "Extra inputs are not permitted"}]}),
    ),
    "Gemini": (
        "seed",
        lambda name: Answer(400, [{"error": {"code": 400, "message": 'Invalid JSON payload '
                                   f'received. Unknown name "{name}": Cannot find field.',
                                   "status": "INVALID_ARGUMENT"}}]),
    ),
    "Cloudflare": (
        "response_format",
        lambda name: Answer(400, {"success": False, "errors": [
            {"message": f"AiError: Bad input: unsupported {name}", "code": 5006}]}),
    ),
    "Kimi": (
        "temperature",
        lambda name: error(f"invalid {name}: only 0.6 is allowed for this model"),
    ),
    "DeepSeek": (
        "response_format",
        lambda _: error("This response_format type is unavailable now"),
    ),
    "Groq": (
        "response_format",
        lambda _: error("This model does not support response format `json_schema`."),
    ),
    "a proxy": (
        "response_format",
        lambda name: error("this model does not support JSON output", name),
    ),
    "OpenRouter": (
        "temperature",
        lambda name: Answer(400, {"error": {"message": "Provider returned error", "code": 400,
                            "metadata": {"raw": json.dumps({"error": {
                                "message": f"{name} is deprecated for this model."}})}}}),
    ),
    "OpenRouter, in a reply of 200": (
        "temperature",
        lambda name: Answer(200, {"error": {"message": f"{name} is not supported", "code": 400}}),
    ),
    "an error that is a text": (
        "seed",
        lambda name: Answer(400, {"error": f"unknown parameter {name}"}),
    ),
    "a list of what it takes": (
        "seed",
        lambda name: error(f"Unsupported parameter: '{name}'. Parameters: temperature, top_p."),
    ),
}  # fmt: skip


def replied(message: dict[str, Any], finish: str = "stop", **facts: Any) -> Answer:
    """Return a reply of an endpoint, as it is sent."""
    choice = {"index": 0, "message": message, "finish_reason": finish}
    return Answer(200, {"id": "x", "object": "chat.completion", "choices": [choice], **facts})


BROKEN = {
    "without choices": Answer(200, {"id": "x", "choices": []}),
    "with null choices": Answer(200, {"id": "x", "choices": None}),
    "with an error of a provider": Answer(
        200, {"error": {"message": "Provider returned error", "code": 502}}
    ),
    "with an error in the choice": Answer(
        200,
        {"choices": [{"message": {"content": "keep"}, "finish_reason": "error",
                      "error": {"code": 502, "message": "Upstream broke off"}}]},
    ),
    "broken off": Answer(
        200,
        {"choices": [{"message": {"content": ""},
                      "finish_reason": "insufficient_system_resource"}]},
    ),
    "lost on the way": replied({"content": "keep"}, "network_error"),
    "a page": Answer(502, b"<html><head><title>502 Bad Gateway</title></head></html>"),
    "a text": Answer(503, {"error": "the model is loading"}),
    "a rate limit": Answer(429, {"error": {"message": "Slow down"}}, {"retry-after-ms": "1"}),
    "a model that is not there": Answer(400, {"error": {"message": "judge is not a valid model"}}),
}  # fmt: skip


def error(message: str, param: str | None = None, code: str | None = None) -> Answer:
    told = {"message": message, "type": "invalid_request_error", "param": param, "code": code}
    return Answer(400, {"error": told})


def is_review(body: Body) -> bool:
    return "evidence" in body["messages"][0]["content"]


def strict(name: str) -> tuple[str, Callable[[Body], Any]]:
    """Return a parameter, and a model behind an endpoint that does not take it."""
    parameter, refuse = REFUSALS[name]

    def model(body: Body) -> Any:
        if parameter in body:
            return refuse(parameter)
        return answer("keep", QUOTE, reply=1) if is_review(body) else Said("bug")

    return parameter, model


def answered(message: Callable[[str], dict[str, Any]]) -> Callable[[Body], Answer]:
    """Return a model whose message holds the right words in some way."""

    def model(body: Body) -> Answer:
        right = keeps(body).content if is_review(body) else "bug"
        content = json.dumps({"reply": 1, **json.loads(right or "")}) if right != "bug" else right
        return replied(message(content or ""))

    return model


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


@pytest.mark.parametrize("batch", [False, True])
@pytest.mark.parametrize("name", REFUSALS)
def test_an_endpoint_is_asked_again_without_what_it_names(
    tmp_path: Path, name: str, batch: bool
) -> None:
    parameter, model = strict(name)
    with OpenAIServer(model) as server:
        done = review(workspace(tmp_path / "lab"), server, batch=batch, concurrency=1)
        assert (done.complete, done.exit_code, done.failed) == (True, 0, {})
        assert done.keep == {"question-answer": 3}
        first, *_, last = server.chats
        lost = first.keys() - last.keys()
        assert lost == {parameter}, "only what it named"
        assert last.keys() - first.keys() == ({"max_tokens"} if "limit" in name or name == "Azure"
                                              else set())  # fmt: skip
        if parameter == "response_format":
            assert "verdict" in last["messages"][0]["content"].rpartition("of this schema:")[2]
        count = len(server.chats)
        assert review(workspace(tmp_path / "lab"), server, batch=batch).complete
        assert len(server.chats) == count
        server.chats.clear()
        run = ask(tmp_path / "runs", issues(3), server, batch=batch, concurrency=1)
    assert [*answers(run).values()] == ["bug"] * 3
    lost = server.chats[0].keys() - server.chats[-1].keys()
    assert lost == {parameter}
    notes = {"temperature": {"without-temperature": 3}, "seed": {"without-seed": 3}}
    expected = notes.get(parameter, {})
    if parameter == "response_format":
        expected = {"without-schema": 3}
    left = {key: n for key, n in run.answers.notes.items() if key != "no-json"}
    assert left == expected


@pytest.mark.parametrize(
    "message", ["temperature must be at most 2", "temperature: Input should be less than 2",
                "Unknown model; we know none of that name", "max_tokens is too large: 1000"]
)  # fmt: skip
def test_what_is_named_as_a_mistake_is_not_left_out(tmp_path: Path, message: str) -> None:
    with OpenAIServer(lambda _: error(message)) as server:
        done = review(workspace(tmp_path), server)
        assert len(server.chats) == 3
    assert done.exit_code == 3
    assert message in next(iter(done.failed))


@pytest.mark.parametrize("name", BROKEN)
def test_a_review_that_nobody_answered_ends_with_3_and_says_why(tmp_path: Path, name: str) -> None:
    lab = workspace(tmp_path)
    with OpenAIServer(lambda _: BROKEN[name]) as server:
        done = review(lab, server)
        assert (done.complete, done.exit_code) == (False, 3)
        body = BROKEN[name].body
        words = "502 Bad Gateway" if isinstance(body, bytes) else ""
        if isinstance(body, dict) and "error" in body:
            told = body["error"]
            words = told["message"] if isinstance(told, dict) else told
        assert words in str(done)
        assert "check --base-url, --model" in str(done)
        server.model = keeps
        assert review(lab, server).keep == {"question-answer": 3}


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (replied({"content": None}), "malformed"),
        (replied({"content": "", "reasoning_content": '{"verdict": "keep"}'}), "malformed"),
        (replied({"content": "<think>Hm"}), "malformed"),
        (replied({"content": None}, "content_filter"), "refused"),
        (Answer(200, {"choices": [{"message": None, "finish_reason": "content_filter: X"}]}),
         "refused"),
        (replied({"content": ""}, "SAFETY"), "refused"),
        (replied({"content": None, "refusal": "I will not"}), "refused"),
        (replied({"content": [{"type": "refusal", "refusal": "I will not"}]}), "refused"),
        (replied({"content": "It is"}, "MAX_TOKENS"), "truncated"),
    ],
)  # fmt: skip
def test_a_review_in_which_all_is_refused_or_empty_ends_with_3(
    tmp_path: Path, reply: Answer, reason: str
) -> None:
    with OpenAIServer(lambda _: reply) as server:
        lab = workspace(tmp_path)
        done = review(lab, server)
        assert (done.exit_code, done.reasons) == (3, {reason: 3})
        assert "no answer, 3 times" in str(done)
    assert rows(lab)[1]["keep"] is None


def test_a_review_that_was_answered_in_part_goes_on_with_what_failed_on_the_way(
    tmp_path: Path,
) -> None:
    faults: list[Any] = [Fault(429, "rate_limit_exceeded", "Too fast")]
    lab = workspace(tmp_path)
    with OpenAIServer(lambda body: faults.pop() if faults else keeps(body)) as server:
        assert review(lab, server).exit_code == 3
        assert review(lab, server).exit_code == 0
        assert len(server.chats) == 4


def test_an_endpoint_that_is_given_up_ends_with_3(tmp_path: Path) -> None:
    with OpenAIServer(lambda _: Fault(429, "rate_limit_exceeded", "Too fast")) as server:
        with pytest.raises(EndpointError, match=r"none of 10 requests .*Too fast") as caught:
            review(workspace(tmp_path / "lab", 20), server)
        assert caught.value.exit_code == 3
        with pytest.raises(UnansweredError, match="Too fast"):
            ask(tmp_path / "runs", issues(20), server)


def test_an_account_without_money_ends_the_run_and_is_no_wrong_answer(tmp_path: Path) -> None:
    served = [Said("bug")] * 2
    empty = Answer(402, {"error": {"message": "Insufficient Balance"}})
    with (
        OpenAIServer(lambda _: served.pop() if served else empty) as server,
        pytest.raises(EvaluationError, match=r"Insufficient Balance.*Top up the account"),
    ):
        ask(tmp_path, issues(6), server)


@pytest.mark.parametrize(
    "message",
    [
        lambda text: {"content": [{"type": "text", "text": text}]},
        lambda text: {"content": [{"type": "text", "text": text[:2]},
                                  {"type": "text", "text": text[2:]}]},
        lambda text: {"content": [
            {"type": "thinking", "thinking": [{"type": "text", "text": "Or documentation?"}]},
            {"type": "text", "text": text}]},
        lambda text: {"content": [{"type": "reasoning", "text": "a feature?"}, text]},
        lambda text: {"content": text, "reasoning_content": "A feature, I first thought."},
        lambda text: {"content": text, "reasoning": "a question?", "thinking": "a feature?"},
        lambda text: {"content": f"Is it a feature?</think>{text}"},
        lambda text: {"content": None, "tool_calls": [{"function": {
            "name": "answer", "arguments": text}}]},
    ],
)  # fmt: skip
def test_a_message_is_read_part_by_part_and_thoughts_are_no_answer(
    tmp_path: Path, message: Callable[[str], dict[str, Any]]
) -> None:
    with OpenAIServer(answered(message)) as server:
        done = review(workspace(tmp_path / "lab"), server)
        assert (done.keep, done.exit_code) == ({"question-answer": 3}, 0)
        assert set(answers(ask(tmp_path / "runs", issues(3), server)).values()) == {"bug"}


@pytest.mark.parametrize(
    "usage", [{}, {"usage": None}, {"usage": {"prompt_tokens": 0, "completion_tokens": None}}]
)
@pytest.mark.parametrize("batch", [False, True])
def test_an_endpoint_that_counts_no_tokens_does_not_exceed_the_limit(
    tmp_path: Path, usage: dict[str, Any], batch: bool
) -> None:
    prices = {"judge": {"input": 1_000.0, "output": 1_000.0}}
    said = answered(lambda text: {"content": text})

    def model(body: Body) -> Answer:
        return Answer(200, {**said(body).body, **usage})

    lab = workspace(tmp_path, 12)
    with OpenAIServer(model) as server:
        asked: dict[str, Any] = {"max_cost": 6.0 if batch else 12.0, "batch": batch}
        asked |= {"prices": prices, "batch_requests": 1}
        done = review(lab, server, **asked)
        assert done.exit_code == 3
        assert 0 < done.sent < 12
        assert 1 < done.cost <= asked["max_cost"]
        assert done.usage.estimated
        assert "estimated: the endpoint reports none" in str(done)
        again = review(lab, server, **asked)
        assert again.estimate.cost_before == pytest.approx(done.cost)
        assert again.sent <= 1


def test_counts_that_are_odd_are_counts(tmp_path: Path) -> None:
    usage = {"prompt_tokens": 10.0, "completion_tokens": 5, "prompt_tokens_details": None}
    said = answered(lambda text: {"content": text})
    with OpenAIServer(lambda body: Answer(200, {**said(body).body, "usage": usage})) as server:
        done = review(workspace(tmp_path, 1), server)
    assert (done.usage.input, done.usage.output, done.usage.estimated) == (10, 5, False)


def test_a_run_says_that_its_tokens_are_estimated(tmp_path: Path) -> None:
    prices = tmp_path / "prices.toml"
    prices.write_text(PRICES, encoding="utf-8")
    with OpenAIServer(lambda _: replied({"content": "bug"})) as server:
        done = ask(tmp_path, issues(2), server, prices=str(prices))
    assert done.costs.input_tokens > 100
    assert done.costs.money > 0
    assert done.answers.notes["tokens-estimated"] == 2


def test_replies_of_words_from_earlier_versions_are_still_used(tmp_path: Path) -> None:
    _, model = strict("DeepSeek")
    with OpenAIServer(model) as server:
        ask(tmp_path, issues(3), server, structured="no")
        count = len(server.chats)
        ask(tmp_path, issues(3), server)
        assert len(server.chats) == count + 1, "one question whether it takes a schema"
