"""What the steps of a run over GraphQL share: whom they ask, what is on record, what failed."""

from __future__ import annotations

from dataclasses import dataclass, field

from goldpan.core.progress import Reporter
from goldpan.miners.github.client import GitHub
from goldpan.miners.github.dialect import Dialect
from goldpan.miners.github.limits import Pace
from goldpan.miners.github.queries import Kind
from goldpan.miners.journal import Journal
from goldpan.miners.replies import Reply

_FLAWED_TRIES = 2


@dataclass(slots=True)
class GraphQLRun:
    """A run over GraphQL that is under way."""

    github: GitHub
    journal: Journal
    reporter: Reporter
    dialect: Dialect
    workers: int
    pace: Pace
    is_last: bool = False
    """Whether all else is done, so that what fails now is recorded as failed."""
    _flawed_tries: dict[object, int] = field(default_factory=dict)

    def owners(self) -> dict[int, str]:
        """Return the newest fetch of each entry: its version and, after ``@``, which fetch.

        An entry that REST read later has none: what GraphQL alone sees may have changed.
        """
        owners: dict[int, str] = {}
        for record in self.journal.archive.records:
            if record.meta["part"] == "entries":
                owners.update((number, owner) for _, number, owner in record.meta["nodes"])
            elif record.meta["part"] in ("timeline", "files", "pull_comments", "backup"):
                owners.pop(record.meta["number"], None)
        return owners

    def last_batch_size(self, part: str, kind: Kind | None) -> int | None:
        """Return the batch size that worked last."""
        sizes = [
            record.meta["batch"]
            for record in self.journal.archive.records
            if record.meta["part"] == part and record.meta.get("kind") == kind
        ]
        return sizes[-1] if sizes else None

    def may_retry(self, item: object, *, alone: bool) -> bool:
        """Count a try of a flawed item; tell whether asking for it alone may help."""
        self._flawed_tries[item] = self._flawed_tries.get(item, 0) + alone
        return self._flawed_tries[item] < (1 if self.is_last else _FLAWED_TRIES)

    def forget_tries(self, item: object) -> None:
        """Begin to count anew, for an item that is asked for again when all else is done."""
        self._flawed_tries.pop(item, None)

    def record_hidden(self, number: int, part: str, reason: str, reply: Reply) -> None:
        """Record a part that the token may not see; in this run asking again cannot help."""
        if not any(self.journal.of_run("forbidden")):
            remedy = "Authorize the token for the organization (SAML), or give it more access"
            self.reporter.note(f"Parts cannot be seen with this token ({reason}). {remedy}")
            self.journal.mark("forbidden", [], what=part, reason=reason, remedy=remedy)
        self.journal.fail(number, part, reason, withheld=True, token=reply.token)
