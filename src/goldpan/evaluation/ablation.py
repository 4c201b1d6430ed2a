"""What each part of the input is worth: inputs without it (FAUN-Eval, RQ2 and Table 5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from goldpan.core.errors import EvaluationError, UsageError
from goldpan.datasets.family import Family

MODULES = {"title": "IT", "body": "IB", "pull_title": "PT", "pull_body": "PB"}
"""The columns that people wrote, with the paper's names for them."""


@dataclass(frozen=True, slots=True)
class Ablation:
    """A variant of a dataset's input."""

    name: str
    """The modules that stay, by the paper's names: IB+PT+PB."""
    removed: tuple[str, ...]
    """The columns whose text is taken out."""


def ablations(family: Family) -> tuple[Ablation, ...]:
    """Return the full input, then the input without each module, as Table 5 has them.

    What is no module, such as the folder tree or the file before, always stays. Raises
    `EvaluationError` for a family with fewer than two modules.
    """
    modules = [column for column in MODULES if column in family.inputs]
    if len(modules) < 2:
        raise EvaluationError(
            f"The input of {family.name} has no two of {', '.join(MODULES)}",
            "Use a dataset of the families qa, fault-localization or code-edit",
        )
    variants = [(), *((column,) for column in modules)]
    return tuple(without(family, removed) for removed in variants)


def without(family: Family, removed: Sequence[str]) -> Ablation:
    """Return the input without these columns; raises `UsageError` for what is no module of it."""
    modules = [column for column in MODULES if column in family.inputs]
    for column in removed:
        if column not in modules:
            raise UsageError(
                f"The input of {family.name} has no module {column!r}",
                f"Choose {', '.join(modules)}",
            )
    missing = tuple(column for column in modules if column in removed)
    return Ablation(_name(modules, missing), missing)


def ablate(rows: pa.Table, ablation: Ablation) -> pa.Table:
    """Return rows in which the text of the removed modules is empty; all else stays."""
    for column in ablation.removed:
        index = rows.schema.get_field_index(column)
        if index < 0:
            raise EvaluationError(
                f"The rows have no column {column}", "Ablate the built dataset, not the task's rows"
            )
        field = rows.schema.field(index)
        empty = pa.chunked_array([pa.array([""] * rows.num_rows, type=field.type)])
        rows = rows.set_column(index, field, empty)
    return rows


def relative_change(full: float, part: float) -> float | None:
    """Return by what share a score changes without a module (the paper's delta), None from 0."""
    return (part - full) / full if full else None


def _name(modules: list[str], removed: tuple[str, ...]) -> str:
    return "+".join(MODULES[column] for column in modules if column not in removed)
