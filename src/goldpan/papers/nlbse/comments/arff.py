"""Reads Weka's sparse ARFF files: features and a last attribute of 0 and 1."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from goldpan.core.errors import DatasetError
from goldpan.datasets.import_files import open_text
from goldpan.evaluation.extras import load

_ATTRIBUTE = re.compile(r"@attribute\s+('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|\S+)\s+\S", re.I)
_REMEDY = "Give the file as its authors publish it, of Weka's sparse form"


@dataclass(frozen=True, slots=True)
class SparseRows:
    """The rows of a file; what a row leaves out is 0."""

    names: tuple[str, ...]
    """Of all attributes, the label's last."""
    rows: tuple[tuple[tuple[int, float], ...], ...]
    """The attributes' numbers and values."""

    @property
    def labels(self) -> list[int]:
        """Return the value of the last attribute of each row."""
        last = len(self.names) - 1
        return [int(dict(row).get(last, 0.0)) for row in self.rows]

    def matrix(self, names: tuple[str, ...]) -> Any:
        """Return rows x the features of those names; those that the file lacks are 0."""
        columns = {name: at for at, name in enumerate(names)}
        last = len(self.names) - 1
        across, down, values = [], [], []
        for number, row in enumerate(self.rows):
            for at, value in row:
                if at != last and (column := columns.get(self.names[at])) is not None:
                    down.append(number)
                    across.append(column)
                    values.append(value)
        return load("scipy.sparse").csr_matrix(
            (values, (down, across)), shape=(len(self.rows), len(names))
        )


def read_arff(path: Path) -> SparseRows:
    """Read a file; raises `DatasetError` that names the line for one of another form."""
    names: list[str] = []
    rows: list[tuple[tuple[int, float], ...]] = []
    data = False
    with open_text(path) as lines:
        for number, line in enumerate(lines, 1):
            text = line.strip()
            if not text or text.startswith("%"):
                continue
            if data:
                rows.append(_row(path, number, text, len(names)))
            elif text.lower().startswith("@data"):
                data = True
            elif matched := _ATTRIBUTE.match(text):
                names.append(matched.group(1).strip("'\""))
    if not names or not rows:
        raise DatasetError(f"{path} has {len(names)} attributes and {len(rows)} rows", _REMEDY)
    return SparseRows(tuple(names), tuple(rows))


def _row(path: Path, number: int, text: str, attributes: int) -> tuple[tuple[int, float], ...]:
    if not (text.startswith("{") and text.endswith("}")):
        raise DatasetError(f"{path}, line {number}, is no sparse row", _REMEDY)
    cells = []
    for part in filter(None, (part.strip() for part in text[1:-1].split(","))):
        at, _, value = part.partition(" ")
        try:
            cell = int(at), float(value)
        except ValueError:
            raise DatasetError(
                f"{path}, line {number}: {part[:40]!r} is no number and value", _REMEDY
            ) from None
        if not 0 <= cell[0] < attributes:
            raise DatasetError(f"{path}, line {number}: there is no attribute {cell[0]}", _REMEDY)
        cells.append(cell)
    return tuple(cells)
