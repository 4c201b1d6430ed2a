"""Printed figures of a paper's tables, read from a CSV file: a row a cell."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

Value = float | str | None
"""A figure or a word; None where there is none."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A cell as it is printed."""

    value: float | str
    decimals: int = 0
    """Printed decimals of a number."""
    tolerance: float = 0.0
    """How far from the print a number is near; 0 where only the printed digits count."""


_COLUMNS = ("table", "row", "column", "printed")
_NUMBER = re.compile(r"[+-]?\d+(?:\.(\d+))?")


def read_printed(path: Path, keys: Sequence[str]) -> dict[str, dict[str, dict[str, Figure]]]:
    """Return the printed figures by table, row and column."""
    tables: dict[str, dict[str, dict[str, Figure]]] = {key: {} for key in keys}
    for number, row in enumerate(csv_rows(path), 2):
        where = f"{path}, line {number}"
        if missing := [name for name in _COLUMNS if not row.get(name)]:
            raise ValueError(f"{where} has no {missing[0]}")
        table, name, column, text = (row[key] for key in _COLUMNS)
        if table not in tables:
            raise ValueError(f"{where} names the table {table!r}, which is not in tables")
        cells = tables[table].setdefault(name, {})
        if column in cells:
            raise ValueError(f"{where}: {name!r}, {column!r} of table {table} stands twice")
        cells[column] = _figure(text, row.get("tolerance", ""), where)
    if empty := [key for key, rows in tables.items() if not rows]:
        raise ValueError(f"{path} has no cell of table {empty[0]}")
    return tables


def _figure(text: str, tolerance: str, where: str) -> Figure:
    matched = _NUMBER.fullmatch(text)
    if matched is None and not tolerance:
        return Figure(text)
    try:
        limit = float(tolerance or 0)
    except ValueError:
        limit = math.nan
    if matched is None or not limit >= 0:
        raise ValueError(f"{where}: {tolerance!r} is no tolerance of {text!r}")
    decimals = len(matched[1] or "")
    return Figure(float(text) if decimals else int(text), decimals, limit)


def csv_rows(path: Path) -> list[dict[str, str]]:
    """Return the rows of a CSV file by column; raises `ValueError` where it cannot be read."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as lines:
            return list(csv.DictReader(lines, strict=True, restval="", restkey=""))
    except (OSError, ValueError, csv.Error) as error:
        raise ValueError(f"{path} cannot be read ({error})") from None
