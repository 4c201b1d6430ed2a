"""Why annotation by people cannot go on."""

from __future__ import annotations

from goldpan.core.errors import GoldpanError


class StudioError(GoldpanError):
    """Label Studio is not there, refuses, or holds something else than it should."""


class StudioFaultError(StudioError):
    """The server itself fails at a request that it should be able to answer."""
