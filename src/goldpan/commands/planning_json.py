"""What plans tell programs: results, states and events as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # these take long to import
    from goldpan.plan.assess import Assessment
    from goldpan.plan.results import Event, PlanResult, UnitResult


def assessment_json(one: Assessment) -> dict[str, Any]:
    """Return what is known of a unit as plain data."""
    record = one.record
    return {
        "unit": one.unit.name,
        "stage": one.unit.stage,
        "subject": one.unit.subject,
        "state": one.state,
        "why": [asdict(change) for change in one.why],
        "after": list(one.after),
        "cost": asdict(one.cost),
        "fingerprint": one.recipe and one.recipe.fingerprint,
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
    told: dict[str, Any] = {
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
        told |= {
            name: value
            for name, value in unit_json(event.result).items()
            if name in ("state", "seconds", "said", "lacks", "problem", "remedy")
        }
    return told
