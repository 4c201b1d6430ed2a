"""Endpoints that go wrong without saying so: told, resumed, and never scored as an answer."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from goldpan.annotation.review.run import run_review
from goldpan.evaluation.model import UnansweredError
from goldpan.llm.exchange import (
    EndpointError,
    GivenUpError,
    ModelReply,
    same_model,
    understand,
    unsupported,
)
from tests.filtering import REPO
from tests.local_server import Answer
from tests.mining import Notes
from tests.openai_server import CUT, KEY, Body, OpenAIServer, Said, answer
from tests.prompting import answers, ask, issues
from tests.reviewing import QUOTE, keeps, profile, prompt_text, review, rows, settings, workspace

LONG = "The pump leaks at the seam when it rains.\n" * 400


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def says(
    message: dict[str, Any],
    model: str | None = "judge",
    tokens: int | None = 100,
    finish: str = "stop",
) -> Answer:
    usage = {} if tokens is None else {"usage": {"prompt_tokens": tokens, "completion_tokens": 9}}
    choice = {"message": message, "finish_reason": finish}
    return Answer(body={"model": model, "choices": [choice], **usage})


def kept(body: Body, **changes: Any) -> Answer:
    content = {"reply": 1, **json.loads(keeps(body).content or "")}
    return says({"content": json.dumps(content)}, **changes)


def test_an_endpoint_that_stalls_is_told_and_resumed(tmp_path: Path) -> None:
    lab = workspace(tmp_path)
    with OpenAIServer(lambda _: Answer(seconds=30.0)) as server:
        done = review(lab, server, timeout=0.2)
        assert (done.exit_code, done.reasons) == (3, {"timeout": 3})
        assert "timeout" in str(done)
        with pytest.raises(UnansweredError, match="0 of 3 rows"):
            ask(tmp_path / "runs", issues(3), server, timeout=0.2)
        server.model = keeps
        assert review(lab, server).keep == {"question-answer": 3}


@pytest.mark.parametrize(
    ("asked", "served", "same"),
    [
        ("gpt-4o", "gpt-4o-2024-08-06", True),
        ("gpt-4o", "gpt-4o-mini-2024-07-18", False),
        ("claude-3-5-sonnet-latest", "claude-3-5-sonnet-20241022", True),
        ("mistral-large-latest", "mistral-large-2411", True),
        ("tiny", "/models/Tiny.GGUF", True),
        ("Qwen/Qwen2.5-7B-Instruct", "qwen2.5-7b-instruct", True),
        ("qwen2.5", "qwen2.5:latest", True),
        ("qwen2.5:7b", "qwen2.5:0.5b", False),
        ("org/model:fastest", "org/Model", True),
        ("models/gemini-1.5-pro", "gemini-1.5-pro-002", True),
        ("gpt-4", "gpt-3.5-turbo", False),
        ("llama3-8b", "llama3-70b", False),
    ],
)
def test_names_of_one_model(asked: str, served: str, same: bool) -> None:
    assert same_model(asked, served) is same_model(served, asked) is same


def test_the_answer_of_another_model_does_not_count(tmp_path: Path) -> None:
    lab = workspace(tmp_path)
    with OpenAIServer(lambda body: kept(body, model="llama-3-8b")) as server:
        done = review(lab, server)
        assert (done.exit_code, done.reasons) == (3, {"other-model": 3})
        assert "llama-3-8b answered for judge" in str(done)
        assert review(lab, server, answers_as="llama-3-8b").keep == {"question-answer": 3}
        assert review(lab, server, answers_as="any").complete
        for seed, model in enumerate((None, "judge-2026-01-01"), 1):
            server.model = partial(kept, model=model)
            assert review(lab, server, seed=seed).complete
        before = len(server.chats)
        server.model = lambda _: says({"content": "bug"}, model="llama-3-8b")
        with pytest.raises(UnansweredError, match="llama-3-8b answered for judge"):
            ask(tmp_path / "runs", issues(3), server)
        done_run = ask(tmp_path / "runs", issues(3), server, answers_as="any")
        assert set(answers(done_run).values()) == {"bug"}
        assert len(server.chats) == before + 6


def test_a_context_that_is_cut_in_silence_is_no_answer(tmp_path: Path) -> None:
    lab = workspace(tmp_path, 1, issue1=LONG)

    def model(body: Body) -> Answer:
        return kept(body, tokens=min(2_048, len(prompt_text(body)) // 4 + 500))

    with OpenAIServer(model) as server:
        assert review(lab, server).keep == {"question-answer": 1}
        sizes = [len(prompt_text(body)) for body in server.chats]
        assert sizes[0] > 16_000 > sizes[1] > 8_000 > sizes[-1]
        server.model = lambda body: kept(body, tokens=600)
        done = review(lab, server, seed=1)
        assert done.reasons == {"context-overflow": 1}
        assert "read 600 tokens of" in str(done)


THOUGHTS = {"content": "", "reasoning_content": "Is it a bug? I should look."}


@pytest.mark.parametrize(
    "message",
    [THOUGHTS, {"content": None, "reasoning": "Is it a bug?"}, {"content": "<think>Is it a bug?"}],
)
def test_thoughts_alone_are_no_answer(tmp_path: Path, message: dict[str, Any]) -> None:
    lab = workspace(tmp_path)
    with OpenAIServer(lambda _: says(message)) as server:
        done = review(lab, server)
        assert (done.exit_code, done.reasons) == (3, {"malformed": 3})
        assert "only thoughts came" in str(done)
        with pytest.raises(UnansweredError, match="only thoughts came"):
            ask(tmp_path / "runs", issues(3), server)
        server.model = lambda _: says(message, finish="length")
        assert review(lab, server, seed=1).reasons == {"truncated": 3}
        assert "raise max_tokens" in rows(lab)[1]["evidence"]


def streamed(body: Body, *, ends: bool = True) -> bytes:
    content = json.dumps({"reply": 1, **json.loads(keeps(body).content or "")})
    deltas = [{"role": "assistant"}, {"content": content[:9]}, {"content": content[9:]}]
    events = [{"choices": [{"delta": delta, "finish_reason": None}]} for delta in deltas]
    if ends:
        usage = {"prompt_tokens": 100, "completion_tokens": 9}
        last: dict[str, Any] = {"model": "judge", "usage": usage}
        events.append(last | {"choices": [{"delta": {}, "finish_reason": "stop"}]})
    lines = [f"data: {json.dumps(event)}" for event in events]
    return "\n\n".join([": PROCESSING", *lines, *["data: [DONE]"] * ends, ""]).encode()


def test_servers_that_stream_unasked_are_understood(tmp_path: Path) -> None:
    """Proxies do so whatever a request says (songquanpeng/one-api, BerriAI/litellm)."""
    lab = workspace(tmp_path)
    with OpenAIServer(lambda body: Answer(body=streamed(body, ends=False))) as server:
        assert review(lab, server, retries=0).reasons == {"server-error": 3}
        server.model = lambda body: Answer(body=streamed(body))
        done = review(lab, server)
    assert (done.keep, done.usage.estimated) == ({"question-answer": 3}, False)


@pytest.mark.parametrize(
    "body",
    [
        b'\xef\xbb\xbf{"choices": [{"message": {"content": "bug"}}]}',
        b': PROCESSING\n\n{"choices": [{"message": {"content": "bug"}}]}',
        b'{"choices": [{"message": {"function_call": {"arguments": "bug"}}}]}',
        b'data: {"choices": [{"delta": {"content": "bug"}}]}\n\ndata: [DONE]\n\n',
        b'{"choices": [{"delta": {"content": "bug"}, "finish_reason": "stop"}]}',
        b'data: []\n\ndata: {"choices": [7]}\n\ndata: x\n\n'
        b'data:{"choices": [{"delta": {"content": "bug"}, "finish_reason": "stop"}]}',
    ],
)
def test_replies_in_other_clothes_are_read(body: bytes) -> None:
    assert understand(ModelReply(200, body), str).answer == "bug"


FLAGGED = "Your chosen model requires moderation and your input was flagged"
TOLD = {
    "DeepSeek's filter": (400, {"error": {"message": "Content Exists Risk"}}, "refused"),
    "DashScope's": (400, {"error": {"code": "data_inspection_failed"}}, "refused"),
    "Azure's, by LiteLLM": (
        400, {"error": {"message": "litellm.ContentPolicyViolationError", "code": "400"}}, "refused"
    ),
    "OpenAI's": (400, {"error": {"message": "your prompt was flagged as"}}, "refused"),
    "OpenRouter's": (403, {"error": {"message": FLAGGED, "code": 403}}, "refused"),
    "a limit of vLLM": (
        400, {"message": "longer than the maximum model length of 32768"}, "context-overflow"
    ),
    "of Gemini": (
        400, [{"error": {"message": "exceeds the maximum number of tokens allowed"}}],
        "context-overflow",
    ),
    "of xAI": (400, {"error": "This model's maximum prompt length is 1"}, "context-overflow"),
    "of TGI": (422, {"error": "`inputs` tokens + `max_new_tokens` must be"}, "context-overflow"),
    "of DashScope": (400, {"message": "Range of input length should be"}, "context-overflow"),
    "of SGLang": (
        400, {"message": "Input length (5 tokens) exceeds the maximum allowed"}, "context-overflow"
    ),
    "of llama.cpp": (
        500, {"error": {"message": "Context size has been exceeded."}}, "context-overflow"
    ),
    "a limit of answers beyond Groq's": (
        400, {"error": {"message": "`max_completion_tokens` must be less than or equal to `8192`, "
                        "the maximum value is less than the `context_window`"}}, "bad-request",
    ),
    "beyond vLLM's": (
        400, {"error": {"message": "'max_tokens' or 'max_completion_tokens' is too large: 8000. "
                        "This model's maximum context length is 4096 tokens"}}, "bad-request",
    ),
    "an account that is flagged": (
        403, {"error": {"message": "Your account was flagged for abuse"}}, "bad-request"
    ),
    "nothing written, Ollama": (
        200, {"choices": [{"message": {"content": None}, "finish_reason": "stop"}],
              "usage": {"prompt_tokens": 0, "completion_tokens": 0}}, "server-error",
    ),
    "a server behind Hugging Face's": (424, {"error": "Request failed"}, "server-error"),
    "a filter after some words, Cohere": (
        200, {"choices": [{"message": {"content": "a"}, "finish_reason": "ERROR_TOXIC"}]}, "refused"
    ),
    "nothing but thoughts, Gemini": (
        200, {"choices": [{"index": 0, "finish_reason": "length"}]}, "truncated"
    ),
    "the form was broken, Groq": (
        400, {"error": {"code": "json_validate_failed", "failed_generation": '{"evidence": ['}},
        "malformed",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TOLD)
def test_what_providers_tell_in_their_own_words_is_understood(name: str) -> None:
    status, body, failure = TOLD[name]
    reply = ModelReply(status, json.dumps(body).encode())
    assert understand(reply, json.loads).failure == failure


@pytest.mark.parametrize(
    ("words", "failure"),
    [
        # Anthropic, Copilot, Moonshot, Zhipu, SiliconFlow, TGI, Groq, vLLM
        ("input length and `max_tokens` exceed context limit: 9 + 2", "context-overflow"),
        ("prompt token count of 9 exceeds the limit of 8", "context-overflow"),
        ("Your request exceeded model token limit: 8", "context-overflow"),
        ("Prompt 超长", "context-overflow"),
        ("length of prompt_tokens (9) must be less than max_seq_len", "context-overflow"),
        ("`inputs` must have less than 8 tokens", "context-overflow"),
        ("Please reduce the length of the messages or completion.", "context-overflow"),
        (
            "'max_tokens' is too large: 4. The context length is 8, with 5 input tokens",
            "context-overflow",
        ),
        ("max_tokens exceeds the limit of 8", "bad-request"),
        # DashScope; Bedrock, Volcano, xAI
        ("Requests rate limit exceeded", "rate-limited"),
        ("Blocked by a guardrail policy", "refused"),
        ("the input text may contain sensitive information", "refused"),
        ("Content violates usage guidelines", "refused"),
        ("Model names are case-sensitive", "bad-request"),
    ],
)
def test_errors_of_other_providers_are_understood(words: str, failure: str) -> None:
    body = json.dumps({"error": {"message": words}}).encode()
    assert understand(ModelReply(400, body), str).failure == failure


def test_an_answer_in_the_wrong_place_is_one() -> None:
    """Groq sends what it could not validate, vLLM puts an answer among the thoughts."""
    answer, prose = '{"verdict": "keep"}', 'Here it is: {"verdict": "keep"}'
    refused = {"error": {"code": "json_validate_failed", "failed_generation": prose}}
    assert understand(ModelReply(400, json.dumps(refused).encode()), str).answer == prose
    for thoughts, read in ((answer, answer), (f"I could say {answer}", None)):
        message = {"content": None, "reasoning_content": thoughts}
        reply = {"choices": [{"message": message, "finish_reason": "stop"}]}
        assert understand(ModelReply(200, json.dumps(reply).encode()), str).answer == read


@pytest.mark.parametrize(
    ("told", "named"),
    [
        ("temperature is not supported by e", "temperature"),  # which is no part of a word
        ("`temperature` may only be set to 1 when thinking is enabled", "temperature"),
        ("Guided decoding is disabled", "response_format"),
        ("invalid JSON schema in format", "response_format"),
        ("模型不支持 response_format 参数", "response_format"),
    ],
)
def test_what_is_unsupported_is_named(told: str, named: str) -> None:
    body = json.dumps({"error": {"message": told}}).encode()
    sent = {"model": "e", "temperature": 0, "response_format": {}}
    assert unsupported(ModelReply(400, body), sent) == {named}


def test_a_text_that_a_provider_flags_stops_no_other(tmp_path: Path) -> None:
    error = {"error": {"message": FLAGGED, "code": 403}}
    lab = workspace(tmp_path, 3, issue1=f"A broken pump. {QUOTE}")
    with OpenAIServer(
        lambda body: Answer(403, error) if "A broken pump" in prompt_text(body) else kept(body)
    ) as server:
        assert review(lab, server).complete
    assert rows(lab)[1]["reason"] == "refused"


def test_the_words_of_a_refusal_are_told(tmp_path: Path) -> None:
    refused = Answer(404, {"error": "model 'judge' not found"})
    with OpenAIServer(lambda _: refused) as server, pytest.raises(EndpointError, match="'judge' n"):
        review(workspace(tmp_path), server)


def test_a_reply_that_llama_cpp_calls_broken_is_malformed_and_not_asked_for_again(
    tmp_path: Path,
) -> None:
    """It says so with the status 500, whatever the model said: asking anew would repeat it."""
    told = "The model produced output that does not match the expected peg-native format"
    error = {"code": 500, "message": told, "type": "server_error"}

    def model(body: Body) -> Answer:
        breaks = "A broken pump" in prompt_text(body)
        return Answer(500, body={"error": error}) if breaks else kept(body)

    lab = workspace(tmp_path, 3, issue1=f"A broken pump. {QUOTE}")
    with OpenAIServer(model) as server:
        assert review(lab, server, retries=0).complete
        assert rows(lab)[1]["reason"] == "malformed"
        asked = len(server.chats)
        assert asked == 4, "once more, with what was wrong"
        assert review(lab, server, retries=0).sent == 0
        assert len(server.chats) == asked


def test_progress_counts_what_is_asked_once_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("goldpan.core.terminal._SECONDS_BETWEEN_LINES", 0)
    lab, notes = workspace(tmp_path, 3, issue1=f"A broken pump. {QUOTE}"), Notes()

    def model(body: Body) -> Said | Answer:
        return Said("no verdict") if "A broken pump" in prompt_text(body) else kept(body)

    with OpenAIServer(model) as server:
        run_review(lab, [REPO], profile(lab), settings(server), notes)
    progress = [line for line in notes.lines if line.startswith("requests: ")]
    assert progress[-1] == "requests: 4 of 4"


def dies_after(count: int) -> Callable[[Body], Any]:
    served = iter(range(count))
    return lambda body: keeps(body) if next(served, None) is not None else CUT


def test_an_endpoint_that_dies_in_the_middle_is_given_up_and_resumed(tmp_path: Path) -> None:
    lab = workspace(tmp_path, 60)
    with OpenAIServer(dies_after(5)) as server:
        with pytest.raises(GivenUpError, match=r"none of the last 3\d requests \(no-connection"):
            review(lab, server)
        assert len(server.chats) < 45
        server.model = keeps
        before = len(server.chats)
        done = review(lab, server)
        assert done.keep == {"question-answer": 60}
        assert len(server.chats) == before + 55
    assert QUOTE in rows(lab)[1]["evidence"]


@pytest.mark.parametrize("batch", [False, True])
def test_half_a_character_spoils_no_reply(tmp_path: Path, *, batch: bool) -> None:
    """A token that was cut within an emoji is written as half a surrogate pair."""
    lab = workspace(tmp_path, 1)

    said = Said(f"Sure \ud83d {answer('keep', QUOTE, reply=1).content}")
    with OpenAIServer(lambda _: said) as server:
        assert review(lab, server, batch=batch).keep == {"question-answer": 1}
        assert review(lab, server, batch=batch).sent == 0
