"""Why a review cannot go on."""

from __future__ import annotations

from goldpan.core.errors import GoldpanError


class ReviewError(GoldpanError):
    """The endpoint does not serve reviews: what one subject does to it is a verdict instead."""
