"""Prints results: the one renderer of what people see on a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich.table import Table as RichTable

from goldpan.core.result import Block, Line, Table, Title, cell_text, is_numeric
from goldpan.core.terminal import Terminal, clean, titled

_WIDE = 100
"""Columns that a terminal needs for what is left out of a narrow one."""


def show(blocks: Iterable[Block]) -> None:
    """Print blocks; what they hold commands nothing and holds no secret (`core.terminal`)."""
    for block in blocks:
        match block:
            case Line():
                Terminal().print(clean(block.text, block.style))
            case Title():
                Terminal().print(titled(block.name, block.rest))
            case Table():
                _show_table(block)


def _show_table(table: Table) -> None:
    console = Terminal(soft_wrap=False)
    shown = [
        number
        for number, name in enumerate(table.columns)
        if console.width >= _WIDE or name not in table.wide
    ]
    for columns in _parts(table, shown, console.width):
        console.print(_drawn(table, columns))


def _drawn(table: Table, columns: Sequence[int]) -> RichTable:
    drawn = RichTable(box=None, header_style="dim", title=table.title or None, title_justify="left")
    for number in columns:
        drawn.add_column(
            clean(table.columns[number]),
            justify="right" if is_numeric(table, number) else "left",
            no_wrap=bool(table.repeated),
        )
    for place, row in enumerate(table.cells):
        cells = [clean(cell_text(row[number])) for number in columns]
        drawn.add_row(*cells, style="dim" if place in table.dim else None)
    return drawn


def _parts(table: Table, shown: Sequence[int], width: int) -> Iterator[list[int]]:
    """Yield columns that fit beside each other; all of them where the table is not to be split."""
    first = list(shown[: table.repeated])
    if not table.repeated:
        yield list(shown)
        return
    room = width - sum(_width(table, number) for number in first)
    part: list[int] = []
    for number in shown[table.repeated :]:
        if part and sum(_width(table, other) for other in [*part, number]) > room:
            yield [*first, *part]
            part = []
        part.append(number)
    yield [*first, *part]


def _width(table: Table, number: int) -> int:
    texts = [table.columns[number], *(cell_text(row[number]) for row in table.cells)]
    return max(map(len, texts)) + 2
