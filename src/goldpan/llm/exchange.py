"""One exchange with a model: the request, the reply, the outcome."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Generic, Literal, TypeVar

import orjson

from goldpan.core.errors import GoldpanError
from goldpan.core.sanitize import line
from goldpan.llm.answer_text import without_thoughts
from goldpan.llm.body import read_body, read_json
from goldpan.llm.dialect import message_of, named_parameters


class EndpointError(GoldpanError):
    """The endpoint serves nobody: the failure of one request alone is an outcome instead."""


class GivenUpError(EndpointError):
    """The endpoint answered none of many requests: the same command goes on."""

    exit_code = 3


@dataclass(frozen=True)
class ModelRequest:
    """One chat completion that is asked for."""

    prompt: str
    """The prompt's label."""
    body: dict[str, Any]

    @cached_property
    def data(self) -> bytes:
        """The body as it is archived."""
        return orjson.dumps(self.body, option=orjson.OPT_SORT_KEYS)

    @cached_property
    def key(self) -> str:
        """A digest of prompt, model, parameters and texts, which tells requests apart."""
        return hashlib.sha256(self.prompt.encode() + b"\0" + self.data).hexdigest()

    @property
    def model(self) -> str:
        """The model that is asked."""
        return str(self.body["model"])


T_co = TypeVar("T_co", covariant=True)
T = TypeVar("T")

Failure = Literal[
    "refused",  # the model, or a filter of the endpoint, did not want to
    "truncated",  # the answer was longer than the most tokens
    "malformed",  # the answer does not follow the schema
    "context-overflow",  # the texts do not fit, however short they are cut
    "other-model",  # another model answered than the one that was asked
    "bad-request",  # the endpoint does not take the request
    "rate-limited",  # again and again
    "server-error",
    "timeout",
    "no-connection",
    "batch-failed",
    "batch-expired",
]
FINAL: frozenset[str] = frozenset(("refused", "truncated", "malformed", "context-overflow"))
"""Failures that asking the same again would repeat, and pay for again."""

_OVERFLOW = re.compile(
    r"context[ _](?:length|size|window|limit)|exceed_context|string_above_max_length"
    r"|(?:prompt|input)s?\b[^.;]{0,60}?(?:too long|too many|exceed|longer than)"
    r"|maximum (?:context|model length|prompt length|number of tokens|supported sequence)"
    r"|too many (?:input )?tokens|(?<!max_)tokens? (?:count )?exceed|exceed\w* .{0,20}token limit"
    r"|max(?:_seq_len| message tokens)|reduce the length|`inputs` (?:tokens|must)"
    r"|range of input length|超长|超过.{0,6}(?:长度|上限)|上下文长度",
    re.I,
)
_TOO_MANY = re.compile(
    r"max_(?:completion_)?tokens\W{1,3}(?:is too large|must be)(?!.*input tokens)", re.S
)
"""How they say that an answer may not be that long, whatever the texts are."""
_SLOW_DOWN = re.compile(
    r"throttl|rate[ _]?limit|limit_requests|too many requests|quota exceeded|请求频率|限流", re.I
)
"""How some say, with another status than 429, that they are asked too much."""
_FLAGGED = re.compile(
    r"content[ _]?(?:filter|policy|exists risk|management policy)|data_?inspection|high risk"
    r"|(?:prompt|input|request)(?: was| has been)? flagged|inappropriate content|responsible ?ai"
    r"|sensitive ?(?:content|information|words)|new_sensitive|guardrail|violates usage|敏感内容",
    re.I,
)
"""How providers say that a text does not pass their filter."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of requests and their replies."""

    input: int = 0
    output: int = 0
    cached: int = 0
    """Input tokens that the endpoint had in its own cache."""
    estimated: bool = False
    """True where the endpoint counts no tokens: from the characters, about four a token."""


@dataclass(frozen=True, slots=True)
class ModelReply:
    """A reply: the status and body of HTTP, or a failure without a body."""

    status: int
    body: bytes
    failure: Failure | None = None
    """Why there is no body."""
    seconds: float = 0.0
    batch: bool = False
    fields: tuple[str, ...] = ()
    """What was sent of the request, where that is known: not all endpoints take all."""


@dataclass(frozen=True, slots=True)
class RequestOutcome(Generic[T_co]):
    """The meaning of a reply: an answer or a failure."""

    answer: T_co | None
    failure: Failure | None
    detail: str
    """One line for people."""
    usage: Usage
    text: str = ""
    """The model's output, verbatim, whether it is an answer or not."""
    fields: tuple[str, ...] = ()
    """What was sent of the request, where that is known."""
    problem: str = ""
    """What is wrong with a text that is malformed."""
    thoughts: str = ""
    """The name of the field with the model's thoughts."""
    served: str | None = None
    """The name of the model that answered, as the endpoint tells it."""

    @property
    def final(self) -> bool:
        """True where asking again would be a waste."""
        return self.failure is None or self.failure in FINAL


def answer_to(
    request: ModelRequest, reply: ModelReply, read: Callable[[str], T], other_name: str = ""
) -> RequestOutcome[T]:
    """Read the reply to a request, as `understand` does.

    It is no answer where the endpoint read a part of the texts alone, or where a model answered of
    another name than was asked for or is given here; ``any`` stands for all names.
    """
    outcome = understand(reply, read)
    if outcome.failure not in (None, "malformed", "truncated"):
        return outcome
    texts = (message["content"] for message in request.body["messages"])
    words = sum(len(_WORD.findall(text)) for text in texts)
    if _SMALLEST_CONTEXT <= outcome.usage.input < words:
        detail = f"the endpoint read {outcome.usage.input:,} tokens of {words:,} words or more"
        return replace(outcome, answer=None, failure="context-overflow", detail=detail)
    served, names = outcome.served, (request.model, other_name)
    if served is None or "any" in names or any(same_model(name, served) for name in names):
        return outcome
    detail = (
        f"{line(served, 100)} answered for {request.model}; if they are the same, "
        f"give --set answers_as={line(served, 100)}"
    )
    return replace(outcome, answer=None, failure="other-model", detail=detail)


_SMALLEST_CONTEXT = 512
"""Tokens; servers that count fewer in a long request do not count."""
_WORD = re.compile(r"(?<![A-Za-z])[A-Za-z]++(?![^\s.,;:!?])")
"""A word between blanks, which is a token at least."""
_VERSION = re.compile(r"(?:[-@.:](?:\d{4}-\d\d-\d\d|\d\d-\d\d|\d{3,8}|latest|free|preview))+\Z")


def same_model(name: str, other: str) -> bool:
    """Tell whether two names are one model's: folders, dates, and the ending of a file aside."""
    names = [
        _VERSION.sub("", re.split(r"[/\\]", each.casefold().strip())[-1].removesuffix(".gguf"))
        for each in (name, other)
    ]
    first, second = sorted(names, key=len)
    return first == second or second.startswith(f"{first}:")


def understand(reply: ModelReply, read: Callable[[str], T]) -> RequestOutcome[T]:
    """Read a reply; whatever a server sends becomes an outcome.

    `read` makes an answer of the model's text without its thoughts, and raises `ValueError` where
    it is none.
    """
    if reply.failure is not None:
        return RequestOutcome(None, reply.failure, line(_words(reply.body)), Usage())
    data = _json(reply.body)
    error, status = _error(reply.status, data)
    choice = _first(data.get("choices"))
    if isinstance(error, dict) and isinstance(error.get("failed_generation"), str):
        choice = {"message": {"content": error["failed_generation"]}}  # Groq found it malformed
    elif status != 200:
        return _failed_by_http(status, error, reply.body)
    finish = str(choice.get("finish_reason") or "").casefold()
    told = choice.get("message") or choice.get("delta")  # as some proxies name it
    message = told if isinstance(told, dict) else {}
    refusal, content = _content(message)
    thoughts = next((name for name in _THOUGHTS if str(message.get(name) or "").strip()), "")
    if not content.strip() and isinstance(read_json(str(message.get(thoughts)).encode()), dict):
        content = message[thoughts]  # vLLM puts answers there where it was told not to think
    served = data.get("model")
    whole: RequestOutcome[T] = RequestOutcome(
        None,
        None,
        "",
        _usage(data.get("usage")),
        content,
        reply.fields,
        thoughts=thoughts,
        served=served if isinstance(served, str) else None,
    )

    def failed(failure: Failure, detail: str, problem: str = "") -> RequestOutcome[T]:
        return replace(whole, failure=failure, detail=line(detail), problem=problem)

    if refusal or _FILTERED.search(finish):
        return failed("refused", refusal or f"stopped by a content filter, {finish}")
    if not isinstance(told, dict) and finish not in _TOO_LONG:
        return failed("server-error", f"the reply holds no message: {_words(reply.body)}")
    if finish in _BROKEN:
        return failed("server-error", f"the endpoint broke off, {finish}: {content}")
    spoken = without_thoughts(content)
    silence = ""
    if not spoken.strip() and (where := "its text" if content.strip() else thoughts):
        silence = f"only thoughts came, in {where}: raise max_tokens"
    if finish in _TOO_LONG:
        return failed("truncated", silence or content)
    if not content and not silence and _wrote_nothing(data.get("usage")):
        return failed("server-error", "the endpoint wrote nothing")
    try:
        if silence:
            raise ValueError(silence)
        return replace(whole, answer=read(spoken))
    except ValueError as error:
        return failed("malformed", f"{error}: {content or 'the reply is empty'}", str(error))


_THOUGHTS = ("reasoning_content", "reasoning", "thinking")
_FILTERED = re.compile(
    r"content_filter|safety|recitation|prohibited|blocklist|refus|sensitive|spii|toxic|guardrail"
)
_TOO_LONG = (
    "length",
    "max_tokens",
    "max_output_tokens",
    "model_length",
    "model_context_window_exceeded",
)
_BROKEN = ("error", "network_error", "abort", "cancelled", "insufficient_system_resource")


def unsupported(reply: ModelReply, sent: Mapping[str, Any]) -> frozenset[str]:
    """Return the parameters of a request that the endpoint says it does not take."""
    if understand(reply, str).failure != "bad-request":
        return frozenset()
    error, _ = _error(reply.status, _json(reply.body))
    return named_parameters(error or _words(reply.body), sent)


def _error(status: int, data: dict[str, Any]) -> tuple[object, int]:
    """Return the error of a reply and its status; some endpoints send one in a reply of 200."""
    choice = _first(data.get("choices"))
    error = data.get("error") or (choice.get("error") if status == 200 else data)
    if status != 200 or not error:
        return error, status
    code = str(error.get("code") or error.get("status")) if isinstance(error, dict) else ""
    return error, int(code) if re.fullmatch(r"[45]\d\d", code) else 500


def _failed_by_http(status: int, error: object, body: bytes) -> RequestOutcome[Any]:
    told = error if isinstance(error, dict) else {"message": error}
    parts = (told.get("code"), told.get("type"), message_of(told) or _words(body))
    words = " ".join(str(part) for part in parts if part and part != status)
    failure = _failure(status, words)
    problem = "it broke the form" if failure == "malformed" else ""
    return RequestOutcome(None, failure, line(f"HTTP {status} {words}"), Usage(), problem=problem)


def _failure(status: int, words: str) -> Failure:
    if status == 429:
        return "rate-limited"
    if 400 <= status < 413 and _SLOW_DOWN.search(words):
        return "rate-limited"
    if status == 413 or (_OVERFLOW.search(words) and not _TOO_MANY.search(words)):
        return "context-overflow"
    if _FLAGGED.search(words):
        return "refused"
    if "model produced output" in words:  # as llama.cpp calls a reply that breaks the form
        return "malformed"
    if (status >= 500 and status != 501) or status in (408, 409, 424, 425, 499):
        return "server-error"
    return "bad-request"


def _words(body: bytes) -> str:
    """Return what a body says to people; a page says it between its tags."""
    text = body[:2000].decode(errors="replace")
    return " ".join(_TAG.sub(" ", text).split()) if text.lstrip().startswith("<") else text


_TAG = re.compile(r"<(?:style|script)\b.*?</|<[^>]*>", re.DOTALL)


def _content(message: dict[str, Any]) -> tuple[str, str]:
    """Return a refusal and the text of a message, whose parts may be listed; thoughts are none.

    A schema that was sent on as a tool comes back as its call.
    """
    content, refusal = message.get("content"), message.get("refusal")
    parts = content if isinstance(content, list) else [content]
    texts = []
    for part in parts:
        told = part if isinstance(part, dict) else {"text": part}
        refusal = refusal or told.get("refusal")
        text = told.get("text")
        if told.get("type", "text") in _TEXTS and isinstance(text, str):
            texts.append(text)
    calls, function = message.get("tool_calls"), message.get("function_call")
    if isinstance(calls, list) and len(calls) == 1 and isinstance(calls[0], dict):
        function = calls[0].get("function")
    if not any(texts) and isinstance(function, dict):
        given = function.get("arguments") or ""
        texts = [given if isinstance(given, str) else orjson.dumps(given).decode()]
    return str(refusal or ""), "".join(texts)


_TEXTS = ("text", "output_text")


def _json(body: bytes) -> dict[str, Any]:
    data = read_body(body)
    if isinstance(data, list) and len(data) == 1:  # as Gemini sends errors
        data = data[0]
    return data if isinstance(data, dict) else {}


def _first(choices: object) -> dict[str, Any]:
    first = choices[0] if isinstance(choices, list) and choices else None
    return first if isinstance(first, dict) else {}


def _usage(reported: object) -> Usage:
    usage = reported if isinstance(reported, dict) else {}
    details = usage.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else 0
    return Usage(
        _count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens")), _count(cached)
    )


def _wrote_nothing(reported: object) -> bool:
    return isinstance(reported, dict) and reported.get("completion_tokens") == 0


def _count(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return 0
    return int(value) if 0 <= value < math.inf else 0
