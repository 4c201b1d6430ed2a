"""Two processes of the same command at once."""

from __future__ import annotations

from random import Random

from tests.chaos.commands import Done, start
from tests.chaos.kills import judge, unlike
from tests.chaos.outcomes import Tally, defect, names, tail
from tests.chaos.stages import HOME, Stage
from tests.chaos.world import Base

HOW = "two at once"
_PATIENCE = 120.0


def pair_up(stage: Stage, base: Base, chance: Random, tally: Tally) -> None:
    """Start a stage twice, the second up to half of its time later."""
    base.begin(stage.after)
    first = start(stage.arguments, base.directory, base.apis[0])
    later = chance.uniform(0, base.seconds[stage.name] / 2)
    code = first.wait(later)
    second = start(stage.arguments, base.directory, base.apis[0], name="b")
    both = [code or first.wait(_PATIENCE), second.wait(_PATIENCE)]
    for running in (first, second):
        running.sweep()
    story = f"{later:.3f} s later"
    ends = [done for done in both if done is not None]
    if problem := _problem_of(both):
        tally.add(stage.name, HOW, "forbidden", f"{story}: {problem}")
    elif not any(done.code == 0 for done in ends):
        judge(base, stage, HOW, f"{story}, both refused", tally)
    elif problem := unlike(base, stage):
        tally.add(stage.name, HOW, "forbidden", f"{story}: {problem}")
    else:
        tally.add(stage.name, HOW, "named" if any(done.code for done in ends) else "same")


def _problem_of(both: list[Done | None]) -> str | None:
    for done in both:
        if done is None:
            return "it does not end"
        if problem := defect(done):
            return problem
        if done.code and not names(done, (f"{HOME}/", f"in {HOME}.")):
            return f"no file is named: {tail(done)}"
    return None
