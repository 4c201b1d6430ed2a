"""Cost of mining over HTTP: requests, points, time and memory, beside a crawl entry by entry.

The server is the local GitHub of the tests in a process of its own. The crawl that is compared
against asks REST, as most tools do, for each issue's comments and timeline and for each pull
request's details, comments, reviews, review comments, files and timeline; its requests are
counted, and its time is that of Goldpan's own REST path scaled by them.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

from benchmarks.scale import FAST, REPO, mine_one, scratch
from goldpan.core.settings.config import Settings, Via
from goldpan.core.storage.archive import Archive
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.core.terminal import Reporter
from goldpan.miners.github.limits import Flow
from goldpan.miners.mine import MineResult, mine
from goldpan.miners.tables.normalize import normalize
from tests.twin import Fault, Faults, Limits, Twin, workload_world

_WORKLOAD = "workload/mill"


@contextmanager
def served(*arguments: str) -> Iterator[str]:
    """Serve a local GitHub in a process of its own and give its address."""
    command = [sys.executable, "-m", "tests.twin", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().split()[-1]
        finally:
            process.terminate()


def measure(url: str, repo: str, via: Via) -> MineResult:
    """Mine a repository into a scratch workspace and print what it took."""
    with scratch() as directory:
        settings = Settings(Path(directory), api_url=url, tokens=("benchmark",), via=via, workers=1)
        result = mine_one(settings, repo)
        again = mine_one(settings, repo)
        workspace = WorkspaceLayout(Path(directory))
        size = sum(record.size for record in Archive(workspace.raw(repo)).records) / 1e6
        started = time.perf_counter()
        normalize(workspace, repo, Reporter(quiet=True), workers=1)
        speed = size / (time.perf_counter() - started)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"  {via:<8} {result.requests:>6,} requests {result.points:>4,} points "
        f"(predicted {result.predicted.requests:,}) {result.seconds:6.1f} s; "
        f"update {again.requests:>5,} requests {again.points:>3,} points {again.seconds:5.1f} s; "
        f"normalize {speed:4.0f} MB/s; peak so far {peak:,.0f} MB"
    )
    return result


def compare(name: str, url: str, repo: str) -> None:
    """Measure both paths on one repository and print the ratio to a crawl entry by entry."""
    print(name)
    graphql = measure(url, repo, "graphql")
    rest = measure(url, repo, "rest")
    counts = {count.kind: count.stored for count in rest.coverage.counts} if rest.coverage else {}
    issues, pulls = counts["issues"], counts["pulls"]
    single = (issues + pulls) // 100 + 1 + 2 * issues + 6 * pulls
    print(
        f"  entry by entry {single:,} requests: {single / graphql.requests:.0f} x GraphQL, "
        f"{single / rest.requests:.1f} x REST; about "
        f"{single * rest.seconds / rest.requests / graphql.seconds:.1f} x the time of GraphQL"
    )


class FixedFlow(Flow):
    """A gate of one width, whatever GitHub answers."""

    def __init__(self, most: int) -> None:
        super().__init__(most)
        self.width = float(most)

    def eased(self) -> None:
        """Let nothing change."""

    def choked(self) -> None:
        """Let nothing change."""


def compare_flow() -> None:
    """Print what following GitHub's answers costs beside a fixed two requests at once.

    The server takes 50 ms for a request. A strict one refuses a second request at once with a
    secondary limit, as GitHub does now and then.
    """
    print("Requests at once: following the answers against a fixed two (REST, 50 ms a request)")
    for what, at_once in (("patient server", 100), ("strict server", 1)):
        for name, kind, most in (("fixed two", FixedFlow, 2), ("following", Flow, 4)):
            slow = Faults(chosen=[Fault("late", wait=0.05)])
            limits = Limits(concurrency=at_once, retry_after=1)
            world = workload_world(issues=100, pulls=100)
            with (
                Twin(world, slow, limits) as twin,
                scratch() as directory,
                patch("goldpan.miners.github.client.Flow", kind),
            ):
                settings = Settings(
                    Path(directory),
                    api_url=twin.url,
                    tokens=("benchmark",),
                    via="rest",
                    concurrency=most,
                    workers=1,
                )
                result = mine_one(settings, _WORKLOAD)
                refused = len([r for r in twin.requests if r.status == 403])
            print(
                f"  {what}, {name:<9} {result.requests:>4,} requests, {refused:>3} refused, "
                f"{result.seconds:5.1f} s"
            )


def compare_at_once(count: int, tokens: int, latency: float = 0.35) -> None:
    """Print what mining small repositories at once gains beside one after another.

    A reply takes `latency` seconds, what predictions take a request of GitHub's to take. At most
    four requests are in flight either way, and a token's answers may take a minute a minute.
    """
    print(f"{count} small repositories, {latency:.2f} s a reply, GraphQL, tokens: {tokens}")
    names = [f"workload/mill-{index}" for index in range(count)]
    secrets = tuple(f"benchmark-{number}" for number in range(tokens))
    seconds = []
    with served("--mills", str(count), "--latency", str(latency)) as url:
        for what, at_once in (("one after another", 1), ("at once", 8)):
            with scratch() as directory:
                settings = Settings(
                    Path(directory), secrets, api_url=url, at_once=at_once, workers=1
                )
                started = time.perf_counter()
                results = mine(settings, names, Reporter(quiet=True), FAST)
                seconds.append(time.perf_counter() - started)
            mined = [result for result in results.values() if isinstance(result, MineResult)]
            requests = sum(result.requests for result in mined)
            print(f"  {what:<17} {requests:>5,} requests, {seconds[-1]:6.1f} s")
    print(f"  {seconds[0] / seconds[1]:.1f} x as fast at once")


def main() -> None:
    """Measure the workload and, where it is present, the real repository."""
    with served("--workload", "1000") as url:
        compare("1,000 issues with 4 comments, 1,000 pulls with 3 review comments", url, _WORKLOAD)
    compare_flow()
    for count, tokens in ((8, 1), (16, 1), (16, 4)):
        compare_at_once(count, tokens)
    folder = Path(os.environ.get("GOLDPAN_REAL_DATA", "../shared/data"))
    backup = folder / "github" / "bitcoin-core__secp256k1" / "entries.jsonl.xz"
    if backup.exists():
        with served("--backup", str(backup), "--repo", REPO) as url:
            compare(REPO, url, REPO)


if __name__ == "__main__":
    main()
