"""From replies to datasets at the size of FAUN-Eval: 30 repositories, 800,000 entries, two cores.

The real repository's replies are repeated under new numbers and in other words, its history with
them, and each stage is run by the program as a user runs it. For each stage and size this prints
the seconds of processors and by the clock, the peak memory of all its processes, and what an entry
takes beside the smallest size: 1.0 is linear. The limit beside them is what merely unpacking and
parsing the same replies takes on one core. With `--histories` only the first repositories are
cloned, and what reads the history is built of these: a clone is as long as all copies together.

    python -m benchmarks.faun_scale
    python -m benchmarks.faun_scale --sizes 80000 --directory /data/scratch
    python -m benchmarks.faun_scale --sizes 800000 --histories 5
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import orjson

from benchmarks.backup import Run, watch
from benchmarks.scale import base_world, mine_world, real_backup, scratch
from benchmarks.scale_data import REPOSITORIES, Source, mirror, repository, write_repositories
from goldpan.core.storage.archive import Archive
from goldpan.core.storage.workspace import WorkspaceLayout

SIZES = (80_000, 240_000, 800_000)
WORKERS = 2
WANTED_MINUTES = 20
WANTED_MB = 4_000
FAMILIES = ("qa", "fault-localization", "code-edit")
CLONE = "clone"
"""The stage that the wanted time does not count: most of it is git's."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What one stage took at one size."""

    stage: str
    entries: int
    run: Run

    @property
    def per_entry(self) -> float:
        """Milliseconds of processors."""
        return self.run.processor / self.entries * 1_000


def stages(
    directory: Path, repos: Sequence[str], histories: int
) -> Iterator[tuple[str, list[str]]]:
    """Yield each stage's name and the arguments of the program's call.

    The first `histories` repositories are cloned.
    """
    every, cloned = (
        [word for repo in some for word in ("--repo", repo)] for some in (repos, repos[:histories])
    )
    yield "normalize", ["normalize", *every]
    yield "pair", ["pair", *every]
    if cloned:
        yield (
            CLONE,
            ["clone", "--source", mirror(WorkspaceLayout(directory)), "--no-network", *cloned],
        )
    yield "filter", ["filter", *every]
    families = dict.fromkeys(FAMILIES, cloned) | {FAMILIES[0]: every}
    outputs = [directory / name for name, of in families.items() if of]
    for output in outputs:
        of = families[output.name]
        yield f"build {output.name}", ["build", output.name, "--output", str(output), *of]
    datasets = [word for output in outputs for word in ("--dataset", str(output))]
    yield "report", ["report", "--output", str(directory / "report.html"), *datasets, *every]


def measure(directory: Path, repositories: int, entries: int, histories: int) -> Iterator[Measured]:
    """Run the stages one after the other, and yield what each took as soon as it has ended."""
    (directory / "goldpan.toml").write_text(f"workers = {WORKERS}\n")
    program = str(Path(sys.executable).with_name("goldpan"))
    # A program that is installed does not compile itself anew in each process.
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    null = subprocess.DEVNULL
    repos = [repository(index) for index in range(repositories)]
    for stage, arguments in stages(directory, repos, histories):
        command = [program, *arguments, "--workspace", str(directory)]
        run = watch(subprocess.Popen(command, env=environment, stdout=null, stderr=null))
        yield Measured(stage, entries, run)


def _sum(runs: Sequence[Run]) -> Run:
    return Run(
        sum(run.clock for run in runs),
        sum(run.processor for run in runs),
        max(run.resident for run in runs),
        max(run.proportional for run in runs),
    )


def parse_alone(directory: Path, repositories: int) -> float:
    """Return the processor seconds that only unpacking and parsing the replies takes."""
    started = time.process_time()
    for index in range(repositories):
        for record in Archive(WorkspaceLayout(directory).raw(repository(index))).records:
            if body := record.read():
                orjson.loads(body)
    return time.process_time() - started


def show(measured: Measured, smallest: Measured) -> str:
    """Return a line about a stage, beside the same stage at the smallest size."""
    run = measured.run
    return (
        f"  {measured.stage:24} {run.processor:9.1f} s {run.clock:9.1f} s "
        f"{measured.per_entry:9.3f} ms {run.proportional:7,.0f} MB "
        f"{measured.per_entry / smallest.per_entry:6.2f}"
    )


def show_sum(measured: Sequence[Measured], limit: float) -> str:
    """Return lines about all stages but the fetching of histories."""
    counted = _sum([stage.run for stage in measured if stage.stage != CLONE])
    peak = max(stage.run.proportional for stage in measured)
    return (
        f"  all but {CLONE}: {counted.processor:,.0f} s of processors, "
        f"{counted.processor / limit:.1f} x the {limit:.1f} s of parsing alone; "
        f"{counted.clock / 60:.1f} minutes by the clock (wanted: {WANTED_MINUTES} at "
        f"{SIZES[-1]:,}); peak {peak:,.0f} MB (wanted: {WANTED_MB:,})"
    )


def run_size(
    source: Source,
    size: int,
    repositories: int,
    histories: int,
    directory: Path,
    smallest: dict[str, Measured],
) -> None:
    """Make the repositories of one size, run the stages on them, and print what each took.

    `smallest` has what the stages took at the smallest size, and is filled by that.
    """
    backup = real_backup()
    bundle = backup.with_name("repo.bundle") if backup and histories else None
    begun = time.monotonic()
    target = WorkspaceLayout(directory)
    entries = write_repositories(source, target, size, repositories, bundle, WORKERS)
    print(f"{entries:,} entries made in {(time.monotonic() - begun) / 60:.1f} minutes", flush=True)
    histories = histories if bundle else 0
    limit = parse_alone(directory, repositories)
    print(
        f"{entries:,} entries in {repositories} repositories, {histories} of them with a history; "
        f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}\n"
        f"  {'stage':24} {'processors':>11} {'clock':>11} {'an entry':>12} {'peak':>10} beside",
        flush=True,
    )
    done = []
    for measured in measure(directory, repositories, entries, histories):
        print(show(measured, smallest.setdefault(measured.stage, measured)), flush=True)
        done.append(measured)
    print(show_sum(done, limit), flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--repositories", type=int, default=REPOSITORIES)
    parser.add_argument("--histories", type=int, help="of the first so many (default: of all)")
    parser.add_argument("--directory", type=Path, help="where there is space for it")
    options = parser.parse_args(arguments)
    repositories = options.repositories
    histories = repositories if options.histories is None else options.histories
    smallest: dict[str, Measured] = {}
    with scratch() as base:
        repo = mine_world(base_world(), Path(base)).repo
        source = Source.read(WorkspaceLayout(Path(base)), repo)
        for size in options.sizes:
            made = tempfile.mkdtemp(prefix="goldpan-scale-", dir=options.directory)
            try:
                run_size(source, size, repositories, histories, Path(made), smallest)
            finally:
                shutil.rmtree(made)


if __name__ == "__main__":
    main()
