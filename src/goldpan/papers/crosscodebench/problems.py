"""What is wrong with the files of a task, in words that lead to the place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from goldpan.core.errors import DatasetError


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong, or that deserves a look."""

    file: str
    field: str
    """Such as `Type`, `Positive Examples[2].Input` or `Instances[17].output`; may be empty."""
    text: str
    kind: Literal["error", "warning"] = "error"

    def __str__(self) -> str:
        where = f"{self.file}: {self.field}" if self.field else self.file
        return f"{where}: {self.text}"


class FieldError(Exception):
    """A value is not what its field should hold; the message does not name the file."""

    def __init__(self, field: str, text: str) -> None:
        super().__init__(f"{field}: {text}")
        self.field = field
        self.text = text

    def within(self, outer: str) -> FieldError:
        """Return the same error of a value that stands inside of another."""
        return FieldError(f"{outer}.{self.field}" if self.field else outer, self.text)

    def problem(self, file: str) -> Problem:
        """Return it as a problem of a file."""
        return Problem(file, self.field, self.text)


def refused(problem: Problem, more: int = 0) -> DatasetError:
    """Return the error that stops work on account of a problem."""
    others = f" ({more:,} more)" if more else ""
    return DatasetError(
        f"{problem}{others}", "Correct the file; goldpan build crosscode check lists all problems"
    )


def text_of(value: object, field: str) -> str:
    """Return a value that has to be text, without half characters; raises `FieldError`."""
    if not isinstance(value, str):
        raise FieldError(field, f"{_value_text(value)} is not text")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise FieldError(field, "the text holds half of a surrogate pair") from None
    return value


def _value_text(value: object) -> str:
    return "null" if value is None else f"{type(value).__name__} {str(value)[:40]}"
