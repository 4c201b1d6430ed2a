"""Runs a plan: only what is due, each step for itself, with a record of each."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import groupby, product
from typing import Any

import orjson

from goldpan.core.errors import (
    GoldpanError,
    StoppedError,
    TagTakenError,
    UsageError,
    WorkspaceError,
)
from goldpan.core.log import LOG, is_json
from goldpan.core.resources import explain
from goldpan.core.result import Results
from goldpan.core.sanitize import for_json
from goldpan.core.secrets import mask
from goldpan.core.storage.workspace import hold_lock, make_directory
from goldpan.core.terminal import Reporter
from goldpan.plan.opened import OpenPlan
from goldpan.plan.record import PlanResult, State, StepResult, named
from goldpan.plan.stages import make_steps
from goldpan.plan.step import Step
from goldpan.workspace.options import call

NEVER = "this plan has not run it yet"
Listener = Callable[[StepResult, int, int], None]
"""Hears of a step that begins or ended, with its number and how many there are."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """The options of a run beside its plan."""

    only: tuple[str, ...] = ()
    """Steps by ``STAGE``, ``STAGE/SUBJECT`` or subject; all without any."""
    update: bool = False
    """True where GitHub is asked for changes."""
    force: bool = False
    """True where steps that are up to date are run, too."""
    refresh: bool = True
    """True where the plan's `refresh` counts."""

    def take(self, step: Step) -> bool:
        """Tell whether a step is one of those that are asked for."""
        names = {step.stage.name, step.name.lower(), step.subject.lower()}
        return not self.only or any(name.lower().strip("/") in names for name in self.only)


class PlanRun:
    """The steps of an opened plan, which are judged or run."""

    def __init__(
        self, plan: OpenPlan, options: RunOptions, tell: Listener = lambda *_: None
    ) -> None:
        """Make the steps; raises `UsageError` for a name in `only` that is none."""
        self.plan = plan
        self.steps = make_steps(plan)
        self._by_name = {step.name: step for step in self.steps}
        self._options = options
        self._tell = tell
        self._ended: dict[str, StepResult] = {}
        self._began: dict[str, float] = {}
        for name in options.only:
            if not any(RunOptions((name,)).take(step) for step in self.steps):
                raise UsageError(
                    f"--only {name} names no unit of the plan {plan.file.name}",
                    "Give a stage, a repository or both, as filter/OWNER/NAME; --dry-run lists all",
                )

    def judged(self) -> list[StepResult]:
        """Return all steps that are asked for as a run would find them, without running any.

        What depends on steps that are due cannot be told before these ran.
        """
        found: dict[str, StepResult] = {}
        for step in self.steps:
            before = [found[name] for name in {*step.needs, *step.after} & found.keys()]
            after = tuple(sorted(result.unit for result in before if result.is_open))
            try:
                result = replace(self._judge(step), after=after)
            except GoldpanError as error:
                # What it reads is not there yet, or is damaged: running it tells which.
                why = (NEVER,) if step.record is None else () if after else (error.problem,)
                result = step.result("due", why=why, after=after)
            is_after = after and not result.why
            found[step.name] = replace(result, state="after") if is_after else result
        return [found[step.name] for step in self.steps if self._options.take(step)]

    def run(self) -> PlanResult:
        """Run what is due."""
        plan, started = self.plan, time.monotonic()
        make_directory(plan.folder)
        busy = WorkspaceError(
            f"Another goldpan is running the plan {plan.file.name} in {plan.lab.path}",
            "Wait for it",
        )
        with hold_lock(plan.folder / "lock", busy):
            plan.forget()
            for batch in self._batches():
                begun = filter(None, map(self._begin, batch))
                for group in self._with_equal_options(list(begun)):
                    steps = [self._by_name[one.unit] for one in group]
                    joint = _call_at_once(steps) if len(group) > 1 else None
                    for number, (step, one) in enumerate(zip(steps, group, strict=True)):
                        with self._failing(one):
                            results = joint[number] if joint else _call([step])[0]
                            self._keep(step.ended(one, results))
        taken = (self._ended[step.name] for step in self.steps if self._options.take(step))
        seconds = round(time.monotonic() - started, 3)
        return PlanResult(plan.file.name, plan.lab.path, tuple(plan.repos), tuple(taken), seconds)

    def _judge(self, step: Step) -> StepResult:
        """Return whether a step is due, with what it depends on; its needs are met.

        One that was not asked for is due only where what is there is not what the plan says.
        """
        record, basis = step.record, step.basis()
        if record is None:
            return step.result("due", why=(NEVER,), basis=basis)
        why = [*record.changes(basis, self.plan.lab.path, owns=step.stage.owns)]
        if record.state in ("done", "partial") and self._options.take(step):
            why += self._asked(step, record)
        known: dict[str, State] = {"failed": "failed", "begun": "stopped"}
        state: State = "due" if why else "partial" if record.missing else "fresh"
        state = known.get(record.state, state)
        return replace(record, state=state, why=tuple(why), basis=basis, seconds=0.0)

    def _asked(self, step: Step, record: StepResult) -> Iterator[str]:
        options = self._options
        if record.missing and record.again:
            yield f"something is missing ({'; '.join(record.missing[:3])})"
        if options.refresh and (reason := step.stage.is_due(step, record, options.update)):
            yield reason
        if options.force:
            yield "--force was given"

    def _batches(self) -> Iterator[list[Step]]:
        """Yield steps that begin at once: of many repositories where their stage takes many."""
        for _, steps in groupby(self.steps, lambda step: step.stage.name):
            of_stage = list(steps)
            if of_stage[0].is_joint:
                yield of_stage
            else:
                yield from ([step] for step in of_stage)

    def _with_equal_options(self, begun: Sequence[StepResult]) -> list[list[StepResult]]:
        """Return steps that one call can do, each in the order in which repositories come back."""
        groups: dict[str, list[StepResult]] = {}
        for one in sorted(begun, key=lambda one: self._by_name[one.unit].repo.lower()):
            step = self._by_name[one.unit]
            groups.setdefault(repr(step.stage.options(step)), []).append(one)
        return list(groups.values())

    def _begin(self, step: Step) -> StepResult | None:
        """Record and report that a step begins; None where it is not due, or cannot run."""
        needed = [self._ended[name] for name in step.needs if name in self._ended]
        stopper = next((result for result in needed if result.stops_others), None)
        if stopper is not None:
            because = self._ended[stopper.because or stopper.unit]
            how = {"failed": "failed", "partial": "waits"}.get(because.state, "was skipped")
            summary = f"needs {because.unit}, which {how}"
            self._end(step.result("skipped", summary=summary, because=because.unit))
            return None
        self._began[step.name] = time.monotonic()
        last = step.record
        begun = step.result("begun", repo=last.repo if last else "")
        with self._failing(begun):
            judged = self._judge(step)
            begun = replace(begun, basis=judged.basis, why=judged.why, at=_now(), ran=True)
            if not judged.why:
                self._end(judged)
            elif not self._options.take(step):
                left_out = f"it is not up to date, and --only leaves it out: {judged.why[0]}"
                self._end(step.result("skipped", summary=left_out, why=judged.why))
            else:
                self._report(step.result("due", why=judged.why))
                step.prepare()
                self.plan.keep(begun)
                return begun
        return None

    @contextmanager
    def _failing(self, begun: StepResult) -> Iterator[None]:
        """Record and report what a step fails with: no step stops the others."""
        try:
            yield
        except StoppedError:
            raise
        except Exception as error:  # noqa: BLE001
            self._fail(begun, error)

    def _keep(self, result: StepResult) -> None:
        """Record and report how a step ended."""
        seconds = round(time.monotonic() - self._began[result.unit], 3)
        ended = replace(result, at=_now(), seconds=seconds)
        self.plan.keep(ended)
        self._end(ended)

    def _fail(self, begun: StepResult, error: Exception) -> None:
        explained = error if isinstance(error, GoldpanError) else explain(error)
        if explained is None:
            LOG.error("%s", begun.unit, exc_info=error)
            explained = GoldpanError(
                f"Goldpan itself failed ({type(error).__name__}: {error})",
                "Please report it, with what goldpan --log-file FILE run writes",
            )
        remedy = explained.remedy
        if isinstance(explained, TagTakenError):
            remedy += ". Write {content} into the plan's tag, which differs with the rows"
        self._keep(replace(begun, state="failed", problem=explained.problem, remedy=remedy))

    def _end(self, result: StepResult) -> None:
        self._ended[result.unit] = result
        if result.ran or result.state in ("failed", "skipped"):
            self._report(result)

    def _report(self, result: StepResult) -> None:
        number = next(n for n, step in enumerate(self.steps, 1) if step.name == result.unit)
        self._tell(result, number, len(self.steps))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _call_at_once(steps: Sequence[Step]) -> list[list[Any]] | None:
    """Do steps by one call; None where that fails: each for itself tells which of them do."""
    try:
        return _call(steps)
    except StoppedError:
        raise
    except Exception as error:  # noqa: BLE001
        LOG.info("%s: %s", steps[0].stage.name, error)
        return None


def _call(steps: Sequence[Step]) -> list[list[Any]]:
    """Call the method of some steps, once for each choice of values; return the results of each."""
    first = steps[0]
    options, lab = first.options(), first.plan.lab
    found: list[list[Any]] = [[] for _ in steps]
    for values in product(*(options[name] for name in first.stage.each)):
        given = {**options, **dict(zip(first.stage.each, values, strict=True))}
        if first.stage.is_of_repository:
            given["repos"] = [step.repo for step in steps]
        result = call(lab, first.method, given)
        items = list(result) if isinstance(result, Results) else []
        is_for_each = first.stage.is_of_repository and len(items) == len(steps)
        if not is_for_each and len(steps) > 1:
            raise UsageError(f"{first.stage.name} gave no result of each repository", "Report it")
        for number, results in enumerate(found):
            results.append(items[number] if is_for_each else result)
    return found


def reported_to(reporter: Reporter) -> Listener:
    """Return what tells of steps in lines, or as JSON where that is asked for."""

    def line(result: StepResult, number: int, total: int) -> None:
        title = f"[{number:,}/{total:,}] {result.unit}"
        reporter.note(f"{title}{_told(result)}")

    return _write_event if is_json() else line


def _told(result: StepResult) -> str:
    from goldpan.miners.mine import duration

    match result.state:
        case "due":
            return f": {named(result.why)}"
        case "failed":
            return f" failed: {result.problem}. {result.remedy}."
        case "skipped":
            return f" skipped: {result.summary}"
    missing = f"; missing: {'; '.join(result.missing)}" if result.missing else ""
    return f" done in {duration(result.seconds)}: {result.summary}{missing}"


def _write_event(result: StepResult, number: int, total: int) -> None:
    events = {"due": "begin", "failed": "fail", "skipped": "skip"}
    names = ("unit", "stage", "subject", "why")
    line = {
        "event": events.get(result.state, "end"),
        "at": _now(),
        "number": number,
        "total": total,
        **{name: getattr(result, name) for name in names},
    }
    if result.state != "due":
        ended = ("state", "seconds", "summary", "missing", "problem", "remedy")
        line |= {name: getattr(result, name) for name in ended}
    sys.stderr.write(for_json(mask(orjson.dumps(line).decode())) + "\n")
    sys.stderr.flush()
