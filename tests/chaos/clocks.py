"""Clocks that are wrong: those of GitHub, and those by which files were dated."""

from __future__ import annotations

import os
from dataclasses import replace
from random import Random

from tests.chaos.kills import judge
from tests.chaos.outcomes import Tally
from tests.chaos.stages import Stage
from tests.chaos.world import Base

HOW = "clock set back"
_LONG_AGO, _NOW, _FAR = 86_400, 1_700_000_000, 4_000_000_000


def turn_back(stage: Stage, base: Base, chance: Random, tally: Tally) -> None:
    """Run a stage on files of long ago, of the far future and of all times."""
    for first, last in ((_LONG_AGO, _LONG_AGO), (_FAR, _FAR), (_LONG_AGO, _FAR)):
        base.begin(stage.after)
        _date(base, chance, first, last)
        judge(base, stage, HOW, f"files of {first} to {last}", tally)
    # Once more over its own files, which are all from the future.
    base.begin(stage.name)
    _date(base, chance, _FAR, _FAR)
    judge(base, stage, HOW, "its own files are of the future", tally)
    if stage.after is None:
        _skew(base, stage, tally)


def _date(base: Base, chance: Random, first: int, last: int) -> None:
    for path in sorted(base.home.rglob("*")):
        moment = chance.randint(first, last)
        os.utime(path, (moment, moment), follow_symlinks=False)


def _skew(base: Base, stage: Stage, tally: Tally) -> None:
    """Mine where GitHub's clock is a day fast or slow, also one after the other."""
    _, fast, slow = base.apis
    for api in (fast, slow):
        base.begin(None)
        judge(replace(base, apis=(api,)), stage, HOW, "GitHub's clock is a day off", tally)
    judge(replace(base, apis=(fast,)), stage, HOW, "GitHub's clock jumps by two days", tally)
