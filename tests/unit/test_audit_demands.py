"""Tests that demand what nobody said: planted rows that have it, and near misses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from goldpan.audit.demands import find_demands
from goldpan.audit.finding import Finding, Span, Text, Verdict
from goldpan.audit.fixes import Fix, Precedents, find_word
from tests.auditing import row_of

SILO = """\
class Silo:
    def read_total(self):
        return self.total

    def read_height(self):
        if self.height < 0:
            raise ValueError("height is negative")

    def close(self, quietly=False):
        self.clear_all()
"""


def added(path: str, lines: str, *, is_new: bool = False) -> str:
    """Return a git diff that adds lines to a file behind one that stays."""
    text = "".join(f"+{line}\n" for line in lines.strip("\n").split("\n"))
    count = text.count("\n")
    if is_new:
        head = f"--- /dev/null\n+++ b/{path}\n@@ -0,0 +1,{count} @@\n"
    else:
        head = f"--- a/{path}\n+++ b/{path}\n@@ -1 +1,{count + 1} @@\n kept = 1\n"
    return f"diff --git a/{path} b/{path}\n{head}{text}"


def code(files: Mapping[str, str]) -> Precedents:
    def first(forms: Sequence[str]) -> Span | None:
        found = (find_word(Text(path, text), forms) for path, text in files.items())
        return next(filter(None, found), None)

    return lambda wanted: [*map(first, wanted)]


def demands(
    fix: str,
    test: str,
    said: str,
    folder: Path,
    before: Mapping[str, str] | None,
    suffix: str = "py",
    *,
    is_new: bool = False,
) -> Finding:
    columns = {
        "instance_id": "mill__grain-41",
        "repo": "mill/grain",
        "patch": added(f"mill/hopper.{suffix}", fix, is_new=is_new),
        "test_patch": added(f"tests/test_hopper.{suffix}", test),
        "problem_statement": said,
    }
    fix_of_row = Fix((), {}) if before is None else Fix((), {}, code(before))
    found = find_demands(row_of(columns, folder), fix_of_row)
    for span in found.evidence:
        text = columns.get(span.source) or (before or {})[span.source]
        assert text[span.start : span.end] == span.text
    return found


BESIDE = {"mill/silo.py": SILO}


@pytest.mark.parametrize(
    ("fix", "test", "said", "case"),
    [
        ("def spill(self):\n    pass", "hopper.spill()", "It loses grain.", "open"),
        ("def spill(self):\n    pass", "hopper.spill()", "Please add `Hopper.spill`.", "stated"),
        ("def pour(self, unit=1):\n    pass", "x = hopper.pour(unit=2)", "Pour units.", "open"),
        ("self.spilled = 0", "assert hopper.spilled == 0", "It loses grain.", "open"),
        ("class SpillError(Exception):\n    pass", "with raises(SpillError):", "No.", "open"),
        ("LIMIT_OF_GRAIN = 3", "from mill.hopper import LIMIT_OF_GRAIN", "No limit.", "open"),
        ("def close(self):\n    pass", "hopper.close()", "Hoppers stay open.", "determined"),
        ("def read_weight(self):\n    pass", "hopper.read_weight()", "It is heavy.", "open"),
        ("spilled = 0\nreturn spilled", "spilled = hopper.pour()", "It loses grain.", ""),
        ("# spill()\nx = 1", "hopper.spill()", "It loses grain.", ""),
        ("from grind import spill\nspill()", "from grind import spill", "It loses.", ""),
        (
            "def on_spill(self):\n    pass",
            "class Mine(Hopper):\n    def on_spill(self): ...",
            "It loses grain.",
            "open",
        ),
        ("def __len__(self):\n    pass", "class A:\n    def __len__(self): ...", "It is.", ""),
        ("raise OverflowError", "with raises(OverflowError):", "It loses grain.", ""),
        ("def spill():\n    pass", "def spill():\n    pass\nspill()", "It loses grain.", ""),
    ],
)
def test_names(fix: str, test: str, said: str, case: str, tmp_path: Path) -> None:
    found = demands(fix, test, said, tmp_path, BESIDE)
    assert found.case == case
    assert found.verdict == ("found" if case == "open" else "not-found")
    kinds = {span.kind for span in found.evidence}
    assert not case or {f"{case}-name", "introduced"} <= kinds
    assert ("precedent" in kinds) == (case == "determined")


@pytest.mark.parametrize(
    ("fix", "test", "said", "case"),
    [
        ('raise ValueError("no grain left")', 'match="no grain left"', "It fails.", "open"),
        ('raise ValueError(f"no grain of {x}")', 'm = "no grain of rye"', "It fails.", "open"),
        ('raise ValueError("no grain (yet)")', r'match=r"no grain \(yet\)"', "It fails.", "open"),
        ('raise ValueError("no grain left")', 'm = "no grain left"', "Say no grain left", "stated"),
        ('raise E("height is negative")', 'm = "height is negative"', "A weight.", "determined"),
        ('raise E("flour is negative")', 'm = "flour is negative"', "It fails.", "open"),
        ('key["moisture"] = 1', 'assert key["moisture"]', "It is wet.", "open"),
        ("x = 4711", "assert x == 4711", "It is wrong.", "open"),
        ("x = 4711", "assert x == 4711", "It is 4711.", "stated"),
        ("x = 47", "assert x == 47", "It is wrong.", ""),
        ('raise E("no grain left")', 'm = "no rye left"', "It fails.", ""),
    ],
)
def test_literals_and_messages(fix: str, test: str, said: str, case: str, tmp_path: Path) -> None:
    found = demands(fix, test, said, tmp_path, BESIDE)
    assert found.case == case
    assert not case or f"{case}-literal" in {span.kind for span in found.evidence}


def test_the_name_of_a_new_file_is_a_demand(tmp_path: Path) -> None:
    test = "from mill.hopper import Hopper"
    said = "Please add the class Hopper."
    found = demands("class Hopper:\n    pass", test, said, tmp_path, BESIDE, is_new=True)
    assert (found.case, found.why) == ("open", "demands: 1 open, 1 stated; hopper")


@pytest.mark.parametrize(
    ("suffix", "fix", "test"),
    [
        ("c", "int mill_spill(int n)\n{\n  return n;\n}", "CHECK(mill_spill(3) == 3);"),
        ("h", "int mill_spill(const int *n);", "CHECK(mill_spill(&n) == 3);"),
        ("go", "func (h *Hopper) Spill(n int) {\n}", "h.Spill(3)"),
        ("ts", "export const spill = (n: number) => n", 'import { spill } from "./hopper"'),
        ("java", "public void spill(int n) {\n}", "hopper.spill(3);"),
        ("rs", "pub fn spill(n: u8) {}", "hopper::spill(3);"),
        ("go", "type Hopper struct {\n\tSpilled int\n}", "h.Spilled"),
        ("c", "enum mill {\n  MILL_SPILLED,\n};", "CHECK(mill(x) == MILL_SPILLED);"),
        ("rb", "def spill\n  1\nend", "hopper.spill"),
    ],
)
def test_languages(suffix: str, fix: str, test: str, tmp_path: Path) -> None:
    found = demands(fix, test, "It loses grain.", tmp_path, {}, suffix)
    assert (found.verdict, found.case) == ("found", "open")
    assert demands("x = 1", test, "It loses.", tmp_path, {}, suffix).verdict == "not-found"


@pytest.mark.parametrize(
    ("said", "before", "suffix", "verdict", "remedy"),
    [
        ("It loses grain.", None, "py", "cannot-tell", "Run goldpan clone --repo mill/grain"),
        ("Add spill().", None, "py", "not-found", ""),
        ("It loses grain.", BESIDE, "yml", "cannot-tell", "Read the row"),
    ],
)
def test_what_cannot_be_told(
    said: str,
    before: Mapping[str, str] | None,
    suffix: str,
    verdict: Verdict,
    remedy: str,
    tmp_path: Path,
) -> None:
    fix, test = "def spill(self):\n    pass", "hopper.spill()"
    found = demands(fix, test, said, tmp_path, before, suffix)
    assert (found.verdict, found.remedy) == (verdict, remedy)
