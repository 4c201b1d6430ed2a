"""A unit that is due: it begins, and ends or fails, which is recorded and reported."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Literal

from goldpan.core.errors import GoldpanError, StoppedError
from goldpan.core.log import LOG
from goldpan.core.resources import explain
from goldpan.core.workspace import size_of
from goldpan.plan.assess import Assessment
from goldpan.plan.record import Change, Recipe, Record, digests_of
from goldpan.plan.results import UnitNotifier, UnitResult, now
from goldpan.plan.unit import Outcome, Step, Unit

Keep = Callable[[Record], None]
"""Stores a record."""


class Job:
    """A unit that is due, with all that its beginning and its end are recorded with."""

    def __init__(
        self,
        step: Step,
        record: Record | None,
        judged: Assessment,
        root: Path,
        notifier: UnitNotifier,
        keep: Keep,
    ) -> None:
        assert judged.recipe is not None
        self.step = step
        self.result: UnitResult | None = None
        """What became of it, once it ended or failed."""
        self._record = record
        self._recipe: Recipe = judged.recipe
        self._why = judged.why
        self._root = root
        self._notifier = notifier
        self._keep = keep
        self._begun = time.monotonic()

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
        self._begun = time.monotonic()
        self._notifier.on_begin(self._why)
        self.step.prepare(self._record)
        self._keep(begun(self.step.unit, self._record, self._recipe))

    def end(self, outcome: Outcome) -> None:
        """Record and report its outcome."""
        state: Literal["partial", "done"] = "partial" if outcome.lacks else "done"
        seconds = time.monotonic() - self._begun
        self._keep(
            Record(
                self.step.unit.name,
                state,
                self._recipe,
                now(),
                digests_of(self._root, outcome.made),
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
        unit, said = self.step.unit, outcome.said
        result = UnitResult(unit, state, True, self._why, seconds, said, outcome.lacks)
        self._finish(replace(result, waits=outcome.waits, results=outcome.results))

    def fail(self, error: Exception) -> None:
        """Record and report what it failed with."""
        seconds, unit = time.monotonic() - self._begun, self.step.unit
        explanation = explained(unit, error)
        self._keep(failed(begun(unit, self._record, self._recipe), explanation))
        self._finish(failure(unit, explanation, self._why, seconds, ran=True))

    def _finish(self, result: UnitResult) -> None:
        self.result = result
        self._notifier.on_end(result)


def begun(unit: Unit, record: Record | None, recipe: Recipe) -> Record:
    """Return the record of a unit under way, with what is known of its last run."""
    if record is None:
        return Record(unit.name, "begun", recipe, now())
    return Record(
        unit.name,
        "begun",
        recipe,
        now(),
        bytes=record.bytes,
        seconds=record.seconds,
        facts=record.facts,
    )


def failed(record: Record, error: GoldpanError) -> Record:
    """Return the record of a unit that failed."""
    return replace(record, state="failed", problem=error.problem, remedy=error.remedy)


def failure(
    unit: Unit, error: GoldpanError, why: tuple[Change, ...], seconds: float, *, ran: bool
) -> UnitResult:
    """Return the result of a unit that failed."""
    return UnitResult(unit, "failed", ran, why, seconds, problem=error.problem, remedy=error.remedy)


def explained(unit: Unit, error: Exception) -> GoldpanError:
    """Return the failure in words for people."""
    explanation = error if isinstance(error, GoldpanError) else explain(error)
    if explanation is not None:
        return explanation
    LOG.error("%s", unit.name, exc_info=error)
    return GoldpanError(
        f"Goldpan itself failed ({type(error).__name__}: {error})",
        "Please report it, with what goldpan --log-file FILE run writes",
    )
