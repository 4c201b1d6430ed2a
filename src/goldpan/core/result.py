"""Results of operations: values that show themselves on a terminal, in a notebook, and as JSON.

An operation returns a `Result`: a frozen dataclass that holds data only. What people see of it is a
document of three kinds of blocks, which a function of `goldpan.renderers` yields; `core.terminal`
prints the blocks, and a notebook shows the same ones. `json_data` makes JSON of the fields.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, fields, is_dataclass
from datetime import date
from functools import cache
from html import escape
from importlib import import_module
from importlib.util import find_spec
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, TypeVar

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


Block = Line | Title | Table

NOT_IN_JSON: Mapping[str, Any] = {"json": False}
"""The metadata of a dataclass's field that `json_data` leaves out."""
ID_IN_JSON: Mapping[str, Any] = {"json": "{}.id"}
NAME_IN_JSON: Mapping[str, Any] = {"json": "{}.name"}
"""The metadata of fields of whose values `json_data` takes the `id` or the `name` alone."""


class Result:
    """A typed result of an operation; a frozen dataclass derives from it."""

    __slots__ = ()

    schema: ClassVar[int] = 1
    """The version of its JSON, raised when a field goes or changes its meaning."""
    shown_in_json: ClassVar[tuple[str, ...]] = ()
    """The properties that JSON has beside the fields."""

    def __str__(self) -> str:
        """Return what people see of it and why it failed, at most 40 lines."""
        return _text_of(self._shown())

    def _repr_html_(self) -> str:
        """Return what a notebook shows."""
        return "".join(map(html_of, self._shown()))

    def _shown(self) -> Iterator[Block]:
        yield from blocks_of(self)
        yield from (Line(str(error)) for error in self.errors)

    @property
    def exit_code(self) -> int:
        """The exit code of the command: 0, 1 where it failed, or 3 where something is missing."""
        return 0

    @property
    def errors(self) -> Sequence[GoldpanError]:
        """Failures that the command reports on standard error."""
        return ()


R = TypeVar("R", bound=Result)


class Results(Result, Sequence[R], Generic[R]):
    """The results of one operation on several repositories, runs or the like, in their order.

    `notes` are sentences on all of them, which stand at the end of what people see.
    """

    __slots__ = ("_items", "notes")

    def __init__(self, items: Iterable[R], notes: Iterable[str] = ()) -> None:
        self._items = tuple(items)
        self.notes = tuple(notes)

    def __len__(self) -> int:
        return len(self._items)

    def __getitem__(self, index: Any) -> Any:
        return self._items[index]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({list(self._items)!r})"

    @property
    def exit_code(self) -> int:
        """1 where one failed, else 3 where something of one is missing."""
        return min((code for item in self._items if (code := item.exit_code)), default=0)

    @property
    def errors(self) -> Sequence[GoldpanError]:
        """The failures of all items."""
        return [error for item in self._items for error in item.errors]


def json_data(value: Any) -> Any:
    """Return a value as plain data, which ``--json`` prints of a result.

    A dataclass has its fields by their names and the properties in its `shown_in_json`; left out
    are names that begin with ``_`` and fields marked `NOT_IN_JSON`. A field marked `NAME_IN_JSON`
    or `ID_IN_JSON` has the name or the id of its value.
    """
    if (members := _members(type(value))) is not None:  # type: ignore[arg-type]
        return {name: json_data(of(value)) for name, of in members.items()}
    match value:
        case None | bool() | int() | float() | str():
            return value
        case Mapping():
            return {str(key): json_data(item) for key, item in value.items()}
        case AbstractSet():
            return sorted(map(json_data, value))
        case Sequence() if not isinstance(value, bytes):
            return list(map(json_data, value))
        case date():
            return value.isoformat()
        case _:
            return str(value)


@cache
def _members(kind: Any) -> dict[str, Callable[[Any], Any]] | None:
    """Return the members of a type's JSON with what gets each of a value; None for no object."""
    named = getattr(kind, "shown_in_json", ())
    if not named and not is_dataclass(kind):
        return None
    members = {
        field.name: attrgetter(field.metadata.get("json", "{}").format(field.name))
        for field in (fields(kind) if is_dataclass(kind) else ())
        if field.metadata != NOT_IN_JSON and not field.name.startswith("_")
    }
    return members | {name: attrgetter(name) for name in named}


Renderer = Callable[[Any], Iterable[Block]]
_Function = TypeVar("_Function", bound=Renderer)
_RENDERERS: dict[object, Renderer] = {}


def renders(kind: object) -> Callable[[_Function], _Function]:
    """Have a function yield the blocks of results of a type, or of `Results` of them: `list[T]`."""

    def register(function: _Function) -> _Function:
        _RENDERERS[kind] = function
        return function

    return register


def blocks_of(result: Result) -> Iterable[Block]:
    """Return what people see of a result, by the function that `renders` its type.

    The functions for types of ``goldpan.ROOM`` stand in ``goldpan.renderers.ROOM``, those for a
    plugin's beside its types. Without a function, people see the JSON: a line a field, and one
    table of several results.
    """
    if found := _renderer(type(result)):
        return found(result)
    if not isinstance(result, Results):
        return chain.from_iterable(_field(*item) for item in json_data(result).items())
    return chain(_several(result), map(Line, result.notes))


def _several(results: Results[Any]) -> Iterable[Block]:
    if not results:
        return ()
    if several := _renderer(type(results[0]), several=True):
        return several(results)
    if _renderer(type(results[0])):
        return chain.from_iterable(map(blocks_of, results))
    return [_table(json_data(results))]


def _field(name: str, value: Any) -> Iterator[Block]:
    """Yield what people see of a field: nothing where it is empty, a table of several objects."""
    if value in (None, "", [], {}):
        return
    title = name.replace("_", " ")
    if isinstance(value, list) and isinstance(value[0], dict):
        yield Title(title)
        yield _table(value)
    else:
        yield Line(f"{title}: {cell_text(_told(value))}")


def _table(rows: Sequence[Mapping[str, Any]]) -> Table:
    names = tuple(dict.fromkeys(name for row in rows for name in row))
    cells = [tuple(_told(row.get(name)) for name in names) for row in rows]
    return Table(tuple(name.replace("_", " ") for name in names), cells)


def _told(value: Any) -> Any:
    match value:
        case dict():
            return ", ".join(f"{name} {cell_text(_told(item))}" for name, item in value.items())
        case list():
            return ", ".join(cell_text(_told(item)) for item in value)
        case _:
            return value


def _renderer(kind: type, *, several: bool = False) -> Renderer | None:
    for each in kind.__mro__:
        package, _, module = each.__module__.partition(".")
        name = f"goldpan.renderers.{module.partition('.')[0]}"
        if package == "goldpan" and module and find_spec(name):
            import_module(name)
        if found := _RENDERERS.get(list[each] if several else each):  # type: ignore[valid-type]
            return found
    return None


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


def count(number: int, noun: str) -> str:
    """Return a number with its noun: 1 task, 2 tasks."""
    if number == 1:
        return f"1 {noun}"
    if noun.endswith("criterion"):
        return f"{number:,} {noun.removesuffix('on')}a"
    if noun.endswith("y"):
        return f"{number:,} {noun[:-1]}ies"
    return f"{number:,} {noun}{'es' if noun.endswith(('ch', 's', 'x')) else 's'}"


def is_numeric(table: Table, column: int) -> bool:
    """Tell whether a column holds numbers alone."""
    values = [row[column] for row in table.cells if row[column] not in (None, "")]
    return bool(values) and all(
        isinstance(value, (int, float)) and not isinstance(value, bool) for value in values
    )


_MOST_LINES, _LONGEST = 40, 160


def _text_of(blocks: Iterable[Block]) -> str:
    """Return blocks as a text of at most 40 lines, the last of which says where the others are."""
    lines: list[str] = []
    for block in blocks:
        lines += map(_cut, _texts(block))
        if len(lines) > _MOST_LINES:
            more = "... and more: goldpan.json_data() returns all of it"
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
