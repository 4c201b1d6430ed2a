"""How many categories each type of task has in the authors' code (CrossCodeBench, Table III).

The file is Python; only its first dictionary is read, as data: nothing of it is run.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from goldpan.core.errors import DatasetError
from goldpan.reproduce.cells import Outcome
from goldpan.reproduce.context import Context
from goldpan.reproduce.data import FoundFile, read_text
from goldpan.reproduce.recipe import TableRecipe

_FILE = "categories"
_COLUMN = "categories"
_TOTAL = "Total"


def compute(context: Context, table: TableRecipe, settings: Mapping[str, Any]) -> Iterator[Outcome]:
    """Yield the categories of each type and sub-type, and of all."""
    kinds = {row.casefold(): row for row in table.rows}
    counts: Counter[str] = Counter()
    for kind in _types(context.file(_FILE)).values():
        kind_row = kinds.get(kind.casefold(), kind)
        counts.update({kind_row, kind_row.partition(" -> ")[0], _TOTAL})
    for row in table.rows:
        yield Outcome(row, _COLUMN, counts[row], "recomputed", "as the authors' code has them")


def _types(file: FoundFile) -> dict[str, str]:
    try:
        tree = ast.parse(read_text(file))
        value = next(node.value for node in tree.body if isinstance(node, ast.Assign))
        types = ast.literal_eval(value)
        return {str(category): str(kind) for category, kind in types.items()}
    except (SyntaxError, ValueError, StopIteration, AttributeError) as error:
        raise DatasetError(
            f"{file.path} holds no dictionary of categories and types ({error})",
            "Give the file as its authors publish it",
        ) from None
