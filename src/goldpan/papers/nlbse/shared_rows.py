"""Rows that several tasks ask about, with their answers, fit to learn from at once."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from goldpan.plugins.core import EvaluationError
from goldpan.plugins.evaluation import DOCUMENT, HeldOut, TrainingContext, held_out_rows

Place = tuple[str, str, int, str]
"""The project, document, position and text: what a row is about, whichever task asks."""
_ABOUT = ["repo", "document", "position", "text"]
_TARGETS = ("label", "labels")


@dataclass(frozen=True, slots=True)
class SharedRows:
    """Texts that are train in every task that asks about them, with all their labels."""

    columns: tuple[tuple[str, str], ...]
    """Task and label."""
    texts: pa.Table
    """A row a text, without ids and answers, in the order of places."""
    targets: npt.NDArray[np.float64]
    """1 where a text bears a label, else 0."""


def places_of(rows: pa.Table) -> list[Place]:
    """Return what each row is about."""
    columns = (rows[name].to_pylist() for name in _ABOUT)
    return [
        (repo or "", document or "", -1 if position is None else position, text)
        for repo, document, position, text in zip(*columns, strict=True)
    ]


def shared_rows(context: TrainingContext, spare: float) -> SharedRows:
    """Return the texts of this task that all tasks may learn from, with the answers of each.

    A text that is no train row of this task, or that the siblings leave out because one of them
    tests it, is not among them. Of this task's train the share `spare` at least is kept back: by
    answers to those, which the model has not seen, one may choose. Raises `EvaluationError` where
    nothing is left.
    """
    own = context.task.name
    tables = {**context.siblings()}
    tables.setdefault(own, context.whole_train)
    train = set(places_of(context.whole_train))
    in_train = pc.is_in(
        context.unlabelled["id"], value_set=context.whole_train["id"].combine_chunks()
    )
    closed = set(places_of(context.unlabelled.filter(pc.invert(in_train))))
    if isinstance(context.protocol, HeldOut) and context.protocol.column == DOCUMENT:
        # Siblings are read as they were imported, and do not know of it.
        for rows in tables.values():
            is_held_out = pa.array(held_out_rows(rows, context.protocol), pa.bool_())
            closed.update(places_of(rows.filter(is_held_out)))
    answers = {name: _answers(rows) for name, rows in sorted(tables.items())}
    # A task that asks about some of these texts closes those that it leaves out.
    asking = {
        name: answered for name, answered in answers.items() if not train.isdisjoint(answered)
    }
    open_to_all = train - closed
    for answered in asking.values():
        open_to_all &= answered.keys()
    drawn = sorted(sorted(open_to_all, key=_draw)[: int((1 - spare) * len(train))])
    if not drawn:
        raise EvaluationError(
            f"No text of {own} is train in all tasks that ask about it",
            "Give --set epochs=0, or choose a model that learns from one task alone",
        )
    return _shared(context.whole_train, asking, drawn)


def _answers(rows: pa.Table) -> dict[Place, frozenset[str]]:
    (target,) = (name for name in _TARGETS if name in rows.column_names)
    return {
        key: frozenset([answer] if isinstance(answer, str) else answer)
        for key, answer in zip(places_of(rows), rows[target].to_pylist(), strict=True)
    }


def _shared(
    train: pa.Table, answers: Mapping[str, Mapping[Place, frozenset[str]]], drawn: Sequence[Place]
) -> SharedRows:
    columns, targets = [], []
    for name, answered in answers.items():
        for label in _labels([answered[key] for key in drawn]):
            columns.append((name, label))
            targets.append([float(label in answered[key]) for key in drawn])
    where = {key: row for row, key in enumerate(places_of(train))}
    texts = train.select(_ABOUT).take([where[key] for key in drawn])
    return SharedRows(tuple(columns), texts, np.array(targets, dtype=np.float64).T)


def _labels(answers: Collection[frozenset[str]]) -> list[str]:
    """Return the labels to learn, sorted; of two that exclude each other the rarer one."""
    counts = Counter(label for labels in answers for label in labels)
    one_each = all(len(labels) == 1 for labels in answers)
    if one_each and len(counts) == 2:
        return [min(counts, key=lambda label: (counts[label], label))]
    return sorted(counts)


def _draw(key: Place) -> bytes:
    return hashlib.sha256(repr(key).encode("utf-8", "surrogatepass")).digest()
