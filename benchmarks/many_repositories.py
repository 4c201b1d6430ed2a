"""What it takes to look at a workspace of many repositories: status, overview, a plan's dry run.

One small made-up repository is mined, paired and filtered, and its files are copied under as many
names as asked for. A plan that lists them all is given the records that running it would leave,
so that it has nothing to do. Each command is then run as a user runs it. For each this prints the
seconds of processors, and what a repository takes beyond the smallest size, in milliseconds.

    python -m benchmarks.many_repositories
    python -m benchmarks.many_repositories --repositories 300 1000
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.backup import Run, watch
from benchmarks.scale import mine_world, scratch
from goldpan.core.terminal import Reporter
from goldpan.plan.command import open_plan
from goldpan.plan.file import load_plan
from goldpan.plan.opened import open_workspace
from goldpan.plan.stages import make_units
from goldpan.workspace.workspace import Workspace
from tests.twin import workload_world

REPOSITORIES = (10, 300, 1_000)
_FOLDERS = ("raw", "tables", "verdicts")
_WHEN = "2026-01-01T00:00:00+00:00"


@dataclass(frozen=True, slots=True)
class Measured:
    """What one command took on so many repositories."""

    command: str
    repositories: int
    run: Run


def name_of(number: int) -> str:
    """Return the name of a repository."""
    return f"many-{number // 100:03}/repository-{number:05}"


def make_source(directory: Path) -> str:
    """Mine, pair and filter one small repository; return its name."""
    repo = mine_world(workload_world(issues=6, pulls=4), directory).repo
    lab = Workspace(directory, workers=1)
    lab.pair(repo)
    lab.filter(repo)
    return repo


def copy_repository(source: Path, repo: str, target: Path, names: Sequence[str]) -> None:
    """Copy what is kept of one repository under other names."""
    for name in names:
        for folder in _FOLDERS:
            shutil.copytree(source / folder / repo, target / folder / name)


def write_plan(directory: Path, repositories: int) -> Path:
    """Write a plan over all repositories, with the records of a run that did all of it."""
    listed = ",\n".join(f'  "{name_of(number)}"' for number in range(repositories))
    path = directory / "plan.toml"
    path.write_text(
        f'workspace = "."\n[repositories]\nlisted = [\n{listed},\n]\n[clone]\nenabled = false\n',
        encoding="utf-8",
    )
    file = load_plan(path)
    opened = open_plan(file, open_workspace(file), Reporter(quiet=True))
    for unit in make_units(opened):
        basis = unit.basis(unit.stage.step(unit))
        opened.keep(unit.result("done", basis=basis, at=_WHEN))
    return path


def commands(plan: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield each command's name and arguments."""
    directory = ["--workspace", str(plan.parent)]
    page = str(plan.with_name("overview.html"))
    yield "status", ["status", *directory]
    yield "status --html", ["status", "--html", page, *directory]
    yield "status --plan", ["status", "--plan", str(plan)]
    yield "run --dry-run", ["run", str(plan), "--dry-run"]
    yield "run", ["run", str(plan)]


def measure(source: Path, repo: str, directory: Path, repositories: int) -> Iterator[Measured]:
    """Make a workspace of so many repositories, run each command, and yield what it took."""
    copy_repository(source, repo, directory, [name_of(number) for number in range(repositories)])
    program = str(Path(sys.executable).with_name("goldpan"))
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    null = subprocess.DEVNULL
    for name, arguments in commands(write_plan(directory, repositories)):
        process = subprocess.Popen([program, *arguments], env=environment, stdout=null, stderr=null)
        run = watch(process)
        if process.returncode not in (0, 3):
            raise RuntimeError(f"goldpan {name} ended with {process.returncode}")
        yield Measured(name, repositories, run)


def show(measured: Measured, smallest: Measured) -> str:
    """Return a line about a command, beside the same command at the smallest size."""
    more = measured.repositories - smallest.repositories
    added = (measured.run.processor - smallest.run.processor) / more * 1_000 if more else 0.0
    return (
        f"  {measured.command:16} {measured.run.processor:8.2f} s "
        f"{added:8.2f} ms {measured.run.proportional:7,.0f} MB"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repositories", type=int, nargs="+", default=REPOSITORIES)
    options = parser.parse_args(arguments)
    smallest: dict[str, Measured] = {}
    with scratch() as base:
        source = Path(base) / "source"
        repo = make_source(source)
        for repositories in options.repositories:
            directory = Path(base) / str(repositories)
            print(f"{repositories:,} repositories", flush=True)
            for measured in measure(source, repo, directory, repositories):
                print(show(measured, smallest.setdefault(measured.command, measured)), flush=True)
            shutil.rmtree(directory)


if __name__ == "__main__":
    main()
