"""Makes the data that `goldpan demo` ships: ``python -m tests.twin.ship``.

Both files come out the same every time: the twin's clock stands still and requests go out one
by one, so all that changes between two runs is the journal's own clock, which is set here.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from goldpan import demo
from goldpan.config import Settings
from goldpan.demo import BUNDLE, DEMO, REPLIES, REPO
from goldpan.errors import WorkspaceError
from goldpan.miners.archive import Archive
from goldpan.miners.github.limits import Pace
from goldpan.miners.mine import mine
from goldpan.progress import Reporter
from goldpan.workspace import Workspace

from .history import git, history_world
from .limits import Meter
from .server import Twin
from .store import World

MOMENT = datetime(2024, 8, 1, tzinfo=UTC)
_NO_WAITING = Pace(backoff=0, longest=0, secondary=0, margin=0, per_minute=1_000_000)


@dataclass(slots=True)
class _Stopped(Meter):
    """A meter whose clock stands still."""

    def now(self) -> float:
        return MOMENT.timestamp()


def ship(directory: Path) -> None:
    """Write the archive of raw replies and the bundle of the git history."""
    with tempfile.TemporaryDirectory() as scratch:
        repository = Path(scratch) / "sluice.git"
        world = history_world(repository)
        bundle = directory / BUNDLE
        bundle.unlink(missing_ok=True)
        git(
            f"--git-dir={repository}",
            "-c",
            "pack.threads=1",
            "bundle",
            "create",
            "--quiet",
            bundle,
            "--all",
        )
        workspace = Path(scratch) / "workspace"
        _mine(world, workspace)
        _rewrite(Archive(Workspace(workspace).raw(REPO)), directory / "replies")


def _mine(world: World, workspace: Path) -> None:
    with Twin(world) as twin:
        twin.meter = _Stopped(twin.limits)
        settings = Settings(workspace, twin.url, ("demo",), via="graphql", concurrency=1, workers=1)
        done = mine(settings, REPO, Reporter(quiet=True), _NO_WAITING)
    if done.coverage is None or not done.coverage.complete:
        raise WorkspaceError(f"{REPO} was not mined completely", f"See {done}")


def _rewrite(mined: Archive, target: Path) -> None:
    """Copy the records as if they had been mined from GitHub at one fixed moment."""
    (target / REPLIES).unlink(missing_ok=True)
    with Archive(target) as shipped:
        shipped.begin(resume=False)
        for record in mined.records:
            meta = {**record.meta, "at": MOMENT.isoformat(timespec="seconds")}
            if meta["part"] == "begin":
                meta = {**meta, DEMO: True, "plan": {**meta["plan"], "host": "github.com"}}
            shipped.append(meta, record.read())


if __name__ == "__main__":
    ship(Path(demo.__file__).parent)
