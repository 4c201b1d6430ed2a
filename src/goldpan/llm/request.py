"""What is sent to an endpoint; the same body is the same request."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import orjson

from goldpan.core.errors import GoldpanError

# Why asking a model cannot go on.


class EndpointError(GoldpanError):
    """The endpoint serves nobody: what one request alone does to it is an outcome instead."""


@dataclass(frozen=True)
class Request:
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
        """What tells requests apart: prompt, model, parameters and texts."""
        return hashlib.sha256(self.prompt.encode() + b"\0" + self.data).hexdigest()

    @property
    def model(self) -> str:
        """The model that is asked."""
        return str(self.body["model"])
