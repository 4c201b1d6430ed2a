"""Stages killed at random moments and run again until they end."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

from tests.chaos.commands import run, start
from tests.chaos.outcomes import Outcome, Tally, defect, names, tail
from tests.chaos.pictures import differing, picture_of
from tests.chaos.stages import HOME, Stage
from tests.chaos.world import Base, all_files
from tests.program import Done

HOW = "killed"
_MOST = 4
"""The kills of one trial."""
_EARLIER = 0.8


def kill(stage: Stage, kills: int, base: Base, chance: Random, tally: Tally) -> None:
    """Kill a stage so many times, in trials that each end with a run that is let live."""
    left = kills
    while left > 0:
        left -= _trial(base, stage, chance, min(left, chance.randint(1, _MOST)), tally)


def _trial(base: Base, stage: Stage, chance: Random, kills: int, tally: Tally) -> int:
    base.begin(stage.after)
    longest = base.seconds[stage.name]
    moments: list[str] = []
    while len(moments) < kills:
        moment = chance.uniform(0, longest)
        with start(stage.arguments, base.directory, base.apis[0]) as running:
            late = running.ended(moment)
            running.kill()
            running.wait(sweep=True)
        if late:  # it begins anew, and is killed earlier
            base.begin(stage.after)
            moments.clear()
            longest *= _EARLIER
            continue
        tally.kills += 1
        moments.append(f"{moment:.3f}")
        if problem := _check(base):
            tally.add(stage.name, HOW, "forbidden", f"after {moments} s, {problem}")
    judge(base, stage, HOW, f"killed after {moments} s", tally)
    return kills


def _check(base: Base) -> str | None:
    """Look for what `goldpan check` says of what a kill left."""
    if not base.home.exists() or not any(base.home.iterdir()):
        return None
    done = run(("check", HOME), base.directory, base.apis[0])
    return defect(done)


def judge(base: Base, stage: Stage, how: str, story: str, tally: Tally) -> None:
    """Run a stage to its end and count whether all is as after an undisturbed run."""
    done = run(stage.arguments, base.directory, base.apis[0])
    outcome, problem = judged(base, stage, done, (f"{HOME}/",))
    tally.add(stage.name, how, outcome, f"{story}: {problem}")


def judged(base: Base, stage: Stage, done: Done, files: Iterable[str]) -> tuple[Outcome, str]:
    """Judge a run: it made what an undisturbed one makes, or failed and told of a file."""
    if problem := defect(done):
        return "forbidden", problem
    if done.code and names(done, files):
        return "named", ""
    if done.code:
        return "forbidden", f"no file is named: {tail(done)}"
    problem = unlike(base, stage)
    return ("forbidden" if problem else "same"), problem or ""


def unlike(base: Base, stage: Stage) -> str | None:
    """Return which files are not as after an undisturbed run."""
    if difference := differing(picture_of(base.home, stage.makes), base.expected[stage.name]):
        return f"other bytes in {difference}"
    if difference := sorted(all_files(base.home) ^ base.wholes[stage.name]):
        return f"left behind or gone: {difference}"
    return None
