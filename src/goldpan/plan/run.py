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
from goldpan.core.result import Result, Results
from goldpan.core.sanitize import for_json
from goldpan.core.secrets import mask
from goldpan.core.storage.workspace import hold_lock, make_directory
from goldpan.core.terminal import Reporter
from goldpan.plan.opened import OpenPlan
from goldpan.plan.record import Basis, Record, digests_of
from goldpan.plan.results import PlanResult, State, StepResult, named
from goldpan.plan.stages import make_steps
from goldpan.plan.step import Step
from goldpan.workspace.options import call

NEVER = "this plan has not run it yet"
_UNKNOWN = Basis()
"""What a step depends on that failed before that was known."""
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
        self._options = options
        self._tell = tell
        self._ended: dict[str, StepResult] = {}
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
                result = replace(self._judge(step)[1], after=after)
            except GoldpanError as error:
                # What it reads is not there yet, or is damaged: running it tells which.
                why = (NEVER,) if step.record is None else () if after else (error.problem,)
                result = _result(step, "due", why=why, after=after)
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
                begun = [running for running in map(self._begin, batch) if running is not None]
                for group in _with_equal_options(begun):
                    joint = _call_at_once(group) if len(group) > 1 else None
                    for number, running in enumerate(group):
                        with self._failing(running):
                            results = joint[number] if joint else _call([running.step])[0]
                            self._succeed(running, results)
        taken = (self._ended[step.name] for step in self.steps if self._options.take(step))
        seconds = round(time.monotonic() - started, 3)
        return PlanResult(plan.file.name, plan.lab.path, tuple(plan.repos), tuple(taken), seconds)

    def _judge(self, step: Step) -> tuple[Basis, StepResult]:
        """Return what a step depends on, and whether it is due; its needs are met.

        One that was not asked for is due only where what is there is not what the plan says.
        """
        record, basis = step.record, step.basis()
        if record is None:
            return basis, _result(step, "due", why=(NEVER,))
        why = [*record.changes(basis, self.plan.lab.path, owns=step.stage.owns)]
        if record.state in ("done", "partial") and self._options.take(step):
            why += self._asked(step, record)
        known: dict[str, State] = {"failed": "failed", "begun": "stopped"}
        state: State = "due" if why else "partial" if record.missing else "fresh"
        return basis, _result(step, known.get(record.state, state), record, why=tuple(why))

    def _asked(self, step: Step, record: Record) -> Iterator[str]:
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

    def _begin(self, step: Step) -> _Running | None:
        """Record and report that a step begins; None where it is not due, or cannot run."""
        needed = [self._ended[name] for name in step.needs if name in self._ended]
        stopper = next((result for result in needed if result.stops_others), None)
        if stopper is not None:
            because = self._ended[stopper.because or stopper.unit]
            how = {"failed": "failed", "partial": "waits"}.get(because.state, "was skipped")
            summary = f"needs {because.unit}, which {how}"
            self._end(_result(step, "skipped", summary=summary, because=because.unit))
            return None
        running = _Running(step, time.monotonic())
        with self._failing(running):
            basis, result = self._judge(step)
            running = replace(running, basis=basis, why=result.why)
            if not result.why:
                self._end(result)
            elif not self._options.take(step):
                left_out = f"it is not up to date, and --only leaves it out: {result.why[0]}"
                self._end(_result(step, "skipped", summary=left_out, why=result.why))
            else:
                self._report(_result(step, "due", why=result.why))
                step.prepare()
                self.plan.keep(running.record("begun"))
                return running
        return None

    @contextmanager
    def _failing(self, running: _Running) -> Iterator[None]:
        """Record and report what a step fails with: no step stops the others."""
        try:
            yield
        except StoppedError:
            raise
        except Exception as error:  # noqa: BLE001
            self._fail(running, error)

    def _succeed(self, running: _Running, results: Sequence[Any]) -> None:
        step, root = running.step, self.plan.lab.path
        outcome = step.outcome(results)
        if step.stage.appends:
            running = replace(running, basis=step.basis())
        state: State = "partial" if outcome.missing else "done"
        record = replace(
            running.record(state),
            outputs=digests_of(outcome.made, root),
            summary=outcome.summary,
            missing=outcome.missing,
            again=outcome.again,
            stops=outcome.stops,
            repo=outcome.repo,
        )
        self.plan.keep(record)
        self._end(running.result(state, record, results))

    def _fail(self, running: _Running, error: Exception) -> None:
        explained = error if isinstance(error, GoldpanError) else explain(error)
        if explained is None:
            LOG.error("%s", running.step.name, exc_info=error)
            explained = GoldpanError(
                f"Goldpan itself failed ({type(error).__name__}: {error})",
                "Please report it, with what goldpan --log-file FILE run writes",
            )
        remedy = explained.remedy
        if isinstance(explained, TagTakenError):
            remedy += ". Write {content} into the plan's tag, which differs with the rows"
        record = replace(running.record("failed"), problem=explained.problem, remedy=remedy)
        self.plan.keep(record)
        self._end(running.result("failed", record))

    def _end(self, result: StepResult) -> None:
        self._ended[result.unit] = result
        if result.ran or result.state in ("failed", "skipped"):
            self._report(result)

    def _report(self, result: StepResult) -> None:
        number = next(n for n, step in enumerate(self.steps, 1) if step.name == result.unit)
        self._tell(result, number, len(self.steps))


@dataclass(frozen=True, slots=True)
class _Running:
    """A step under way."""

    step: Step
    began: float
    basis: Basis = _UNKNOWN
    why: tuple[str, ...] = ()

    def record(self, state: Any) -> Record:
        """Return its record; what is known of a repository's name stays."""
        last = self.step.record
        return Record(
            self.step.name,
            state,
            self.basis,
            _now(),
            seconds=round(time.monotonic() - self.began, 3),
            repo=last.repo if last else "",
        )

    def result(self, state: State, record: Record, results: Sequence[Any] = ()) -> StepResult:
        """Return how it ended."""
        shown = tuple(one for one in results if isinstance(one, Result))
        about = {"ran": bool(self.basis.version), "seconds": record.seconds, "results": shown}
        return _result(self.step, state, record, why=self.why, **about)


def _result(step: Step, state: State, record: Record | None = None, **about: Any) -> StepResult:
    names = ("at", "summary", "missing", "stops", "problem", "remedy")
    told = {name: getattr(record, name) for name in names} if record else {}
    return StepResult(
        unit=step.name,
        stage=step.stage.name,
        subject=step.subject,
        state=state,
        **{**told, **about},
    )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _with_equal_options(begun: Sequence[_Running]) -> list[list[_Running]]:
    """Return steps that one call can do, each in the order in which calls return repositories."""
    groups: dict[str, list[_Running]] = {}
    for running in sorted(begun, key=lambda running: running.step.repo.lower()):
        groups.setdefault(repr(running.step.stage.options(running.step)), []).append(running)
    return list(groups.values())


def _call_at_once(group: Sequence[_Running]) -> list[list[Any]] | None:
    """Do steps by one call; None where that fails: each for itself tells which of them do."""
    try:
        return _call([running.step for running in group])
    except StoppedError:
        raise
    except Exception as error:  # noqa: BLE001
        LOG.info("%s: %s", group[0].step.stage.name, error)
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
