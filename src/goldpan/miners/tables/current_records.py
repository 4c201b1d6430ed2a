"""The archived replies that count: later ones supersede earlier ones, entry by entry.

They are found by the records' metas alone, so nothing is unpacked.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from operator import itemgetter

from goldpan.core.storage.run_file import Record
from goldpan.miners.connections import PART_OF
from goldpan.miners.journal_state import JournalState, Open

NOT_YET = "not fetched yet: run the same mine command again"

LISTS = ("issues", "pulls", "comments", "review_comments")
"""The repository's own lists."""

_OFF = "discussions are turned off in this repository"
_AT_MOST = 3  # losses that one row's reason names


@dataclass(slots=True)
class CurrentRecords:
    """The current part of a repository's archive."""

    entry: dict[int, int]
    """The newest observation of each entry: the record that it lies in."""
    whole: dict[int, int]
    """The record in which all of an entry was read at once."""
    walked: dict[str, dict[int, int]]
    """Part and number to the record where a list of an entry was read alone since."""
    runs: list[int]
    """The records with which runs begin."""
    skipped: set[int] = field(default_factory=set)
    """Records of lists that were not read to the end while an older complete one exists, and of
    entries of a backup that a newer copy supersedes."""
    deleted: set[int] = field(default_factory=set)
    """Entries that are no longer there: deleted or transferred."""
    listing: int = -1
    """Where the newest walk of the whole list of entries began; -1 for none."""
    open: dict[tuple[int | None, str], Open] = field(default_factory=dict)
    """Missing data by number (None for a list of the repository) and part."""
    announced: dict[str, int] = field(default_factory=dict)
    """How many issues and pulls GitHub announced."""
    further_lists: dict[str, str | None] = field(default_factory=dict)
    """The lists that were asked for beside `LISTS`; with why one is empty, if that is known."""
    is_limited: bool = False
    """True where only entries since a date were requested."""


def find_current_records(state: JournalState) -> CurrentRecords:
    """Find the records that count."""
    live = CurrentRecords(
        state.entry,
        state.whole,
        state.walked,
        sorted(state.runs.values()),
        is_limited=state.since is not None,
        skipped=set(state.skipped),
    )
    for walk, sequences in state.walks.items():
        number, part, *_ = walk
        if walk not in state.complete and state.floor(part, number) >= 0:
            live.skipped.update(sequences)
    listing = max(
        filter(None, (_newest_sweep(state, ("issue", "pull")), *state.listings)),
        default=None,
        key=itemgetter(0),
    )
    listed: set[int] = listing[1] if listing else set()
    if listing is not None:
        live.listing = listing[0]
        live.deleted = _unlisted(state, listing, of_discussions=False)
    if discussed := _newest_sweep(state, ("discussion",)):
        live.deleted |= _unlisted(state, discussed, of_discussions=True)
        listed |= discussed[1]
    if state.discussions_off is not None:
        live.further_lists["discussions"] = _OFF if state.discussions_off else None
    live.deleted |= {
        n for n, sequence in state.deleted.items() if state.entry.get(n, -1) < sequence
    }
    live.announced = {f"{kind}s": count for kind, count in state.announced.items()}
    live.open = {
        (number, part): trouble
        for (number, part), trouble in _open(state, listed).items()
        if number not in live.deleted
    }
    return live


def _unlisted(
    state: JournalState, listing: tuple[int, set[int]], *, of_discussions: bool
) -> set[int]:
    """Return the entries that were read before a listing of their kind which lacks them."""
    begun, listed = listing
    return {
        number
        for number, sequence in state.entry.items()
        if sequence < begun
        and number not in listed
        and (state.kinds.get(number) == "discussion") is of_discussions
    }


def _newest_sweep(state: JournalState, kinds: Sequence[str]) -> tuple[int, set[int]] | None:
    """Return where the newest full sweep of all these kinds began, and the entries it found."""
    for run in sorted({run for run, _ in state.sweeps}, reverse=True):
        pages = [state.sweeps.get((run, kind), []) for kind in kinds]
        failed = any(
            n is None and failure[0].run == run for (n, _), failure in state.failures.items()
        )
        if not failed and all(
            p and p[0].meta["full"] and p[-1].meta["next"] is None and not p[0].meta.get("off")
            for p in pages
        ):
            return min(page[0].sequence for page in pages), _swept(pages, "")
    return None


def _swept(pages: Iterable[list[Record]], since: str) -> set[int]:
    """Return the entries that a sweep lists, updated since a time; their marks begin with it."""
    items = (item for page in pages for record in page for item in record.meta["items"])
    return {number for _, number, mark in items if mark >= since}


def _open(state: JournalState, listed: set[int]) -> dict[tuple[int | None, str], Open]:
    troubles: dict[tuple[int | None, str], Open] = {}
    pending = Open("pending", NOT_YET)
    last = max((run for run, _ in state.sweeps), default=0)
    pages = [state.sweeps.get((last, kind), []) for kind in ("issue", "pull", "discussion")]
    swept = _swept(pages, state.since or "")
    for number in (listed | swept) - set(state.entry):
        troubles[number, "entry"] = pending
    for key, (number, owner, _, parent, connection, _) in state.open_pages.items():
        newest = state.owners.get(number) == owner and key not in state.keys
        part = PART_OF[parent, connection]
        if newest and not _was_read_since(state, number, part):
            troubles[number, part] = pending
    for number in state.listed:
        for part in ("timeline", "files") if state.listed[number] else ("timeline",):
            if state.floor(part, number) < 0:
                troubles[number, part] = pending
    for (entry, part), (record, trouble) in state.failures.items():
        if entry is None:
            # A later run reads again whatever list a run could not read to its end.
            still = record.run == state.records[-1].run
        else:
            still = record.sequence > state.whole.get(entry, -1)
            if (entry, part) not in troubles:
                still &= record.sequence > state.solved.get((entry, part), -1)
            if part == "entry":
                still &= record.sequence > state.entry.get(entry, -1)
        if still:
            troubles[entry, part] = trouble
    return troubles


def joined(reasons: Sequence[str]) -> str:
    """Return the reason in a row of the ledger for several losses."""
    distinct = sorted(set(reasons))
    hidden = len(distinct) - _AT_MOST
    return "; ".join(distinct[:_AT_MOST]) + (f"; and {hidden:,} more" if hidden > 0 else "")


def _was_read_since(state: JournalState, number: int, part: str) -> bool:
    """Tell whether REST has read a list anew that a GraphQL reply left open."""
    whole = state.whole[number]
    if part in ("entry", "labels"):
        return state.entry[number] > whole
    listed = "timeline" if part in ("comments", "reviews") else part
    return state.walked.get(listed, {}).get(number, -1) > whole
