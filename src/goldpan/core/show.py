"""Prints results: the one renderer of what people see on a terminal."""

from __future__ import annotations

from collections.abc import Iterable

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
    drawn = RichTable(box=None, header_style="dim", title=table.title or None, title_justify="left")
    for number in shown:
        drawn.add_column(
            table.columns[number], justify="right" if is_numeric(table, number) else "left"
        )
    for place, row in enumerate(table.cells):
        cells = [clean(cell_text(row[number])) for number in shown]
        drawn.add_row(*cells, style="dim" if place in table.dim else None)
    console.print(drawn)
