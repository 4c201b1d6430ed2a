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
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.local_server import LocalServer, QuietHandler

KEY = "sk-test-0123456789abcdef"
Body = dict[str, Any]

_FIELDS = {"model", "messages", "response_format", "temperature", "seed", "max_completion_tokens"}
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
Model = Callable[[Body], Said | Fault]


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
    """Serves on 127.0.0.1 while its block runs; failures of its own are raised at the end."""

    def __init__(self, model: Model, *, polls: int = 1, key: str | None = KEY) -> None:
        super().__init__(_Handler)
        self.url = f"{self.address}/v1"
        self.model = model
        self.polls = polls
        self.key = key
        self.chats: list[Body] = []
        """Bodies of requests, those of batches too, in the order in which they came."""
        self.batches: dict[str, Job] = {}
        self.lose: set[int] = set()
        """Places of lines that a batch gives no answer to, as when it expires."""
        self.refuse_batches = 0
        """How many batches are to be refused after they were made, as when a reply is lost."""
        self.fail_validation = False
        self.delay = 0.0
        self.busiest = 0
        self._busy = 0
        self._files: dict[str, bytes] = {}
        self._ids = itertools.count(1)
        self._lock = threading.Lock()
        self.crashes: list[BaseException] = []

    def __exit__(self, *_: object) -> None:
        super().__exit__()
        if self.crashes:
            raise self.crashes[0]

    def chat(self, body: Body) -> tuple[int, Body, dict[str, str]]:
        """Answer one chat completion; a status of 0 is a cut."""
        if problem := _problem(body):
            return 400, _error("invalid_request_error", problem), {}
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
        if isinstance(outcome, Fault):
            return outcome.status, _error(outcome.code, outcome.message), outcome.headers
        content = _shaped(outcome.content, body)
        message = {"role": "assistant", "content": content, "refusal": outcome.refusal}
        usage = {"prompt_tokens": outcome.tokens[0], "completion_tokens": outcome.tokens[1]}
        choice = {"index": 0, "message": message, "finish_reason": outcome.finish}
        reply = {"id": f"chatcmpl-{next(self._ids)}", "object": "chat.completion", "created": 0}
        reply |= {"model": body["model"] + "-2026-01-01", "choices": [choice], "usage": usage}
        return 200, reply, {}

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
            status, body, _ = self.chat(line["body"])
            response = {"status_code": status, "request_id": "r", "body": body}
            common = {"id": f"batch_req_{index}", "custom_id": line["custom_id"], "error": None}
            if status == 0:
                error = {"code": "batch_expired", "message": "This request could not be executed"}
                bad.append({**common, "response": None, "error": error})
            else:
                (good if status == 200 else bad).append({**common, "response": response})
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


class _Handler(QuietHandler, BaseHTTPRequestHandler):
    owner: OpenAIServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        data = self.rfile.read(length)
        if len(data) < length:  # whoever asked was killed in the middle of it
            return
        try:
            self._answer(data)
        except BrokenPipeError:
            pass
        except Exception as error:  # noqa: BLE001  # told when the server's block ends
            self.owner.crashes.append(error)
            self._send(500, {"error": repr(error)}, {"x-should-retry": "false"})

    do_GET = do_POST  # noqa: N815

    def _answer(self, data: bytes) -> None:
        url = urlsplit(self.path)
        key = (self.headers.get("Authorization") or "").removeprefix("Bearer ")
        if self.owner.key and key != self.owner.key:
            message = f"Incorrect API key provided: {key}."
            self._send(401, _error("invalid_api_key", message), {})
            return
        words = url.path.removeprefix("/v1/").split("/")
        server = self.owner
        if (self.command, words) == ("POST", ["chat", "completions"]):
            status, body, headers = server.chat(json.loads(data))
            self._send(status, body, headers)
        elif (self.command, words) == ("POST", ["files"]):
            self._send(200, server.upload(data, self.headers["Content-Type"]), {})
        elif (self.command, words) == ("POST", ["batches"]):
            batch = server.submit(json.loads(data))
            if server.refuse_batches:
                server.refuse_batches -= 1
                self._send(400, _error("lost", "The reply was lost"), {})
            else:
                self._send(200, batch, {})
        elif self.command == "GET" and words[0] == "files":
            self._send_bytes(200, server.file(words[1]), {})
        elif self.command == "GET" and words[0] == "batches" and len(words) == 2:
            self._send(200, server.poll(words[1]), {})
        elif self.command == "GET" and words[0] == "batches":
            query = parse_qs(url.query)
            after = query.get("after", [None])[0]
            self._send(200, server.list(after, int(query.get("limit", ["20"])[0])), {})
        else:
            self._send(404, _error("not_found", f"There is no {url.path}"), {})

    def _send(self, status: int, body: Body, headers: dict[str, str]) -> None:
        data = json.dumps(body).encode()
        if status == 0:  # half an answer, then nothing
            self.send_response(200)
            self.send_header("Content-Length", str(len(data) + 1000))
            self.end_headers()
            self.wfile.write(data[: len(data) // 2])
            self.close_connection = True
            return
        self._send_bytes(status, data, headers)

    def _send_bytes(self, status: int, data: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def _error(code: str, message: str) -> Body:
    return {"error": {"message": message, "type": "error", "param": None, "code": code}}


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
