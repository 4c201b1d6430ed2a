"""The archived replies that count: later ones supersede earlier ones, entry by entry.

They are found by the records' metas alone, so nothing is unpacked.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Literal
from urllib.parse import parse_qsl, urlsplit

from goldpan.core.storage.archive import Record
from goldpan.miners.github.connections import PART_OF
from goldpan.miners.github.rest_feeds import PART_OF_LIST
from goldpan.miners.repair import unresolved
from goldpan.miners.tables.floors import Floors
from goldpan.miners.tables.rows import PART_OF_RECORD

RELATIONS = ("sub_issues", "blocked_by", "blocking")
FLOORED = ("timeline", "files", "review_comments", "links", "edits", *RELATIONS)
"""The parts of an entry that a complete observation lists anew."""

NOT_YET = "not fetched yet: run the same mine command again"

LISTS = ("issues", "pulls", "comments", "review_comments")
"""The repository's own lists."""

_OFF = "discussions are turned off in this repository"
_AT_MOST = 3  # losses that one row's reason names

Trouble = Literal["failed", "withheld", "pending", "short"]
Walk = tuple[int, str, int, str]
"""Pages of one list that belong together: an entry, a part, a run and a length of pages."""


@dataclass(frozen=True, slots=True)
class Open:
    """The state of missing data, and the reason."""

    state: Trouble
    reason: str


@dataclass(slots=True)
class CurrentRecords:
    """The current part of a repository's archive."""

    floors: dict[str, Floors]
    """Part to floors; of `entry`, an entry's newest observation."""
    begun: dict[str, Floors]
    """Part to where the runs began that the floors lie in."""
    skipped: set[int] = field(default_factory=set)
    """Records of lists that were not read to the end while an older complete one exists, and of
    entries of a backup that a newer copy supersedes."""
    seen: set[int] = field(default_factory=set)
    """Entries that some reply holds."""
    deleted: set[int] = field(default_factory=set)
    """Entries that are no longer there: deleted or transferred."""
    listing: int = -1
    """Where the newest walk of the whole list of entries began; -1 for none."""
    open: dict[tuple[int | None, str], Open] = field(default_factory=dict)
    """Missing data by number (None for a list of the repository) and part."""
    announced: dict[str, int] = field(default_factory=dict)
    """How many issues and pulls GitHub announced."""
    stored: dict[str, int] = field(default_factory=dict)
    """How many issues and pulls there are replies of."""
    further_lists: dict[str, str | None] = field(default_factory=dict)
    """The lists that were asked for beside `LISTS`; with why one is empty, if that is known."""
    is_limited: bool = False
    """True where only entries since a date were requested."""


class _Scan:
    def __init__(self, records: Iterable[Record]) -> None:
        self.elsewhere = {
            name
            for record in records
            if record.meta["part"] == "elsewhere"
            for name in record.meta["names"]
        }
        """Names that entries of backups show and that are of other repositories."""
        self.without_issues = runs_without_issues(records)
        self.floors: dict[str, dict[int, int]] = {part: {} for part in FLOORED}
        self.entry: dict[int, int] = {}  # number to its newest observation
        self.walks: dict[Walk, list[int]] = defaultdict(list)
        self.complete: set[Walk] = set()
        self.sweeps: dict[tuple[int, str], list[Record]] = defaultdict(list)
        self.listings: list[tuple[int, set[int]]] = []  # where a walk began, whom it found
        self.failures: dict[tuple[int | None, str], tuple[Record, Open]] = {}
        self.solved: dict[tuple[int, str], int] = {}
        self.owners: dict[int, str] = {}
        self.open_pages: dict[str, tuple[int, str, str]] = {}
        self.keys: set[str] = set()
        self.listed: dict[int, bool] = {}
        self.announced: dict[str, int] = {}
        self.deleted: dict[int, int] = {}
        self.fetched: dict[int, int] = {}  # number to where all of it was read at once
        self.kinds: dict[int, str] = {}
        self.runs: dict[int, int] = {}  # run to its first record
        self.since: str | None = None
        self.discussions_off: bool | None = None  # null where nobody asked
        self.dated: dict[int, tuple[str, bool]] = {}
        """When an entry was updated as it stands, and whether that was mined."""
        self.listed_dates: dict[int, tuple[str, bool]] = {}
        """The same of its lists."""
        self.whole: set[int] = set()  # entries that were mined, or pull requests with branches
        self.partial: dict[int, list[Record]] = defaultdict(list)
        """The copies of a backup that hold some of an entry."""
        self.skipped: set[int] = set()

    def observe(self, number: int, kind: str, sequence: int) -> None:
        """Take note of a reply that holds all of an entry."""
        self.entry[number] = self.fetched[number] = sequence
        self.kinds[number] = kind
        for part in FLOORED:
            self.floors[part][number] = sequence

    def date(self, number: int, updated: str) -> None:
        """Take note of when an entry was updated that was mined."""
        self.dated[number] = self.listed_dates[number] = updated, True
        self.whole.add(number)

    def observe_backup(self, record: Record) -> None:
        """Take note of a backup's copy of an entry: of several the newest counts."""
        meta, sequence = record.meta, record.sequence
        number, date = meta["number"], (meta.get("updated") or "", False)
        is_half, is_bare = meta.get("half", False), meta.get("bare", False)
        if "updated" not in meta:  # archived before copies were compared
            self.observe(number, meta["kind"], sequence)
            return
        if is_half and not is_bare and number in self.whole:
            self.skipped.add(sequence)
            return
        is_newest = date >= self.dated.get(number, date)
        is_first_whole = not (is_half or is_bare or number in self.whole)
        lists = not is_bare and (
            date >= self.listed_dates.get(number, date)
            or (is_first_whole and not self.listed_dates[number][1])
        )
        if not (is_newest or lists):
            self.skipped.add(sequence)
            return
        if lists:
            entry = self.entry.get(number, sequence)
            self.observe(number, meta["kind"], sequence)
            self.entry[number] = entry
            self.listed_dates[number] = date
            if not is_half:
                self.whole.add(number)
        if is_newest:
            self.entry[number], self.kinds[number] = sequence, meta["kind"]
            self.dated[number] = date
            for earlier in self.partial[number]:
                covers = (lists or earlier.meta.get("bare")) and (
                    not is_half or earlier.meta.get("half")
                )
                self.skipped.update([earlier.sequence] if covers else [])
        if is_half or is_bare:
            self.partial[number].append(record)

    def read(self, record: Record) -> None:
        meta, sequence = record.meta, record.sequence
        self.runs.setdefault(record.run, sequence)
        self.keys.update(key for key in meta["keys"] if key.startswith("more|"))
        match meta["part"]:
            case "begin":
                self.since = meta["plan"].get("since")
                if meta["plan"]["via"] == "backup":
                    self.failures.pop((None, "backup"), None)  # the newest import tells anew
            case "entries":
                for _, number, owner in meta["nodes"]:
                    self.observe(number, meta["kind"], sequence)
                    self.date(number, _updated_of(owner))
                    self.owners[number] = owner
            case "more":
                for _, number, _, parent, connection in meta["nodes"]:
                    part = PART_OF[parent, connection]
                    failure = self.failures.get((number, part))
                    # A page shows nothing of withheld parts of the pages before it.
                    if failure is None or failure[1].state != "withheld":
                        self.solved[number, part] = sequence
            case (
                "timeline" | "files" | "pull_comments" | "sub_issues" | "blocked_by" | "blocking"
            ) as listed:
                part = PART_OF_LIST.get(listed, listed)
                walk = (meta["number"], part, record.run, _page_length(meta["request"]["url"]))
                if meta["first"]:
                    self.walks[walk].clear()  # read again from its beginning
                self.walks[walk].append(sequence)
                if meta["next"] is None:
                    self.complete.add(walk)
                    self.floors[part][meta["number"]] = self.walks[walk][0]
                    if part == "timeline":  # REST shows no edits of the texts that it shows
                        self.floors["edits"][meta["number"]] = self.walks[walk][0]
                    self.solved[meta["number"], _displayed_part(part)] = sequence
            case "issues" | "issue":
                for number, updated, is_pull in meta["items"]:
                    self.entry[number] = sequence
                    self.date(number, updated)
                    self.listed[number] = is_pull
                    self.kinds[number] = "pull" if is_pull else "issue"
            case "pulls" | "pull" if record.run in self.without_issues:
                for number, updated, *_ in meta["items"]:
                    self.entry[number] = sequence
                    self.date(number, updated)
                    self.listed[number], self.kinds[number] = True, "pull"
            case "backup" if meta.get("named") in self.elsewhere:
                self.skipped.add(sequence)
            case "backup":
                self.observe_backup(record)
            case "sweep":
                self.sweeps[record.run, meta["kind"]].append(record)
                self.announced[meta["kind"]] = meta["announced"]
                if meta["kind"] == "discussion":
                    self.discussions_off = bool(meta.get("off"))
            case "listed" if meta["of"] == "issues":
                self.listings.append((meta["begun"], set(meta["numbers"])))
                if (record.run, "issue") not in self.sweeps:
                    self.announced.clear()  # an older sweep's counts no longer hold
            case "gone":
                self.deleted[meta["number"]] = sequence
                kind = meta.get("kind") or self.kinds.get(meta["number"])
                if kind in self.announced:  # was counted before
                    self.announced[kind] -= 1
            case "failed":
                state: Trouble = "withheld" if meta.get("withheld") else "failed"
                trouble = Open(state, meta["reason"])
                self.failures[meta["number"], _displayed_part(meta["of"])] = (record, trouble)
        for number, owner, node, parent, connection, cursor in meta.get("more") or ():
            key = f"more|{owner}|{node}|{connection}|{cursor or ''}"
            self.open_pages[key] = (number, owner, PART_OF[parent, connection])


def runs_without_issues(records: Iterable[Record]) -> frozenset[int]:
    """Return the runs over REST that found issues turned off: pull requests tell of themselves."""
    off = (record for record in records if record.meta["part"] == "off")
    return frozenset(record.run for record in off if record.meta["of"] == "issues")


def find_current_records(records: list[Record]) -> CurrentRecords:
    """Find the records that count, given all of a repository's in the order of their making."""
    scan = _Scan(records)
    for record in records:
        scan.read(record)
    floors = {**scan.floors, "entry": scan.entry}
    live = CurrentRecords(
        {part: Floors(sequences) for part, sequences in floors.items()},
        {
            part: Floors({n: scan.runs[records[s].run] for n, s in sequences.items()})
            for part, sequences in floors.items()
        },
        seen=set(scan.entry),
        is_limited=scan.since is not None,
        skipped=scan.skipped,
    )
    for walk, sequences in scan.walks.items():
        number, part, *_ = walk
        if walk not in scan.complete and number in scan.floors[part]:
            live.skipped.update(sequences)
    listing = max(
        filter(None, (_newest_sweep(scan, ("issue", "pull")), *scan.listings)),
        default=None,
        key=itemgetter(0),
    )
    listed: set[int] = listing[1] if listing else set()
    if listing is not None:
        live.listing = listing[0]
        live.deleted = _unlisted(scan, listing, of_discussions=False)
    if discussed := _newest_sweep(scan, ("discussion",)):
        live.deleted |= _unlisted(scan, discussed, of_discussions=True)
        listed |= discussed[1]
    if scan.discussions_off is not None:
        live.further_lists["discussions"] = _OFF if scan.discussions_off else None
    live.deleted |= {n for n, sequence in scan.deleted.items() if scan.entry.get(n, -1) < sequence}
    live.announced = {f"{kind}s": count for kind, count in scan.announced.items()}
    live.stored = {
        f"{kind}s": sum(scan.kinds[n] == kind for n in live.seen - live.deleted)
        for kind in ("issue", "pull", *(("discussion",) if live.further_lists else ()))
    }
    live.open = {
        (number, part): trouble
        for (number, part), trouble in (_open(scan, listed, records) | _lost(records)).items()
        if number not in live.deleted
    }
    return live


def _updated_of(owner: str) -> str:
    """Return when an entry was updated that GraphQL gave, by its version."""
    return owner.partition("|")[2].partition("|")[0]


def _page_length(url: str) -> str:
    """Return how long the pages are of which an address names one."""
    return dict(parse_qsl(urlsplit(url).query)).get("per_page", "")


def _displayed_part(part: str) -> str:
    """Return the name of a list in the ledger."""
    return "relations" if part in RELATIONS else part


def _unlisted(scan: _Scan, listing: tuple[int, set[int]], *, of_discussions: bool) -> set[int]:
    """Return the entries that were read before a listing of their kind which lacks them."""
    begun, listed = listing
    return {
        number
        for number, sequence in scan.entry.items()
        if sequence < begun
        and number not in listed
        and (scan.kinds.get(number) == "discussion") is of_discussions
    }


def _newest_sweep(scan: _Scan, kinds: Sequence[str]) -> tuple[int, set[int]] | None:
    """Return where the newest full sweep of all these kinds began, and the entries it found."""
    for run in sorted({run for run, _ in scan.sweeps}, reverse=True):
        pages = [scan.sweeps.get((run, kind), []) for kind in kinds]
        failed = any(
            n is None and failure[0].run == run for (n, _), failure in scan.failures.items()
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


def _open(
    scan: _Scan, listed: set[int], records: list[Record]
) -> dict[tuple[int | None, str], Open]:
    troubles: dict[tuple[int | None, str], Open] = {}
    pending = Open("pending", NOT_YET)
    last = max((run for run, _ in scan.sweeps), default=0)
    pages = [scan.sweeps.get((last, kind), []) for kind in ("issue", "pull", "discussion")]
    swept = _swept(pages, scan.since or "")
    for number in (listed | swept) - set(scan.entry):
        troubles[number, "entry"] = pending
    for key, (number, owner, part) in scan.open_pages.items():
        newest = scan.owners.get(number) == owner and key not in scan.keys
        if newest and not _was_read_since(scan, number, part):
            troubles[number, part] = pending
    for number in scan.listed:
        for part in ("timeline", "files") if scan.listed[number] else ("timeline",):
            if number not in scan.floors[part]:
                troubles[number, part] = pending
    for (entry, part), (record, trouble) in scan.failures.items():
        if entry is None:
            # A later run reads again whatever list a run could not read to its end.
            still = record.run == records[-1].run
        else:
            still = record.sequence > scan.fetched.get(entry, -1)
            if (entry, part) not in troubles:
                still &= record.sequence > scan.solved.get((entry, part), -1)
            if part == "entry":
                still &= record.sequence > scan.entry.get(entry, -1)
        if still:
            troubles[entry, part] = trouble
    return troubles


def _lost(records: list[Record]) -> dict[tuple[int | None, str], Open]:
    """Return the replies that damage took from the archive and no run asked for since."""
    reasons: dict[tuple[int | None, str], list[str]] = defaultdict(list)
    for number, part, reason in unresolved(records):
        if number is None:
            key = part if part in LISTS else "replies"
        else:
            key = _displayed_part(PART_OF_RECORD.get(part, part))
        reasons[number, key].append(reason)
    return {key: Open("failed", joined(of_key)) for key, of_key in reasons.items()}


def joined(reasons: Sequence[str]) -> str:
    """Return the reason in a row of the ledger for several losses."""
    distinct = sorted(set(reasons))
    hidden = len(distinct) - _AT_MOST
    return "; ".join(distinct[:_AT_MOST]) + (f"; and {hidden:,} more" if hidden > 0 else "")


def _was_read_since(scan: _Scan, number: int, part: str) -> bool:
    """Tell whether REST has read a list anew that a GraphQL reply left open."""
    fetched = scan.fetched[number]
    if part in ("entry", "labels"):
        return scan.entry[number] > fetched
    listed = "timeline" if part in ("comments", "reviews") else part
    return scan.floors.get(listed, {}).get(number, -1) > fetched
