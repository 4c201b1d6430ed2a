"""Writes hours of GH Archive as Goldpan keeps them, with closings of issues in them."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from goldpan.core.schemas.mined import ENTRIES, REPOSITORIES
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.miners.gharchive.events import ARCHIVE_EVENTS
from tests.table_rows import put_rows, put_table

START = datetime(2022, 1, 1, tzinfo=UTC)
_ENGLISH = (
    "the a window of river gold pan sieve opens closes when user clicks button after update "
    "crash error expected actual behavior steps reproduce version machine please add option "
    "support for reading large files with many columns it would be nice to have this"
)
WORDS = _ENGLISH.split()


def closing(number: int, /, **changes: Any) -> dict[str, Any]:
    """Return an event that closes an issue with the label bug; `changes` overrides columns."""
    event = dict.fromkeys(ARCHIVE_EVENTS.schema.names) | {
        "event_id": str(10_000_000_000 + number),
        "type": "IssuesEvent",
        "action": "closed",
        "repo": "sluice/sieve",
        "repo_id": 1,
        "number": number,
        "issue_id": 1_000_000 + number,
        "kind": "issue",
        "title": f"The window {number} does not open",
        "body": text(number),
        "state": "closed",
        "labels": ["bug"],
        "author": "digger",
        "author_type": "user",
        "author_association": "NONE",
        "actor": "digger",
        "created_at": START - timedelta(days=30) + timedelta(minutes=number),
    }
    return event | changes


def text(seed: int, words: int = 40) -> str:
    """Return English words, other ones for another seed."""
    chance = random.Random(seed)
    return " ".join(chance.choice(WORDS) for _ in range(words)).capitalize() + "."


def write_hours(workspace: Path, hours: Mapping[int, Iterable[dict[str, Any]]]) -> None:
    """Write events by hour, counted from the start of 2022."""
    for count, events in hours.items():
        hour = START + timedelta(hours=count)
        rows = []
        for line, event in enumerate(events, 1):
            at = hour + timedelta(seconds=line % 3_600)
            times = {"hour": hour, "at": at, "updated_at": at, "closed_at": at}
            rows.append({**times, "line": line} | {k: v for k, v in event.items() if v is not None})
        path = workspace / "gharchive" / f"{hour:%Y-%m-%d}-{hour.hour}.parquet"
        put_rows(path, ARCHIVE_EVENTS.schema, rows)


def made_up_hours(hours: int, closings: int, seed: int = 0) -> dict[int, list[dict[str, Any]]]:
    """Return hours with closings of all sorts: copies, other languages, no class, comments."""
    chance = random.Random(seed)
    made: dict[int, list[dict[str, Any]]] = {}
    number = 0
    for hour in range(hours):
        made[hour] = []
        for _ in range(closings):
            number += 1
            about = chance.randrange(1, number + 1) if chance.random() < 0.2 else number
            made[hour].append(
                closing(
                    number,
                    repo=f"owner{number % 7}/project{number % 5}",
                    body=text(about, 20 + about % 60),
                    labels=chance.choice(
                        [["bug"], ["Type: Bug", "p1"], ["enhancement"], ["question"], ["docs"], []]
                    ),
                )
            )
            if chance.random() < 0.1:
                again = chance.choice(made[hour])
                made[hour].append({**again, "event_id": str(20_000_000_000 + number)})
    return made


def write_mined(workspace: Path, repo: str, license: str, entries: list[dict[str, Any]]) -> None:
    """Write the tables of a mined repository."""
    lab = WorkspaceLayout(workspace)
    times = dict.fromkeys(("created_at", "updated_at", "closed_at"), START)
    put_table(lab, repo, ENTRIES, [times | entry for entry in entries])
    put_table(lab, repo, REPOSITORIES, [{"license": license}])
