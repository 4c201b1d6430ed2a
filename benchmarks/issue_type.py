"""Issue-type datasets out of hours of GH Archive: rows a second and memory, beside plain pandas.

The hours are made up: English words, lengths of bodies log-normal around 1 KB, every tenth issue
says nearly what an earlier one says, labels as they are spread in NLBSE'23. The pandas script keeps
what the profile nlbse23 keeps, in memory, and records nothing; the default profile also removes
repeated closings, finds near duplicates among all rows, and makes private data unreadable::

    python -m benchmarks.issue_type [--closings 100000]
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

PEER = Path(__file__).with_name("issue_type_pandas.py")
AN_HOUR = 2_000
START = datetime(2022, 1, 1, tzinfo=UTC)
LABELS: tuple[tuple[list[str], int], ...] = (
    (["bug"], 30),
    (["Type: Bug", "p1"], 10),
    (["enhancement"], 22),
    (["feature request"], 6),
    (["question"], 5),
    (["documentation"], 4),
    (["bug", "enhancement"], 3),
    (["stale"], 10),
    ([], 10),
)
_ENGLISH = """
the of to and in is that it for not be on with this when are from have as or an if we can will
would should but after there use file error version code issue add data message test window button
click open close read write large value list name user server client update expected actual steps
reproduce option support please problem works does what which how
"""
COMMON = _ENGLISH.split()


@dataclass(frozen=True, slots=True)
class Taken:
    """What a program took."""

    rows: int
    seconds: float
    processor: float
    """Seconds, of all its processes."""
    peak_mb: float


class Issues:
    """Made-up issues; the seed decides all."""

    def __init__(self, seed: int = 0) -> None:
        self._chance = random.Random(seed)
        letters = "abcdefghijklmnopqrstuvwxyz"
        self._rare = ["".join(self._chance.choices(letters, k=8)) for _ in range(20_000)]
        self._earlier: list[list[str]] = []
        self._kinds, self._weights = zip(*LABELS, strict=True)

    def hour(self, hour: datetime, first: int) -> pa.Table:
        """Return an hour's shard with the columns that Goldpan and pandas read."""
        rows = [self._closing(hour, first + line, line) for line in range(1, AN_HOUR + 1)]
        return pa.Table.from_pylist(rows)

    def _closing(self, hour: datetime, number: int, line: int) -> dict[str, Any]:
        chance = self._chance
        (labels,) = chance.choices(self._kinds, self._weights)
        at = hour + timedelta(seconds=line % 3_600)
        return {
            "hour": hour,
            "line": line,
            "event_id": str(20_000_000_000 + number),
            "type": "IssuesEvent",
            "action": "closed",
            "at": at,
            "repo": f"owner{number % 9_973}/project{number % 7}",
            "number": number,
            "issue_id": number,
            "kind": "issue",
            "title": " ".join(chance.choices(COMMON, k=8)),
            "body": self._body(),
            "labels": labels,
            "author_association": "NONE",
            "created_at": at - timedelta(days=chance.randrange(1, 400)),
            "closed_at": at,
        }

    def _body(self) -> str:
        chance = self._chance
        if self._earlier and chance.random() < 0.1:
            words = list(chance.choice(self._earlier))
            words[chance.randrange(len(words))] = chance.choice(self._rare)
        else:
            count = min(8_000, max(5, int(chance.lognormvariate(4.6, 0.9))))
            words = [
                chance.choice(COMMON if chance.random() < 0.8 else self._rare) for _ in range(count)
            ]
            if len(self._earlier) < 5_000:
                self._earlier.append(words)
        return " ".join(words)


def write_hours(workspace: Path, closings: int) -> int:
    """Write hours with so many closings; return the bytes of their texts."""
    directory = workspace / "gharchive"
    directory.mkdir(parents=True)
    issues, size = Issues(), 0
    for count in range(-(-closings // AN_HOUR)):
        hour = START + timedelta(hours=count)
        table = issues.hour(hour, count * AN_HOUR)
        size += table["body"].nbytes + table["title"].nbytes
        pq.write_table(table, directory / f"{hour:%Y-%m-%d}-{hour.hour}.parquet")
    return size


def programs(workspace: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield what is measured: a name and a command."""
    (workspace / "pandas").mkdir()
    yield "pandas", [sys.executable, str(PEER), f"{workspace}/gharchive", f"{workspace}/pandas"]
    for profile, processes in (("nlbse23", 1), ("nlbse23", 2), ("default", 1), ("default", 2)):
        yield (
            f"goldpan {profile}, {processes} process{'es' if processes > 1 else ''}",
            [
                *(sys.executable, "-c", "from goldpan.cli import main; main()"),
                *("build", "issue-type", "--json", "--profile", profile),
                *("--workspace", str(workspace), "--workers", str(processes)),
            ],
        )


def measure(command: list[str]) -> Taken:
    """Run a command alone; its peak is that of the process that reads the results."""
    begun = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{command} failed")
    value = json.loads(output)
    rows = value if isinstance(value, int) else sum(value["built"]["labels"].values())
    processor = usage.ru_utime + usage.ru_stime
    return Taken(rows, time.monotonic() - begun, processor, usage.ru_maxrss / 1024)


def main() -> None:
    """Print what each program takes, beside pandas."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--closings", type=int, default=100_000)
    closings = parser.parse_args().closings
    with tempfile.TemporaryDirectory() as directory:
        workspace = Path(directory)
        size = write_hours(workspace, closings)
        print(f"{closings:,} closings of issues, {size / 1e6:,.0f} MB of text")
        peer: Taken | None = None
        for name, command in programs(workspace):
            taken = measure(command)
            peer = peer or taken
            print(
                f"{name:32} {taken.rows:>9,} rows {taken.seconds:7.1f} s "
                f"{closings / taken.seconds:9,.0f} closings/s "
                f"({peer.seconds / taken.seconds:.2f} x pandas), processor "
                f"{taken.processor:6.1f} s {taken.peak_mb:7,.0f} MB"
            )


if __name__ == "__main__":
    main()
