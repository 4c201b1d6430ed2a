"""Makes the data that `goldpan demo` ships: ``python -m tests.twin.ship``.

The files come out the same every time: the twin's clock stands still and requests go out one
by one, so all that changes between two runs is the archives' own clock, which is set here.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from goldpan import demo
from goldpan.annotation.review.request import ReviewSettings
from goldpan.annotation.review.run import run_review
from goldpan.core.errors import GoldpanError, WorkspaceError
from goldpan.core.settings.config import Settings
from goldpan.core.storage.archive import Archive
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.core.terminal import Reporter
from goldpan.demo.pipeline import ANSWERS, DEMO, REPOS, replies_of
from goldpan.filters.pipeline import run_filters
from goldpan.filters.profile import load_profile
from goldpan.git.clone import clone
from goldpan.git.remote import source_of
from goldpan.miners.github.limits import Pace
from goldpan.miners.history.revisions import read_history
from goldpan.miners.mine import mine
from goldpan.miners.pairing import find_rules, pair
from goldpan.miners.tables.normalize import normalize
from tests.openai_server import KEY, OpenAIServer

from .assay import assay_code, assay_world
from .history import git, history_world, with_history
from .limits import Meter
from .reviewer import judge
from .server import Twin
from .store import World

REVIEWED = 20
"""The most issues, and the most pairs, of a repository that are reviewed."""
_WORLDS: Mapping[str, Callable[[Path], World]] = {
    "prospector/sluice": history_world,
    "prospector/assay": partial(with_history, assay_world(), assay_code()),
}
MOMENT = datetime(2024, 8, 1, tzinfo=UTC)
_NO_WAITING = Pace(backoff=0, longest=0, secondary=0, margin=0, per_minute=1_000_000)


@dataclass(slots=True)
class _Stopped(Meter):
    """A meter whose clock stands still."""

    def now(self) -> float:
        return MOMENT.timestamp()


def ship(directory: Path) -> None:
    """Write the archives of raw replies and of a review, and the bundles of the git histories."""
    with tempfile.TemporaryDirectory() as scratch:
        workspace = WorkspaceLayout(Path(scratch) / "workspace")
        bundles = directory / "{name}.bundle"
        for repo in REPOS:
            repository = Path(scratch) / repo
            world = _WORLDS[repo](repository)
            _bundle(repository, Path(source_of(str(bundles), repo)))
            _mine(world, workspace.root)
            _rewrite(Archive(workspace.raw(repo)), directory / replies_of(repo), _from_github)
        _review(workspace, bundles)
        _rewrite(Archive((workspace.root / ANSWERS).parent), directory / ANSWERS, _in_no_time)


def _bundle(repository: Path, bundle: Path) -> None:
    bundle.unlink(missing_ok=True)
    inside = (f"--git-dir={repository}", "-c", "pack.threads=1")
    git(*inside, "bundle", "create", "--quiet", bundle, "--all")


def _review(workspace: WorkspaceLayout, bundles: Path) -> None:
    quiet, profile = Reporter(quiet=True), load_profile("default")
    for repo in REPOS:
        normalize(workspace, repo, quiet, workers=1)
        pair(workspace, repo, find_rules("default"))
        clone(workspace, repo, quiet, source=source_of(str(bundles.resolve()), repo))
        read_history(workspace, repo, quiet)
    run_filters(workspace, REPOS, profile, quiet)
    with OpenAIServer(judge) as server:
        settings = ReviewSettings(
            models=("demo-reviewer",),
            concurrency=1,
            base_url=server.url,
            api_key=KEY,
            limit=REVIEWED,
        )
        run_review(workspace, REPOS, profile, settings, quiet)


def _mine(world: World, workspace: Path) -> None:
    repo = world.main.full_name
    with Twin(world) as twin:
        twin.meter = _Stopped(twin.limits)
        settings = Settings(
            workspace, ("demo",), api_url=twin.url, via="graphql", concurrency=1, workers=1
        )
        done = mine(settings, [repo], Reporter(quiet=True), _NO_WAITING)[repo.lower()]
    if isinstance(done, GoldpanError) or done.coverage is None or not done.coverage.complete:
        raise WorkspaceError(f"{repo} was not mined completely", f"See {done}")


def _rewrite(
    made: Archive, target: Path, change: Callable[[dict[str, Any]], dict[str, Any]]
) -> None:
    """Copy the records as if they had been made at one fixed moment."""
    target.unlink(missing_ok=True)
    with Archive(target.parent) as shipped:
        shipped.begin(resume=False)
        for record in made.records:
            meta = {**record.meta, "at": MOMENT.isoformat(timespec="seconds")}
            shipped.append(change(meta), record.read())


def _from_github(meta: dict[str, Any]) -> dict[str, Any]:
    if meta["part"] != "begin":
        return meta
    plan = {**meta["plan"], "host": "github.com"}
    return {**meta, DEMO: True, "plan": plan, "git_host": "github.com"}


def _in_no_time(meta: dict[str, Any]) -> dict[str, Any]:
    return {**meta, "seconds": 0.0} if meta["part"] == "reply" else meta


if __name__ == "__main__":
    ship(Path(demo.__file__).parent)
