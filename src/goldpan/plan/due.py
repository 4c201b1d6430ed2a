"""Due units with their reasons, and jobs, which run units and record how they begin and end."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import Any, Literal

from goldpan._version import __version__
from goldpan.core.errors import GoldpanError, StoppedError
from goldpan.core.log import LOG
from goldpan.core.resources import explain
from goldpan.core.storage.workspace import size_of
from goldpan.plan.results import Ended, Kind, UnitResult, now
from goldpan.plan.step import Step
from goldpan.plan.unit import (
    ABSENT,
    Change,
    Cost,
    Outcome,
    Unit,
    UnitRecipe,
    UnitRecord,
    changes,
    digest_of,
    digests_of,
    flat,
    named_changes,
)

NEVER = "never run by this plan"
STOPPED = "the last run was stopped"
_UNKNOWN = UnitRecipe("", {}, {})
"""The recipe of a unit that failed before its inputs were known."""


@dataclass(frozen=True, slots=True)
class RunSelection:
    """The options of a run beside its plan."""

    only: tuple[str, ...] = ()
    """Units by ``STAGE``, ``STAGE/SUBJECT`` or subject; all without any."""
    update: bool = False
    """True where GitHub is asked for changes."""
    force: bool = False
    """True where units that are up to date are run, too."""
    refresh: bool = True
    """True where the plan's `refresh` counts."""

    def takes(self, unit: Unit) -> bool:
        """Tell whether a unit is one of those that are asked for."""
        names = {unit.stage.lower(), unit.name.lower(), unit.subject.lower()}
        return not self.only or any(name.lower().strip("/") in names for name in self.only)


@dataclass(frozen=True, slots=True)
class Assessment:
    """The state of a unit before a run: due or not, and why."""

    unit: Unit
    record: UnitRecord | None
    recipe: UnitRecipe | None
    """None where it cannot be told before other units ran."""
    why: tuple[Change, ...]
    """Empty where it is up to date."""
    after: tuple[str, ...] = ()
    """Units that are run before it, by name, after which it may be due or not."""
    cost: Cost = field(default_factory=Cost)

    @property
    def is_open(self) -> bool:
        """True where it would run, or may have to."""
        return bool(self.why or self.after)

    @property
    def state(self) -> str:
        """One word: fresh, due, after, failed, stopped or partial."""
        if self.record is not None and self.record.state == "failed":
            return "failed"
        if self.why:
            stopped = self.record is not None and self.record.state == "begun"
            return "stopped" if stopped else "due"
        if self.after:
            return "after"
        return "partial" if self.record is not None and self.record.lacks else "fresh"

    @property
    def reason(self) -> str:
        """Why it is not up to date, in a few words; empty where it is."""
        if self.why:
            return named_changes(self.why)
        if self.after:
            stages = dict.fromkeys(name.partition("/")[0] for name in self.after)
            return f"perhaps, after {' and '.join(stages)}"
        return "; ".join(self.record.lacks) if self.record is not None else ""


def recipe_of(step: Step) -> UnitRecipe:
    """Return all that a step's result depends on, as it is now."""
    return UnitRecipe(__version__, flat(step.settings()), dict(sorted(step.inputs().items())))


def assess(step: Step, chosen: RunSelection) -> Assessment:
    """Judge a step whose needs are met.

    One that `chosen` leaves out is due only where what is there is not what the plan says.
    """
    record, recipe = step.record, recipe_of(step)
    why = [*_differences(step, record, recipe)]
    if record is not None and record.state in ("done", "partial") and chosen.takes(step.unit):
        why += _requested_changes(step, record, chosen)
    return Assessment(step.unit, record, recipe, tuple(why))


def _differences(step: Step, record: UnitRecord | None, recipe: UnitRecipe) -> Iterator[Change]:
    if record is None:
        yield Change(NEVER)
        return
    if record.state == "begun":
        yield Change(STOPPED)
    if record.state == "failed":
        yield Change(f"the last run failed ({record.problem})")
    if record.recipe != _UNKNOWN:
        yield from changes(record.recipe, recipe)
    for path, digest in record.outputs.items():
        now = digest_of(step.context.lab.path / path)
        if now != digest and (step.files.owns or now == ABSENT):
            yield Change(f"output {path}", digest[:12], now[:12])


def _requested_changes(step: Step, record: UnitRecord, chosen: RunSelection) -> Iterator[Change]:
    if record.lacks and record.again:
        yield Change(f"something is missing ({'; '.join(record.lacks[:3])})")
    if chosen.refresh and (reason := step.due(record, chosen.update)):
        yield Change(reason)
    if chosen.force:
        yield Change("it is forced")


def assess_all(steps: Sequence[Step], chosen: RunSelection) -> list[Assessment]:
    """Judge all steps without running any.

    What depends on units that are due cannot be told before these ran.
    """
    judged: list[Assessment] = []
    open_units: set[str] = set()
    for step in steps:
        waits = tuple(sorted({*step.unit.needs, *step.unit.after}.intersection(open_units)))
        try:
            assessment = replace(assess(step, chosen), after=waits)
        except GoldpanError as error:
            # What it reads is not there yet, or is damaged: running it tells which.
            why = () if waits else (Change(error.problem),)
            why = why if step.record else (Change(NEVER),)
            assessment = Assessment(step.unit, step.record, None, why, waits)
        if assessment.is_open:
            open_units.add(step.unit.name)
        judged.append(assessment)
    return judged


def priced(assessment: Assessment, cost: Cost, past: Sequence[UnitRecord]) -> Assessment:
    """Return an assessment with what running the unit would take.

    `cost` is what the step itself tells. Time and disk are those of its last run where it does not
    tell them, else the mean of `past` runs of its stage.
    """
    last = assessment.record
    known = [last] if last is not None and last.seconds else past
    if known and cost.seconds is None:
        cost = replace(cost, seconds=fmean(record.seconds for record in known))
    if known and cost.bytes is None:
        cost = replace(cost, bytes=round(fmean(record.bytes for record in known)))
    prices = {"time": cost.seconds, "disk": cost.bytes}
    if unpriced := [name for name, value in prices.items() if value is None]:
        unknown = f"{' and '.join(unpriced)}, as no unit of the stage has run yet"
        cost = replace(cost, note="; ".join(filter(None, (cost.note, unknown))))
    return replace(assessment, cost=cost)


@dataclass(slots=True)
class Job:
    """A unit in a run: it begins, and ends or fails, which is recorded and reported."""

    step: Step
    tell: Callable[[Kind, tuple[Change, ...], UnitResult | None], None]
    recipe: UnitRecipe = _UNKNOWN
    why: tuple[Change, ...] = ()
    result: UnitResult | None = None
    """The result of the unit, once it is known."""
    _began: float = field(default_factory=time.monotonic)

    def run(self) -> None:
        """Do it; whatever it fails with, others go on."""
        try:
            self.begin()
            outcome = self.step.run()
        except StoppedError:
            raise
        except Exception as error:  # noqa: BLE001 - no unit stops the others
            self.fail(error)
        else:
            self.end(outcome)

    def begin(self) -> None:
        """Record and report that it begins."""
        self._began = time.monotonic()
        self.tell("begin", self.why, None)
        self.step.prepare()
        self.step.context.keep(self._begun())

    def end(self, outcome: Outcome) -> None:
        """Record and report its outcome."""
        state: Literal["partial", "done"] = "partial" if outcome.lacks else "done"
        seconds, context = time.monotonic() - self._began, self.step.context
        recipe = recipe_of(self.step) if self.step.files.appends else self.recipe
        context.keep(
            UnitRecord(
                self.step.unit.name,
                state,
                recipe,
                now(),
                digests_of(context.lab.path, outcome.made),
                size_of(outcome.kept or outcome.made),
                round(seconds, 3),
                dict(outcome.spent),
                outcome.said,
                outcome.lacks,
                outcome.again,
                waits=outcome.waits,
                facts=dict(outcome.facts),
            )
        )
        self.finish(
            state,
            ran=True,
            seconds=seconds,
            said=outcome.said,
            lacks=outcome.lacks,
            waits=outcome.waits,
            results=outcome.results,
        )

    def fail(self, error: Exception, *, ran: bool = True) -> None:
        """Record and report what it failed with."""
        seconds = time.monotonic() - self._began if ran else 0.0
        explained = error if isinstance(error, GoldpanError) else explain(error)
        if explained is None:
            LOG.error("%s", self.step.unit.name, exc_info=error)
            explained = GoldpanError(
                f"Goldpan itself failed ({type(error).__name__}: {error})",
                "Please report it, with what goldpan --log-file FILE run writes",
            )
        problem, remedy = explained.problem, explained.remedy
        record = replace(self._begun(), state="failed", problem=problem, remedy=remedy)
        self.step.context.keep(record)
        self.finish("failed", ran=ran, seconds=seconds, problem=problem, remedy=remedy)

    def finish(self, state: Ended, *, ran: bool = False, **about: Any) -> None:
        """Report what became of it."""
        self.result = UnitResult(self.step.unit, state, ran, self.why, **about)
        kinds: dict[Ended, Kind] = {"failed": "fail", "skipped": "skip"}
        self.tell(kinds.get(state) or ("end" if ran else "fresh"), self.why, self.result)

    def _begun(self) -> UnitRecord:
        """Return the record of the unit under way, with what is known of its last run."""
        record = UnitRecord(self.step.unit.name, "begun", self.recipe, now())
        if (last := self.step.record) is None:
            return record
        return replace(record, bytes=last.bytes, seconds=last.seconds, facts=last.facts)
