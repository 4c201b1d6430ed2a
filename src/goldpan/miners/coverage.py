"""How complete a repository is, from its ledger: `goldpan status`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from goldpan.core.errors import WorkspaceError
from goldpan.core.result import Result
from goldpan.core.storage.archive import Archive
from goldpan.core.storage.parquet import read_tables
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.miners.journal import UNSEEN
from goldpan.miners.journal_state import JournalState
from goldpan.miners.tables.current_records import NOT_YET

_COLUMNS = {
    "ledger": ("number", "part", "announced", "stored", "state", "reason"),
    "unknown": ("name", "count", "number"),
    "repositories": ("repo",),
}
_WELL = pa.array(("complete", "unseen"))
"""Ledger states of parts that are not missing."""
_COUNTED = ("comments", "reviews", "review_comments", "commits", "files")
_ENTRIES = ("issues", "pulls")
_DISCUSSED = ("discussions", "replies")
"""Counted where discussions were mined."""


@dataclass(frozen=True, slots=True)
class Count:
    """How many of a kind GitHub announced, and how many are stored."""

    kind: str
    announced: int | None
    stored: int


@dataclass(frozen=True, slots=True)
class Gap:
    """Missing data; no number where it is the repository's."""

    number: int | None
    part: str
    state: str
    """short, failed, pending, or withheld where GitHub does not serve it."""
    reason: str


@dataclass(frozen=True, slots=True)
class Unknown:
    """An event that GitHub does not document, and an entry that has it."""

    name: str
    count: int
    number: int


@dataclass(frozen=True, slots=True)
class Coverage(Result):
    """How complete a repository is."""

    schema = 2

    repo: str
    via: str
    since: str | None
    mined_at: str
    finished: bool
    counts: tuple[Count, ...]
    gaps: tuple[Gap, ...]
    unknown: tuple[Unknown, ...] = ()
    unseen: tuple[str, ...] = ()
    """Data that the last runs had no means to see, so that nobody knows whether any is missing."""
    stored: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """The profiles that filtered its pairs, by the rules of the pairs, as far as was asked."""

    @property
    def complete(self) -> bool:
        """True where the last run ended and nothing that it could see is missing."""
        return self.finished and not self.gaps

    @property
    def exit_code(self) -> int:
        """3 where something is missing."""
        return 0 if self.complete else 3


def measure_coverage(
    workspace: WorkspaceLayout, repo: str, state: JournalState | None = None
) -> Coverage:
    """Measure one repository's coverage; raises `WorkspaceError` where nothing was mined.

    `state` is the archive's, where it is known; with tables, where runs begin and end is enough.
    """
    state = state or JournalState(Archive(workspace.raw(repo)).records)
    if not state.begins:
        raise WorkspaceError(
            f"{workspace.root} holds no raw replies of {repo}", f"Run goldpan mine --repo {repo}"
        )
    begin = state.begins[-1]
    plan = begin.meta["plan"]
    if workspace.table(repo, "entries").exists():
        tables = read_tables(workspace, repo, _COLUMNS)
        counts, gaps = _counts(tables["ledger"]), _gaps(tables["ledger"])
        unknown = [Unknown(**row) for row in tables["unknown"].to_pylist()]
        name = next(filter(None, tables["repositories"]["repo"].to_pylist()), repo)
    else:
        counts, unknown, name = [], [], repo
        gaps = [Gap(None, "tables", "pending", NOT_YET)]
    return Coverage(
        name,
        plan["via"],
        plan["since"],
        state.newest[begin.run].meta["at"],
        any(end.run == begin.run for end in state.ends),
        tuple(counts),
        tuple(gaps),
        tuple(unknown),
        (UNSEEN.format(since=state.unseen_since),) if state.unseen_since else (),
    )


def _counts(ledger: pa.Table) -> list[Count]:
    of_repository = pc.is_null(ledger["number"])
    lists = ledger.filter(of_repository).select(["part", "announced", "stored"]).to_pylist()
    sums = {
        row["part"]: (row["announced"], row["stored"])
        for row in lists
        if row["part"] in (*_ENTRIES, "discussions")
    }
    for part in (*_COUNTED, "replies"):
        rows = ledger.filter(pc.and_(pc.invert(of_repository), pc.equal(ledger["part"], part)))
        if len(rows):
            announced = pc.sum(rows["announced"], skip_nulls=False).as_py()
            sums[part] = (announced, pc.sum(rows["stored"]).as_py())
    discussed = _DISCUSSED if "discussions" in sums else ()
    return [
        Count(part.replace("_", " "), *sums.get(part, (None, 0)))
        for part in (*_ENTRIES, *_COUNTED, *discussed)
    ]


def _gaps(ledger: pa.Table) -> list[Gap]:
    rows = ledger.filter(pc.invert(pc.is_in(ledger["state"], _WELL)))
    gaps = [Gap(**row) for row in rows.select(["number", "part", "state", "reason"]).to_pylist()]
    return sorted(gaps, key=lambda gap: (gap.number is not None, gap.number or 0, gap.part))
