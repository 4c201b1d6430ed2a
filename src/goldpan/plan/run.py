"""Runs a plan: only what is due, each unit for itself, with a record of each."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Any

from goldpan.core.errors import (
    GoldpanError,
    StoppedError,
    TagTakenError,
    UsageError,
    WorkspaceError,
)
from goldpan.core.locks import hold_lock
from goldpan.core.log import LOG
from goldpan.core.resources import explain
from goldpan.core.result import Results
from goldpan.core.storage.workspace import make_directory
from goldpan.core.terminal import Reporter
from goldpan.plan.opened import OpenPlan
from goldpan.plan.record import PlanResult, State, StepResult, digests_of, named
from goldpan.plan.stages import make_units
from goldpan.plan.step import Step, Unit, headline
from goldpan.workspace.options import call

NEVER = "this plan has not run it yet"
Listener = Callable[[StepResult, int, int], None]
"""Hears of a unit that begins or ended, with its number and how many there are."""


@dataclass(frozen=True, slots=True)
class _Due:
    """A unit that is due, with what it does."""

    unit: Unit
    step: Step
    result: StepResult


class PlanRun:
    """The units of an opened plan, which are judged or run."""

    def __init__(
        self,
        plan: OpenPlan,
        *,
        only: Sequence[str] = (),
        update: bool = False,
        force: bool = False,
        tell: Listener = lambda *_: None,
    ) -> None:
        """Make the units; raises `UsageError` for a name in `only` that is none.

        `only` are units by ``STAGE``, ``STAGE/SUBJECT`` or subject; without any all are taken.
        With `update` GitHub is asked for what changed, with `force` units that are up to date are
        run, too.
        """
        self.plan = plan
        self.units = make_units(plan)
        self._update, self._force, self._tell = update, force, tell
        self._ended: dict[str, StepResult] = {}
        self._taken = {unit.name for unit in self.units} if not only else set[str]()
        for name in only:
            sought = name.lower().strip("/")
            found = {
                unit.name
                for unit in self.units
                if sought in (unit.stage.name, unit.name.lower(), unit.subject.lower())
            }
            if not found:
                raise UsageError(
                    f"--only {name} names no unit of the plan {plan.file.name}",
                    "Give a stage, a repository or both, as filter/OWNER/NAME; --dry-run lists all",
                )
            self._taken |= found

    def judged(self) -> list[StepResult]:
        """Return all units that are asked for as a run would find them, without running any.

        What depends on units that are due cannot be told before these ran.
        """
        found: dict[str, StepResult] = {}
        for unit in self.units:
            before = [found[name] for name in (*unit.needs, *unit.after) if name in found]
            stages = dict.fromkeys(result.stage for result in before if result.state == "due")
            perhaps = (f"perhaps, after {' and '.join(stages)}",) if stages else ()
            try:
                result = self._judge(unit).result
            except GoldpanError as error:
                # What it reads is not there yet, or is damaged: running it tells which.
                why = (NEVER,) if unit.record is None else perhaps or (error.problem,)
                result = unit.result("due", why=why)
            if perhaps and not result.why:
                result = replace(result, state="due", why=perhaps)
            found[unit.name] = result
        return [result for result in found.values() if result.unit in self._taken]

    def run(self) -> PlanResult:
        """Run what is due."""
        plan, started = self.plan, time.monotonic()
        make_directory(plan.folder)
        busy = WorkspaceError(
            f"Another goldpan is running the plan {plan.file.name} in {plan.lab.path}",
            "Wait for it",
        )
        with hold_lock(plan.folder / "lock", busy):
            # Units of a stage of repositories are judged at once, as none needs another.
            for _, units in groupby(
                self.units, lambda one: one.stage.name if one.stage.is_of_repository else one.name
            ):
                calls: dict[str, list[_Due]] = {}
                for due in filter(None, map(self._begin, units)):
                    calls.setdefault(repr(due.step.options), []).append(due)
                for together in calls.values():
                    self._do(sorted(together, key=lambda due: due.unit.repo.lower()))
        taken = (self._ended[unit.name] for unit in self.units if unit.name in self._taken)
        seconds = round(time.monotonic() - started, 3)
        return PlanResult(plan.file.name, plan.lab.path, tuple(plan.repos), tuple(taken), seconds)

    def _judge(self, unit: Unit) -> _Due:
        """Return whether a unit is due and why, with what it does; its needs are met.

        One that was not asked for is due only where what is there is not what the plan says.
        """
        record, step = unit.record, unit.stage.step(unit)
        basis = unit.basis(step)
        if record is None:
            return _Due(unit, step, unit.result("due", why=(NEVER,), basis=basis))
        why = [*record.changes(basis, self.plan.lab.path)]
        if record.state != "failed" and unit.name in self._taken:
            why += self._asked(unit, step, record)
        state: State = "due" if why else "partial" if record.missing else "fresh"
        result = replace(record, state=state, why=tuple(why), basis=basis, seconds=0.0)
        return _Due(unit, step, result)

    def _asked(self, unit: Unit, step: Step, record: StepResult) -> Iterator[str]:
        if record.missing and record.again:
            yield f"something is missing ({'; '.join(record.missing[:3])})"
        if self._update and unit.stage.name == "mine" and not step.command:
            yield "--update was given"
        elif step.due:
            yield step.due
        if self._force:
            yield "--force was given"

    def _begin(self, unit: Unit) -> _Due | None:
        """Return a unit that is due; of another report why it is not run."""
        needed = [self._ended[name] for name in unit.needs if name in self._ended]
        stopper = next((result for result in needed if result.stops_others), None)
        if stopper is not None:
            because = self._ended[stopper.because or stopper.unit]
            how = {"failed": "failed", "skipped": "was skipped"}.get(because.state, "waits")
            summary = f"needs {because.unit}, which {how}"
            self._end(unit.result("skipped", summary=summary, because=because.unit))
            return None
        with self._failing(unit):
            due = self._judge(unit)
            why = due.result.why
            if why and unit.name in self._taken:
                return due
            if why:
                left_out = f"it is not up to date, and --only leaves it out: {why[0]}"
                self._end(unit.result("skipped", summary=left_out, why=why))
            else:
                self._end(due.result)
        return None

    def _do(self, together: Sequence[_Due]) -> None:
        """Do units by one call, or each by its own where that fails: that tells which it is."""
        began = time.monotonic()
        for due in together:
            self._report(due.result)
        joint = None
        try:
            joint = _call(together) if len(together) > 1 else None
        except StoppedError:
            raise
        except Exception as error:  # noqa: BLE001
            LOG.info("%s: %s", together[0].unit.stage.name, error)
        share = (time.monotonic() - began) / len(together)
        for number, due in enumerate(together):
            with self._failing(due.unit, due.result):
                began = time.monotonic()
                results = joint[number] if joint else _call([due])[0]
                seconds = share if joint else time.monotonic() - began
                self._keep(self._result(due, results), seconds)

    def _result(self, due: _Due, results: Sequence[Any]) -> StepResult:
        """Return what is kept of a unit that ended; raises the error that a result tells of."""
        errors = [error for result in results for error in getattr(result, "errors", ())]
        if errors and not due.step.tells_errors:
            raise errors[0]
        unit, ended = due.unit, due.step.ended(results)
        summary, missing, basis = ended.summary, ended.missing, due.result.basis
        if summary is None:
            summary = "; ".join(map(headline, results))
        if missing is None:
            missing = tuple(headline(one) for one in results if getattr(one, "exit_code", 0))
        if due.step.command:  # a license that is stated is added to the replies
            basis = unit.basis(unit.stage.step(unit))
        return unit.result(
            "partial" if missing else "done",
            why=due.result.why,
            ran=True,
            summary=summary,
            missing=missing,
            basis=basis,
            outputs=digests_of(ended.outputs, self.plan.lab.path),
            again=ended.again,
            repo=ended.repo,
        )

    @contextmanager
    def _failing(self, unit: Unit, begun: StepResult | None = None) -> Iterator[None]:
        """Record and report what a unit fails with: no unit stops the others."""
        began = time.monotonic()
        begun = begun or unit.result("due")
        try:
            yield
        except StoppedError:
            raise
        except Exception as error:  # noqa: BLE001
            explained = error if isinstance(error, GoldpanError) else explain(error)
            if explained is None:
                LOG.error("%s", unit.name, exc_info=error)
                explained = GoldpanError(
                    f"Goldpan itself failed ({type(error).__name__}: {error})",
                    "Please report it, with what goldpan --log-file FILE run writes",
                )
            remedy = explained.remedy
            if isinstance(explained, TagTakenError):
                remedy += ". Write {content} into the plan's tag, which differs with the rows"
            about = {"why": begun.why, "basis": begun.basis, "repo": begun.repo}
            failed = unit.result(
                "failed", ran=True, problem=explained.problem, remedy=remedy, **about
            )
            self._keep(failed, time.monotonic() - began)

    def _keep(self, result: StepResult, seconds: float) -> None:
        """Record and report how a unit ended."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        ended = replace(result, at=now, seconds=round(seconds, 3))
        self.plan.keep(ended)
        self._end(ended)

    def _end(self, result: StepResult) -> None:
        self._ended[result.unit] = result
        if result.ran or result.state in ("failed", "skipped"):
            self._report(result)

    def _report(self, result: StepResult) -> None:
        number = next(n for n, unit in enumerate(self.units, 1) if unit.name == result.unit)
        self._tell(result, number, len(self.units))


def _call(together: Sequence[_Due]) -> list[list[Any]]:
    """Make the calls of units that have the same options; return the results of each unit."""
    unit, step = together[0].unit, together[0].step
    found: list[list[Any]] = [[] for _ in together]
    for due in together:
        due.step.prepare()
    for more in step.options:
        given = unit.options(step, more)
        if unit.stage.is_of_repository:
            given["repos"] = [due.unit.repo for due in together]
        if given.get("output") is not None:
            make_directory(Path(given["output"]).parent)
        result = call(unit.plan.lab, unit.method(step), given)
        items = list(result) if isinstance(result, Results) else []
        if not unit.stage.is_of_repository or len(items) != len(together):
            items = [result] * len(together)
        for results, item in zip(found, items, strict=True):
            results.append(item)
    return found


def reported_to(reporter: Reporter) -> Listener:
    """Return what tells of units in lines."""

    def line(result: StepResult, number: int, total: int) -> None:
        reporter.note(f"[{number:,}/{total:,}] {result.unit}{_told(result)}")

    return line


def _told(result: StepResult) -> str:
    from goldpan.miners.mine import duration

    match result.state:
        case "due":
            return f": {named(result.why)}"
        case "failed":
            return f" failed: {result.trouble}"
        case "skipped":
            return f" skipped: {result.summary}"
    missing = f"; missing: {'; '.join(result.missing)}" if result.missing else ""
    return f" done in {duration(result.seconds)}: {result.summary}{missing}"
