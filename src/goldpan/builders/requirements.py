"""What `--require` asks of rows: reviews that keep them, and findings that they must not have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from goldpan.builders.recipes import Recipe
from goldpan.core.errors import UsageError
from goldpan.datasets.examples import ISSUE_RESOLUTION
from goldpan.filters.criterion import Subject

VERIFIED = "verified"
"""The requirement that test runs proved a fix; of issue-resolution alone."""
NOT = "not:"
"""What a requirement begins with that names a finding of `goldpan audit`."""
NOT_AUDITED = "not-audited"
"""The verdict on a row that no audit has as it is now."""


@dataclass(frozen=True, slots=True)
class RowCheck:
    """Findings that rows must not have; it goes to other processes."""

    requirements: tuple[str, ...]
    """As they were asked for, such as not:solution-in-issue."""
    verdicts: Callable[[Sequence[Mapping[str, Any]]], Sequence[Mapping[str, str]]]
    """Returns of each row, by requirement: found, not-found, cannot-tell or `NOT_AUDITED`."""
    audits: Mapping[str, str] = field(default_factory=dict)
    """The digests of the stored audits that it reads, by name."""

    @property
    def explained(self) -> dict[str, str]:
        """What dropped rows have, by requirement."""
        return {name: f"goldpan audit finds {name.removeprefix(NOT)}" for name in self.requirements}

    def described(self, untold: Mapping[str, Mapping[str, int]]) -> dict[str, Any]:
        """Return what provenance tells of it, with the rows that could not be told."""
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
        """Yield the rows without findings; rows that cannot be told are kept and counted."""
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
