"""What a dataset is built of and by: the one set of choices from the command to each row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa

from goldpan.builders.label_facts import LIKELY, TIERS
from goldpan.core.values import ONE_PROCESS, Execution
from goldpan.datasets.gold import Gold
from goldpan.datasets.splits import SplitPlan
from goldpan.filters.answers import Choice
from goldpan.filters.profile import Profile

AnswerChoice = Choice | Literal["likely", "reviewed"]
"""`likely` is `best` with the points of the tier of that name, `reviewed` the reply that the review
`question-answer` names."""
Texts = Literal["as-mined", "before-fix"]
AS_MINED: Texts = "as-mined"
BEFORE_FIX: Texts = "before-fix"
VERIFIED = "verified"
"""The requirement that test runs proved a fix; of issue-resolution and code-edit."""
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

    def described(self, undecided: Mapping[str, Mapping[str, int]]) -> dict[str, Any]:
        """Return its entry in provenance, with the rows that the audits leave open."""
        return {
            "required": list(self.requirements),
            "audits": dict(self.audits),
            "undecided": {name: dict(sorted(counts.items())) for name, counts in undecided.items()},
        }

    def kept(
        self,
        batches: Iterable[pa.RecordBatch],
        dropped: Counter[str],
        undecided: Counter[tuple[str, str]],
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows without findings; rows that the audits leave open are kept and counted."""
        for batch in batches:
            places = []
            for place, verdicts in enumerate(self.verdicts(batch.to_pylist())):
                if found := [name for name in self.requirements if verdicts[name] == "found"]:
                    dropped[found[0]] += 1
                    continue
                places.append(place)
                undecided.update(item for item in verdicts.items() if item[1] != "not-found")
            yield batch.take(pa.array(places, pa.int64()))


@dataclass(frozen=True, slots=True)
class BuildRequest:
    """A dataset to be built; it goes to other processes."""

    family: str
    repos: Sequence[str]
    profile: Profile
    """The profile by which the subjects were filtered."""
    plan: SplitPlan
    directory: Path
    """Where it is written."""
    reviews: Sequence[str] = ()
    """Reviews that must keep every row, such as question-answer; `VERIFIED` among them."""
    answer: AnswerChoice | None = None
    """Which replies of `qa` are answers, in place of the profile's choice."""
    least: int | None = None
    """Points that an answer needs, in place of the profile's."""
    golds: Sequence[Gold] = ()
    """Card and provenance say how well the rows agree with these."""
    since: Path | None = None
    """An older version; the card says what changed since then."""
    sources: Sequence[str] = ("issues",)
    """Where the questions of `qa` were asked: issues, discussions, or both."""
    texts: Texts = AS_MINED
    """The state of issues' texts: as mined, or before the fix was begun or the answer given."""
    limit: int | None = None
    """The most rows, drawn by the plan's seed, the same pairs in each family."""
    check: RowCheck | None = None
    """Findings that rows must not have."""
    execution: Execution = ONE_PROCESS
    """Where repositories are worked on."""

    @property
    def chosen(self) -> Profile:
        """The profile with the choice of answers that is asked for."""
        if not self.judges_answers or self.answer == "reviewed":
            return self.profile
        settings = self.profile.settings["answer"]
        choice, least = self.answer or settings.choice, self.least or settings.least
        if choice == LIKELY:
            choice, least = "best", TIERS[0].least
        answer = replace(settings, choice=choice, least=least)
        return replace(self.profile, settings={**self.profile.settings, "answer": answer})

    @property
    def judges_answers(self) -> bool:
        """True where answers are chosen otherwise than the stored verdicts judge them."""
        return self.answer is not None or self.least is not None
