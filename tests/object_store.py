"""A local S3, as moto serves it: with its conditions, its XML errors and its listing.

Around it lies what a test asks for: requests are counted, another key is refused as S3 does, and
conditions may be ignored, as by a store that knows none, or a request's answer be a failure.
"""

from __future__ import annotations

import logging
import threading
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, Self

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server

KEY = "AKIAOFTESTSALONE"
SECRET = "secret/of+tests/that+nobody/must+ever/see"
_ERROR = "<?xml version='1.0'?><Error><Code>{code}</Code><Message>{about}</Message></Error>"


Refuse = Callable[[str, str], bool]
"""Whether a request is refused, by its method and path."""


def _nothing(method: str, path: str) -> bool:
    return False


class LocalS3:
    """The server, which ends with the block; `lab` is its bucket."""

    def __init__(self) -> None:
        self.conditional = True
        self.requests: Counter[str] = Counter()
        self.refuse: Refuse = _nothing
        """Which requests are answered by 403."""
        self.lose: Refuse = _nothing
        """Which requests are done and answered by 500, as where the answer is lost."""
        logging.getLogger("werkzeug").setLevel(logging.ERROR)  # else it tells of each request
        self._app = DomainDispatcherApplication(create_backend_app)
        self._server = make_server("127.0.0.1", 0, self._serve, threaded=True)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def environment(self) -> dict[str, str]:
        """Variables that lead to it."""
        return {
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": self.url,
        }

    def __enter__(self) -> Self:
        self._thread.start()
        self.empty()
        return self

    def empty(self) -> None:
        """Forget all objects, requests and faults; there is the bucket `lab`."""
        self.conditional, self.refuse, self.lose = True, _nothing, _nothing
        for method, path in (("POST", "/moto-api/reset"), ("PUT", "/lab")):
            urllib.request.urlopen(urllib.request.Request(self.url + path, method=method)).close()
        self.requests.clear()

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _serve(self, environ: dict[str, Any], start: Any) -> Iterable[bytes]:
        method, path = environ["REQUEST_METHOD"], environ["PATH_INFO"]
        signed = environ.get("HTTP_AUTHORIZATION", "")
        self.requests[method] += 1
        if not self.conditional:
            for name in ("HTTP_IF_MATCH", "HTTP_IF_NONE_MATCH"):
                environ.pop(name, None)
        if signed and KEY not in signed:
            return _fail(start, "InvalidAccessKeyId", "The Access Key Id does not exist")
        if self.refuse(method, path):
            return _fail(start, "AccessDenied", f"Access Denied {SECRET}")
        if self.lose(method, path):
            b"".join(self._app(environ, lambda *_: None))
            return _fail(start, "InternalError", "We encountered an internal error", "500 Error")
        answer: Iterable[bytes] = self._app(environ, start)
        return answer


def _fail(start: Any, code: str, about: str, status: str = "403 Forbidden") -> Iterable[bytes]:
    start(status, [("Content-Type", "application/xml")])
    return [_ERROR.format(code=code, about=about).encode()]
