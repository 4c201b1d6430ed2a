"""Results of operations: values that show themselves on a terminal, in a notebook, and as JSON.

An operation returns a `Result`: a frozen dataclass that holds data only. What people see of it is a
document of three kinds of blocks, which a function of `goldpan.renderers` yields; `core.terminal`
prints the blocks, and a notebook shows the same ones. `json_data` makes JSON of the fields.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, fields, is_dataclass, replace
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


class Hint(Line):
    """A line with commands of Goldpan, which come to name the workspace that was given."""


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
    """Columns that are left out where the table is wider than the terminal."""


Block = Line | Title | Table
Piece = Block | str | int | None
"""What a renderer yields: a text is a line, and what is empty is left out."""

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
        return "".join(map(html_of, _capped(self._shown(), _MOST_ROWS)))

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


Renderer = Callable[[Any], Iterable[Piece]]
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
        return _blocks(found(result))
    if not isinstance(result, Results):
        return fields_of(result)
    return chain(_several(result), map(Hint, result.notes))


def _blocks(pieces: Iterable[Piece]) -> Iterator[Block]:
    for piece in pieces:
        if isinstance(piece, Line | Title | Table):
            yield piece
        elif isinstance(piece, str) and piece:
            yield Line(piece)


def _several(results: Results[Any]) -> Iterable[Block]:
    if not results:
        return ()
    if several := _renderer(type(results[0]), several=True):
        return _blocks(several(results))
    if _renderer(type(results[0])):
        return chain.from_iterable(map(blocks_of, results))
    return [table_of(results)]


def fields_of(value: object, *names: str) -> Iterator[Block]:
    """Yield what people see of fields, by default of all: lines, and tables of objects and numbers.

    What is empty is left out.
    """
    members = json_data(value)
    for name in names or members:
        yield from _field(name.replace("_", " "), members[name])


def _field(title: str, content: Any) -> Iterator[Block]:
    match content:
        case None | "" | [] | {}:
            return
        case [dict(), *_]:
            yield table_of(content, title=title)
        case _:
            yield Line(f"{title}: {_told(content)}")


def table_of(items: Sequence[object], *names: str, title: str = "") -> Table:
    """Return a table of objects, with a column for each of these members, by default of all."""
    rows = json_data(items)
    columns = names or tuple(dict.fromkeys(name for row in rows for name in row))
    cells = [tuple(_cell(row.get(name)) for name in columns) for row in rows]
    return Table(tuple(name.replace("_", " ") for name in columns), cells, title)


def _cell(value: Any) -> Any:
    return _told(value) if isinstance(value, dict | list) else value


def _told(value: Any) -> str:
    match value:
        case {"value": None, "low": _, "high": _}:
            return "not defined"
        case {"value": share, "low": low, "high": high}:
            return f"{share:.3f} [{cell_text(low)}, {cell_text(high)}]"
        case dict():
            return ", ".join(f"{name} {_told(item)}" for name, item in value.items())
        case list():
            return names_text([_told(item) for item in value], _MOST_NAMED)
        case _:
            return cell_text(value)


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


def counts_text(numbers: Mapping[str, int]) -> str:
    """Return names with their numbers: ``bug 3, feature 1,200``."""
    return ", ".join(f"{name} {number:,}" for name, number in numbers.items())


def names_text(names: Sequence[object], most: int = 3) -> str:
    """Return the first names, and how many there are besides: ``a, b, c and 4 more``."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return f"{', '.join(map(str, names[:most]))}{more}"


def first_lines(texts: Sequence[str], most: int, where: str = "") -> Iterator[str]:
    """Yield the first lines, and one that says how many there are besides, and where."""
    yield from texts[:most]
    if len(texts) > most:
        yield f"  and {len(texts) - most:,} more{where}"


def is_numeric(table: Table, column: int) -> bool:
    """Tell whether a column holds numbers alone."""
    values = [row[column] for row in table.cells if row[column] not in (None, "")]
    return bool(values) and all(
        isinstance(value, (int, float)) and not isinstance(value, bool) for value in values
    )


_MOST_LINES, _MOST_ROWS, _LONGEST, _MOST_NAMED = 40, 200, 160, 20
_MORE = "... and more: goldpan.json_data() returns all of it"


def _capped(blocks: Iterable[Block], most: int) -> Iterator[Block]:
    """Yield blocks until they have so many lines and rows, and then that there are more."""
    for block in blocks:
        rows = len(block.cells) if isinstance(block, Table) else 1
        if most < 1 or rows > most:
            if most > 0 and isinstance(block, Table):
                yield replace(block, cells=block.cells[:most])
            yield Line(_MORE)
            return
        yield block
        most -= rows


def _text_of(blocks: Iterable[Block]) -> str:
    """Return blocks as a text of at most 40 lines, the last of which says where the others are."""
    lines: list[str] = []
    for block in blocks:
        lines += map(_cut, _texts(block))
        if len(lines) > _MOST_LINES:
            return "\n".join([*lines[: _MOST_LINES - 1], _MORE])
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
            rows = ([f"<td>{escape(cell_text(cell))}</td>" for cell in row] for row in block.cells)
            body = "".join(f"<tr>{''.join(row)}</tr>" for row in rows)
            caption = f"<caption>{escape(block.title)}</caption>" if block.title else ""
            return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
