"""The report that a test runner left: a file of foreign code, read with care."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Literal

Outcome = Literal["passed", "failed", "skipped"]
_MOST_BYTES = 256 << 20


class ReportError(ValueError):
    """A report that cannot be read."""


def report_content(path: Path) -> bytes | None:
    """Return the bytes of a report that foreign code wrote, None where there is no file.

    Raises `ReportError` for a link, a pipe or the like, and for what is too large.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ReportError(f"the report cannot be read: {error.strerror}") from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise ReportError("the report is no ordinary file")
    with os.fdopen(descriptor, "rb") as file:
        content = file.read(_MOST_BYTES + 1)
    if len(content) > _MOST_BYTES:
        raise ReportError(f"the report has more than {_MOST_BYTES:,} bytes")
    return content
