"""What people see of the examination of a machine."""

from __future__ import annotations

from collections.abc import Iterator

from goldpan.core.result import Block, Line, renders
from goldpan.doctor import Diagnosis

_MARKS = {"ok": "ok  ", "note": "note", "fail": "FAIL"}


@renders(Diagnosis)
def examined(result: Diagnosis) -> Iterator[Block]:
    """Yield one line."""
    remedy = f". {result.remedy}" if result.remedy else ""
    text = f"{_MARKS[result.level]}  {result.name}: {result.message}{remedy}"
    yield Line(text, "bold" if result.level == "fail" else "")
