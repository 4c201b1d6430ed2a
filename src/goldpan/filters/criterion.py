"""Criteria: a definition, its source, settings, and a verdict for every subject."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Generic, Literal, TypeVar

import pyarrow as pa

from goldpan.core.errors import choices
from goldpan.core.plugins.parts import Kind
from goldpan.filters.repo_view import RepoView

S = TypeVar("S")

Subject = Literal["issue", "discussion", "pair"]

KEYS: dict[Subject, tuple[str, ...]] = {
    "issue": ("issue",),
    "discussion": ("issue",),
    "pair": ("issue", "pull_repo", "pull"),
}
"""The columns that name a subject in a judge's answer, by subject in the order of their funnels.

`issue` is also the number of a discussion: they share one space.
"""


@dataclass(frozen=True, slots=True)
class Criterion(Generic[S]):
    """One reason to keep or drop a subject.

    `judge` answers with one row for every subject of the repository: the columns of `KEYS`,
    `keep` (null where it cannot judge), `reason` (a short code, where not kept), and as it likes
    `value` (a number that was measured) and `evidence` (words for people).
    """

    name: str
    subject: Subject
    definition: str
    """One sentence that says what is kept."""
    source: str
    """The paper and section, or why Goldpan adds it."""
    settings: type[S]
    """A frozen dataclass whose fields all have defaults."""
    judge: Callable[[RepoView, S], pa.Table]
    uses: tuple[str, ...] = ()
    """Criteria whose settings this one reads through the view as well."""
    version: int = 1
    """Raised when the same settings give other verdicts than before."""
    reusable: bool = True
    """True where its verdicts hold as long as the repository's own tables are the same."""
    discussions: bool = False
    """True where a criterion for issues judges discussions alike, through a view of them."""

    @property
    def subjects(self) -> tuple[Subject, ...]:
        """The kinds of subjects that it judges."""
        return (self.subject, "discussion") if self.discussions else (self.subject,)

    def __post_init__(self) -> None:
        if self.definition.count(".") != 1:
            raise ValueError(f"{self.name}: the definition is one sentence")
        if self.subject not in KEYS:
            raise ValueError(f"{self.name}: the subject is {self.subject!r}, not {choices(KEYS)}")

    def parts(self) -> Iterable[tuple[Kind, str, object]]:
        """Return itself, as a plugin registers it."""
        return [("criterion", self.name, self)]


AnyCriterion = Criterion[Any]

_ANSWER = {
    "keep": pa.bool_(),
    "reason": pa.string(),
    "value": pa.float64(),
    "evidence": pa.string(),
}


def answer_table(rows: Sequence[Mapping[str, object]], *keys: str) -> pa.Table:
    """Return a judge's answer from its rows, of which `keys` name the subject."""
    key_types = {key: pa.string() if key == "pull_repo" else pa.int64() for key in keys}
    return pa.Table.from_pylist(rows, pa.schema(key_types | _ANSWER))


def query_judge(query: str) -> Callable[[RepoView, Any], pa.Table]:
    """Return a judge that asks a query, whose ``$name`` parameters are settings, or `repo`."""
    names = set(re.findall(r"\$([a-z_]+)", query))

    def judge(view: RepoView, settings: Any) -> pa.Table:
        values = {"repo": view.repo, **asdict(settings)}
        return view.sql(query, **{name: values[name] for name in names})

    return judge


@dataclass(frozen=True, slots=True)
class NoSettings:
    """The settings of a criterion that has none."""
