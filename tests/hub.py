"""A local Hugging Face Hub over real HTTP: datasets only, without Xet, its state on disk."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote

import yaml  # type: ignore[import-untyped]

from tests.local_server import Answer, Asked, LocalServer

PAGE = 2
"""Files a page of a tree: small, so that every listing has several."""
_DATE = "2024-01-01T00:00:00.000Z"
_ATTRIBUTES = b"*.parquet filter=lfs diff=lfs merge=lfs -text\n"
_ID = r"(?P<id>[^/]+/[^/]+)"

State = dict[str, Any]
"""Of a repository: private, head, commits (the files of each), tags, messages."""
Owners = set[str] | None
"""For whom the predictor may write; None without a token."""


class RefusedError(Exception):
    """Ends the work on a request; `answer` is the reply."""

    def __init__(self, status: int, code: str = "", message: str = "") -> None:
        super().__init__(message)
        headers = {"X-Error-Message": message} | ({"X-Error-Code": code} if code else {})
        self.answer = Answer(status, {"error": message}, headers)


class Hub(LocalServer):
    """A Hub on 127.0.0.1 while its `with` block runs.

    `tokens` are the known tokens with the owners for whom they may write. Faults: `cut_after`
    breaks a PUT of more bytes than that, `refuse` answers a path that holds the key with
    a status, `before_commit` runs once when a commit arrives, before it is looked at, `warns`
    gives every card a warning. A `.gitignore` ignores everything, unless the client has its own.
    """

    def __init__(self, directory: Path, tokens: dict[str, set[str]]) -> None:
        super().__init__()
        self.directory = directory
        self.tokens = tokens
        self.requests: list[Asked] = []
        self.cut_after: int | None = None
        self.refuse: dict[str, int] = {}
        self.before_commit: Callable[[], None] | None = None
        self.warns = False
        for name in ("repos", "large", "small"):
            (directory / name).mkdir(parents=True, exist_ok=True)
        self._lock = threading.Lock()

    def repo(self, repo_id: str) -> State | None:
        """Return the state of a repository."""
        path = self._path(repo_id)
        return dict(json.loads(path.read_text())) if path.exists() else None

    def create(self, repo_id: str, *, private: bool = False) -> None:
        state: State = {"private": private, "head": None, "commits": {}, "tags": {}, "messages": []}
        self.commit(repo_id, state, {".gitattributes": self._small(_ATTRIBUTES)}, "initial commit")

    def commit(
        self, repo_id: str, state: dict[str, Any], files: dict[str, Any], message: str
    ) -> None:
        text = json.dumps([state["head"], files, message], sort_keys=True)
        state["head"] = hashlib.sha1(text.encode()).hexdigest()
        state["commits"][state["head"]] = files
        state["messages"].append(message)
        self._path(repo_id).write_text(json.dumps(state))

    def add(self, repo_id: str, path: str, content: bytes) -> None:
        """Commit a small file, as somebody else would."""
        state = self.repo(repo_id)
        assert state is not None
        files = {**state["commits"][state["head"]], path: self._small(content)}
        self.commit(repo_id, state, files, f"add {path}")

    def files(self, repo_id: str) -> dict[str, Any]:
        """Return the files at the head of a repository."""
        state = self.repo(repo_id)
        assert state is not None
        return dict(state["commits"][state["head"]])

    def content(self, file: dict[str, Any]) -> bytes:
        path = f"large/{file['lfs']}" if "lfs" in file else f"small/{file['oid']}"
        return (self.directory / path).read_bytes()

    def count(self, method: str, part: str = "") -> int:
        """Return how many requests of a method had this in their path."""
        return sum(seen.method == method and part in seen.path for seen in self.requests)

    def _path(self, repo_id: str) -> Path:
        return self.directory / "repos" / f"{repo_id.replace('/', '__')}.json"

    def _small(self, content: bytes) -> dict[str, Any]:
        oid = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
        (self.directory / "small" / oid).write_bytes(content)
        return {"oid": oid, "size": len(content)}

    def answer(self, call: Asked) -> Answer:
        """Answer one request after another; a HEAD as a GET."""
        call = replace(call, method="GET") if call.method == "HEAD" else call
        with self._lock:
            try:
                return self._routed(call)
            except RefusedError as refused:
                return refused.answer

    def _routed(self, call: Asked) -> Answer:
        self.requests.append(call)
        cut = self.cut_after if call.method == "PUT" else None
        if cut is not None and cut < len(call.body):
            return Answer(delivery="reset")
        for part, status in self.refuse.items():
            if part in call.path:
                raise RefusedError(status, message=f"as the test wished, {call.token}")
        if call.token and call.token not in self.tokens:
            raise RefusedError(401, message="Invalid credentials in Authorization header")
        owners = self.tokens[call.token] if call.token else None
        for method, pattern, name in _ROUTES:
            if method == call.method and (match := re.fullmatch(pattern, call.path)):
                parts = {k: unquote(v) for k, v in match.groupdict().items() if v is not None}
                answer: Answer = getattr(self, name)(call=call, owners=owners, **parts)
                return answer
        raise RefusedError(404, message=f"no such route: {call.method} {call.path}")

    # Routes: each answers one call of the Hub's client.

    def _create(self, call: Asked, owners: Owners) -> Answer:
        request = json.loads(call.body)
        assert request["type"] == "dataset"
        repo_id = f"{request['organization']}/{request['name']}"
        self._writer(owners, repo_id)
        if self.repo(repo_id):
            raise RefusedError(409, message="You already created this dataset repo")
        self.create(repo_id, private=request.get("visibility") == "private")
        return Answer(body={"url": f"{self.url}/datasets/{repo_id}", "name": repo_id})

    def _validate(self, call: Asked, owners: Owners) -> Answer:
        _, head, _ = json.loads(call.body)["content"].split("---\n", 2)
        errors = [] if yaml.safe_load(head).get("license") else [{"message": "no license"}]
        warnings = [{"message": "as the test wished"}] if self.warns else []
        return Answer(400 if errors else 200, {"errors": errors, "warnings": warnings})

    def _info(self, call: Asked, owners: Owners, id: str, rev: str = "main") -> Answer:
        state = self._reader(owners, id)
        sha = self._sha(state, rev)
        about = {"_id": "0", "id": id, "author": id.split("/")[0], "sha": sha}
        times = {"lastModified": _DATE, "createdAt": _DATE}
        facts = {"private": state["private"], "gated": False, "disabled": False, "tags": []}
        siblings = [{"rfilename": path} for path in sorted(state["commits"][sha])]
        return Answer(body={**about, **times, **facts, "siblings": siblings})

    def _refs(self, call: Asked, owners: Owners, id: str) -> Answer:
        state = self._reader(owners, id)
        tags = [
            {"name": name, "ref": f"refs/tags/{name}", "targetCommit": sha}
            for name, sha in state["tags"].items()
        ]
        main = {"name": "main", "ref": "refs/heads/main", "targetCommit": state["head"]}
        return Answer(body={"branches": [main], "tags": tags, "converts": []})

    def _tree(
        self, call: Asked, owners: Owners, id: str, rev: str, under: str | None = None
    ) -> Answer:
        state = self._reader(owners, id)
        files = state["commits"][self._sha(state, rev)]
        recursive = call.query.get("recursive", "").lower() == "true"
        listed = list(_listing(files, f"{under}/" if under else "", recursive=recursive))
        if under and not listed:
            raise RefusedError(404, "EntryNotFound", "no such folder")
        at = int(call.query.get("cursor", 0))
        page = f"?recursive={str(recursive).lower()}&cursor={at + PAGE}"
        link = f'<{self.url}{call.path}{page}>; rel="next"'
        headers = {"Link": link} if at + PAGE < len(listed) else {}
        return Answer(body=listed[at : at + PAGE], headers=headers)

    def _paths_info(self, call: Asked, owners: Owners, id: str, rev: str) -> Answer:
        state = self._reader(owners, id)
        files = state["commits"][self._sha(state, rev)]
        form = parse_qs(call.body.decode())
        paths = form["paths"] if "paths" in form else json.loads(call.body)["paths"]
        return Answer(body=[_described(path, files[path]) for path in paths if path in files])

    def _preupload(self, call: Asked, owners: Owners, id: str, rev: str) -> Answer:
        self._writer(owners, id)
        files = self.files(id)
        request = json.loads(call.body)
        ignoring = ".gitignore" in files and request.get("gitIgnore") is None
        answers = []
        for file in request["files"]:
            large = file["path"].endswith(".parquet")
            stored = files.get(file["path"], {})
            answers.append(
                {
                    "path": file["path"],
                    "uploadMode": "lfs" if large else "regular",
                    "shouldIgnore": ignoring,
                    "oid": stored.get("lfs" if large else "oid"),
                }
            )
        return Answer(body={"files": answers})

    def _batch(self, call: Asked, owners: Owners, id: str) -> Answer:
        self._writer(owners, id)
        objects = []
        for item in json.loads(call.body)["objects"]:
            answer = {"oid": item["oid"], "size": item["size"]}
            if not (self.directory / "large" / item["oid"]).exists():
                upload = {"href": f"{self.url}/lfs/{item['oid']}?signature=secret", "header": {}}
                verify = {"href": f"{self.url}/lfs/verify", "header": {}}
                answer["actions"] = {"upload": upload, "verify": verify}
            objects.append(answer)
        return Answer(body={"transfer": "basic", "objects": objects})

    def _put(self, call: Asked, owners: Owners, oid: str) -> Answer:
        if hashlib.sha256(call.body).hexdigest() != oid:
            raise RefusedError(400, message="the content is not what was announced")
        (self.directory / "large" / oid).write_bytes(call.body)
        return Answer()

    def _verify(self, call: Asked, owners: Owners) -> Answer:
        request = json.loads(call.body)
        path = self.directory / "large" / request["oid"]
        if not path.exists() or path.stat().st_size != request["size"]:
            raise RefusedError(404, message="no such object")
        return Answer()

    def _commit(self, call: Asked, owners: Owners, id: str, rev: str) -> Answer:
        self._writer(owners, id)
        if self.before_commit:
            self.before_commit()
            self.before_commit = None
        state = self._reader(owners, id)
        header, *operations = [json.loads(line) for line in call.body.splitlines()]
        parent = header["value"].get("parentCommit")
        if parent and parent != state["head"]:
            raise RefusedError(412, message="A commit has happened since. Please refresh.")
        files = dict(state["commits"][state["head"]])
        for operation in operations:
            value = operation["value"]
            match operation["key"]:
                case "file":
                    files[value["path"]] = self._small(base64.b64decode(value["content"]))
                case "lfsFile":
                    assert (self.directory / "large" / value["oid"]).exists()
                    pointer = hashlib.sha1(value["oid"].encode()).hexdigest()
                    size = value["size"]
                    files[value["path"]] = {"oid": pointer, "size": size, "lfs": value["oid"]}
                case "deletedFile":
                    if files.pop(value["path"], None) is None:
                        raise RefusedError(404, "EntryNotFound", "no file with this name")
                case other:
                    raise AssertionError(other)
        self.commit(id, state, files, header["value"]["summary"])
        url = f"{self.url}/datasets/{id}/commit/{state['head']}"
        return Answer(body={"success": True, "commitOid": state["head"], "commitUrl": url})

    def _tag(self, call: Asked, owners: Owners, id: str, rev: str) -> Answer:
        self._writer(owners, id)
        state = self._reader(owners, id)
        tag = json.loads(call.body)["tag"]
        if tag in state["tags"]:
            raise RefusedError(409, message=f"Tag reference exists already: {tag}")
        state["tags"][tag] = self._sha(state, rev)
        self._path(id).write_text(json.dumps(state))
        return Answer(body={})

    def _resolve(self, call: Asked, owners: Owners, id: str, rev: str, path: str) -> Answer:
        state = self._reader(owners, id)
        sha = self._sha(state, rev)
        file = state["commits"][sha].get(path)
        if file is None:
            raise RefusedError(404, "EntryNotFound", "Entry not found")
        content = self.content(file)
        headers = {"X-Repo-Commit": sha, "Accept-Ranges": "bytes"}
        headers["ETag"] = f'"{file.get("lfs", file["oid"])}"'
        if "lfs" in file:
            headers |= {"X-Linked-Etag": headers["ETag"], "X-Linked-Size": str(file["size"])}
        match = re.fullmatch(r"bytes=(\d+)-(\d*)", call.headers.get("Range", ""))
        if match:
            first, last = int(match[1]), min(int(match[2] or file["size"]), file["size"] - 1)
            headers["Content-Range"] = f"bytes {first}-{last}/{file['size']}"
            return Answer(206, content[first : last + 1], headers)
        return Answer(body=content, headers=headers)

    def _reader(self, owners: Owners, repo_id: str) -> State:
        state = self.repo(repo_id)
        owner = repo_id.split("/")[0]
        if state is None or (state["private"] and owner not in (owners or set())):
            status = 401 if owners is None else 404
            raise RefusedError(status, "RepoNotFound", "Repository not found")
        return state

    def _writer(self, owners: Owners, repo_id: str) -> None:
        if owners is None:
            raise RefusedError(401, message="Invalid username or password.")
        if repo_id.split("/")[0] not in owners:
            raise RefusedError(403, message="You don't have the rights to write here")

    def _sha(self, state: State, rev: str) -> str:
        sha = state["head"] if rev == "main" else state["tags"].get(rev, rev)
        if sha not in state["commits"]:
            raise RefusedError(404, "RevisionNotFound", "Revision not found")
        return str(sha)


def _listing(files: dict[str, Any], prefix: str, *, recursive: bool) -> Iterator[dict[str, Any]]:
    folders: set[str] = set()
    for path in sorted(files):
        if not path.startswith(prefix):
            continue
        inner = path.removeprefix(prefix).split("/")
        for depth in range(1, len(inner) if recursive else min(2, len(inner))):
            folder = prefix + "/".join(inner[:depth])
            if folder not in folders:
                folders.add(folder)
                yield {"type": "directory", "oid": "0" * 40, "size": 0, "path": folder}
        if recursive or len(inner) == 1:
            yield _described(path, files[path])


def _described(path: str, file: dict[str, Any]) -> dict[str, Any]:
    entry = {"type": "file", "oid": file["oid"], "size": file["size"], "path": path}
    if "lfs" in file:
        entry["lfs"] = {"oid": file["lfs"], "size": file["size"], "pointerSize": 130}
    return entry


_REV = r"(?P<rev>[^/]+)"
_ROUTES = [
    ("POST", r"/api/repos/create", "_create"),
    ("POST", r"/api/validate-yaml", "_validate"),
    ("GET", rf"/api/datasets/{_ID}(/revision/{_REV})?", "_info"),
    ("GET", rf"/api/datasets/{_ID}/refs", "_refs"),
    ("GET", rf"/api/datasets/{_ID}/tree/{_REV}(/(?P<under>.+))?", "_tree"),
    ("POST", rf"/api/datasets/{_ID}/paths-info/{_REV}", "_paths_info"),
    ("POST", rf"/api/datasets/{_ID}/preupload/{_REV}", "_preupload"),
    ("POST", rf"/datasets/{_ID}\.git/info/lfs/objects/batch", "_batch"),
    ("PUT", r"/lfs/(?P<oid>[0-9a-f]{64})", "_put"),
    ("POST", r"/lfs/verify", "_verify"),
    ("POST", rf"/api/datasets/{_ID}/commit/{_REV}", "_commit"),
    ("POST", rf"/api/datasets/{_ID}/tag/{_REV}", "_tag"),
    ("GET", rf"/datasets/{_ID}/resolve/{_REV}/(?P<path>.+)", "_resolve"),
]
