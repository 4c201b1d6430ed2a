"""What plans tell programs: results, states and events as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # these take long to import
    from goldpan.plan.assess import Assessment
    from goldpan.plan.results import Event, PlanResult, UnitResult


def assessment_json(assessment: Assessment) -> dict[str, Any]:
    """Return what is known of a unit as plain data."""
    record = assessment.record
    return {
        "unit": assessment.unit.name,
        "stage": assessment.unit.stage,
        "subject": assessment.unit.subject,
        "state": assessment.state,
        "why": [asdict(change) for change in assessment.why],
        "after": list(assessment.after),
        "cost": asdict(assessment.cost),
        "fingerprint": assessment.recipe and assessment.recipe.fingerprint,
        "last": record
        and {
            "at": record.at,
            "state": record.state,
            "seconds": record.seconds,
            "bytes": record.bytes,
            "spent": dict(record.spent),
            "said": record.said,
            "lacks": list(record.lacks),
            "problem": record.problem,
            "remedy": record.remedy,
            "outputs": dict(record.outputs),
        },
    }


def result_json(result: PlanResult) -> dict[str, Any]:
    """Return what a run did as plain data."""
    return {
        "plan": result.plan,
        "workspace": str(result.workspace),
        "repositories": list(result.repositories),
        "ran": result.ran,
        "complete": result.complete,
        "seconds": round(result.seconds, 3),
        "units": [unit_json(unit) for unit in result.units],
    }


def unit_json(result: UnitResult) -> dict[str, Any]:
    """Return what became of a unit as plain data."""
    return {
        "unit": result.unit.name,
        "stage": result.unit.stage,
        "subject": result.unit.subject,
        "state": result.state,
        "ran": result.ran,
        "why": [str(change) for change in result.why],
        "seconds": round(result.seconds, 3),
        "said": result.said,
        "lacks": list(result.lacks),
        "problem": result.problem,
        "remedy": result.remedy,
        "because": result.because,
    }


def event_json(event: Event) -> Mapping[str, Any]:
    """Return an event as a line of a log."""
    line: dict[str, Any] = {
        "event": event.kind,
        "at": event.at,
        "unit": event.unit.name,
        "stage": event.unit.stage,
        "subject": event.unit.subject,
        "number": event.number,
        "total": event.total,
        "why": [str(change) for change in event.why],
    }
    if event.result is not None:
        line |= {
            name: value
            for name, value in unit_json(event.result).items()
            if name in ("state", "seconds", "said", "lacks", "problem", "remedy")
        }
    return line
