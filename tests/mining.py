"""Mining a twin in tests: at a quick pace, in this process or in one that can be killed."""

from __future__ import annotations

import io
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from rich.console import Console

from goldpan.core.errors import GoldpanError
from goldpan.core.schemas.mined import MINED
from goldpan.core.settings.config import Settings
from goldpan.core.storage.archive import Archive
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.core.terminal import Reporter
from goldpan.miners.coverage import Coverage
from goldpan.miners.github.announced import Path as Via
from goldpan.miners.github.cost import CostEstimate
from goldpan.miners.github.limits import Pace
from goldpan.miners.mine import MineResult, mine, predict_many
from tests.program import MINE, Done, Running, goldpan, start
from tests.shared_folder import made_once
from tests.twin import Limits, Request, Twin, World, synthetic_world

PACE = Pace(
    backoff=0.01,
    longest=0.05,
    secondary=0.02,
    margin=0.05,
    per_minute=10**6,
    token=0.02,
    patience=1.0,
)
TOKEN = "ghp_twin0001"
SLUICE = "prospector/sluice"
BOTH: tuple[Via, ...] = ("graphql", "rest")
graphql_daily = pytest.mark.parametrize(
    "via", ["graphql", pytest.param("rest", marks=pytest.mark.nightly)]
)
rest_daily = pytest.mark.parametrize(
    "via", ["rest", pytest.param("graphql", marks=pytest.mark.nightly)]
)
SOFT = Limits(retry_after=None)
"""Limits whose secondary refusals leave the wait to the miner."""

GRAPHQL_ONLY = {
    *("connected", "will_close", "disconnected", "closing_reference", "marked_as_duplicate"),
    *("unmarked_as_duplicate", "transferred_from"),
}
ONE_PATH_ONLY = {
    ("entries", "duplicate_of_number"): "graphql",
    ("entries", "duplicate_of_repo"): "graphql",
    ("entries", "last_edited_at"): "graphql",
    ("comments", "last_edited_at"): "graphql",
    ("comments", "minimized"): "graphql",
    ("comments", "minimized_reason"): "graphql",
    ("files", "previous_path"): "rest",
    ("ledger", "announced"): "",
    ("ledger", "reason"): "",
    ("ledger", "state"): "",
    ("ledger", "stored"): "",
}
"""The columns in which the two paths cannot agree, and which of them sees the column at all.

The ledger is about the replies themselves, of which each path has its own.
"""

_MINER = "from tests.mining import mine_as_told; mine_as_told()"

Row = dict[str, Any]
Tables = dict[str, bytes]


class Notes(Reporter):
    """Keeps what would be printed."""

    def __init__(self) -> None:
        super().__init__(Console(file=io.StringIO()), quiet=True)
        self.lines: list[str] = []

    def note(self, text: str) -> None:
        self.lines.append(text)

    def __contains__(self, part: str) -> bool:
        return any(part in line for line in self.lines)


class Watched(list[Request]):
    """A twin's list of requests that calls `react(count)` before each reply is sent."""

    def __init__(self, react: Callable[[int], None], so_far: Iterable[Request] = ()) -> None:
        super().__init__(so_far)
        self._react = react

    def append(self, request: Request) -> None:
        super().append(request)
        self._react(len(self))


def twin_settings(twin: Twin, workspace: Path, via: Via, **changes: Any) -> Settings:
    """Return settings that lead to a twin."""
    return replace(_settings(twin.url, workspace, via), **changes)


def _settings(url: str, workspace: Path, via: Via) -> Settings:
    return Settings(
        workspace=workspace, api_url=url, tokens=(TOKEN,), via=via, workers=1, timeout=120.0
    )


def mine_twin(
    twin: Twin,
    workspace: Path,
    via: Via = "graphql",
    *,
    repo: str | None = None,
    notes: Notes | None = None,
    **changes: Any,
) -> MineResult:
    """Mine the twin's main repository (or another) with one token; `given` are settings."""
    settings = twin_settings(twin, workspace, via, **changes)
    return mine_one(settings, repo or twin.world.main.full_name, notes or Notes())


def mine_one(settings: Settings, repo: str, reporter: Reporter) -> MineResult:
    """Mine one repository; raises why that cannot be."""
    mined = mine(settings, [repo], reporter, PACE)[repo.lower()]
    if isinstance(mined, GoldpanError):
        raise mined
    return mined


def predict(settings: Settings, repo: str, notes: Notes, pace: Pace) -> CostEstimate:
    """Return what mining one repository would cost; raises why that cannot be told."""
    predicted = predict_many(settings, [repo], notes, pace)[repo]
    if isinstance(predicted, GoldpanError):
        raise predicted
    return predicted


@contextmanager
def start_miner(twin: Twin, workspace: Path, via: Via) -> Iterator[Running]:
    """Start to mine in another process, which ends with 0 when nothing is missing."""
    repo = twin.world.main.full_name
    with start(workspace, twin.url, via, repo, program=_MINER) as miner:
        yield miner


def mine_as_told() -> None:
    """Be the process of `start_miner`."""
    workspace, url, way, repo = sys.argv[1:]
    (via,) = (path for path in BOTH if path == way)
    settings = _settings(url, Path(workspace), via)
    result = mine_one(settings, repo, Reporter(quiet=True))
    sys.exit(0 if result.coverage and result.coverage.complete and not result.failure else 3)


def command_line(twin: Twin, workspace: Path, *options: str) -> Done:
    """Run `mine` as people do, but with a single try for each request."""
    workspace.mkdir(exist_ok=True)
    (workspace / "goldpan.toml").write_text("retries = 1\n", encoding="utf-8")
    common = ["--workspace", str(workspace), "--api-url", twin.url]
    environment = {**os.environ, "GITHUB_TOKEN": TOKEN}
    done = goldpan(*common, *options, environment=environment, program=MINE)
    assert "Traceback" not in done.err
    assert TOKEN not in done.out + done.err
    return done


def coverage_of(mined: MineResult) -> Coverage:
    """Return how complete a mined repository is."""
    assert mined.coverage is not None
    return mined.coverage


def gaps_of(mined: MineResult) -> list[tuple[int | None, str, str]]:
    """Return number, part and state of what a mined repository lacks."""
    return [(gap.number, gap.part, gap.state) for gap in coverage_of(mined).gaps]


def table_bytes(workspace: Path, repo: str = SLUICE) -> Tables:
    """Return each table's file."""
    lab = WorkspaceLayout(workspace)
    return {table.name: lab.table(repo, table.name).read_bytes() for table in MINED}


def rows(workspace: Path, table: str, repo: str = SLUICE, rules: str = "default") -> list[Row]:
    """Return a table's rows, times as texts; of pairs those by `rules`."""
    records = pq.read_table(WorkspaceLayout(workspace, rules).table(repo, table)).to_pylist()
    return [{name: _plain(value) for name, value in row.items()} for row in records]


def rows_of(tables: Tables, table: str) -> list[Row]:
    """Return the rows of a table that `table_bytes` read."""
    records = pq.read_table(io.BytesIO(tables[table])).to_pylist()
    return [{name: _plain(value) for name, value in row.items()} for row in records]


def assert_same(actual: Tables, expected: Tables) -> None:
    """Check that tables are equal byte for byte; else tell the first rows that differ."""
    for name in expected:
        if actual[name] != expected[name]:
            assert_rows(rows_of(actual, name), rows_of(expected, name), name)
            raise AssertionError(f"{name}: the same rows in other bytes")
    assert actual.keys() == expected.keys()


def assert_current(actual: Tables, expected: Tables) -> None:
    """Check that updated tables are those of a fresh mine.

    What was announced of a list is left aside: REST tells it of single pull requests alone, and
    a run since a date of no whole list.
    """
    assert_same({**actual, "ledger": b""}, {**expected, "ledger": b""})
    have, want = rows_of(actual, "ledger"), rows_of(expected, "ledger")
    for row in (*have, *want):
        del row["announced"]
    assert_rows(have, want, "ledger")


def assert_rows(actual: list[Row], expected: list[Row], what: str) -> None:
    """Check that rows are equal, and tell those that are not in few words."""
    if actual == expected:
        return
    have, want = set(map(repr, actual)), set(map(repr, expected))
    surplus = [row for row in actual if repr(row) not in want]
    lacking = [row for row in expected if repr(row) not in have]
    if surplus and lacking:
        pairs = [(name, surplus[0][name], lacking[0].get(name)) for name in surplus[0]]
        differ = [pair for pair in pairs if pair[1] != pair[2]]
        raise AssertionError(f"{what}: {len(surplus)} rows differ, first {surplus[0]} in {differ}")
    raise AssertionError(f"{what}: too many {surplus[:2]}, missing {lacking[:2]}, or their order")


def seen_by_both(tables: Tables) -> dict[str, list[Row]]:
    """Return all rows without what only one of the two APIs can tell."""
    seen = {name: rows_of(tables, name) for name in tables if name != "edits"}
    for table, column in ONE_PATH_ONLY:
        for row in seen[table]:
            del row[column]
    seen["references"] = [
        row
        for row in seen["references"]
        if row["signal"] not in GRAPHQL_ONLY
        and not (row["signal"] == "closed_by" and row["commit_sha"] is None)
    ]
    return seen


def assert_alike(first: Tables, second: Tables, without: str = "") -> None:
    """Check that two APIs' tables tell the same where both can see, a signal left aside."""
    left, right = seen_by_both(first), seen_by_both(second)
    for seen in (left, right):
        seen["references"] = [row for row in seen["references"] if row["signal"] != without]
    for name in left:
        assert_rows(left[name], right[name], name)


def archive(workspace: Path, repo: str = SLUICE) -> Archive:
    """Open a repository's archive."""
    return Archive(WorkspaceLayout(workspace).raw(repo))


def keys_kept_twice(workspace: Path, repo: str = SLUICE) -> list[str]:
    """Return the keys that more than one archived reply answers."""
    seen: set[str] = set()
    repeated = []
    for record in archive(workspace, repo).records:
        for key in record.meta["keys"]:
            if key in seen:
                repeated.append(key)
            seen.add(key)
    return repeated


@cache
def undisturbed(via: Via) -> Tables:
    """Return the tables of the synthetic world, mined with nothing in the way."""
    return table_bytes(_mined_once(f"mined-{via}", synthetic_world, via=via))


def copy_mined(workspace: Path, via: Via = "graphql") -> None:
    """Make a workspace in which the synthetic world was mined before, with nothing in the way."""
    copy_mined_once(workspace, f"mined-{via}", synthetic_world, via=via)


def copy_mined_once(workspace: Path, name: str, world: Callable[[], World], **options: Any) -> None:
    """Make a workspace in which a world was mined before, by the first process that asks."""
    shutil.copytree(_mined_once(name, world, **options), workspace, dirs_exist_ok=True)


def _mined_once(name: str, world: Callable[[], World], **options: Any) -> Path:
    def make(folder: Path) -> None:
        with Twin(world()) as twin:
            assert coverage_of(mine_twin(twin, folder, **options)).complete

    return made_once(name, make)


def operations(requests: Iterable[Request]) -> dict[str, int]:
    """Count requests by GraphQL operation, or by the kind of REST path."""
    counts: dict[str, int] = {}
    for request in requests:
        path = request.path.partition("?")[0]
        words = [word for word in path.split("/") if word and not word.isdigit()]
        name = request.operation or "/".join(words)
        counts[name] = counts.get(name, 0) + 1
    return counts


def _plain(value: Any) -> Any:
    if hasattr(value, "isoformat"):
        return value.strftime("%Y-%m-%dT%H:%M:%SZ")
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    return value
