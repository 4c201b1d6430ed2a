"""Why asking a model cannot go on."""

from __future__ import annotations

from goldpan.core.errors import GoldpanError


class EndpointError(GoldpanError):
    """The endpoint serves nobody: what one request alone does to it is an outcome instead."""
