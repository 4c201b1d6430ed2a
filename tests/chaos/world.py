"""The undisturbed world: the twins that are mined, and the workspace after each stage."""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from importlib.resources import files
from pathlib import Path

from goldpan.demo import pipeline as demo
from tests.chaos.commands import run
from tests.chaos.pictures import Picture, picture_of
from tests.chaos.stages import HOME, STAGES, Stage
from tests.local_server import LocalServer
from tests.openai_server import OpenAIServer
from tests.twin import Limits, Twin, World
from tests.twin.history import history_world
from tests.twin.reviewer import judge

_DAY = 86_400.0
_SKEWS = (0.0, _DAY, -_DAY)
_MANY = 10**9
_SETTINGS = 'models = ["demo-reviewer"]\nconcurrency = 1\nbase_url = "{}"\n'


@dataclass(frozen=True, slots=True)
class Base:
    """What undisturbed runs made."""

    directory: Path
    """Of trials: the workspace and what commands are given beside it."""
    apis: tuple[str, ...]
    """Twins whose clocks are right, a day fast and a day slow."""
    originals: Path
    """Workspaces after each stage."""
    expected: dict[str, Picture] = field(default_factory=dict)
    """What each stage makes."""
    seconds: dict[str, float] = field(default_factory=dict)
    """How long each took."""
    wholes: dict[str, frozenset[str]] = field(default_factory=dict)
    """All files that lie in the workspace after each stage."""

    @property
    def home(self) -> Path:
        """The workspace of the trial under way."""
        return self.directory / HOME

    def begin(self, after: str | None) -> None:
        """Put the workspace of a stage's end in place."""
        empty(self.home)
        if after is not None:
            shutil.copytree(self.originals / after, self.home, dirs_exist_ok=True)


def empty(directory: Path) -> None:
    """Take everything out of a directory, which may be a mount."""
    directory.mkdir(exist_ok=True)
    for path in directory.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


@contextmanager
def prepared(root: Path) -> Iterator[Base]:
    """Start the twins and run every stage undisturbed."""
    directory, original = root / "trial", root / "kept"
    for path in (directory, original):
        path.mkdir()
    shipped = Path(str(files("goldpan.demo")))
    shutil.copy(shipped / "sluice.bundle", directory)
    world = history_world(root / "sluice.git")
    twins = [_serve(partial(_twin, world, skew)) for skew in _SKEWS]
    reviewer, endpoint = _serve(partial(OpenAIServer, judge))
    try:
        (directory / "review.toml").write_text(_SETTINGS.format(endpoint), encoding="utf-8")
        base = Base(directory, tuple(url for _, url in twins), original)
        for stage in STAGES:
            _undisturbed(base, stage, shipped)
        yield base
    finally:
        for process in (reviewer, *(twin for twin, _ in twins)):
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)


def _undisturbed(base: Base, stage: Stage, shipped: Path) -> None:
    base.begin(stage.after)
    started = time.monotonic()
    done = run(stage.arguments, base.directory, base.apis[0])
    base.seconds[stage.name] = time.monotonic() - started
    if done.code:
        raise RuntimeError(f"{stage.name} fails undisturbed: {done.err}{done.out}")
    base.expected[stage.name] = picture_of(base.home, stage.makes)
    base.wholes[stage.name] = all_files(base.home)
    _keep(base, stage.name)
    if stage.name == "mine, GraphQL":
        shutil.rmtree(base.home / "tables")
        (base.home / "reviews").mkdir()
        shutil.copy(shipped / demo.ANSWERS, base.home / "reviews")
        _keep(base, "replies")
    if stage.name.startswith(("build", "evaluate run")):
        shutil.copytree(base.home, base.originals / "all", dirs_exist_ok=True)


def _keep(base: Base, name: str) -> None:
    shutil.copytree(base.home, base.originals / name)


def all_files(home: Path) -> frozenset[str]:
    """Return the files of a workspace without locks, raw replies and git's own."""
    return frozenset(
        name
        for path in home.rglob("*")
        if path.is_file()
        and path.name != "lock"
        and not (name := str(path.relative_to(home))).startswith(("git/", "raw/"))
    )


def _twin(world: World, skew: float) -> Twin:
    return Twin(world, limits=Limits(core=_MANY, graphql=_MANY, clock_skew=skew))


def _serve(make: Callable[[], LocalServer]) -> tuple[int, str]:
    """Serve in a process of its own until that is killed."""
    reading, writing = os.pipe()
    process = os.fork()
    if not process:
        try:
            with make() as server:
                os.write(writing, server.url.encode())
                os.close(writing)
                signal.pause()
        finally:
            os._exit(1)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        return process, pipe.read()
