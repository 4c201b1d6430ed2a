"""Two processes of the same command at once."""

from __future__ import annotations

from random import Random

from tests.chaos.commands import start
from tests.chaos.kills import judge, unlike
from tests.chaos.outcomes import Tally, defect, names, tail
from tests.chaos.stages import HOME, Stage
from tests.chaos.world import Base
from tests.program import Done

HOW = "two at once"


def pair_up(stage: Stage, base: Base, chance: Random, tally: Tally) -> None:
    """Start a stage twice, the second up to half of its time later."""
    base.begin(stage.after)
    later = chance.uniform(0, base.seconds[stage.name] / 2)
    command = (stage.arguments, base.directory, base.apis[0])
    with start(*command) as first:
        first.ended(later)
        with start(*command, place="beside") as second:
            ends = [first.wait(sweep=True), second.wait(sweep=True)]
    story = f"{later:.3f} s later"
    if problem := _problem_of(ends):
        tally.add(stage.name, HOW, "forbidden", f"{story}: {problem}")
    elif not any(done.code == 0 for done in ends):
        judge(base, stage, HOW, f"{story}, both refused", tally)
    elif problem := unlike(base, stage):
        tally.add(stage.name, HOW, "forbidden", f"{story}: {problem}")
    else:
        tally.add(stage.name, HOW, "named" if any(done.code for done in ends) else "same")


def _problem_of(ends: list[Done]) -> str | None:
    for done in ends:
        if problem := defect(done):
            return problem
        if done.code and not names(done, (f"{HOME}/", f"in {HOME}.")):
            return f"no file is named: {tail(done)}"
    return None
