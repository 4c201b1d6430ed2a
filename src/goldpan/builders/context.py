"""What builders make rows of: the kept subjects of one repository and what is known of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from goldpan.builders.earlier import EarlierTexts, read_earlier
from goldpan.filters.criterion import Subject
from goldpan.filters.profile import Profile
from goldpan.filters.repo_view import RepoView
from goldpan.text.redaction import redact

_BATCH = 256


@dataclass(frozen=True, slots=True)
class BuildContext:
    """What is known of one repository, with the table `kept`: issue, pull_repo, pull."""

    view: RepoView
    profile: Profile
    """What the kept subjects were kept by."""
    raw: Mapping[int, tuple[str, ...]]
    """The archived replies by entry number."""
    dropped: Counter[str] = field(default_factory=Counter)
    """Subjects that passed the filters and have no row, by reason."""
    redacted: Counter[str] = field(default_factory=Counter)
    """Redactions in texts, by kind."""
    only_verified: bool = False
    """Whether only fixes that running their tests proved give rows."""
    named: Mapping[int, int | None] | None = None
    """The reply that a required review names as the answer, by issue."""
    by_review: bool = False
    """Whether that reply is the answer; otherwise it has to be the one that the rules choose."""
    of_discussions: bool = False
    """Whether the subjects are discussions."""
    before_fix: bool = False
    """Whether texts are given as they stood before the fix was begun, or the answer given."""

    def keep(self, verdicts: pa.Table, subject: Subject, required: Sequence[str]) -> None:
        """Make the table `kept` out of verdicts: subjects that every deciding criterion keeps.

        Those that a `required` criterion does not keep are counted as dropped by it.
        """
        before = self.view.keep(verdicts, subject, ())
        for position, criterion in enumerate(required, 1):
            after = self.view.keep(verdicts, subject, required[:position])
            if after < before:
                self.dropped[criterion] += before - after
            before = after

    def earlier(self) -> EarlierTexts | None:
        """Return the earlier texts of what is kept, where rows are made of those."""
        if not self.before_fix:
            return None
        kept = self.view.sql("SELECT DISTINCT issue, pull FROM kept").to_pydict()
        pulls = {pull for pull in kept["pull"] if pull is not None}
        return read_earlier(self.view.workspace, self.view.repo, set(kept["issue"]), pulls)

    def drop_all(self, reason: str) -> None:
        """Count all kept subjects as dropped."""
        count = self.view.connection.execute("SELECT count(*) FROM kept").fetchall()[0][0]
        self.dropped[reason] += count

    def rows(self, query: str, **values: object) -> Iterator[dict[str, Any]]:
        """Yield the rows of a query, a batch in memory at a time."""
        relation = self.view.connection.sql(query, params=values or None)
        for batch in relation.to_arrow_reader(_BATCH):
            yield from batch.to_pylist()

    def repository(self) -> dict[str, Any]:
        """Return the columns that all examples of the repository share."""
        facts = self.view.sql("SELECT language, license FROM repositories").to_pylist()
        owner, _, name = self.view.repo.partition("/")
        return {
            "repo": self.view.repo,
            "owner": owner,
            "name": name,
            "language": facts[0]["language"] if facts else None,
            "license": facts[0]["license"] if facts else None,
        }

    def text(self, text: str | None) -> str:
        """Return a text as it may be published, with what is private made unreadable."""
        redacted = redact(text or "")
        self.redacted.update(redacted.counts)
        return redacted.text
