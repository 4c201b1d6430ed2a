"""Results that show themselves: on a terminal, in a notebook, and as plain data.

An operation returns a `Result`. What people see of it is a document of three kinds of blocks;
`core.terminal` prints the blocks, and a notebook shows the same ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, is_dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from goldpan.core.sanitize import CUT, printable

if TYPE_CHECKING:
    from goldpan.core.errors import GoldpanError

Style = Literal["", "bold", "dim"]


@dataclass(frozen=True, slots=True)
class Line:
    """One line of text; line ends within it are shown as spaces."""

    text: str
    style: Style = ""


@dataclass(frozen=True, slots=True)
class Title:
    """A blank line, then one that begins with a name in bold."""

    name: str
    rest: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """A table; numbers stand on the right, with their thousands separated."""

    columns: tuple[str, ...]
    cells: Sequence[Sequence[object]]
    title: str = ""
    dim: frozenset[int] = frozenset()
    """The rows that count less, by number."""
    wide: frozenset[str] = frozenset()
    """Columns that are left out where the terminal is narrow."""
    repeated: int = 0
    """Where not 0, a table wider than the terminal is shown in parts that fit, each with so many
    of the first columns."""


Block = Line | Title | Table


class Result:
    """A typed result of an operation; a frozen dataclass derives from it and gives `blocks`."""

    __slots__ = ()

    schema: int = 1
    """The version of what `plain` returns, raised when a field goes or changes its meaning."""

    def plain(self) -> Any:
        """Return the result as plain data, which ``--json`` prints."""
        assert is_dataclass(self) and not isinstance(self, type)
        return asdict(self, dict_factory=_plain)

    def blocks(self) -> Iterable[Block]:
        """Yield what people see."""
        raise NotImplementedError

    def __str__(self) -> str:
        """Return what people see of it, at most 40 lines."""
        return text_of(self.blocks())

    def rows(self) -> list[dict[str, object]]:
        """Return the first table that people see, one dictionary a row."""
        tables = (block for block in self.blocks() if isinstance(block, Table))
        table = next(tables, Table((), ()))
        return [dict(zip(table.columns, cells, strict=True)) for cells in table.cells]

    @property
    def exit_code(self) -> int:
        """The exit code of the command: 0, 1 where it failed, or 3 where something is missing."""
        return 0

    @property
    def errors(self) -> Sequence[GoldpanError]:
        """Failures that the command reports on standard error."""
        return ()

    def _repr_html_(self) -> str:
        """Return what a notebook shows."""
        return "".join(map(html_of, self.blocks()))


def _plain(fields: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the fields of a result with paths as texts."""
    return {name: str(value) if isinstance(value, Path) else value for name, value in fields}


R = TypeVar("R", bound=Result)


class Results(Result, Sequence[R], Generic[R]):
    """The results of one operation on several repositories, runs or the like, in their order."""

    __slots__ = ("_items",)

    def __init__(self, items: Iterable[R]) -> None:
        self._items = tuple(items)

    def __len__(self) -> int:
        return len(self._items)

    def __getitem__(self, index: Any) -> Any:
        return self._items[index]

    def __iter__(self) -> Iterator[R]:
        return iter(self._items)

    def __repr__(self) -> str:
        return f"Results({list(self._items)!r})"

    def plain(self) -> Any:
        """Return the plain data of each."""
        return [item.plain() for item in self._items]

    def blocks(self) -> Iterable[Block]:
        """Yield what people see of each."""
        for item in self._items:
            yield from item.blocks()

    @property
    def exit_code(self) -> int:
        """1 where one failed, else 3 where something of one is missing."""
        return min((code for item in self._items if (code := item.exit_code)), default=0)

    @property
    def errors(self) -> Sequence[GoldpanError]:
        """The failures of all items."""
        return [error for item in self._items for error in item.errors]


def cell_text(value: object) -> str:
    """Return a table's cell as text."""
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case float():
            return f"{value:.4f}"
        case _:
            return str(value)


def is_numeric(table: Table, column: int) -> bool:
    """Tell whether a column holds numbers alone."""
    values = [row[column] for row in table.cells if row[column] not in (None, "")]
    return bool(values) and all(
        isinstance(value, (int, float)) and not isinstance(value, bool) for value in values
    )


_MOST_LINES, _LONGEST = 40, 160


def text_of(blocks: Iterable[Block]) -> str:
    """Return blocks as a text of at most 40 lines, the last of which says where the others are."""
    lines: list[str] = []
    for block in blocks:
        lines += map(_cut, _texts(block))
        if len(lines) > _MOST_LINES:
            more = "... and more: plain() returns all of it"
            return "\n".join([*lines[: _MOST_LINES - 1], more])
    return "\n".join(lines)


def _cut(text: str) -> str:
    shown = printable(text[: 2 * _LONGEST]).translate({9: " ", 10: " "}).rstrip()
    return shown if len(shown) <= _LONGEST else shown[: _LONGEST - 1] + CUT


def _texts(block: Block) -> Iterator[str]:
    match block:
        case Line():
            yield block.text
        case Title():
            yield from ("", f"{block.name}{block.rest}")
        case Table():
            shown = block.cells[:_MOST_LINES]
            rows = [block.columns, *(tuple(map(cell_text, row)) for row in shown)]
            widths = [min(max(map(len, column)), _LONGEST) for column in zip(*rows, strict=True)]
            yield from [block.title] if block.title else []
            for row in rows:
                yield "  ".join(map(str.ljust, row, widths)).rstrip()


def html_of(block: Block) -> str:
    """Return a block as HTML, in which no text of a repository is markup."""
    match block:
        case Line():
            return f"<div>{escape(block.text)}</div>"
        case Title():
            return f"<p><b>{escape(block.name)}</b>{escape(block.rest)}</p>"
        case Table():
            head = "".join(f"<th>{escape(name)}</th>" for name in block.columns)
            body = "".join(map(_html_row, block.cells))
            caption = f"<caption>{escape(block.title)}</caption>" if block.title else ""
            return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _html_row(cells: Sequence[Any]) -> str:
    return "<tr>" + "".join(f"<td>{escape(cell_text(cell))}</td>" for cell in cells) + "</tr>"
