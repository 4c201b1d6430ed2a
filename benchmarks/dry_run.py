"""What a dry run of a plan takes whose repositories are not mined yet, asked at once and singly.

A local GitHub answers each request after a fixed time, as one far away would. For each number of
repositories at once this prints the requests, the most of them under way, the seconds of
processors and by the clock (waits for the limits of GitHub included), and whether the output is
the same.

    python -m benchmarks.dry_run
    python -m benchmarks.dry_run --repositories 300 --answer 0.3
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.backup import Run, watch
from benchmarks.scale import scratch
from tests.local_server import Asked
from tests.twin import Limits, Twin, mills_world
from tests.twin.server import Reply

_FREE = re.compile(r"; .* are free")


class Far(Twin):
    """A GitHub that answers each request after so many seconds."""

    def __init__(self, repositories: int, wait: float) -> None:
        limits = Limits(core=10**6, graphql=10**6)
        super().__init__(mills_world(repositories, issues=3, pulls=2), limits=limits)
        self.wait_before = wait
        self.most = 0
        self._under_way = 0
        self._counting = threading.Lock()

    def answer(self, received: Asked) -> Reply:
        """Answer late."""
        with self._counting:
            self._under_way += 1
            self.most = max(self.most, self._under_way)
        time.sleep(self.wait_before)
        try:
            return super().answer(received)
        finally:
            with self._counting:
                self._under_way -= 1


def dry_run(directory: Path, twin: Twin, repositories: int, at_once: int) -> tuple[Run, str]:
    """Run the plan dry as a user does; return what it took and what it printed."""
    listed = ", ".join(f'"workload/mill-{number}"' for number in range(repositories))
    path = directory / "plan.toml"
    path.write_text(
        f'workspace = "lab"\n[repositories]\nlisted = [{listed}]\n[mine]\nat-once = {at_once}\n',
        encoding="utf-8",
    )
    program = str(Path(sys.executable).with_name("goldpan"))
    environment = {**os.environ, "GOLDPAN_API_URL": twin.url, "GITHUB_TOKEN": "of-a-benchmark"}
    with (directory / "out").open("wb") as out:
        process = subprocess.Popen(
            [program, "run", str(path), "--dry-run"],
            env=environment,
            stdout=out,
            stderr=subprocess.DEVNULL,
        )
        run = watch(process)
    return run, _FREE.sub("", (directory / "out").read_text(encoding="utf-8"))


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repositories", type=int, default=300)
    parser.add_argument("--answer", type=float, default=0.1, help="seconds to each answer")
    options = parser.parse_args(arguments)
    printed = ""
    with scratch() as base, Far(options.repositories, options.answer) as twin:
        for at_once in (1, 8):
            twin.requests.clear()
            twin.most = 0
            run, out = dry_run(Path(base), twin, options.repositories, at_once)
            same = (
                "" if not printed else ", the same output" if out == printed else ", OTHER OUTPUT"
            )
            printed = printed or out
            print(
                f"{at_once} at once: {twin.count:,} requests, up to {twin.most} under way, "
                f"{run.processor:.1f} s of processors, {run.clock:.0f} s by the clock{same}",
                flush=True,
            )


if __name__ == "__main__":
    main()
