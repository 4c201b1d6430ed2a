"""What people see of the examination of a machine."""

from __future__ import annotations

from collections.abc import Iterator

from goldpan.core.result import Line, Piece, renders
from goldpan.doctor import Diagnosis


@renders(Diagnosis)
def _examined(result: Diagnosis) -> Iterator[Piece]:
    mark = "FAIL" if result.level == "fail" else f"{result.level:<4}"
    remedy = f". {result.remedy}" if result.remedy else ""
    text = f"{mark}  {result.name}: {result.message}{remedy}"
    yield Line(text, "bold" if result.level == "fail" else "")
