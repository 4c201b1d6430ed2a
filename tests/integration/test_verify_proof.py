"""A fix is proved by tests that are its own, and by all of them."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from goldpan.execution.outcomes import Outcome
from goldpan.execution.proof import Origins, prove
from goldpan.execution.records import BROKE_OFF, RECORD
from tests.shell_lab import RUNNER, Lab
from tests.verifying import runs_foreign_code

pytestmark = runs_foreign_code

DOCUMENTED = RUNNER.replace(b'"$@"', b"$(ls tests/*.sh 2> /dev/null)").replace(
    b"echo '</testsuite>'",
    b"""while read -r name; do echo "<testcase name='$name'/>" >> "$report"; done < docs
echo '</testsuite>'""",
)
BREAKS_OFF = b"""#!/bin/sh
report=$1; shift
echo '<testsuite><testcase name="first"/>' > "$report"
grep -q 2 value || ! grep -q crash tests/check.sh || exit 1
echo '<testcase name="tests/check.sh"/></testsuite>' >> "$report"
"""
LEAVES_OUT = BREAKS_OFF.replace(b"|| exit 1", b"|| { echo '</testsuite>' >> \"$report\"; exit 0; }")
Runs = list[dict[str, Outcome]]
MISCOUNTS = RUNNER.replace(b"<testsuite>", b'<testsuite tests="9">', 1)


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path)


def test_a_test_that_comes_with_the_fix_itself_proves_nothing(lab: Lab) -> None:
    """As documentation's does: another fix of the same issue would not have it."""
    lab.files |= {b"run.sh": DOCUMENTED, b"docs": b"old\n"}
    lab.recipe.write_text(lab.recipe.read_text().replace(', "{files}"', ""))
    record = lab.verify(lab.instance("true", docs=b"old\nnew\n"))
    assert record.proof.verdict == "no-test-fails-before"
    instance = lab.instance("grep -q 2 value", docs=b"old\nnew\n")
    record = lab.verify(instance)
    assert record.proof.verdict == "verified"
    assert record.proof.fail_to_pass == ("tests/check.sh",)
    assert record.proof.pass_to_pass == ("old",)


@pytest.mark.parametrize(
    ("runner", "verdict", "fail_to_pass"),
    [(BREAKS_OFF, "verified", ("tests/check.sh",)), (LEAVES_OUT, "no-test-fails-before", ())],
)
def test_a_test_of_the_base_that_is_absent_before_failed_only_where_the_run_broke_off(
    lab: Lab, runner: bytes, verdict: str, fail_to_pass: tuple[str, ...]
) -> None:
    lab.files |= {b"run.sh": runner, b"tests/check.sh": b"true\n"}
    record = lab.verify(lab.instance("# crash\n"))
    assert (record.proof.verdict, record.proof.fail_to_pass) == (verdict, fail_to_pass)


def test_a_run_with_the_fix_that_counts_other_than_it_announces_proves_nothing(lab: Lab) -> None:
    lab.files[b"run.sh"] = MISCOUNTS
    record = lab.verify(lab.instance("grep -q 2 value"))
    assert record.proof.verdict == "no-tests-run"
    assert record.detail == "the report has other tests or failures than it announces"


def test_an_answer_whose_report_cannot_be_believed_does_not_resolve(lab: Lab) -> None:
    lab.files[b"run.sh"] = RUNNER.replace(b"echo '<testsuite>'", b"cat begin").replace(
        b"echo '</testsuite>'", b"cat end"
    )
    lab.files |= {b"begin": b"<testsuite>\n", b"end": b"</testsuite>\n"}
    instance = lab.instance("grep -q 2 value")
    assert lab.verify(instance).proof.verdict == "verified"
    assert lab.resolve(instance, instance.patch).outcome == "resolved"
    broken = "diff --git a/end b/end\n--- a/end\n+++ b/end\n@@ -1 +1 @@\n-</testsuite>\n+\n"
    resolution = lab.resolve(instance, instance.patch + broken)
    assert (resolution.outcome, resolution.failed) == ("tests-fail", ("tests/check.sh",))


def test_an_answer_with_which_the_runner_fails_though_no_test_does_not_resolve(lab: Lab) -> None:
    """As where what runs after the tests throws; with the merged fix it may fail as well."""
    lab.files |= {b"run.sh": RUNNER + b". ./end\n", b"end": b"exit 0\n"}
    instance = lab.instance("grep -q 2 value")
    assert lab.verify(instance).proof.verdict == "verified"
    broken = "diff --git a/end b/end\n--- a/end\n+++ b/end\n@@ -1 +1 @@\n-exit 0\n+exit 3\n"
    assert lab.resolve(instance, instance.patch).outcome == "resolved"
    assert lab.resolve(instance, instance.patch + broken).outcome == "tests-fail"
    lab.files[b"end"] = b"exit 3\n"
    instance = lab.instance("grep -q 2 value")
    assert lab.verify(instance).environment[BROKE_OFF]
    assert lab.resolve(instance, instance.patch).outcome == "resolved"


def test_a_test_file_that_fails_as_a_whole_with_the_fix_is_told(lab: Lab) -> None:
    """The row is not verified by the others alone."""
    lab.tests[b"tests/lost.sh"] = b"no-such-program\n"
    record = lab.verify(lab.instance("grep -q 2 value"))
    assert (record.proof.verdict, record.detail) == ("not-collected", "tests/lost.sh")
    stored = orjson.loads((lab.record_folder / RECORD).read_bytes())
    assert stored["uncollected_before"] == ["tests/check.sh", "tests/lost.sh"]
    assert stored["uncollected_after"] == ["tests/lost.sh"]


def test_the_way_is_taken_in_which_all_test_files_run(lab: Lab) -> None:
    """A recipe may know several, and a later one may collect what an earlier one cannot."""
    lab.tests[b"tests/late.sh"] = b'test -n "$LATE" && grep -q 2 value\n'
    late = """["/bin/sh", "-c", 'LATE=1 exec sh run.sh "$@"', "sh", "{report}", "{files}"]"""
    recipe = lab.recipe.read_text().replace('"{files}"]]', f'"{{files}}"], {late}]')
    lab.recipe.write_text(recipe)
    record = lab.verify(lab.instance("grep -q 2 value"))
    assert record.proof.verdict == "verified"
    assert record.proof.fail_to_pass == ("tests/check.sh", "tests/late.sh")
    assert b"late" in (lab.record_folder / "after-1.report").read_bytes()


def test_what_stands_for_several_tests_says_why_they_are_absent() -> None:
    """A file or package that fails before the fix, a run without any test, and neither."""
    after: Runs = [{"x/y.TestOld": "passed", "x/z.TestOther": "passed"}]
    base = Origins({"x/y.TestOld": "passed", "x/z.TestOther": "passed"})
    before: Runs = [{"x/y": "failed", "x/z.TestOther": "passed"}]
    proof = prove(before, after, (), base)
    assert (proof.fail_to_pass, proof.pass_to_pass) == (("x/y.TestOld",), ("x/z.TestOther",))
    assert prove([{}], after, (), base).fail_to_pass == ("x/y.TestOld", "x/z.TestOther")
    suite = Origins({"outer context inner.adds": "passed"})
    hook = prove([{"outer context": "failed"}], [suite.base], (), suite)
    assert hook.fail_to_pass == ("outer context inner.adds",)
    absent = prove([{"x/z.TestOther": "passed"}], after, (), base)
    assert (absent.verdict, absent.pass_to_pass) == (
        "no-test-fails-before",
        ("x/y.TestOld", "x/z.TestOther"),
    )
