"""Findings on planted rows: those that have it, and near misses that do not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from goldpan.audit.audit import AuditResult, audit_dataset
from goldpan.audit.finding import Finding, Verdict
from goldpan.audit.fixes import Fixes
from goldpan.audit.place import find_place
from goldpan.audit.rows import Row, read_rows
from goldpan.audit.solution import find_solution
from goldpan.audit.stored_runs import Outcomes, find_measure
from goldpan.code.grammar import symbols_around
from goldpan.code.languages import language_of
from goldpan.core.errors import DatasetError, EvaluationError, UsageError
from goldpan.core.parquet import read_table
from goldpan.core.sealed import file_digest, read_lineage
from goldpan.core.terminal import Reporter
from goldpan.core.workspace import WorkspaceLayout
from goldpan.datasets.registry import find_task
from goldpan.datasets.task_data import task_data
from goldpan.evaluation.model import Costs, find_model
from goldpan.evaluation.protocol import find_protocol
from goldpan.evaluation.training import training_context
from tests.evaluating import rows

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


def row_of(columns: Mapping[str, Any], folder: Path) -> Row:
    file = folder / "rows.jsonl"
    file.write_bytes(orjson.dumps(columns))
    (row,) = read_rows(file)
    return row


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


def solution(
    columns: Mapping[str, Any], folder: Path, find: Callable[..., Finding] = find_solution
) -> Finding:
    row = row_of(columns, folder)
    with Fixes(WorkspaceLayout(folder)) as fixes:
        return find(row, *fixes.of([row]))


def place(columns: Mapping[str, Any], folder: Path) -> Finding:
    return solution(columns, folder, find_place)


ADDED = """\
if weight < 0:
  raise ValueError("weight is negative")
self.total_poured = max(self.total,
    weight)
return self.total_poured"""


@pytest.mark.parametrize(
    ("statement", "kind"),
    [
        (f"I changed it to\n\n{FENCE}python\n{ADDED}\n{FENCE}\n", "line"),
        ("`self.total_poured = max( self.total, weight )`, `return self.total_poured`", "line"),
        (f"{FENCE}diff\n" + "".join(f"+ {x}\n" for x in ADDED.split("\n")) + FENCE, "line"),
        ("It is fixed in https://github.com/mill/grain/pull/41/files.", "pull"),
        ("Edited: see #41.", "pull"),
        ("See https://github.com/mill/grain/compare/main...miller:pour-fix", "branch"),
    ],
    ids=["block", "inline", "diff", "address", "number", "branch"],
)
def test_a_fix_in_the_issue_is_found(statement: str, kind: str, tmp_path: Path) -> None:
    found = solution(swe_bench(statement), tmp_path)
    assert found.verdict == "found"
    assert kind in {span.kind for span in found.evidence}
    for span in found.evidence:
        assert statement[span.start : span.end].startswith(span.text)
        assert span.source == "problem_statement"


def test_a_fix_in_the_comments_that_the_row_gives_is_found(tmp_path: Path) -> None:
    hint = "Does `self.total_poured = max(self.total, weight); return self.total_poured` help?"
    found = solution(swe_bench("Pouring is wrong", hints=hint), tmp_path)
    assert found.verdict == "found"
    assert [span.source for span in found.evidence if span.kind == "line"] == ["hints_text"] * 2


def test_a_commit_that_holds_the_fix_is_found_with_the_time_of_the_text(tmp_path: Path) -> None:
    text = "It works since c0ffee12c0, not since c0ffee1300."
    found = solution(code_edit(text), tmp_path)
    assert (found.verdict, [span.text for span in found.evidence]) == ("found", ["c0ffee12c0"])
    assert solution(code_edit("It fails since deadbeef00."), tmp_path).verdict == "not-found"


@pytest.mark.parametrize(
    "statement",
    [
        f"Here it is\n\n{FENCE}python\nclass Hopper:\n    def pour(self, weight):\n"
        f"        return self.total + weight\n{FENCE}\n",
        'It should `raise ValueError("weight is negative")`, please.',
        "Please add an attribute `total_poured`.",
        "Like #42 and https://github.com/mill/grain/pull/4 and other/grain#41.",
        f"It crashes\n\n{FENCE}\n#40 0x00 in pour ()\n#41 0x01 in main ()\n{FENCE}\n",
        "It worked in https://github.com/mill/grain/compare/v1.0...v1.1",
        "Nothing of that kind.",
    ],
    ids=["old-code", "message", "new-name", "other-pulls", "frames", "versions", "plain"],
)
def test_what_only_resembles_a_fix_is_not_found(statement: str, tmp_path: Path) -> None:
    assert solution(swe_bench(statement), tmp_path).verdict == "not-found"


def test_a_line_that_the_file_had_elsewhere_is_not_found(tmp_path: Path) -> None:
    moved = PATCH.replace("max(self.total, weight)", "0").replace("total_poured", "total")
    columns = {**code_edit("After `self.total = 0` it is empty."), "diff": moved}
    assert "self.total = 0" in moved
    assert not [span for span in solution(columns, tmp_path).evidence if span.kind == "line"]


def test_a_line_that_the_fix_moves_from_another_file_is_not_found(tmp_path: Path) -> None:
    other = "".join(
        f"-{line[1:]}" if line[0] == "+" and line[:3] != "+++" else line
        for line in PATCH.replace("grain.py", "bin.py").splitlines(True)
    )
    text = "See `self.total_poured = max(self.total, weight); return self.total_poured`."
    assert solution(swe_bench(text), tmp_path).verdict == "found"
    assert solution(swe_bench(text, PATCH + other), tmp_path).verdict == "cannot-tell"


def test_a_fix_that_only_deletes_cannot_be_told(tmp_path: Path) -> None:
    patch = "".join(line for line in PATCH.splitlines(True) if not line.startswith("+  "))
    found = solution(swe_bench("Pouring is wrong", patch), tmp_path)
    assert (found.verdict, found.remedy) == ("cannot-tell", "Read the row")


def test_without_the_change_a_link_is_found_and_nothing_else_can_be_told(tmp_path: Path) -> None:
    columns = {**code_edit("Pouring is wrong"), "changed_path": "src/mill/grain.py"}
    del columns["diff"], columns["file_before"]
    found = solution(columns, tmp_path)
    assert found.verdict == "cannot-tell"
    assert found.remedy == "Run goldpan clone --repo mill/grain"
    assert solution({**columns, "body": "Fixed by #41"}, tmp_path).verdict == "found"


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
        ("Update(miller): deleting the cache fixed it.", "found"),
        ("EDIT: it wont work with that option.", "not-found"),
        ("Updates from upstream: it was fixed by others and fails here.", "not-found"),
        (f"It fails. Someone wrote: {ANSWER}", "found"),
        ("See https://github.com/mill/grain/issues/40#issuecomment-77 for what helped.", "found"),
        ("It fails.\n\nEdit: this is still not solved by deleting the cache.", "not-found"),
        ("It fails.\n\nUpdate: I use version 2 on Linux.", "not-found"),
        ("As in https://github.com/mill/grain/issues/40#issuecomment-771.", "not-found"),
        ("See https://github.com/mill/grain/discussions/40#discussioncomment-77.", "found"),
        ("### Describe the solution you'd like\n\nA faster cache.", "not-found"),
        ("It fails, and the cache keeps the old wheel.", "not-found"),
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


@pytest.mark.parametrize(
    ("body", "case", "kinds"),
    [
        ("src/mill/grain.py adds up.", "fully", {"path"}),
        ("Look at mill/grain.py, `pour()`.", "fully", {"path-end", "function"}),
        ("In grain.py it adds up.", "fully", {"base-name"}),
        ("`mill.grain` adds up.", "fully", {"module"}),
        (
            'Traceback (most recent call last):\n  File "/x/mill/grain.py", line 5, in pour\n'
            "    return self.total + weight\nTypeError: no",
            "fully",
            {"path-end-in-trace"},
        ),
        ("`mill.grain.Hopper` adds up.", "fully", {"module", "class"}),
        ("`mill.grains.x` and `mill.grain-x` add up.", "not-named", set()),
        ("Hopper.pour adds up.", "partly", {"function"}),
        ("I pour grain into a hopper.", "not-named", set()),
        ("In other/grain.py and my-grain.py and grain.py.orig it works.", "not-named", set()),
    ],
)
def test_a_place_in_the_issue(body: str, case: str, kinds: set[str], tmp_path: Path) -> None:
    found = place(code_edit(body), tmp_path)
    assert (found.case, {span.kind for span in found.evidence}) == (case, kinds)
    assert found.verdict == ("not-found" if case == "not-named" else "found")
    for span in found.evidence:
        assert body[span.start : span.end] == span.text


def test_one_of_two_files_is_partly_and_a_common_name_is_none(tmp_path: Path) -> None:
    other = PATCH.replace("grain.py", "utils.py")
    found = place(swe_bench("See grain.py", PATCH + other), tmp_path)
    assert (found.case, found.value) == ("partly", 0.5)
    found = place(swe_bench("See utils.py and mill/utils.py", other), tmp_path)
    assert (found.case, found.evidence[0].kind) == ("fully", "path-end")
    found = place(swe_bench("See my utils.py", other), tmp_path)
    assert (found.verdict, found.case) == ("cannot-tell", "not-named")
    assert "without the file before" in found.why


def test_a_base_name_that_the_tree_has_twice_names_no_file(tmp_path: Path) -> None:
    columns = {**code_edit("See grain.py"), "paths": ["src/mill/grain.py", "old/grain.py"]}
    assert place(columns, tmp_path).case == "not-named"
    columns["paths"] = ["src/mill/grain.py", "old/wheel.py"]
    assert place(columns, tmp_path).case == "fully"


@pytest.mark.parametrize(
    ("path", "body", "case"),
    [
        ("lua/mill/grain.lua", "It calls `require('mill.grain')` late.", "fully"),
        ("lua/mill/grain.lua", "It calls `require('mill.grain.wet')` late.", "not-named"),
        ("mill/__init__.py", "It calls mill.grain.pour late.", "not-named"),
        ("conf/grain.lua", "Grain is wet.\n\nfix(grain): dry it", "fully"),
        ("conf/grain.lua", "Grain is wet. See fix(grain): dry it", "not-named"),
        ("conf/grain_4x4.s", "ld: warning: grain_4x4.o: no section", "fully"),
        ("conf/grain_4x4.s", "ld: warning: wet/grain_4x4 and grain_4x4-wet", "not-named"),
        ("conf/grain.lua", "Grain is wet, and the `grain` server stops.", "not-named"),
    ],
)
def test_a_file_named_without_its_suffix(path: str, body: str, case: str, tmp_path: Path) -> None:
    patch = PATCH.replace("src/mill/grain.py", path)
    assert place(swe_bench(body, patch), tmp_path).case == case


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
    assert {symbol.kind for symbol in found} <= {"class", "function"}


def _outcomes(*answers: str) -> Outcomes:
    """Make models of texts with a 1 for each row that is solved, the first of which counts."""
    rows = {f"m{at}": {f"r{n}": s == "1" for n, s in enumerate(t)} for at, t in enumerate(answers)}
    return Outcomes(rows, {}, "Run goldpan evaluate run --task t --model MODEL")


@pytest.mark.parametrize(
    ("answers", "verdict", "case"),
    [
        (("110", "101", "111", "100"), "found", "all"),
        (("010", "001", "011", "000"), "found", "none"),
        (("110", "101", "111"), "cannot-tell", "all"),
        (("010", "101", "111", "100"), "not-found", ""),
        (("0111",) * 9 + ("1000",) * 9, "found", "reversed"),
        (("1111",) * 9 + ("0000",) * 9, "not-found", ""),
        ((), "cannot-tell", ""),
    ],
    ids=["all", "none", "few", "differ", "reversed", "tells", "no-runs"],
)
def test_rows_that_measure_nothing(
    answers: tuple[str, ...], verdict: Verdict, case: str, tmp_path: Path
) -> None:
    row = row_of({"id": "r0", "text": "x"}, tmp_path)
    found = find_measure(row, _outcomes(*answers))
    assert (found.verdict, found.case) == (verdict, case)
    assert bool(found.remedy) == (verdict == "cannot-tell")
    if found.low is not None:
        assert found.value is not None and found.high is not None
        assert found.low <= found.value <= found.high


def test_how_many_models_would_tell(tmp_path: Path) -> None:
    row = row_of({"id": "r0", "text": "x"}, tmp_path)
    few = find_measure(row, _outcomes("1111", "0111", "0000", "0100"))
    assert few.why.endswith("[-0.27, +0.91]; 12 models would tell")
    many = find_measure(row, _outcomes(*(("1111", "0111") * 3 + ("0000", "0100") * 3)))
    assert many.low is not None and many.low > 0 and "would tell" not in many.why
    alike = find_measure(row, _outcomes("1111", "0111", "1000", "0100"))
    assert alike.value == 0 and "would tell" not in alike.why


def test_what_a_blind_run_solves_measures_nothing(tmp_path: Path) -> None:
    row = row_of({"id": "r0", "text": "x"}, tmp_path)
    several = _outcomes("110", "010", "111", "000")
    blind = {"most-changed-file": {"r0": True}, "m without title": {"r0": False}}
    found = find_measure(row, replace(several, blind=blind))
    assert (found.verdict, found.case) == ("found", "solved-without")
    assert found.why == "most-changed-file must not be able to solve it, and does"
    found = find_measure(row, replace(several, blind={"m without title": {"r0": False}}))
    assert found.verdict == "not-found"


def test_the_most_changed_file_is_that_of_the_project(tmp_path: Path) -> None:
    paths = ["a.py", "b.py", "a.py", "c.py"] * 8 + ["x.py", "y.py"]
    task = find_task("fault_localization")
    made = rows(task, [(f"It fails {at}", path) for at, path in enumerate(paths)])
    data = task_data(task, {"train": made.slice(0, 32), "test": made.slice(32)})
    model = find_model("most-changed-file", {})
    lab, protocol, quiet = WorkspaceLayout(tmp_path), find_protocol("default"), Reporter(quiet=True)
    context, test = training_context(lab, data, protocol, 0, tmp_path, quiet, Costs())
    assert list(model.fit(context).answer(test).values) == ["a.py", "b.py"]
    with pytest.raises(EvaluationError, match="no files"):
        model.fit(replace(context, task=find_task("qa")))


def audit(folder: Path, rows: list[dict[str, Any]], **options: Any) -> AuditResult:
    file = folder / "swe bench.jsonl"
    file.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))
    return audit_dataset(WorkspaceLayout(folder / "lab"), file, Reporter(quiet=True), **options)


def test_findings_are_kept_with_what_they_were_made_of(tmp_path: Path) -> None:
    rows = [swe_bench("See #41"), {**swe_bench("It is wrong"), "instance_id": "mill__grain-43"}]
    result = audit(tmp_path, rows, findings=("solution-in-issue",))
    counts = result.counts
    assert (counts.total, counts.flagged, counts.free, counts.untold) == (2, 1, 1, 0)
    assert [example.id for example in result.examples] == ["mill__grain-41"]
    file = Path(result.file)
    assert file == tmp_path / "lab" / "audits" / "swe-bench" / "findings.parquet"
    kept = read_table(file).to_pylist()
    verdicts = {row["id"]: row["verdict"] for row in kept}
    assert verdicts == {"mill__grain-41": "found", "mill__grain-43": "not-found"}
    assert kept[0]["evidence"][0]["text"] == "#41"
    lineage = read_lineage(file.parent, "audit")
    assert lineage["inputs"] == {"swe bench.jsonl": file_digest(tmp_path / "swe bench.jsonl")}
    before = file.read_bytes()
    assert audit(tmp_path, rows, findings=("solution-in-issue",)) == result
    assert file.read_bytes() == before
    shown = " ".join(getattr(block, "text", "") for block in result.blocks())
    assert "Of 2 rows, 1 is free of all findings (solution-in-issue); 0 cannot be told" in shown


def test_rows_without_fix_or_answer_have_one_finding(tmp_path: Path) -> None:
    result = audit(tmp_path, [{"id": "a", "body": "x", "label": "bug"}])
    assert [count.name for count in result.findings] == ["measures-nothing"]
    with pytest.raises(UsageError, match="neither a fix nor an answer"):
        audit(tmp_path, [{"id": "a", "body": "x"}], findings=("solution-in-issue",))
    with pytest.raises(DatasetError, match="holds no rows"):
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
