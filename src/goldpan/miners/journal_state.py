"""What the records of a repository's archive tell, folded once: `JournalState`.

By the records' metas alone: nothing is unpacked.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import parse_qsl, urlsplit

from goldpan.core.errors import ServerError
from goldpan.core.settings.trust import is_loopback
from goldpan.core.storage.run_file import Record
from goldpan.miners.connections import PART_OF, More
from goldpan.miners.replies import parse_json

RELATIONS = ("sub_issues", "blocked_by", "blocking")
FLOORED = ("timeline", "files", "review_comments", "links", "edits", *RELATIONS)
"""The parts of an entry that a complete observation lists anew."""

PART_OF_LIST = {"pull_comments": "review_comments"}
"""The part that a list of one entry belongs to, where it is not called the same."""

Trouble = Literal["failed", "withheld", "pending", "short"]
Walk = tuple[int, str, int, str]
"""Pages of one list that belong together: an entry, a part, a run and a length of pages."""


@dataclass(frozen=True, slots=True)
class Open:
    """The state of missing data, and the reason."""

    state: Trouble
    reason: str


class JournalState:
    """What an archive's records tell, in the order of their making; `read` adds a new one."""

    def __init__(self, records: Sequence[Record]) -> None:
        self.records = records
        self.begins: list[Record] = []
        self.repository: Record | None = None
        """The newest facts of the repository."""
        self.stated_license: str | None = None
        """What the user stated last, or `MINED`."""
        self.former: dict[str, str] = {}
        """Other names that lead to the repository, with the one that it has now."""
        self.asked_names: set[str] = set()
        """Other names that GitHub was asked about."""
        self.unseen_since = ""
        """Since when no run had the means to see references from other repositories."""
        self.pulls: set[int] = set()
        """Entries that lists of pull requests hold."""
        self.elsewhere = {
            name
            for record in records
            if record.meta["part"] == "elsewhere"
            for name in record.meta["names"]
        }
        """Names that entries of backups show and that are of other repositories."""
        self.without_issues = {
            record.run
            for record in records
            if record.meta["part"] == "off" and record.meta["of"] == "issues"
        }
        """Runs over REST that found issues turned off: pull requests tell of themselves."""
        self.entry: dict[int, int] = {}  # number to its newest observation
        self.whole: dict[int, int] = {}  # number to where all of it was read at once
        self.walked: dict[str, dict[int, int]] = {part: {} for part in FLOORED}
        """Where the lists of entries were read alone, to their end, by part and number."""
        self.walks: dict[Walk, list[int]] = defaultdict(list)
        self.complete: set[Walk] = set()
        self.sweeps: dict[tuple[int, str], list[Record]] = defaultdict(list)
        self.listings: list[tuple[int, set[int]]] = []  # where a walk began, whom it found
        self.failures: dict[tuple[int | None, str], tuple[Record, Open]] = {}
        self.solved: dict[tuple[int, str], int] = {}
        self.owners: dict[int, str] = {}
        self.fetched: dict[int, str] = {}
        """The newest fetch of entries over GraphQL: their version and, after ``@``, which fetch.

        An entry that REST read later has none: data that GraphQL alone sees may have changed.
        """
        self.batches: dict[tuple[str, str | None], int] = {}
        """The batch size that worked last, by part and kind of entries."""
        self.hidden: dict[int, Record] = {}
        """Entries of which a token might not see some part when they were read last."""
        self.open_pages: dict[str, list[Any]] = {}
        """Further pages of lists as `More` has them, read or not, by their keys."""
        self.keys: set[str] = set()
        self.listed: dict[int, bool] = {}
        self.announced: dict[str, int] = {}
        self.deleted: dict[int, int] = {}
        self.kinds: dict[int, str] = {}
        self.runs: dict[int, int] = {}  # run to its first record
        self.since: str | None = None
        self.discussions_off: bool | None = None  # null where nobody asked
        self.dated: dict[int, tuple[str, bool]] = {}
        """When an entry was updated as it stands, and whether that was mined."""
        self.listed_dates: dict[int, tuple[str, bool]] = {}
        """The same of its lists, where a backup has it."""
        self.with_branches: set[int] = set()  # entries that were mined, or pulls with branches
        self.partial: dict[int, list[Record]] = defaultdict(list)
        """The copies of a backup that hold some of an entry."""
        self.skipped: set[int] = set()
        self.newest: dict[int, Record] = {}
        """The newest record of each run."""
        self._ends: list[Record] = []
        self._repaired = -1
        for record in records:
            self.read(record)

    @property
    def ends(self) -> list[Record]:
        """Ends of runs after which no reply was lost."""
        return [record for record in self._ends if record.sequence > self._repaired]

    def floor(self, part: str, number: int) -> int:
        """Return the record before which what was read of a part is superseded; -1 for none."""
        return max(self.whole.get(number, -1), self.walked[part].get(number, -1))

    @property
    def host(self) -> str | None:
        """The host that the repository was mined from; None for a server on this machine."""
        begin = self._known_begin()
        return None if begin is None else str(begin.meta["plan"]["host"])

    @property
    def git_host(self) -> str | None:
        """The host with its port that serves the history; None where none is known."""
        begin = self._known_begin()
        return str(begin.meta.get("git_host") or begin.meta["plan"]["host"]) if begin else None

    def _known_begin(self) -> Record | None:
        """Return where the newest run began whose host is known and is not this machine."""
        for record in reversed(self.begins):
            plan = record.meta["plan"]
            if plan.get("host") and not is_loopback(plan["host"]):
                return record
        return None

    def _observe(self, number: int, kind: str, sequence: int) -> None:
        """Take note of a reply that holds all of an entry."""
        self.entry[number] = self.whole[number] = sequence
        self.kinds[number] = kind

    def _date(self, number: int, updated: str) -> None:
        """Take note of when an entry was updated that was mined."""
        self.dated[number] = updated, True
        self.listed_dates.pop(number, None)
        self.with_branches.add(number)

    def _observe_backup(self, record: Record) -> None:
        """Take note of a backup's copy of an entry: of several the newest counts."""
        meta, sequence = record.meta, record.sequence
        number, date = meta["number"], (meta["updated"], False)
        is_half, is_bare = meta.get("half", False), meta.get("bare", False)
        if (earlier_date := self.dated.get(number)) and earlier_date[1]:
            self.listed_dates.setdefault(number, earlier_date)
        if is_half and not is_bare and number in self.with_branches:
            self.skipped.add(sequence)
            return
        is_newest = date >= self.dated.get(number, date)
        is_first_whole = not (is_half or is_bare or number in self.with_branches)
        lists = not is_bare and (
            date >= self.listed_dates.get(number, date)
            or (is_first_whole and not self.listed_dates[number][1])
        )
        if not (is_newest or lists):
            self.skipped.add(sequence)
            return
        if lists:
            entry = self.entry.get(number, sequence)
            self._observe(number, meta["kind"], sequence)
            self.entry[number] = entry
            self.listed_dates[number] = date
            if not is_half:
                self.with_branches.add(number)
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
        """Take in what a record tells, which `records` holds."""
        meta, sequence = record.meta, record.sequence
        self.runs.setdefault(record.run, sequence)
        self.newest[record.run] = record
        self.keys.update(key for key in meta["keys"] if key.startswith("more|"))
        if meta["part"] in ("timeline", "files", "pull_comments", "backup"):
            self.fetched.pop(meta["number"], None)
        match meta["part"]:
            case "begin":
                self.begins.append(record)
                self.since = meta["plan"].get("since")
                if meta["plan"]["via"] == "backup":
                    self.failures.pop((None, "backup"), None)  # the newest import tells anew
            case "end":
                self._ends.append(record)
                if any(run == record.run for run, _ in self.sweeps):
                    self.unseen_since = ""
            case "repaired":
                self._repaired = sequence
            case "repository":
                self.repository = record
            case "license":
                self.stated_license = str(meta["license"])
            case "former":
                self.former |= meta["names"]
                self.asked_names.update(meta["asked"])
            case "unseen":
                self.unseen_since = self.unseen_since or meta["since"]
            case "entries":
                for _, number, owner in meta["nodes"]:
                    self._observe(number, meta["kind"], sequence)
                    self._date(number, _updated_of(owner))
                    self.owners[number] = self.fetched[number] = owner
                    self.hidden.pop(number, None)
                self.batches["entries", meta["kind"]] = meta["batch"]
            case "more":
                self.batches["more", meta.get("kind")] = meta["batch"]
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
                    self.walked[part][meta["number"]] = self.walks[walk][0]
                    if part == "timeline":  # REST shows no edits of the texts that it shows
                        self.walked["edits"][meta["number"]] = self.walks[walk][0]
                    self.solved[meta["number"], displayed_part(part)] = sequence
            case "issues" | "issue":
                for number, updated, is_pull in meta["items"]:
                    self.entry[number] = sequence
                    self._date(number, updated)
                    self.listed[number] = is_pull
                    self.kinds[number] = "pull" if is_pull else "issue"
                self._note_pulls(record)
            case "pulls" | "pull" if record.run in self.without_issues:
                for number, updated, *_ in meta["items"]:
                    self.entry[number] = sequence
                    self._date(number, updated)
                    self.listed[number], self.kinds[number] = True, "pull"
                self._note_pulls(record)
            case "pulls" | "pull":
                self._note_pulls(record)
            case "elsewhere" if not self.elsewhere.issuperset(meta["names"]):
                self.__init__(self.records)  # type: ignore[misc]  # entries before it count no more
                return
            case "off" if meta["of"] == "issues" and record.run not in self.without_issues:
                self.__init__(self.records)  # type: ignore[misc]  # its pull requests count whole
                return
            case "backup" if meta.get("named") in self.elsewhere:
                self.skipped.add(sequence)
            case "backup":
                self._observe_backup(record)
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
                self.failures[meta["number"], displayed_part(meta["of"])] = (record, trouble)
                if meta.get("token") is not None:
                    self.hidden[meta["number"]] = record
        for row in meta.get("more") or ():
            self.open_pages[More(*row).key] = row

    def _note_pulls(self, record: Record) -> None:
        self.pulls.update(item[0] for item in record.meta["items"] if item[2])


def _updated_of(owner: str) -> str:
    """Return when an entry was updated that GraphQL gave, by its version."""
    return owner.partition("|")[2].partition("|")[0]


def _page_length(url: str) -> str:
    """Return how long the pages are of which an address names one."""
    return dict(parse_qsl(urlsplit(url).query)).get("per_page", "")


def displayed_part(part: str) -> str:
    """Return the name of a list in the ledger."""
    return "relations" if part in RELATIONS else part


STATED = "stated by the user"
MINED = "mined"
"""The value that withdraws a stated license: the one that was mined counts again."""


@dataclass(frozen=True, slots=True)
class Facts:
    """A repository's canonical name, the hosts its links may name, and its table row."""

    repo: str
    hosts: tuple[str, ...]
    row: dict[str, Any]
    former: Mapping[str, str]
    """Names that the repository had, each with the one that it has now; case does not count."""


def read_facts(state: JournalState) -> Facts | None:
    """Read the newest facts of a repository; None where there are none."""
    newest = state.repository
    if newest is None:
        return None
    plans = {begin.run: begin.meta["plan"] for begin in state.begins}
    plan = plans.get(newest.run, {"host": "github.com", "via": ""})
    row = facts_row(parse_json(newest.read()))
    if state.stated_license not in (None, MINED):
        row |= {"license": state.stated_license, "license_source": STATED}
    elif row["license"] is not None:
        row["license_source"] = "backup" if plan["via"] == "backup" else "GitHub"
    repo = str(row["repo"])
    spellings = {old.lower(): old for old in sorted(state.former) if old.lower() != repo.lower()}
    spelling_of = dict.fromkeys(sorted(spellings.values()), repo)
    hosts = tuple(dict.fromkeys((plan["host"], "github.com")))
    return Facts(repo, hosts, row, spelling_of)


def facts_row(data: Any) -> dict[str, Any]:
    """Return the row of `repositories` that a GraphQL or REST reply holds.

    Raises `ServerError` for a reply that holds none, as of a server that is no GitHub.
    """
    try:
        return _row(data)
    except (LookupError, TypeError, AttributeError) as error:
        raise ServerError(
            f"The facts of a repository came without what they hold at GitHub ({error!r})",
            "Check --api-url: GitHub's own is https://api.github.com",
        ) from None


def _row(data: Any) -> dict[str, Any]:
    if "data" not in data:
        repo, license = data["full_name"], (data.get("license") or {}).get("spdx_id")
        row = {column: data.get(name) for column, (_, name) in _COLUMNS.items()}
        return {**row, "repo": repo, "license": license}
    node = data["data"]["repository"]
    row = {column: node[name] for column, (name, _) in _COLUMNS.items()}
    for column, name in (("default_branch", "name"), ("language", "name"), ("license", "spdxId")):
        row[column] = row[column][name] if row[column] else None
    return row


_COLUMNS = {
    "repo": ("nameWithOwner", "full_name"),
    "description": ("description", "description"),
    "default_branch": ("defaultBranchRef", "default_branch"),
    "language": ("primaryLanguage", "language"),
    "license": ("licenseInfo", "license"),
    "stars": ("stargazerCount", "stargazers_count"),
    "forks": ("forkCount", "forks_count"),
    "is_fork": ("isFork", "fork"),
    "is_archived": ("isArchived", "archived"),
    "is_private": ("isPrivate", "private"),
    "created_at": ("createdAt", "created_at"),
    "pushed_at": ("pushedAt", "pushed_at"),
}
"""Columns of `repositories`, each as GraphQL and REST call it."""
