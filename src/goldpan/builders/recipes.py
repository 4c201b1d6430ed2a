"""Which datasets are built of issues and fix pairs, and how their rows are made."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, get_args

from goldpan.builders import code_edit, fault_localization, issue_resolution, qa
from goldpan.builders.context import BuildContext
from goldpan.core.plugins import Kind
from goldpan.core.registry import Registry
from goldpan.core.suggest import choices
from goldpan.datasets.examples import CODE_EDIT, FAULT_LOCALIZATION, ISSUE_RESOLUTION, QA
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
        Recipe(QA, "issue", qa.rows, qa.EXPLAINED, required=("answered", "answer")),
        Recipe(FAULT_LOCALIZATION, "pair", fault_localization.rows, fault_localization.EXPLAINED),
        Recipe(CODE_EDIT, "pair", code_edit.rows, code_edit.EXPLAINED),
        Recipe(ISSUE_RESOLUTION, "pair", issue_resolution.rows, issue_resolution.EXPLAINED),
    )
}
find_recipe = Registry("dataset", lambda: RECIPES, "dataset").find
