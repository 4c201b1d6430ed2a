"""A local OpenAI: chat completions with structured outputs, files and batches, faults on request.

As strict as the real one where a client could get it wrong: a key, known fields only, a schema
that strict mode takes. What a model says is a function from the request's body to a `Said` or a
`Fault`; batches go through the same function.
"""

from __future__ import annotations

import itertools
import json
import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from tests.local_server import Answer, Asked, LocalServer

KEY = "sk-test-0123456789abcdef"
Body = dict[str, Any]

_FIELDS = {"model", "messages", "response_format", "temperature", "seed", "max_completion_tokens"}
_FIELDS |= {"max_tokens"}
_ROLES = {"system", "user", "assistant"}
_NO_KEYWORDS = {"maxLength", "minLength"}


@dataclass(frozen=True)
class Said:
    """A model's answer."""

    content: str | None
    finish: str = "stop"
    refusal: str | None = None
    tokens: tuple[int, int] = (100, 20)


@dataclass(frozen=True)
class Fault:
    """What goes wrong instead: an HTTP error, or with status 0 a connection that is cut."""

    status: int
    code: str = ""
    message: str = "It failed"
    headers: dict[str, str] = field(default_factory=lambda: {"retry-after-ms": "1"})


CUT = Fault(0)
Model = Callable[[Body], Said | Fault | Answer]


def answer(
    verdict: str = "keep",
    *quotes: str,
    confidence: float = 0.9,
    reasons: Any = (),
    reply: int | None = None,
) -> Said:
    """Return a well-formed answer; without `reply` it names the first, where one is asked for."""
    content = {
        "evidence": list(quotes),
        "reasons": list(reasons),
        **({} if reply is None else {"reply": reply}),
        "verdict": verdict,
        "confidence": confidence,
    }
    return Said(json.dumps(content))


@dataclass
class Job:
    """A batch, and how often it is still asked after before it ends."""

    body: Body
    polls: int


class OpenAIServer(LocalServer):
    """Serves on 127.0.0.1 while its block runs."""

    def __init__(self, model: Model, *, polls: int = 1, key: str | None = KEY) -> None:
        super().__init__()
        self.url = f"{self.url}/v1"
        self.model = model
        self.polls = polls
        self.key = key
        self.chats: list[Body] = []
        """Bodies of requests, those of batches too, in the order in which they came."""
        self.models: list[Body] = [{"id": "judge", "object": "model"}]
        """What is listed; an endpoint without a list where it is empty."""
        self.batches: dict[str, Job] = {}
        self.lose: set[int] = set()
        """Places of lines that a batch gives no answer to, as when it expires."""
        self.refuse_batches = 0
        """How many batches are to be refused after they were made, as when a reply is lost."""
        self.refusal = 400
        self.fail_validation = False
        self.delay = 0.0
        self.busiest = 0
        self._busy = 0
        self._files: dict[str, bytes] = {}
        self._ids = itertools.count(1)
        self._lock = threading.Lock()

    def answer(self, asked: Asked) -> Answer:
        """Answer in the spacing of the real one, which archives of its replies keep."""
        reply = self._routed(asked)
        if isinstance(reply.body, bytes):
            return reply
        headers = {**reply.headers, "Content-Type": "application/json"}
        return replace(reply, body=json.dumps(reply.body).encode(), headers=headers)

    def _routed(self, asked: Asked) -> Answer:
        if self.key and asked.token != self.key:
            return _error(401, "invalid_api_key", f"Incorrect API key provided: {asked.token}.")
        words = asked.path.removeprefix("/v1/").split("/")
        match (asked.method, *words):
            case ("POST", "chat", "completions"):
                return self.chat(json.loads(asked.body))
            case ("GET", "models") if self.models:
                return Answer(body={"object": "list", "data": self.models})
            case ("POST", "files"):
                return Answer(body=self.upload(asked.body, asked.headers["Content-Type"]))
            case ("POST", "batches"):
                return self._take(json.loads(asked.body))
            case ("GET", "files", name, "content"):
                return Answer(body=self.file(name))
            case ("GET", "batches", name):
                return Answer(body=self.poll(name))
            case ("GET", "batches"):
                limit = int(asked.query.get("limit", "20"))
                return Answer(body=self.list(asked.query.get("after"), limit))
        return _error(404, "not_found", f"There is no {asked.path}")

    def _take(self, body: Body) -> Answer:
        batch = self.submit(body)
        if not self.refuse_batches:
            return Answer(body=batch)
        self.refuse_batches -= 1
        return _error(self.refusal, "lost", "The reply was lost")

    def chat(self, body: Body) -> Answer:
        """Answer one chat completion."""
        if problem := _problem(body):
            return _error(400, "invalid_request_error", problem)
        with self._lock:
            self.chats.append(body)
            self._busy += 1
            self.busiest = max(self.busiest, self._busy)
        try:
            time.sleep(self.delay)
            outcome = self.model(body)
        finally:
            with self._lock:
                self._busy -= 1
        if isinstance(outcome, Answer):
            return outcome
        if isinstance(outcome, Fault):
            failed = _error(outcome.status or 200, outcome.code, outcome.message, outcome.headers)
            return failed if outcome.status else replace(failed, delivery="truncate")
        content = _shaped(outcome.content, body)
        message = {"role": "assistant", "content": content, "refusal": outcome.refusal}
        usage = {"prompt_tokens": outcome.tokens[0], "completion_tokens": outcome.tokens[1]}
        choice = {"index": 0, "message": message, "finish_reason": outcome.finish}
        reply = {"id": f"chatcmpl-{next(self._ids)}", "object": "chat.completion", "created": 0}
        reply |= {"model": body["model"] + "-2026-01-01", "choices": [choice], "usage": usage}
        return Answer(body=reply)

    def upload(self, data: bytes, kind: str) -> Body:
        """Store the file of a multipart form."""
        mark = re.search(r"boundary=([^;]+)", kind)
        assert mark
        parts = data.split(b"--" + mark[1].encode())
        (content,) = (part for part in parts if b'name="file"' in part.partition(b"\r\n\r\n")[0])
        assert any(b'name="purpose"' in part and b"batch" in part for part in parts)
        return self._store(content.partition(b"\r\n\r\n")[2].removesuffix(b"\r\n"))

    def _store(self, content: bytes) -> Body:
        name = f"file-{next(self._ids)}"
        self._files[name] = content
        size = {"bytes": len(content), "created_at": 0, "filename": "x.jsonl"}
        return {"id": name, "object": "file", "purpose": "batch", "status": "processed", **size}

    def file(self, name: str) -> bytes:
        """Return a stored file."""
        return self._files[name]

    def submit(self, body: Body) -> Body:
        """Take a batch."""
        name = f"batch_{next(self._ids)}"
        batch = {"id": name, "object": "batch", "status": "validating", "created_at": 0, **body}
        batch |= {"output_file_id": None, "error_file_id": None, "errors": None}
        self.batches[name] = Job(batch, self.polls)
        return batch

    def poll(self, name: str) -> Body:
        """Tell how a batch is, and run it when it was asked after often enough."""
        job = self.batches[name]
        job.polls -= 1
        if job.polls < 0 and job.body["status"] in ("validating", "in_progress"):
            self._run(job)
        elif job.body["status"] == "validating":
            job.body["status"] = "in_progress"
        return job.body

    def _run(self, job: Job) -> None:
        if self.fail_validation:
            problem = {"message": "Line 1 is not valid", "code": "invalid_json_line"}
            job.body |= {"status": "failed", "errors": {"object": "list", "data": [problem]}}
            return
        lines = [json.loads(line) for line in self._files[job.body["input_file_id"]].splitlines()]
        assert len({line["body"]["model"] for line in lines}) == 1, "a batch has one model"
        assert len({line["custom_id"] for line in lines}) == len(lines)
        good: list[Body] = []
        bad: list[Body] = []
        for index, line in enumerate(lines):
            if index in self.lose:
                continue
            reply = self.chat(line["body"])
            response = {"status_code": reply.status, "request_id": "r", "body": reply.body}
            common = {"id": f"batch_req_{index}", "custom_id": line["custom_id"], "error": None}
            if reply.delivery == "truncate":
                error = {"code": "batch_expired", "message": "This request could not be executed"}
                bad.append({**common, "response": None, "error": error})
            else:
                (good if reply.status == 200 else bad).append({**common, "response": response})
        job.body["status"] = "expired" if self.lose else "completed"
        for name, rows in (("output_file_id", good), ("error_file_id", bad)):
            if rows:  # never in the order of the input
                text = "".join(json.dumps(row) + "\n" for row in reversed(rows))
                job.body[name] = self._store(text.encode())["id"]

    def list(self, after: str | None, limit: int) -> Body:
        """List batches, newest first."""
        names = list(self.batches)[::-1]
        start = names.index(after) + 1 if after else 0
        page = names[start : start + limit]
        data = [self.batches[name].body for name in page]
        return {"object": "list", "data": data, "has_more": start + limit < len(names)}


def _error(status: int, code: str, message: str, headers: dict[str, str] | None = None) -> Answer:
    told = {"message": message, "type": "error", "param": None, "code": code}
    return Answer(status, {"error": told}, headers or {})


def _shaped(content: str | None, body: Body) -> str | None:
    """Return an answer that names a reply, where the schema wants that: a test need not say so."""
    schema = body.get("response_format", {}).get("json_schema", {}).get("schema", {})
    if "reply" not in schema.get("required", ()):
        return content
    try:
        parsed = json.loads(content or "")
    except ValueError:
        return content
    return json.dumps({"reply": 1, **parsed}) if isinstance(parsed, dict) else content


def _problem(body: Body) -> str | None:
    """Return what OpenAI would not take of a request."""
    if unknown := set(body) - _FIELDS:
        return f"Unrecognized request argument supplied: {sorted(unknown)[0]}"
    for message in body["messages"]:
        if message["role"] not in _ROLES or not isinstance(message["content"], str):
            return "Invalid message"
    form = body.get("response_format")
    if form is None:
        return None
    if form["type"] != "json_schema" or not form["json_schema"]["strict"]:
        return "Invalid response_format"
    schema = form["json_schema"]["schema"]
    if schema["additionalProperties"] is not False:
        return "additionalProperties is required to be supplied and to be false"
    if set(schema["required"]) != set(schema["properties"]):
        return "required is required to be an array including every key in properties"
    if any(f'"{word}"' in json.dumps(schema) for word in _NO_KEYWORDS):
        return "schema keyword is not permitted"
    return None
