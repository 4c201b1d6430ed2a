"""Recipes of datasets: how their rows are made, and what `--require` asks of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from goldpan.builders import code_edit, fault_localization, issue_resolution, qa
from goldpan.builders.context import BuildContext
from goldpan.builders.request import NOT, VERIFIED, BuildRequest
from goldpan.core.errors import UsageError, choices
from goldpan.core.plugins.parts import Kind
from goldpan.core.plugins.registry import Registry
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
    """The kind of subject that filters judge, one for each row of the dataset."""
    rows: Callable[[BuildContext], Iterator[dict[str, Any]]]
    explained: Mapping[str, str]
    """Why a subject that passed the filters may give no row, by reason."""
    required: tuple[str, ...] = ()
    """Criteria that every row has to pass, whether or not the profile lets them decide."""
    discussed: Family | None = None
    """The family of its rows where discussions are among the subjects; null where they cannot."""

    def subjects_of(self, request: BuildRequest) -> tuple[Subject, ...]:
        """Return the kinds of subjects that give rows."""
        return (self.subject,) if self.discussed is None else qa.subjects_of(request.sources)

    def family_of(self, request: BuildRequest) -> Family:
        """Return the family of the rows."""
        with_discussions = self.discussed and "discussion" in self.subjects_of(request)
        return self.discussed if self.discussed and with_discussions else self.family

    def required_by(self, request: BuildRequest) -> tuple[str, ...]:
        """Return the criteria that every row has to pass, less those that the builder judges."""
        judged = {"answer"} if request.judges_answers else set()
        return tuple(name for name in self.required if name not in judged)

    def __post_init__(self) -> None:
        name, subjects = self.family.name, get_args(Subject)
        if self.subject not in subjects:
            raise ValueError(f"{name}: the subject is {self.subject!r}, not {choices(subjects)}")
        if not self.family.moment:
            raise ValueError(f"{name} names no column as its moment, by which time splits go")
        if missing := _WRITTEN - set(self.family.schema.names):
            raise ValueError(f"{name} has no column {', '.join(sorted(missing))}")

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


def required_reviews(recipe: Recipe, names: Sequence[str]) -> dict[str, Subject]:
    """Return the subjects of reviews by name; raises `UsageError` for one that does not fit.

    `VERIFIED`, which fits fixes alone, is no review, and left out.
    """
    can_be_verified = recipe.family in (ISSUE_RESOLUTION, CODE_EDIT)
    names = [name for name in names if not (can_be_verified and name == VERIFIED)]
    if not names:  # what knows of models and people takes long to import
        return {}
    from goldpan.annotation.review.subjects import KINDS
    from goldpan.annotation.studio.forms import FORMS

    prompts = [kind.prompt for kind in KINDS.values() if kind.subject == recipe.subject]
    forms = [form.name for form in FORMS if form.keeps and form.subject == recipe.subject]
    fitting = list(dict.fromkeys([*prompts, *forms, *([VERIFIED] if can_be_verified else [])]))
    for name in names:
        if name not in fitting:
            raise UsageError(
                f"{recipe.family.name} has no review {name!r}",
                f"Choose {', '.join(fitting)} or {NOT}FINDING",
            )
    return dict.fromkeys(names, recipe.subject)
