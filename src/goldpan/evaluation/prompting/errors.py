"""Why a prompted run is not done yet."""

from __future__ import annotations

from goldpan.core.errors import EvaluationError


class UnansweredError(EvaluationError):
    """Some rows have no answer yet: the same command goes on, and pays for nothing twice."""

    exit_code = 3
