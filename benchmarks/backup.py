"""Speed of `goldpan mine --from-backup`: from JSON lines to tables, with two processes.

The real repository's backup is repeated under new numbers; without the real data, entries of
about its shape are made up. The limit beside it is what merely parsing the same lines takes on
one core.
"""

from __future__ import annotations

import lzma
import os
import re
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import orjson

from benchmarks.scale import REPO, real_backup, scratch

PARTIAL = 3
"""The exit code that says that something is missing."""

ENTRIES = 30_000
WORKERS = 2
WANTED = 2_000  # entries a second
WANTED_MB = 500
_SELDOM = 10  # ticks: asking for proportional sizes every time takes 3% of the machine

_NUMBER = re.compile(rb'("number":|/issues/|/pulls?/|(?<![\w&])#)(\d{1,6})\b')


@dataclass(frozen=True, slots=True)
class Run:
    """What one import took: seconds by the clock and of processors, MB of all its processes."""

    clock: float
    processor: float
    resident: float
    proportional: float
    """With pages that several processes share counted once."""


def write_lines(path: Path, base: list[bytes], entries: int) -> int:
    """Write at least so many entries, the given ones over and over, and return their number."""
    step = (len(base) // 1_000 + 2) * 1_000
    copies = -(-entries // len(base))
    with path.open("wb") as file:
        for copy in range(copies):
            for line in base:
                file.write(_shift(line, copy * step) + b"\n")
        file.flush()
        os.fsync(file.fileno())  # else the system writes it to disk while the import is measured
    return copies * len(base)


def _shift(line: bytes, offset: int) -> bytes:
    return _NUMBER.sub(lambda match: match[1] + str(int(match[2]) + offset).encode(), line)


def base_lines() -> list[bytes]:
    """Return the real backup's lines, or made-up ones without the real data."""
    path = real_backup()
    if path is not None:
        return lzma.decompress(path.read_bytes()).splitlines()
    return [orjson.dumps(_made_up(number)) for number in range(1, 1_826)]


def _made_up(number: int) -> dict[str, Any]:
    """Return an entry with as many events and bytes as the real ones have on average."""
    at = "2024-03-01T10:00:00Z"
    person = {
        "login": f"person{number % 40}",
        "id": number % 40 + 1,
        "type": "User",
        **{f"link{i}_url": f"https://api.github.com/users/person{i}" for i in range(12)},
    }
    common = {"user": person, "created_at": at, "updated_at": at, "author_association": "NONE"}
    text = f"I looked at this again, see #{max(1, number - 3)}, and `it` turns.\n\n" * 12
    kind = "pull" if number % 3 else "issue"
    item: dict[str, Any] = {"number": number, "title": f"Wheel {number}", "state": "open"}
    item |= {"body": text, "comments": 5, **common}
    if kind == "pull":
        item |= {name: {"ref": "main", "sha": "a" * 40} for name in ("head", "base")}
        item["body"] += f"Fixes #{max(1, number - 1)}"
    written = {"event": "commented", "body": text, **common}
    done = {"event": "subscribed", "actor": person, "created_at": at}
    review = {"path": "wheel.py", "body": text, "diff_hunk": "+ turns\n" * 60, **common}
    return {
        "type": kind,
        kind: item,
        "events": [{"id": i, **(done if i % 4 else written)} for i in range(20)],
        "comments": [{"id": i, **review} for i in range(7 if kind == "pull" else 0)],
    }


def watch(process: subprocess.Popen[bytes]) -> Run:
    """Wait for a process and measure it with all that it starts."""
    before = os.times()
    started = time.perf_counter()
    resident = proportional = 0.0
    seen: dict[int, float] = {}
    for tick in count():
        if process.poll() is not None:
            break
        family = list(_family(process.pid))
        resident = max(resident, sum(map(_resident, family)))
        seen |= {pid: max(seen.get(pid, 0.0), _processor(pid)) for pid in family}
        if tick % _SELDOM == 0:
            proportional = max(proportional, sum(map(_proportional, family)))
        time.sleep(0.1)
    clock = time.perf_counter() - started
    if process.returncode not in (0, PARTIAL):
        raise SystemExit(f"the import ended with {process.returncode}")
    usage = os.times()
    user = usage.children_user - before.children_user
    system = usage.children_system - before.children_system
    # Nobody waits for the processes of Ray, so the system adds theirs to no parent's.
    processor = max(user + system, sum(seen.values()))
    return Run(clock, processor, resident, proportional)


def _family(pid: int) -> Iterator[int]:
    yield pid
    try:
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
        children = " ".join((task / "children").read_text() for task in tasks)
    except OSError:  # it ended meanwhile
        return
    for child in children.split():
        yield from _family(int(child))


def _processor(pid: int) -> float:
    """Return a process's seconds of processors, zero when it ended meanwhile."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _resident(pid: int) -> float:
    """Return a process's resident MB, zero when it ended meanwhile."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except OSError:
        return 0.0
    return pages * resource.getpagesize() / (1 << 20)


def _proportional(pid: int) -> float:
    """Return a process's MB with shared pages counted once; the system walks all of them for it."""
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return 0.0
    size = re.search(r"^Pss:\s+(\d+) kB", text, re.MULTILINE)
    return int(size[1]) / 1024 if size else 0.0


def parse_alone(path: Path) -> float:
    """Return the processor seconds that only parsing the lines takes."""
    started = time.process_time()
    with path.open("rb") as lines:
        for line in lines:
            orjson.loads(line)
    return time.process_time() - started


def take(source: Path, workspace: Path) -> Run:
    """Import a backup with as many processes as are wanted, and measure that."""
    workspace.mkdir()
    (workspace / "goldpan.toml").write_text(f"workers = {WORKERS}\n")
    program = Path(sys.executable).with_name("goldpan")
    options = ("--repo", REPO, "--from-backup", str(source), "--workspace", str(workspace))
    # A program that is installed does not compile itself anew in each process.
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    command = [str(program), "mine", *options]
    return watch(subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environment))


def main() -> None:
    """Measure and print."""
    base = base_lines()
    with scratch() as directory:
        source = Path(directory) / "entries.jsonl"
        entries = write_lines(source, base, ENTRIES)
        megabytes = source.stat().st_size / 1e6
        limit = parse_alone(source)
        print(
            f"{entries:,} entries, {megabytes:,.0f} MB of JSON lines; {os.cpu_count()} cores, "
            f"load {os.getloadavg()[0]:.1f}; orjson alone: {limit:.1f} s, "
            f"{entries / limit:,.0f} entries/s on one core"
        )
        few = Path(directory) / "few.jsonl"
        few.write_bytes(b"\n".join(base[:10]))
        take(few, Path(directory) / "before")  # compiles what was changed since
        run = take(source, Path(directory) / "workspace")
    print(
        f"to tables with {WORKERS} processes: {run.clock:.1f} s by the clock "
        f"({entries / run.clock:,.0f} entries/s, wanted {WANTED:,}; {megabytes / run.clock:.0f} "
        f"MB/s), {run.processor:.1f} s of processors ({entries / run.processor:,.0f} entries/s); "
        f"{run.processor / limit:.1f} x the processor time of orjson alone; peak "
        f"{run.resident:,.0f} MB (wanted {WANTED_MB}), {run.proportional:,.0f} MB with shared "
        "pages counted once"
    )


if __name__ == "__main__":
    main()
