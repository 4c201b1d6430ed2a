"""Which datasets are built of issues and fix pairs, and how their rows are made."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from goldpan.builders import code_edit, fault_localization, issue_resolution, qa
from goldpan.builders.context import BuildContext
from goldpan.core.errors import choices
from goldpan.core.plugin_parts import Kind
from goldpan.core.registry import Registry
from goldpan.datasets.examples import (
    CODE_EDIT,
    FAULT_LOCALIZATION,
    ISSUE_RESOLUTION,
    QA,
    QA_WITH_DISCUSSIONS,
)
from goldpan.datasets.family import Family
from goldpan.filters.criterion import Subject

_WRITTEN = frozenset({"id", "repo", "license"})
"""Columns that every dataset has: splits, licenses and traces go by them."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """How the rows of a family are made."""

    family: Family
    subject: Subject
    """What the filters judged, a row of the dataset each."""
    rows: Callable[[BuildContext], Iterator[dict[str, Any]]]
    explained: Mapping[str, str]
    """Why a subject that passed the filters may give no row, by reason."""
    required: tuple[str, ...] = ()
    """Criteria that every row has to pass, whether or not the profile lets them decide."""
    discussed: Family | None = None
    """The family of its rows where discussions are among the subjects; null where they cannot."""

    def family_of(self, subjects: Sequence[Subject]) -> Family:
        """Return the family of rows that are made of these subjects."""
        return self.discussed if self.discussed and "discussion" in subjects else self.family

    def __post_init__(self) -> None:
        name, subjects = self.family.name, get_args(Subject)
        if self.subject not in subjects:
            raise ValueError(f"{name}: the subject is {self.subject!r}, not {choices(subjects)}")
        if not self.family.moment:
            raise ValueError(f"{name} names no column as its moment, by which time splits go")
        if missing := _WRITTEN - set(self.family.schema.names):
            raise ValueError(f"{name} lacks the column {', '.join(sorted(missing))}")

    def parts(self) -> Iterable[tuple[Kind, str, object]]:
        """Return itself, as a plugin registers it."""
        return [("dataset", self.family.name, self)]


RECIPES = {
    recipe.family.name: recipe
    for recipe in (
        Recipe(
            QA,
            "issue",
            qa.rows,
            qa.EXPLAINED,
            required=("answered", "answer", "accepted"),
            discussed=QA_WITH_DISCUSSIONS,
        ),
        Recipe(FAULT_LOCALIZATION, "pair", fault_localization.rows, fault_localization.EXPLAINED),
        Recipe(CODE_EDIT, "pair", code_edit.rows, code_edit.EXPLAINED),
        Recipe(ISSUE_RESOLUTION, "pair", issue_resolution.rows, issue_resolution.EXPLAINED),
    )
}
find_recipe = Registry("dataset", lambda: RECIPES, "dataset").find
