"""What is put before a model: a subject's name and its texts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any, Literal

from goldpan.filters.criterion import Subject
from goldpan.filters.repo_view import RepoView
from goldpan.llm.parts import Part

ReviewSubject = Literal["issue", "pair", "label"]
"""What the filters judge, and the labels of classification examples."""


@dataclass(frozen=True, slots=True)
class ReviewItem:
    """A subject as a model sees it."""

    repo: str
    subject: ReviewSubject
    issue: int | None = None
    pull_repo: str | None = None
    pull: int | None = None
    parts: tuple[Part, ...] = ()
    obstacle: str | None = None
    """Why nobody needs to be asked: the texts to judge by are not there."""
    example: str | None = None
    """The id of the example whose label is judged."""
    suspicions: tuple[str, ...] = ()
    """What looks like an attempt to steer the model, a line each."""
    comment_ids: tuple[int, ...] = ()
    """Of all replies, in the order of their numbers; models name replies by number."""

    def plain(self) -> dict[str, Any]:
        """Return the case as plain data; `from_plain` is the way back."""
        return asdict(self)

    @classmethod
    def from_plain(cls, data: dict[str, Any]) -> ReviewItem:
        """Return the case that `plain` gave."""
        parts = tuple(Part(**part) for part in data["parts"])
        lists = {name: tuple(data[name]) for name in ("suspicions", "comment_ids")}
        return cls(**{**data, "parts": parts, **lists})


@dataclass(frozen=True, slots=True)
class SubjectKind:
    """A kind of subject that models can review; each is one file in `subjects/`."""

    subject: Subject
    prompt: str
    """The name of its prompt, which is the criterion's name in the verdicts."""
    required: tuple[str, ...]
    """Criteria that a subject has to pass, whether or not the profile lets them decide."""
    read: Callable[[RepoView], Iterator[ReviewItem]]
    """Yields a case for each row of the view `kept`: issue, pull_repo, pull."""
