"""Speed of `goldpan mine gharchive` on made-up hours with the shapes and sizes of real ones.

Beside it stand `gzip -dc` of the same file alone, which no reader can beat that uses gzip, and a
plain loop of gzip and orjson over its lines. All take turns on the same machine, each in a
process of its own; the best turn of each counts, by the clock and by processor time.
"""

from __future__ import annotations

import gzip
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import orjson

from benchmarks.scale import scratch
from goldpan.miners.gharchive.reading import HourUnit, read_hour
from goldpan.miners.gharchive.store import file_name, hours_between
from tests.gharchive_hours import Hours, utc, write_hour

HOUR = utc(2022, 1, 1)
PACKED = 100_000_000
ROUNDS = 3
MANY = 24
NINE_MONTHS = len(hours_between("2022-01-01", "2022-09-30"))


@dataclass(frozen=True, slots=True)
class Turn:
    """What one turn took; seconds, and MB at the peak."""

    clock: float
    processor: float
    peak: float


def write_hours(folder: Path) -> tuple[int, int]:
    """Write an hour of about `PACKED` bytes and link it under other names; return MB and lines."""
    size = count = 0
    path = folder / file_name(HOUR)
    with path.open("wb") as raw, gzip.GzipFile("", "wb", 6, raw, mtime=0) as packed:
        for line in Hours(1, people=4_000, repos=3_000).lines(HOUR):
            packed.write(line + b"\n")
            size += len(line) + 1
            count += 1
            if raw.tell() >= PACKED:
                break
    for index in range(1, MANY):
        (folder / file_name(HOUR + timedelta(hours=index))).hardlink_to(path)
    return size, count


def loop(path: Path) -> None:
    """Parse every line and keep nothing."""
    with gzip.open(path) as lines:
        for line in lines:
            orjson.loads(line)


def read(path: Path, types: str) -> None:
    """Read an hour as the command does."""
    with scratch() as home:
        report = read_hour(HourUnit(HOUR, Path(home), tuple(types.split(",")), path))
        assert report.state == "whole"
        assert report.events


def warm_up() -> None:
    """Read a few events, so that importing does not count: a process reads many hours."""
    with scratch() as home:
        path = write_hour(Path(home) / "few.json.gz", Hours(2, people=9, repos=9).lines(HOUR, 99))
        read(path, "IssuesEvent,PushEvent")


def mine(folder: Path, processes: str) -> None:
    """Run the command over all hours of the folder with so many processes."""
    days = ("--from", f"{HOUR:%Y-%m-%d}", "--to", f"{HOUR:%Y-%m-%d}", "--source", str(folder))
    with scratch() as home:
        options = ("--workspace", home, "--workers", processes, "--json")
        code = "from goldpan.cli import mine_main; mine_main()"
        done = subprocess.run(
            [sys.executable, "-c", code, "gharchive", *days, *options],
            check=True,
            stdout=subprocess.PIPE,
        )
    assert json.loads(done.stdout)["states"] == {"whole": MANY}


def unpack(path: Path, at_once: str) -> None:
    """Unpack a file with gzip, several times at once."""
    command = ["gzip", "-dc", str(path)]
    running = [subprocess.Popen(command, stdout=subprocess.DEVNULL) for _ in range(int(at_once))]
    codes = [process.wait() for process in running]
    assert codes == [0] * len(running)


def own(name: str, path: Path, option: str = "") -> Turn:
    """Run one of this file's functions in a process of its own."""
    arguments = ["-m", "benchmarks.gharchive", name, str(path), option]
    done = subprocess.run(
        [sys.executable, *arguments], check=True, stdout=subprocess.PIPE, text=True
    )
    return Turn(*json.loads(done.stdout))


def best(turns: Sequence[Turn]) -> Turn:
    """Return the best clock, the best processor time and the highest peak."""
    return Turn(
        min(turn.clock for turn in turns),
        min(turn.processor for turn in turns),
        max(turn.peak for turn in turns),
    )


def main() -> None:
    """Measure and print."""
    with scratch() as directory:
        folder = Path(directory)
        size, lines = write_hours(folder)
        path = folder / file_name(HOUR)
        print(
            f"an hour of {path.stat().st_size / 1e6:.0f} MB, {size / 1e6:,.0f} MB unpacked, "
            f"{lines:,} events; {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
        )
        runs: dict[str, Callable[[], Turn]] = {
            "gzip -dc": lambda: own("unpack", path, "1"),
            "2 x gzip -dc": lambda: own("unpack", path, "2"),
            "orjson loop": lambda: own("loop", path),
            "IssuesEvent": lambda: own("read", path, "IssuesEvent"),
            "three types": lambda: own(
                "read", path, "IssueCommentEvent,IssuesEvent,PullRequestEvent"
            ),
            "1 process": lambda: own("mine", folder, "1"),
            "2 processes": lambda: own("mine", folder, "2"),
        }
        turns: dict[str, list[Turn]] = {name: [] for name in runs}
        for _ in range(ROUNDS):
            for name, run in runs.items():
                turns[name].append(run())
        fastest = {name: best(times) for name, times in turns.items()}
        for name, turn in fastest.items():
            total = size * (MANY if "process" in name else 2 if "2 x" in name else 1) / 1e6
            print(
                f"{name:<12} {turn.clock:6.2f} s {total / turn.clock:6,.0f} MB/s by the clock, "
                f"{turn.processor:6.2f} s {total / turn.processor:6,.0f} MB/s of one core, "
                f"peak {turn.peak:5,.0f} MB"
            )
        summary(fastest)


def summary(fastest: dict[str, Turn]) -> None:
    """Print the ratios that matter, and what nine months of 2022 would take."""
    reading, limit, plain = (fastest[name] for name in ("IssuesEvent", "gzip -dc", "orjson loop"))
    print(
        f"of gzip's limit: {limit.clock / reading.clock:.0%} by the clock, "
        f"{limit.processor / reading.processor:.0%} of one core; times the orjson loop: "
        f"{plain.clock / reading.clock:.2f} by the clock, "
        f"{plain.processor / reading.processor:.2f} of one core"
    )
    single, double = fastest["1 process"], fastest["2 processes"]
    two_gzips = 2 * limit.clock / fastest["2 x gzip -dc"].clock
    print(
        f"two processes over {MANY} hours: {single.clock / double.clock:.2f} x one by the clock, "
        f"{2 * single.processor / double.processor:.2f} by processor time, which other work on the "
        f"machine does not change (two gzip -dc at once: {two_gzips:.2f} x one by the clock)"
    )
    total = NINE_MONTHS * double.clock / MANY
    print(
        f"{NINE_MONTHS:,} hours of {PACKED / 1e6:.0f} MB, January to September 2022: "
        f"{total / 3_600:.1f} h on this machine with 2 processes, "
        f"{total / 32 / 60:.1f} min on 32 like it"
    )


def _alone(name: str, path: Path, option: str) -> None:
    work: dict[str, Callable[[], None]] = {
        "unpack": lambda: unpack(path, option),
        "loop": lambda: loop(path),
        "read": lambda: read(path, option),
        "mine": lambda: mine(path, option),
    }
    warm_up()
    begun = _processor()
    started = time.perf_counter()
    work[name]()
    clock = time.perf_counter() - started
    ours, theirs = (resource.getrusage(who).ru_maxrss for who in _WHO)
    several = int(option) if name == "mine" else 0
    peak = (several + (several > 1)) * theirs if several else ours  # all at their peaks at once
    sys.stdout.write(json.dumps([clock, _processor() - begun, peak / 1024]))


_WHO = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)


def _processor() -> float:
    return sum(used.ru_utime + used.ru_stime for used in map(resource.getrusage, _WHO))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        _alone(sys.argv[1], Path(sys.argv[2]), sys.argv[3])
    else:
        main()
