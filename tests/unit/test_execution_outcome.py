"""What runs of tests prove, and how reports are read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from goldpan.core.errors import UsageError
from goldpan.execution.recipe import choose_recipe, load_recipes
from goldpan.execution.records import Proof, prove
from goldpan.execution.reports import Outcome, ReportError, read_report, report_content

Runs = list[dict[str, Outcome]]
JUNIT = """<?xml version="1.0"?><testsuites><testsuite>
<testcase classname="tests.test_a" name="test_one" file="tests/test_a.py"/>
<testcase classname="tests.test_a.TestX" name="test_two[a::b]" file="tests/test_a.py">
  <failure message="no">trace</failure></testcase>
<testcase classname="tests.test_a" name="test_three" file="tests/test_a.py"><skipped/></testcase>
<testcase classname="tests.test_a" name="test_four" file="tests/test_a.py"/>
<testcase classname="tests.test_a" name="test_four" file="tests/test_a.py"><error/></testcase>
<testcase classname="org.x.ReaderTest" name="reads"/>
<testcase classname="tests.test_a" name="test_at[&lt;f at 0x7f00aa11bb22&gt;]"/>
</testsuite></testsuites>"""


@pytest.mark.parametrize(
    ("before", "after", "proof"),
    [
        ([{"old": "passed", "new": "failed"}] * 3,
         [{"old": "passed", "new": "passed", "fresh": "passed"}] * 3,
         Proof("verified", ("fresh", "new"), ("old",))),
        # A module that cannot be imported before fails all its tests.
        ([{}], [{"a": "passed", "b": "failed"}], Proof("verified", ("a",))),
        ([{"a": "passed"}], [{"a": "passed"}], Proof("no-test-fails-before", (), ("a",))),
        ([{"a": "skipped"}], [{"a": "passed"}], Proof("no-test-fails-before")),
        ([{"a": "failed"}] * 3, [{"a": "passed"}, {"a": "failed"}, {"a": "passed"}],
         Proof("flaky", flaky=("a",))),
        ([{"a": "failed", "b": "passed"}], [{"a": "passed", "b": "failed"}],
         Proof("verified", ("a",), broken=("b",))),
        ([{}], [{}], Proof("no-tests-run")),
        ([{}], [{"a": "failed"}], Proof("no-test-passes-after")),
    ],
)  # fmt: skip
def test_what_runs_prove(before: Runs, after: Runs, proof: Proof) -> None:
    assert prove(before, after) == proof


def test_junit_gives_pytests_identifiers() -> None:
    assert read_report(JUNIT.encode(), "junit") == {
        "tests/test_a.py::test_one": "passed",
        "tests/test_a.py::TestX::test_two[a::b]": "failed",
        "tests/test_a.py::test_three": "skipped",
        "tests/test_a.py::test_four": "failed",  # passed, and its teardown failed
        "org.x.ReaderTest.reads": "passed",
    }


def test_events_of_go_are_read() -> None:
    events = (
        b"# a line of the compiler\n"
        b'{"Action":"run","Package":"x/y","Test":"TestA"}\n'
        b'{"Action":"pass","Package":"x/y","Test":"TestA"}\n'
        b'{"Action":"fail","Package":"x/y","Test":"TestB/sub"}\n'
        b'{"Action":["fail"],"Package":"x/y","Test":"TestC"}\n'
        b'{"Action":"fail","Package":"x/y"}\n'
    )
    assert read_report(events, "go-json") == {"x/y.TestA": "passed", "x/y.TestB/sub": "failed"}


@pytest.mark.parametrize(
    "content",
    [
        b"<testsuite>",
        b'<!DOCTYPE x [<!ENTITY a "b">]><testsuite/>',
        '<?xml version="1.0" encoding="UTF-16"?><!DOCTYPE x []><testsuite/>'.encode("utf-16"),
        b"",
    ],
)
def test_a_hostile_or_broken_report_is_refused(content: bytes) -> None:
    with pytest.raises(ReportError):
        read_report(content, "junit")


def test_a_report_that_speaks_of_entities_is_read() -> None:
    report = b"<testsuite><testcase name='a'><failure><![CDATA[<!ENTITY x>]]></failure></testcase>"
    assert read_report(report + b"</testsuite>", "junit") == {"a": "failed"}


def test_only_an_ordinary_file_is_a_report(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/etc/passwd")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    for name in ("link", "folder", "pipe"):
        with pytest.raises(ReportError):
            report_content(tmp_path / name)
    assert report_content(tmp_path / "none") is None


def test_a_recipe_names_the_key_that_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text('files = ["x"]\nsuffixes = []\ntests = [["t"]]\nformat = "xml"\n')
    with pytest.raises(UsageError, match=r"own\.toml, line \d+: format: "):
        load_recipes([path])


def test_jest_libtest_and_tap_are_read() -> None:
    jest = (
        b'{"testResults": [{"name": "/testbed/a.test.js", "assertionResults": ['
        b'{"ancestorTitles": ["sum"], "title": "adds", "status": "passed"},'
        b'{"ancestorTitles": [], "title": "later", "status": "todo"},'
        b'{"title": "fails", "status": "failed"}]}]}'
    )
    assert read_report(jest, "jest-json") == {
        "a.test.js > sum > adds": "passed",
        "a.test.js > later": "skipped",
        "a.test.js > fails": "failed",
    }
    libtest = (
        b"     Running unittests src/lib.rs (target/debug/deps/x-1)\n\nrunning 3 tests\n"
        b"test tests::a ... ok\ntest tests::b - should panic ... FAILED\n"
        b"test tests::c ... ignored, slow\n   Doc-tests x\ntest src/lib.rs - f (line 1) ... ok\n"
        b"     Running tests/it.rs (target/debug/deps/it-2)\ntest tests::a ... FAILED\n"
    )
    assert read_report(libtest, "libtest") == {
        "src/lib.rs::tests::a": "passed",
        "src/lib.rs::tests::b": "failed",
        "src/lib.rs::tests::c": "skipped",
        "doc x::src/lib.rs - f (line 1)": "passed",
        "tests/it.rs::tests::a": "failed",
    }
    tap = (
        b"TAP version 13\n# Subtest: math\n    # Subtest: adds\n    ok 1 - adds\n"
        b"    not ok 2 - divides\n    1..2\nnot ok 1 - math\nok 2 - later # SKIP not now\nok 3\n"
    )
    assert read_report(tap, "tap") == {
        "math > adds": "passed",
        "math > divides": "failed",
        "math": "failed",
        "later": "skipped",
        "test 3": "passed",
    }
    with pytest.raises(ReportError, match="not the JSON of Jest"):
        read_report(b'{"testResults": [1]}', "jest-json")


def test_the_recipe_is_that_of_the_test_files() -> None:
    recipes = load_recipes()
    names = ("package.json", "pyproject.toml", "Cargo.toml")
    chosen = {
        path: choose_recipe(recipes, names, (path,)).name  # type: ignore[union-attr]
        for path in ("test_a.py", "a.test.ts", "tests/a.rs")
    }
    assert chosen == {"test_a.py": "python", "a.test.ts": "npm", "tests/a.rs": "cargo"}
    assert choose_recipe(recipes, ("README",), ("a.py",)) is None
