"""When test rows were written, beside the date on which a model's training data end.

A model may have read in training what was public before that date, answers included. Only rows
from after it are surely new to the model.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

import pyarrow as pa
import pyarrow.compute as pc

from goldpan.core.errors import UsageError

CUTOFF = "cutoff"
"""The setting of a run that names the last day of the model's training data."""


@dataclass(frozen=True, slots=True)
class RowDates:
    """The dates of a run's test rows, and how many lie on either side of the cut-off."""

    oldest: str | None
    """As YYYY-MM-DD, UTC; None where no row has a date."""
    newest: str | None
    undated: int
    """Rows without a date."""
    cutoff: str | None
    """The last day of the model's training data, where the run names it."""
    until: int | None
    """Rows written on that day or before; None without a cut-off."""
    after: int | None
    """Rows written later."""


def read_cutoff(value: object) -> str:
    """Return a cut-off as YYYY-MM-DD; raises `UsageError` for what is no date."""
    try:
        return date.fromisoformat(str(value)).isoformat()
    except ValueError:
        raise UsageError(
            f"The cut-off {str(value)!r} is not a date", "Write it as in --set cutoff=2023-10-01"
        ) from None


def find_dates(test: pa.Table, cutoff: str | None) -> RowDates:
    """Return the dates of test rows, by the column `created_at`."""
    moments = test["created_at"]
    dates = pc.drop_null(moments)
    span = pc.min_max(dates).as_py() if len(dates) else {}
    until = after = None
    if cutoff is not None:
        first = datetime.combine(date.fromisoformat(cutoff), time(), UTC) + timedelta(days=1)
        earlier = pc.less(dates, pa.scalar(first, moments.type))
        until = pc.sum(earlier).as_py() or 0
        after = len(dates) - until
    oldest, newest = (_day(span.get(end)) for end in ("min", "max"))
    return RowDates(oldest, newest, moments.null_count, cutoff, until, after)


def _day(moment: datetime | None) -> str | None:
    return None if moment is None else moment.date().isoformat()
