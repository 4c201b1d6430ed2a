"""The whole job offline, on `prospector/sluice`, a made-up repository that ships with Goldpan.

Raw replies and git history lie beside this file; the tables are made from them as from those
of any repository, so the demo shows what the program does and not what it once did.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from importlib.resources import as_file, files
from pathlib import Path

from rich.console import Console

from goldpan.config import Settings
from goldpan.errors import WorkspaceError
from goldpan.explain import explain
from goldpan.miners.archive import Archive
from goldpan.miners.coverage import measure_coverage
from goldpan.miners.pairing import find_rules, pair
from goldpan.miners.tables.normalize import normalize
from goldpan.progress import Reporter
from goldpan.show import explaining, mining
from goldpan.workspace import Workspace, publish

REPO = "prospector/sluice"
REPLIES = "run-0001.zst"
BUNDLE = "sluice.bundle"
DEMO = "demo"
"""The key by which the first record of the shipped replies says that nobody mined them."""
_EXAMPLE = f"{REPO}#1"


def run_demo(settings: Settings, reporter: Reporter) -> None:
    """Make and show the tables of the shipped repository.

    Raises `WorkspaceError` where the workspace holds a repository of that name from elsewhere,
    or where git is missing.
    """
    if shutil.which("git") is None:
        raise WorkspaceError("The demo needs the program git", "Install git and run it again")
    place = Workspace(settings.workspace)
    with place.lock(REPO):
        _refuse_others(place)
        shipped = files(__name__)
        with place.scratch() as scratch, as_file(shipped / BUNDLE) as bundle:
            copy = scratch / REPLIES
            copy.write_bytes((shipped / "replies" / REPLIES).read_bytes())
            publish({copy: place.raw(REPO) / REPLIES})
            _clone(bundle, _clone_of(place), scratch)
        normalize(place, REPO, reporter, workers=settings.workers)
        paired = pair(place, REPO, find_rules("default"))
    console = Console(highlight=False, markup=False, soft_wrap=True)
    console.print(f"{REPO} is made up and ships with Goldpan: nothing was asked of the network.")
    mining.coverage(measure_coverage(place, REPO))
    mining.pairs([paired])
    console.print("\nOne issue explained\n")
    explaining.explanation(explain(place, _EXAMPLE))
    _show_way_on(console, place)


def _refuse_others(place: Workspace) -> None:
    runs = [one for one in Archive(place.raw(REPO)).records if one.meta["part"] == "begin"]
    made = place.tables(REPO).exists() or _clone_of(place).exists()
    if not all(one.meta.get(DEMO) for one in runs) or (made and not runs):
        raise WorkspaceError(
            f"{place.root} holds a {REPO} that is not the demo's",
            "Give the demo a --workspace of its own",
        )


def _clone_of(place: Workspace) -> Path:
    return place.root / "git" / f"{REPO}.git"


def _clone(bundle: Path, clone: Path, scratch: Path) -> None:
    """Clone the history, or bring an earlier clone up to date."""
    if clone.exists():
        _git("-C", clone, "fetch", "--quiet", "--prune", bundle.resolve(), "+refs/*:refs/*")
        return
    _git("clone", "--quiet", "--mirror", bundle.resolve(), scratch / clone.name)
    publish({scratch / clone.name: clone})


def _git(*arguments: str | Path) -> None:
    """Run git without the user's settings, which could change what a clone is."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    quiet = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run(  # noqa: S603 - a program on PATH with our own arguments
        ["git", *map(str, arguments)],  # noqa: S607
        env=kept | quiet,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        reason = " ".join(done.stderr.split()) or f"exit code {done.returncode}"
        raise WorkspaceError(f"git cannot unpack the demo's history: {reason}", "Update git")


def _show_way_on(console: Console, place: Workspace) -> None:
    console.print("\nWhere everything lies", style="bold")
    for path, what in (
        (place.raw(REPO), "every reply as it came"),
        (place.tables(REPO), "the tables, made from those replies alone"),
        (_clone_of(place), "the history of the code, with refs/pull/N/head"),
    ):
        console.print(f"  {path}  {what}")
    console.print("\nTry next", style="bold")
    where = f"--workspace {shlex.quote(str(place.root))}"
    for command in (
        "status",
        f"why {REPO}#31",
        f"why {REPO}#22",
        "pair --rules faun-eval",
    ):
        console.print(f"  goldpan {command} {where}")
