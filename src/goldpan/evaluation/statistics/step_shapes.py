"""What a step says, in shapes that any report can render and JSON can hold."""

from __future__ import annotations

from dataclasses import dataclass

Cell = str | int | float | None
"""None is a value that there is not: it divides by zero, or was never measured."""


class Skipped(Exception):  # noqa: N818 - it ends a step, and is no error
    """A step cannot be filled."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Text:
    """A remark."""

    text: str


@dataclass(frozen=True, slots=True)
class Table:
    """Rows below named columns."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


@dataclass(frozen=True, slots=True)
class Figure:
    """A drawing."""

    title: str
    caption: str
    svg: str


Content = Text | Table | Figure
