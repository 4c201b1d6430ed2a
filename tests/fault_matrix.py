"""Mines one small repository under every fault: one entry never ends a run, what lacks is told."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from goldpan.core.errors import AuthenticationError, GoldpanError, MiningError
from goldpan.miners.github.announced import Path as Via
from goldpan.miners.mine import MineResult
from tests.mining import Tables, assert_current, coverage_of, mine_twin, table_bytes
from tests.twin import ERRORS, Editor, Fault, Faults, Limits, Twin, World
from tests.twin.mentions import link
from tests.twin.world import File, Ref, made_up_repository

RIFFLE = "prospector/riffle"
LONG, PARENT, CHILD, WIDE, BARE, SMALL, MOVED, PLAIN = range(1, 9)
WHILE = 0.15
"""Seconds that a fault lasts "for a while"; at the tests' pace a good many tries."""

When = Literal["once", "for a while", "always, one entry", "always"]

REST_ENTRY = {
    "timeline": LONG,
    "files": WIDE,
    "pull": BARE,
    "sub_issues": PARENT,
    "issue": PLAIN,
    "review_comments": WIDE,
}
"""Kinds of REST request that are about one entry, and the entry that the matrix fails."""
REST_LISTS = ("issues", "pulls", "all_comments", "all_review_comments")
GRAPHQL_ENTRY = {"Entries": PARENT, "Continuations": LONG}
GRAPHQL_WHOLE = ("Repository", "Sweep", "Sample", "FormerNames")
KINDS_OF_REQUEST = ("repository", *REST_LISTS, *REST_ENTRY, *GRAPHQL_WHOLE, *GRAPHQL_ENTRY)
_FOR_EVER = ("500 diff", "422 diff", "graphql 200", "half", "fine-grained token", "410", "451")
"""Of the errors that a request can have for ever and that are read alike, those to try so."""
REPRESENTATIVES = {
    "server": "502 html",
    "secondary": "whoa 403",
    "token": "401",
    "refused": "404",
    "part": "SOMETHING_WENT_WRONG",
}
"""The error that stands for its class where a request is tried with one of each."""
_ONCE = 9
"""Requests that a failure which passes costs at most, here where a batch is split into singles."""
_ALWAYS = 24
"""Requests that an entry which always fails costs at most."""
WITHHELD = {"FORBIDDEN", "FORBIDDEN by SAML"}
"""What is not asked for again in the same run: more access is not given meanwhile."""
TWICE = {("404", "issue")}
"""A second 404 of the same entry, whose timeline was not found before."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One fault: which error befalls which kind of request, and when."""

    error: str
    where: str
    when: When

    @property
    def via(self) -> Via:
        """Return the path on which the fault is met."""
        return "graphql" if self.where[0].isupper() else "rest"

    @property
    def number(self) -> int | None:
        """Return the entry that is befallen, if it is one alone."""
        of = {**REST_ENTRY, **GRAPHQL_ENTRY}
        return of.get(self.where) if self.when != "always" else None

    @property
    def is_update(self) -> bool:
        """Tell a kind of request that only an update makes."""
        return self.where == "review_comments"

    @property
    def faults(self) -> Faults:
        """Return the twin's plan for it."""
        times = 1 if self.when == "once" else None
        seconds = WHILE if self.when == "for a while" else None
        number = self.number if self.when in ("always, one entry", "once") else None
        wait = 0 if ERRORS[self.error].kind != "cut" else 3
        fault = Fault(self.error, self.where, number, times=times, seconds=seconds, wait=wait)
        # A single issue is asked for only where its timeline was not found.
        lost = [Fault("404", "timeline", PLAIN, times=1)] if self.where == "issue" else []
        return Faults(chosen=[*lost, fault])

    def __str__(self) -> str:
        return f"{self.error} | {self.where} | {self.when}"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a run under a fault, and of the next one without it where that lacked."""

    failure: GoldpanError | None
    complete: bool
    gaps: tuple[tuple[int | None, str], ...]
    reasons: tuple[str, ...]
    same: bool
    """Whether the tables are those of an undisturbed run."""
    requests: int
    clean: int
    """Requests of an undisturbed run."""
    struck: int
    """Requests that failed."""
    finished: bool
    mended: bool
    """Whether the next run, without the fault, makes it whole and the same (or this one did)."""


def matrix_world() -> World:
    """Return a repository whose eight entries make every kind of request necessary."""
    world = World(
        made_up_repository("washer", 61_000_003, description="Washes gravel"),
        made_up_repository("pan", 61_000_002, description="Where gravel is washed"),
    )
    editor = Editor(world, start="2023-01-02T09:00:00Z", step=60)
    editor.issue("Which gravel is washed first?", "Please discuss.", labels=["question"])
    for turn in range(110):
        editor.comment(LONG, f"Turn {turn}.")
    editor.issue("Plan of the season", "In two parts.")
    editor.issue("Sharpen the shovel", "Part of the plan.")
    editor.add_sub_issue(PARENT, CHILD)
    editor.pull(
        "Rename every bucket",
        "All of them.",
        files=[File(f"buckets/{number:03}.py", "modified", 1, 1) for number in range(110)],
    )
    lines = [("buckets/000.py", "Why this one?"), ("buckets/001.py", "And this one?")]
    editor.review(WIDE, "COMMENTED", "Two questions.", lines)
    editor.pull("Nothing yet", "No file has changed.")
    editor.pull("Wash by size", f"Fixes #{LONG}.", files=[File("wash.py", "modified", 2, 1)])
    editor.merge(SMALL, closes=[LONG])
    editor.issue("The pan leaks", "It does.")
    editor.transfer_out(MOVED, Ref("prospector/pan", 1))
    editor.rename(RIFFLE)
    editor.issue("Old links", f"See prospector/washer#{CHILD}.")
    link(world)
    return world


@cache
def world_before() -> World:
    """Return the repository as it is mined first."""
    return matrix_world()


@cache
def world_after() -> World:
    """Return the same after somebody answered a review comment, for updates."""
    world = matrix_world()
    editor = Editor(world)
    first = next(editor.entry(WIDE).review_comments())
    editor.reply(WIDE, first.id, "It was the first.", at="2040-01-01T00:00:00Z")
    return world


@cache
def workspace_before(via: Via) -> Path:
    """Return a workspace in which the repository was mined before the answer."""
    root = Path(tempfile.mkdtemp(prefix="matrix-")) / "before"
    with Twin(world_before()) as twin:
        mine_twin(twin, root, via)
    return root


@cache
def undisturbed(via: Via, *, update: bool) -> tuple[Tables, int]:
    """Return tables and requests of a run that nothing disturbs."""
    with tempfile.TemporaryDirectory() as directory:
        root = _begin(Path(directory) / "w", via, update=update)
        with Twin(world_after() if update else world_before()) as twin:
            mined = mine_twin(twin, root, via)
        assert coverage_of(mined).complete, coverage_of(mined).gaps
        return table_bytes(root, RIFFLE), mined.requests


def _begin(root: Path, via: Via, *, update: bool) -> Path:
    if update:
        shutil.copytree(workspace_before(via), root)
    return root


def run_cell(cell: Cell, directory: Path) -> Outcome:
    """Mine under a fault, then once more without it."""
    expected, clean = undisturbed(cell.via, update=cell.is_update)
    root = _begin(directory / "w", cell.via, update=cell.is_update)
    world = world_after() if cell.is_update else world_before()
    with Twin(world, cell.faults, Limits(retry_after=0)) as twin:
        mined: MineResult | None = None
        failure: GoldpanError | None = None
        try:
            timeout = 1.5 if cell.error == "late" else 120.0
            mined = mine_twin(twin, root, cell.via, timeout=timeout, repo=RIFFLE)
            failure = mined.failure
        except MiningError as error:
            failure = error
        requests = twin.count
        struck = sum(1 for request in twin.requests if request.fault)
        coverage = mined.coverage if mined else None
        same = coverage is not None and _is_current(table_bytes(root, RIFFLE), expected)
        complete = coverage is not None and coverage.complete and failure is None
        mended = complete and same
        if not mended:
            twin.faults = Faults()
            again = mine_twin(twin, root, cell.via, repo=RIFFLE)
            mended = coverage_of(again).complete and again.failure is None
            mended &= _is_current(table_bytes(root, RIFFLE), expected)
    return Outcome(
        failure,
        complete,
        tuple((gap.number, gap.part) for gap in coverage.gaps) if coverage else (),
        tuple(gap.reason for gap in coverage.gaps) if coverage else (),
        same,
        requests,
        clean,
        struck,
        coverage is not None and coverage.finished,
        mended,
    )


def _is_current(actual: Tables, expected: Tables) -> bool:
    try:
        assert_current(actual, expected)
    except AssertionError:
        return False
    return True


def cells() -> Iterator[Cell]:
    """Yield the cells of the matrix."""
    yield from dict.fromkeys((*_every_error(), *_every_request()))


def some_cells() -> Iterator[Cell]:
    """Yield the first cell of each class of errors, time and path, and one that an update meets."""
    chosen: dict[tuple[object, ...], Cell] = {}
    for cell in cells():
        key = (ERRORS[cell.error].kind, cell.when, cell.via, cell.is_update and cell.when)
        chosen.setdefault(key, cell)
    yield from chosen.values()


def _every_error() -> Iterator[Cell]:
    """Every error at one entry, where it costs most; those that can last, once and always.

    Errors that both paths read alike are met once over REST, the others over GraphQL.
    """
    for name, error in ERRORS.items():
        yield Cell(name, "Entries" if error.graphql_only else "timeline", "once")
        if error.kind == "part" or name in _FOR_EVER:
            for where in ("Entries",) if error.graphql_only else ("timeline", "Entries"):
                yield Cell(name, where, "always, one entry")


def _every_request() -> Iterator[Cell]:
    """Every kind of request with one error of the classes that it could take ill."""
    for where in KINDS_OF_REQUEST:
        is_one = where in REST_ENTRY or where in GRAPHQL_ENTRY
        for kind, name in REPRESENTATIVES.items():
            if kind == "part" and where[0].islower():
                continue
            yield Cell(name, where, "once")
            if kind in ("server", "token"):
                yield Cell(name, where, "for a while")
            if kind in ("server", "refused") or (kind == "token" and where == "repository"):
                yield Cell(name, where, "always, one entry" if is_one else "always")


def ends_the_run(cell: Cell) -> bool:
    """Tell a fault of the token, the repository or the network as a whole."""
    if cell.where in (*REST_ENTRY, *GRAPHQL_ENTRY):
        return False
    if ERRORS[cell.error].kind == "refused":
        return cell.where not in REST_LISTS  # others may be served, and tell of the same entries
    return cell.when == "always"


def check_cell(cell: Cell, directory: Path) -> None:
    """Mine under a fault and check all that came of it."""
    out = run_cell(cell, directory)
    assert out.struck, "the fault was never met"
    assert out.same or not out.complete, "complete, and something lacks"
    assert out.mended, (out.gaps, out.reasons)
    if out.failure is not None:
        assert_named(cell, out.failure)
    elif not out.complete:
        assert out.gaps or not out.finished
        assert all(out.reasons)
    if cell.when == "always, one entry":
        assert out.failure is None
        assert not out.complete
        assert {number for number, _ in out.gaps} == {cell.number}
    passes = cell.error not in WITHHELD and (cell.error, cell.where) not in TWICE
    if cell.when == "once" and not ends_the_run(cell) and passes:
        assert out.complete, (out.failure, out.gaps, out.reasons)
    assert_bounded(cell, out)


def assert_named(cell: Cell, failure: GoldpanError) -> None:
    """Check that a run ends only for what is about all of it, and says what to do."""
    whole = cell.when == "for a while" and ERRORS[cell.error].kind == "token"
    assert ends_the_run(cell) or whole, failure
    assert failure.problem
    assert failure.remedy
    if ERRORS[cell.error].kind == "token":
        assert isinstance(failure, AuthenticationError)


def assert_bounded(cell: Cell, out: Outcome) -> None:
    """Check that a fault costs a small number of requests."""
    if cell.when == "once":
        assert out.requests <= out.clean + _ONCE
    if cell.when == "always, one entry":
        assert out.requests <= out.clean + _ALWAYS
