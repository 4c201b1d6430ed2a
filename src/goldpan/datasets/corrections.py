"""Labels that people corrected, in the place of the source's.

Every row keeps the label that its source gives it, so a corrected dataset can be taken back, and
stratified splits go by that label: correcting moves no row to another side.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from goldpan.core.errors import UsageError
from goldpan.datasets.family import Column, Family

CHECKED = "checked"
"""The column with people's decision about a label."""
_SOURCE = "source_"
_CHECKED = Column(
    CHECKED,
    pa.string(),
    "What people made of the source's label: kept or changed; null where nobody decided.",
)


@dataclass(frozen=True, slots=True)
class LabelDecision:
    """A decision of people about one row."""

    project: str
    labels: tuple[str, ...] | None
    """None where no label of the task fits: the source's label stays."""
    control: bool
    """A row drawn among those that nobody suspected."""


@dataclass(frozen=True, slots=True)
class Corrections:
    """Decisions by the id of the row, and their description for card and provenance."""

    decided: Mapping[str, LabelDecision] = field(default_factory=dict)
    projects: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    """By project: how people decided. `corrected_batches` counts the outcomes."""


def corrected_family(family: Family, corrections: Corrections | None) -> Family:
    """Return the family with the columns that a corrected dataset has beside its own."""
    if corrections is None:
        return family
    target = family.column(family.target)
    source = Column(
        f"{_SOURCE}{target.name}", target.kind, "The same as the source has it, uncorrected."
    )
    columns = (*family.columns, source, _CHECKED)
    stratum = source.name if family.stratum == target.name else family.stratum
    return replace(family, columns=columns, stratum=stratum)


def corrected_batches(
    batches: Iterable[pa.RecordBatch],
    family: Family,
    labels: Sequence[str],
    corrections: Corrections | None,
) -> Iterator[pa.RecordBatch]:
    """Yield rows of a task's family with people's labels, counting into `projects` as they go.

    `labels` are the task's, in its order. Raises `UsageError` at the end where no decision is
    about any of the rows.
    """
    if corrections is None:
        yield from batches
        return
    target = family.column(family.target)
    several = pa.types.is_list(target.kind)
    corrected: set[str] = set()
    for batch in batches:
        at = batch.schema.get_field_index(target.name)
        values: list[Any] = batch.column(at).to_pylist()
        checked: list[str | None] = []
        for row, name in enumerate(batch.column("id").to_pylist()):
            decision = corrections.decided.get(name)
            checked.append(None)
            if decision is None:
                continue
            corrected.add(name)
            before = values[row] if several else [values[row]]
            if decision.labels is None:
                _count(corrections, decision, "outside")
                continue
            after = [name for name in labels if name in decision.labels]
            checked[row] = "kept" if set(before) == set(after) else "changed"
            _count(corrections, decision, checked[row])
            values[row] = after if several else (after or [""])[0]
        source = batch.column(at)
        changed = batch.set_column(at, batch.schema.field(at), pa.array(values, target.kind))
        changed = changed.append_column(f"{_SOURCE}{target.name}", source)
        yield changed.append_column(CHECKED, pa.array(checked, pa.string()))
    if corrections.decided and not corrected:
        raise UsageError(
            f"None of the {len(corrections.decided):,} decisions in "
            f"{', '.join(corrections.projects)} is about a row of {family.name}",
            "Give the projects to which rows of this task were pushed",
        )
    for name in corrections.decided.keys() - corrected:
        _count(corrections, corrections.decided[name], "absent")


def _count(corrections: Corrections, decision: LabelDecision, outcome: str | None) -> None:
    project = corrections.projects[decision.project]
    project["outcome"][outcome] += 1
    if decision.control and outcome in project["controls"]:
        project["controls"][outcome] += 1
