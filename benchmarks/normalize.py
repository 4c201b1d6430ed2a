"""Speed of `normalize` and `pair` on a real repository's replies repeated under new numbers.

The limit beside it is what merely unpacking and parsing the same replies takes on one core.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from pathlib import Path

import orjson

from benchmarks.scale import base_world, mine_world, repeat, scratch
from goldpan.core.storage.archive import Archive
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.core.terminal import Reporter
from goldpan.miners.pairing import find_rules, pair
from goldpan.miners.tables.normalize import normalize

SIZES = (10_000, 100_000)
WORKERS = 2


def run(root: Path, repo: str) -> None:
    """Normalize and pair one workspace and print figures as JSON; a process of its own."""
    workspace = WorkspaceLayout(root)
    started = time.perf_counter()
    rows = normalize(workspace, repo, Reporter(quiet=True), workers=WORKERS)
    normalized = time.perf_counter()
    result = pair(workspace, repo, find_rules("default"))
    paired = time.perf_counter()
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    child = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    figures = {
        "entries": rows["entries"],
        "rows": sum(rows.values()),
        "pairs": result.pairs,
        "normalize": normalized - started,
        "pair": paired - normalized,
        "peak_mb": (own + WORKERS * child) / 1024,  # all processes at their peaks at once
    }
    sys.stdout.write(json.dumps(figures))


def main() -> None:
    """Measure each size and print the table."""
    with scratch() as base_directory:
        base = WorkspaceLayout(Path(base_directory))
        repo = mine_world(base_world(), base.root).repo
        totals: list[float] = []
        print(f"{repo} repeated; normalize with {WORKERS} processes")
        for size in SIZES:
            with scratch() as directory:
                workspace = WorkspaceLayout(Path(directory))
                repeat(base, repo, workspace, size)
                limit, megabytes = _parse_alone(workspace, repo)
                done = subprocess.run(
                    [sys.executable, "-m", "benchmarks.normalize", directory, repo],
                    check=True,
                    stdout=subprocess.PIPE,
                )
                figures = json.loads(done.stdout)
            seconds = figures["normalize"] + figures["pair"]
            totals.append(seconds)
            print(
                f"{figures['entries']:>8,} entries {figures['rows']:>10,} rows "
                f"{megabytes:>7,.0f} MB  normalize {figures['normalize']:6.1f} s  "
                f"pair {figures['pair']:5.1f} s  {figures['entries'] / seconds:8,.0f} entries/s  "
                f"{megabytes / figures['normalize']:5.0f} MB/s  "
                f"peak {figures['peak_mb']:6,.0f} MB  {figures['pairs']:,} pairs  "
                f"{seconds / limit:4.1f} x parsing alone on one core"
            )
        print(f"time ratio {SIZES[1]:,} to {SIZES[0]:,}: {totals[1] / totals[0]:.1f}")


def _parse_alone(workspace: WorkspaceLayout, repo: str) -> tuple[float, float]:
    records = Archive(workspace.raw(repo)).records
    started = time.perf_counter()
    total = 0
    for record in records:
        body = record.read()
        total += len(body)
        if body:
            orjson.loads(body)
    return time.perf_counter() - started, total / 1e6


if __name__ == "__main__":
    if len(sys.argv) == 3:
        run(Path(sys.argv[1]), sys.argv[2])
    else:
        main()
