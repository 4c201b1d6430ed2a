"""Two processes of the same command at once."""

from __future__ import annotations

from random import Random

from tests.chaos.commands import start
from tests.chaos.kills import judge, judged
from tests.chaos.outcomes import Tally
from tests.chaos.stages import HOME, Stage
from tests.chaos.world import Base

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
    told = [judged(base, stage, done, (f"{HOME}/", f"in {HOME}.")) for done in ends]
    problems = [problem for outcome, problem in told if outcome == "forbidden"]
    if problems:
        tally.add(stage.name, HOW, "forbidden", f"{story}: {problems[0]}")
    elif all(done.code for done in ends):
        judge(base, stage, HOW, f"{story}, both refused", tally)
    else:
        tally.add(stage.name, HOW, "named" if any(done.code for done in ends) else "same")
