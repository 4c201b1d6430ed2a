"""What REST answers: a reply before its headers of limits, and the errors in GitHub's shape."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

_DOCS = "https://docs.github.com/rest"


@dataclass(frozen=True, slots=True)
class Answer:
    """A reply: body as JSON or bytes, status, and headers beyond the ordinary ones."""

    body: Any
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)


class FailedError(Exception):
    """Ends the work on a request; `answer` is the reply."""

    def __init__(
        self, status: int, message: str, headers: dict[str, str] | None = None, **more: Any
    ) -> None:
        self.answer = failure(status, message, headers, **more)
        super().__init__(message)


def failure(
    status: int, message: str, headers: dict[str, str] | None = None, **more: Any
) -> Answer:
    """Return an error reply in GitHub's shape; `more` are further keys of its body."""
    body = {"message": message, **more, "documentation_url": _DOCS, "status": str(status)}
    return Answer(body, status, headers or {})
