"""Requests that commands send to an object store that holds their workspace.

A plan on the local GitHub fills a workspace at an S3 server on this machine (moto); then each
command runs as on another machine or again. Requests are counted, the clock is not.
"""

from __future__ import annotations

from pathlib import Path

from benchmarks.scale import scratch
from tests.object_store import LocalS3
from tests.planning import SLUICE, SMALL, environment, local_github, write_plan
from tests.program import goldpan
from tests.shared_folder import shared_folder

WORKSPACE = "s3://lab/measured"
COMMANDS = (
    ("all from nothing", "first", ("run", "plan.toml")),
    ("the same again", "first", ("run", "plan.toml")),
    ("on another machine", "second", ("run", "plan.toml")),
    ("status", "second", ("status", "--workspace", WORKSPACE)),
    ("pair by other rules", "second", ("pair", "--rules", "faun-eval", "--workspace", WORKSPACE)),
    ("mine, nothing new", "second", ("mine", "--repo", SLUICE, "--workspace", WORKSPACE)),
)
"""What is measured: its name, the machine, and the command."""


def main() -> None:
    """Measure and print."""
    with scratch() as directory, LocalS3() as store:
        folder = Path(directory)
        with local_github(folder) as github:
            write_plan(folder, SMALL, workspace=WORKSPACE)
            for name, machine, command in COMMANDS:
                store.requests.clear()
                mirrors = str(folder / machine)
                variables = environment(github, GOLDPAN_MIRRORS=mirrors, **store.environment)
                done = goldpan(*command, folder=folder, environment=variables)
                if done.code:
                    raise SystemExit(f"goldpan {' '.join(command)}: {done.err}")
                counts = ", ".join(f"{store.requests[verb]} {verb}" for verb in ("GET", "PUT"))
                print(f"{name}: {counts}")
        mirror = next((folder / "first").iterdir()) / "workspace"
        sizes = [path.stat().st_size for path in mirror.rglob("*") if path.is_file()]
        print(f"the workspace has {len(sizes)} files, {sum(sizes) / 1_000:,.0f} kB")


if __name__ == "__main__":
    with shared_folder():
        main()
