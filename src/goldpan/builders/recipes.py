"""Recipes of datasets: how their rows are made, and what `--require` asks of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, get_args

import pyarrow as pa

from goldpan.builders import code_edit, fault_localization, issue_resolution, qa
from goldpan.builders.context import BuildContext
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


VERIFIED = "verified"
"""The requirement that test runs proved a fix; of issue-resolution alone."""
NOT = "not:"
"""The prefix of a requirement that names a finding of `goldpan audit`."""
NOT_AUDITED = "not-audited"
"""The verdict on a row that no audit has as it is now."""


@dataclass(frozen=True, slots=True)
class RowCheck:
    """Findings that rows must not have; it goes to other processes."""

    requirements: tuple[str, ...]
    """As they were asked for, such as not:solution-in-issue."""
    verdicts: Callable[[Sequence[Mapping[str, Any]]], Sequence[Mapping[str, str]]]
    """Returns the verdict on each row, by requirement: found, not-found, cannot-tell or
    `NOT_AUDITED`."""
    audits: Mapping[str, str] = field(default_factory=dict)
    """The digests of the stored audits that it reads, by name."""

    @property
    def explained(self) -> dict[str, str]:
        """The findings of dropped rows, by requirement."""
        return {name: f"goldpan audit finds {name.removeprefix(NOT)}" for name in self.requirements}

    def described(self, untold: Mapping[str, Mapping[str, int]]) -> dict[str, Any]:
        """Return its entry in provenance, with the rows that the audits leave open."""
        return {
            "required": list(self.requirements),
            "audits": dict(self.audits),
            "untold": {name: dict(sorted(counts.items())) for name, counts in untold.items()},
        }

    def kept(
        self,
        batches: Iterable[pa.RecordBatch],
        dropped: Counter[str],
        untold: Counter[tuple[str, str]],
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows without findings; rows that the audits leave open are kept and counted."""
        for batch in batches:
            places = []
            for place, verdicts in enumerate(self.verdicts(batch.to_pylist())):
                if found := [name for name in self.requirements if verdicts[name] == "found"]:
                    dropped[found[0]] += 1
                    continue
                places.append(place)
                untold.update(item for item in verdicts.items() if item[1] != "not-found")
            yield batch.take(pa.array(places, pa.int64()))


def required_reviews(recipe: Recipe, names: Sequence[str]) -> dict[str, Subject]:
    """Return the subjects of reviews by name; raises `UsageError` for one that does not fit.

    `VERIFIED`, which fits `issue-resolution` alone, is no review, and left out.
    """
    can_be_verified = recipe.family.name == ISSUE_RESOLUTION.name
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
