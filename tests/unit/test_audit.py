"""Findings on planted rows: those that have it, and near misses that do not."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson
import pytest

from goldpan.audit.audit import AuditResult, audit_dataset
from goldpan.audit.finding import Finding, Verdict
from goldpan.audit.fixes import Fixes
from goldpan.audit.place import find_place
from goldpan.audit.solution import find_solution
from goldpan.code.grammar import Symbol, symbols_around
from goldpan.code.languages import language_of
from goldpan.core.errors import UsageError
from goldpan.core.result import blocks_of
from goldpan.core.storage.parquet import read_table
from goldpan.core.storage.sealed import file_digest, read_lineage
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.core.terminal import Reporter
from tests.auditing import row_of

PATCH = """\
diff --git a/src/mill/grain.py b/src/mill/grain.py
--- a/src/mill/grain.py
+++ b/src/mill/grain.py
@@ -1,7 +1,9 @@ class Hopper:
 import os

 class Hopper:
     def pour(self, weight):
-        return self.total + weight
+        if weight < 0:
+            raise ValueError("weight is negative")
+        self.total_poured = max(self.total, weight)
+        return self.total_poured

     def empty(self):
"""
BEFORE = """\
import os

class Hopper:
    def pour(self, weight):
        return self.total + weight

    def empty(self):
        self.total = 0
"""
FENCE = "```"


def swe_bench(statement: str, patch: str = PATCH, hints: str = "") -> dict[str, Any]:
    return {
        "instance_id": "mill__grain-41",
        "repo": "mill/grain",
        "base_commit": "a" * 40,
        "patch": patch,
        "test_patch": "",
        "problem_statement": statement,
        "hints_text": hints,
    }


def code_edit(body: str) -> dict[str, Any]:
    return {
        "id": "code-edit:mill/grain#40+41",
        "repo": "mill/grain",
        "issue": 40,
        "pull": 41,
        "title": "Pouring is wrong",
        "body": body,
        "head_sha": "c0ffee12" * 5,
        "base_sha": "a" * 40,
        "path": "src/mill/grain.py",
        "file_before": BEFORE,
        "diff": PATCH,
    }


def solution(columns: Mapping[str, Any], folder: Path) -> Finding:
    row = row_of(columns, folder)
    with Fixes(WorkspaceLayout(folder)) as fixes:
        return find_solution(row, *fixes.of([row]))


def place(columns: Mapping[str, Any], folder: Path) -> Finding:
    row = row_of(columns, folder)
    with Fixes(WorkspaceLayout(folder)) as fixes:
        return find_place(row, *fixes.of([row]))


ADDED = """\
if weight < 0:
  raise ValueError("weight is negative")
self.total_poured = max(self.total,
    weight)
return self.total_poured"""


WRITTEN = "self.total_poured = max(self.total, weight); return self.total_poured"
FENCED = f"I changed it to\n\n{FENCE}python\n{ADDED}\n{FENCE}\n"
DIFF = f"{FENCE}diff\n" + "".join(f"+ {line}\n" for line in ADDED.split("\n")) + FENCE
INLINE = "`self.total_poured = max( self.total, weight )`, `return self.total_poured`"
PULL = "https://github.com/mill/grain/pull/41"
BRANCH = "https://github.com/mill/grain/compare/main...miller:pour-fix"


def without_change(body: str) -> dict[str, Any]:
    columns = {**code_edit(body), "changed_path": "src/mill/grain.py"}
    return {name: columns[name] for name in columns if name not in ("diff", "file_before")}


@pytest.mark.parametrize(
    ("columns", "source", "kinds", "first"),
    [
        (swe_bench(FENCED), "problem_statement", "block line line line line name name", FENCE),
        (swe_bench(INLINE), "problem_statement", "line line name", "self.total_poured"),
        (swe_bench(DIFF), "problem_statement", "line line line name name", "if weight < 0:"),
        (swe_bench(WRITTEN), "problem_statement", "line line name", "self.total_poured"),
        (swe_bench(f"It is fixed in {PULL}/files."), "problem_statement", "pull", PULL),
        (swe_bench("Edited: see #41."), "problem_statement", "pull", "#41"),
        (swe_bench(f"See {BRANCH}"), "problem_statement", "branch", BRANCH),
        (swe_bench("It is wrong", hints=f"Does `{WRITTEN}` help?"), "hints_text",
         "line line name", "self.total_poured"),
        (code_edit("It works since c0ffee12c0, not since c0ffee1300."), "body",
         "commit", "c0ffee12c0"),
        (without_change("Fixed by #41"), "body", "pull", "#41"),
    ],
    ids=["block", "inline", "diff", "line", "address", "number", "branch", "hints", "commit",
         "without-change"],
)  # fmt: skip
def test_a_fix_in_the_texts_is_found(
    columns: dict[str, Any], source: str, kinds: str, first: str, tmp_path: Path
) -> None:
    found = solution(columns, tmp_path)
    assert found.verdict == "found"
    assert [span.kind for span in found.evidence] == kinds.split()
    assert found.evidence[0].text.startswith(first)
    for span in found.evidence:
        assert columns[source][span.start : span.end].startswith(span.text)
        assert span.source == source


OLD = "class Hopper:\n    def pour(self, weight):\n        return self.total + weight\n"
FRAMES = f"It crashes\n\n{FENCE}\n#40 0x00 in pour ()\n#41 0x01 in main ()\n{FENCE}\n"
MOVED = PATCH + "".join(
    f"-{line[1:]}" if line[0] == "+" and line[:3] != "+++" else line
    for line in PATCH.replace("grain.py", "bin.py").splitlines(True)
)
DELETING = "".join(line for line in PATCH.splitlines(True) if not line.startswith("+  "))


@pytest.mark.parametrize(
    ("columns", "verdict", "remedy"),
    [
        (swe_bench(f"Here it is\n\n{FENCE}python\n{OLD}{FENCE}\n"), "not-found", ""),
        (swe_bench('It should `raise ValueError("weight is negative")`.'), "not-found", ""),
        (swe_bench("Please add an attribute `total_poured`."), "not-found", ""),
        (swe_bench(f"Like #42 and {PULL[:-1]} and other/grain#41."), "not-found", ""),
        (swe_bench(FRAMES), "not-found", ""),
        (swe_bench(f"It worked in {BRANCH.partition('main')[0]}v1.0...v1.1"), "not-found", ""),
        (code_edit("It fails since deadbeef00."), "not-found", ""),
        (swe_bench(WRITTEN, MOVED), "cannot-tell", "Read the row"),
        (swe_bench("Pouring is wrong", DELETING), "cannot-tell", "Read the row"),
        (without_change("It is wrong"), "cannot-tell", "Run goldpan clone --repo mill/grain"),
    ],
    ids=["old-code", "message", "new-name", "other-pulls", "frames", "versions", "commit",
         "moved", "deleted", "without-change"],
)  # fmt: skip
def test_what_only_resembles_a_fix_is_not_found(
    columns: dict[str, Any], verdict: Verdict, remedy: str, tmp_path: Path
) -> None:
    found = solution(columns, tmp_path)
    assert (found.verdict, found.remedy) == (verdict, remedy)


def test_a_line_that_the_file_had_elsewhere_is_not_found(tmp_path: Path) -> None:
    moved = PATCH.replace("max(self.total, weight)", "0").replace("total_poured", "total")
    columns = {**code_edit("After `self.total = 0` it is empty."), "diff": moved}
    assert "self.total = 0" in moved
    assert not [span for span in solution(columns, tmp_path).evidence if span.kind == "line"]


ANSWER = (
    "The cache keeps the old wheel. You have to delete the folder of the cache first, "
    "and then build it again."
)


@pytest.mark.parametrize(
    ("body", "verdict"),
    [
        ("It fails.\n\n**Edit:** solved by deleting the cache.", "found"),
        ("It fails.\n\nUpdate: I found the cause, and deleting the cache fixed it.", "found"),
        ("It fails.\nSolved: delete the cache.", "found"),
        ("**Update from miller-2**: this is now fixed by the new mill.\n\nIt fails.", "found"),
        ("EDIT: it wont work with that option.", "not-found"),
        ("Updates from upstream: it was fixed by others and fails here.", "not-found"),
        (f"It fails. Someone wrote: {ANSWER}", "found"),
        ("See https://github.com/mill/grain/issues/40#issuecomment-77 for what helped.", "found"),
        ("It fails.\n\nEdit: this is still not solved by deleting the cache.", "not-found"),
        ("As in https://github.com/mill/grain/issues/40#issuecomment-771.", "not-found"),
        ("See https://github.com/mill/grain/discussions/40#discussioncomment-77.", "found"),
        ("### Describe the solution you'd like\n\nA faster cache.", "not-found"),
        ("It was solved in 1.2 and fails again.", "not-found"),
    ],
)
def test_an_answer_in_the_question(body: str, verdict: Verdict, tmp_path: Path) -> None:
    columns = {
        "id": "qa:mill/grain#40",
        "repo": "mill/grain",
        "issue": 40,
        "title": "The build fails",
        "body": body,
        "answer": f"> It fails.\n\n{ANSWER}",
        "answer_comment_id": 77,
    }
    assert solution(columns, tmp_path).verdict == verdict


TRACE = (
    'Traceback (most recent call last):\n  File "/x/mill/grain.py", line 5, in pour\n'
    "    return self.total + weight\nTypeError: no"
)


def changing(path: str, statement: str) -> dict[str, Any]:
    return swe_bench(statement, PATCH.replace("src/mill/grain.py", path))


def beside(other: str) -> dict[str, Any]:
    return {**code_edit("See grain.py"), "paths": ["src/mill/grain.py", other]}


@pytest.mark.parametrize(
    ("columns", "case", "kinds"),
    [
        (code_edit("src/mill/grain.py adds up."), "fully", "path"),
        (code_edit("Look at mill/grain.py, `pour()`."), "fully", "function path-end"),
        (code_edit("In grain.py it adds up."), "fully", "base-name"),
        (code_edit("`mill.grain` adds up."), "fully", "module"),
        (code_edit(TRACE), "fully", "path-end-in-trace"),
        (code_edit("`mill.grain.Hopper` adds up."), "fully", "class module"),
        (code_edit("`mill.grains.x` and `mill.grain-x` add up."), "not-named", ""),
        (code_edit("Hopper.pour adds up."), "partly", "function"),
        (code_edit("I pour grain into a hopper."), "not-named", ""),
        (code_edit("In other/grain.py, my-grain.py and grain.py.orig."), "not-named", ""),
        (beside("old/grain.py"), "not-named", ""),
        (beside("old/wheel.py"), "fully", "base-name"),
        (changing("lua/mill/grain.lua", "`require('mill.grain')` is late."), "fully", "module"),
        (changing("lua/mill/grain.lua", "`require('mill.grain.wet')` is late."), "not-named", ""),
        (changing("mill/__init__.py", "It calls mill.grain.pour late."), "not-named", ""),
        (changing("conf/grain.lua", "It is wet.\n\nfix(grain): dry it"), "fully", "stem"),
        (changing("conf/grain.lua", "It is wet. See fix(grain): dry it"), "not-named", ""),
        (changing("conf/grain_4x4.s", "ld: warning: grain_4x4.o: no section"), "fully",
         "stem-in-trace"),
        (changing("conf/grain_4x4.s", "ld: warning: wet/grain_4x4, grain_4x4-wet"), "not-named",
         ""),
        (changing("conf/grain.lua", "Grain is wet, and the `grain` server stops."), "not-named",
         ""),
    ],
)  # fmt: skip
def test_a_place_in_the_texts(
    columns: dict[str, Any], case: str, kinds: str, tmp_path: Path
) -> None:
    found = place(columns, tmp_path)
    undecided = "not-found" if "file_before" in columns else "cannot-tell"
    assert found.verdict == (undecided if case == "not-named" else "found")
    assert (found.case, sorted({span.kind for span in found.evidence})) == (case, kinds.split())
    for span in found.evidence:
        assert columns[span.source][span.start : span.end] == span.text


def test_one_of_two_files_is_partly_and_a_common_name_is_none(tmp_path: Path) -> None:
    other = PATCH.replace("grain.py", "utils.py")
    found = place(swe_bench("See grain.py", PATCH + other), tmp_path)
    assert (found.case, found.value) == ("partly", 0.5)
    found = place(swe_bench("See utils.py and mill/utils.py", other), tmp_path)
    assert (found.case, found.evidence[0].kind) == ("fully", "path-end")
    found = place(swe_bench("See my utils.py", other), tmp_path)
    assert (found.verdict, found.case) == ("cannot-tell", "not-named")
    assert "without the file before" in found.why


@pytest.mark.parametrize(
    ("path", "text", "line", "names"),
    [
        ("a.py", BEFORE, 5, ["pour", "Hopper"]),
        ("a.c", "static int *\npour(int n)\n{\n  return 0;\n}\n", 4, ["pour"]),
        ("a.js", "class A {\n  b() {\n    return 1\n  }\n}\n", 3, ["b", "A"]),
        ("a.ts", "const pour = (n: number) => {\n  return n\n}\n", 2, ["pour"]),
        ("a.java", "class A {\n  A(int x) {\n    y = x;\n  }\n}\n", 3, ["A", "A"]),
        ("a.go", "func (h *Hopper) Pour() {\n\tx()\n}\n", 2, ["Pour"]),
        ("a.rs", "impl Hopper {\n  fn pour() {\n    x();\n  }\n}\n", 3, ["pour", "Hopper"]),
        ("a.rb", "class A\n  def b\n    1\n  end\nend\n", 3, ["b", "A"]),
        ("a.py", BEFORE, 99, []),
        ("a.py", "def (:\n  x", 2, []),
    ],
)
def test_symbols_around_a_line(path: str, text: str, line: int, names: list[str]) -> None:
    language = language_of(path)
    assert language is not None and language.grammar is not None
    found = symbols_around(text.encode(), language.grammar, [line])
    assert [symbol.name for symbol in found] == names
    assert all(
        symbol in (Symbol("class", n), Symbol("function", n))
        for symbol, n in zip(found, names, strict=True)
    )


def audit(folder: Path, rows: list[dict[str, Any]], **options: Any) -> AuditResult:
    file = folder / "swe bench.jsonl"
    file.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))
    return audit_dataset(WorkspaceLayout(folder / "lab"), file, Reporter(quiet=True), **options)


def test_findings_are_kept_with_what_they_were_made_of(tmp_path: Path) -> None:
    rows = [swe_bench("See #41"), {**swe_bench("It is wrong"), "instance_id": "mill__grain-43"}]
    result = audit(tmp_path, rows, findings=("solution-in-issue",))
    counts = result.counts
    assert (counts.total, counts.flagged, counts.free, counts.undecided) == (2, 1, 1, 0)
    assert [example.id for example in result.examples] == ["mill__grain-41"]
    file = Path(result.file)
    assert file == tmp_path / "lab" / "audits" / "swe-bench" / "findings.parquet"
    kept = read_table(file).to_pylist()
    assert [(row["id"], row["verdict"]) for row in kept] == [
        ("mill__grain-41", "found"),
        ("mill__grain-43", "not-found"),
    ]
    assert kept[0]["evidence"][0]["text"] == "#41"
    lineage = read_lineage(file.parent, "audit")
    assert lineage["inputs"] == {"swe bench.jsonl": file_digest(tmp_path / "swe bench.jsonl")}
    before = file.read_bytes()
    assert audit(tmp_path, rows, findings=("solution-in-issue",)) == result
    assert file.read_bytes() == before
    shown = " ".join(getattr(block, "text", "") for block in blocks_of(result))
    assert "Of 2 rows, 1 is free of all findings (solution-in-issue); 0 cannot be judged" in shown


def test_rows_without_fix_or_answer_have_one_finding(tmp_path: Path) -> None:
    result = audit(tmp_path, [{"id": "a", "body": "x", "label": "bug"}])
    assert [count.name for count in result.findings] == ["measures-nothing"]
    with pytest.raises(UsageError, match="neither a fix nor an answer"):
        audit(tmp_path, [{"id": "a", "body": "x"}], findings=("solution-in-issue",))
    with pytest.raises(UsageError, match="is empty"):
        audit(tmp_path, [])


@pytest.mark.parametrize(
    "patch",
    ["diff --git a/x b/x\n", "diff --git nothing\n", "diff --git a/x b/x\n@@ -x @@\n+a\n", "\0\n"]
    + [
        f"diff --git a/x.py b/x.py\n@@ -1 +1,2 @@\n+{'a(' * 99}\\ud800{x}\n" for x in ("'", "}", "")
    ],
)
def test_a_broken_patch_stops_nothing(patch: str, tmp_path: Path) -> None:
    row = {**swe_bench("It \u202e is\r\nwrong", patch), "test_patch": patch}
    result = audit(tmp_path, [row])
    assert result.counts.total == 1
