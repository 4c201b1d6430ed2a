"""Which trials there are, and the processes that do them until the time is over."""

from __future__ import annotations

import multiprocessing
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from random import Random

from tests.chaos.clocks import turn_back
from tests.chaos.flips import damage
from tests.chaos.full import LEVELS, can_mount, fill, mounted
from tests.chaos.kills import kill
from tests.chaos.outcomes import Tally
from tests.chaos.stages import STAGES
from tests.chaos.together import pair_up
from tests.chaos.world import Base, prepared

KINDS = ("kill", "full", "two", "clock", "flip")
_FLIPS = 10
_PAIRS = 3

Job = Callable[[Base, Random, Tally], None]


@dataclass(frozen=True, slots=True)
class Campaign:
    """What is to be disturbed, and for how long."""

    minutes: float
    seed: int
    kinds: tuple[str, ...]
    """Empty for all."""
    stages: tuple[str, ...]
    """Empty for all."""
    kills: int
    flips: int
    processes: int
    levels: tuple[float, ...] = LEVELS
    """How much of the room that a stage needs is on the full disk."""

    def run(self) -> bool:
        """Do it and print the table; whether something forbidden came of it."""
        started = time.monotonic()
        deadline = started + 60 * self.minutes
        jobs = list(self._jobs())
        with _scratch() as scratch, prepared(scratch) as base:
            ready = time.monotonic()
            tally, left = _share(jobs, base, self, deadline, scratch)
        _say(tally.table())
        full = "a small file system" if can_mount() else "a limit on the size of files"
        _say(f"\n{tally.kills} kills. The full disk was {full}. Seed {self.seed}.")
        _say(f"{ready - started:.0f} s to prepare, {time.monotonic() - ready:.0f} s of trials.")
        if left:
            _say(f"{left} of {len(jobs)} groups of trials were not begun: the time was over.")
        for story in tally.forbidden:
            _say(f"FORBIDDEN: {story}")
        return bool(tally.forbidden)

    def _jobs(self) -> Iterator[Job]:
        """Yield all trials, mixed, so that what the time allows is of every kind."""
        stages = [stage for stage in STAGES if not self.stages or stage.name in self.stages]
        jobs: list[tuple[str, Job]] = []
        for number, stage in enumerate(stages):
            share = self.kills // len(stages) + (number < self.kills % len(stages))
            jobs += [
                ("kill", partial(kill, stage, share)),
                ("full", partial(fill, stage, self.levels)),
                ("clock", partial(turn_back, stage)),
            ]
            jobs += [("two", partial(pair_up, stage))] * _PAIRS
        jobs += [("flip", partial(damage, _FLIPS))] * (self.flips // _FLIPS)
        chosen = [job for kind, job in jobs if not self.kinds or kind in self.kinds]
        Random(self.seed).shuffle(chosen)
        yield from chosen


@contextmanager
def _scratch() -> Iterator[Path]:
    """Give a directory for all trials, in memory where that can be."""
    with tempfile.TemporaryDirectory() as name, ExitStack() as mounts:
        if can_mount():
            mounts.enter_context(mounted(Path(name)))
        yield Path(name)


def _share(
    jobs: list[Job], base: Base, campaign: Campaign, deadline: float, scratch: Path
) -> tuple[Tally, int]:
    """Give each job to the process that is free; return what they counted."""
    context = multiprocessing.get_context("fork")
    trial = partial(_trial, campaign.seed, deadline)
    with ProcessPoolExecutor(campaign.processes, context, _begin, (base, scratch)) as pool:
        counted = list(pool.map(trial, range(len(jobs)), jobs))
    tally = Tally()
    for each in counted:
        tally.merge(each or Tally())
    return tally, counted.count(None)


_OWN: list[Base] = []
"""Of a process, its directory of trials."""


def _begin(base: Base, scratch: Path) -> None:
    directory = Path(tempfile.mkdtemp(prefix="trial-", dir=scratch))
    for name in ("sluice.bundle", "review.toml"):
        shutil.copy(base.directory / name, directory)
    _OWN.append(replace(base, directory=directory))


def _trial(seed: int, deadline: float, number: int, job: Job) -> Tally | None:
    if time.monotonic() >= deadline:
        return None
    tally = Tally()
    try:
        job(_OWN[0], Random(f"{seed}:{number}"), tally)
    except (RuntimeError, OSError) as error:
        tally.add("the campaign", "itself", "forbidden", f"job {number}: {error}")
    return tally


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()
