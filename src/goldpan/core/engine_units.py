"""What all engines share: one unit's work, and how a failure of it is told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Self, TypeVar

from goldpan.core.errors import GoldpanError
from goldpan.core.resources import explain

T = TypeVar("T")
R = TypeVar("R")

AHEAD = 2
"""Units in flight a process: one at work, one waiting."""
_MOST_OF_A_NAME = 200


class EngineError(GoldpanError):
    """The processes or machines that do the work are not there, or ended under it."""


class UnitError(Exception):
    """Work on a unit failed as nobody foresaw; the cause tells how."""


class Closing:
    """A context manager that closes itself."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Free what the engine holds."""


def do(work: Callable[[T], R], unit: T) -> R:
    """Do the work on one unit; whatever goes wrong bears its name."""
    try:
        return work(unit)
    except GoldpanError as error:
        raise type(error)(f"{name_of(unit)}: {error.problem}", error.remedy) from error
    except Exception as error:  # work may raise anything, and has to name its unit
        if explained := explain(error):
            raise type(explained)(
                f"{name_of(unit)}: {explained.problem}", explained.remedy
            ) from error
        # Of any other kind: without the unit's name nobody finds what broke.
        raise UnitError(f"{name_of(unit)}: {type(error).__name__}: {error}") from error


def name_of(unit: object) -> str:
    """Return a unit's name as errors tell it."""
    return str(unit)[:_MOST_OF_A_NAME]


def first_line(error: Exception) -> str:
    """Return the first line of an error, or its kind."""
    lines = str(error).strip().splitlines()
    return lines[0][:_MOST_OF_A_NAME] if lines else type(error).__name__
