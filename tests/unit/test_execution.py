"""Running tests: recipes, what runs prove, and how reports are read."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from goldpan.core.errors import UsageError
from goldpan.execution.imports import own_modules
from goldpan.execution.outcomes import Outcome, ReportError
from goldpan.execution.proof import Proof, prove
from goldpan.execution.recipe import RunRecipe, choose_recipe, load_recipes
from goldpan.execution.reports import read_report, report_content
from goldpan.execution.resolve import fail_tests, failing_tests

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
<testcase classname="org.x.ReaderTest" name="reads(org.x.Cart@1b6d3586, [I@4554617c)"/>
<testcase classname="org.x.ReaderTest" name="reads joe@decade.org, v@20240101"/>
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


def test_tests_that_classes_inherit_from_another_file_are_told_apart() -> None:
    """Pytest names the file in which they are defined, and one of them may fail alone."""
    case = '<testcase classname="tests.test_{}" name="test_one" file="tests/base.py">{}</testcase>'
    cases = case.format("a.TestA", "<failure/>") + case.format("b.TestB", "")
    report = f"<testsuite>{cases}{case.format('c', '<skipped/>')}</testsuite>"
    assert read_report(report.encode(), "junit") == {
        "tests/base.py::tests.test_a.TestA::test_one": "failed",
        "tests/base.py::tests.test_b.TestB::test_one": "passed",
        "tests/base.py::tests.test_c::test_one": "skipped",
    }


@pytest.mark.parametrize("mark", ['hostname="tbd"', 'doctest_version="2.4.11"'])
def test_catch2_and_doctest_count_assertions(mark: str) -> None:
    report = (
        f'<testsuites><testsuite name="a" tests="7" failures="2" errors="0" {mark}><testcase '
        'classname="a" name="adds"/><testcase classname="a" name="subtracts"><failure/><failure/>'
        "</testcase></testsuite></testsuites>"
    )
    assert read_report(report.encode(), "junit") == {"a.adds": "passed", "a.subtracts": "failed"}


def test_reports_of_junit_one_behind_the_other_are_all_read() -> None:
    reports = [
        f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuite tests="1"><testcase name="{name}"/>'
        "<system-out><![CDATA[<?xml version='1.0'?>]]></system-out></testsuite>\n"
        for name in "ab"
    ]
    assert read_report("".join(reports).encode(), "junit") == {"a": "passed", "b": "passed"}


@pytest.mark.parametrize(
    ("counts", "case"),
    [
        ('tests="7" failures="6"', "<failure/>" + "<rerunFailure/>" * 5),  # Surefire
        ('tests="3" errors="1"', "<flakyError/>"),
        ('tests="2" failures="1" errors="1"', "<failure/>"),  # Web Test Runner
    ],
)
def test_runs_of_one_test_may_count_as_tests_and_failures(counts: str, case: str) -> None:
    report = f'<testsuite {counts}><testcase name="a"/><testcase name="b.">{case}</testcase>'
    assert read_report(f"{report}</testsuite>".encode(), "junit") == {"a": "passed", "b.": "failed"}


def test_failures_of_a_test_that_was_run_again_are_counted_one_by_one() -> None:
    report = (
        '<testsuite tests="2" failures="2"><testcase classname="s" name="a"/>'
        '<testcase classname="s" name="b"><failure/><failure/></testcase></testsuite>'
    )
    assert read_report(report.encode(), "junit") == {"s.a": "passed", "s.b": "failed"}
    with pytest.raises(ReportError):
        read_report(report.replace("<failure/>", "", 1).encode(), "junit")


@pytest.mark.parametrize(
    "content",
    [
        b"<testsuite>",
        b'<!DOCTYPE x [<!ENTITY a "b">]><testsuite/>',
        '<?xml version="1.0" encoding="UTF-16"?><!DOCTYPE x []><testsuite/>'.encode("utf-16"),
        b'<?xml version="1.0" encoding="no-such"?><testsuite/>',
        b'<?xml version="1.0" encoding="utf-32"?><testsuite/>',
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


def test_a_damaged_list_of_installed_files_names_none(tmp_path: Path) -> None:
    installed = tmp_path / "lib" / "python3.13" / "site-packages"
    for name, record in (("a", "a.py,,\na.txt,,\n"), ("b", f'"{"b" * 200_000}",,\n')):
        folder = installed / f"{name}-1.dist-info"
        folder.mkdir(parents=True)
        (folder / "direct_url.json").touch()
        (folder / "RECORD").write_text(record)
    assert own_modules(tmp_path) == {"a.py"}


def test_python_files_that_hold_data_of_tests_are_not_given_to_pytest(tmp_path: Path) -> None:
    """It finds no test in them, while other files' tests read them: then all tests run."""
    (tmp_path / "tests").mkdir()
    for name, text in {
        "conftest.py": "def test_made(): pass\n",
        "examples.py": "CASES = ['def broken(:']\n",
        "invalid.py": "from .__future__ import x\n",
        "checks.py": "class Checks(unittest.TestCase):\n    def testIt(self): pass\n",
        "test_made.py": "globals().update(made())\n",
    }.items():
        (tmp_path / "tests" / name).write_text(text)
    python = next(recipe for recipe in load_recipes() if recipe.name == "python")
    data = ["tests/conftest.py", "tests/examples.py", "tests/invalid.py", "tests/a.json"]
    (tmp_path / "tests" / "link.py").symlink_to("/proc/kcore")  # which has no end
    tests = ("tests/checks.py", "tests/link.py", "tests/new.py", "tests/test_made.py")
    assert python.given(tmp_path, [*data, *tests]) == tests
    assert python.given(tmp_path, data) == ()
    go = next(recipe for recipe in load_recipes() if recipe.name == "go")
    assert go.given(tmp_path, ["tests/a.go"]) == ("tests/a.go",)


def test_the_recipe_is_that_of_the_test_files() -> None:
    recipes = load_recipes()
    names = ("package.json", "pyproject.toml", "Cargo.toml")
    chosen = {
        path: choose_recipe(recipes, names, (path,)).name  # type: ignore[union-attr]
        for path in ("test_a.py", "a.test.ts", "tests/a.rs")
    }
    assert chosen == {"test_a.py": "python", "a.test.ts": "npm", "tests/a.rs": "cargo"}
    assert choose_recipe(recipes, ("README",), ("a.py",)) is None


def written(folder: Path, text: str) -> RunRecipe:
    path = folder / "own.toml"
    path.write_text(text, encoding="utf-8")
    return load_recipes([path])[0]


def test_a_recipe_that_extends_a_shipped_one_has_its_commands_and_own_settings(
    tmp_path: Path,
) -> None:
    shipped = next(recipe for recipe in load_recipes() if recipe.name == "gradle")
    text = 'extends = "gradle"\nprograms = []\n[variables]\nGRADLE_INIT = "{recipe}/init"\n'
    own = written(tmp_path, text)
    assert own.is_own
    assert own.fields.tests == shipped.fields.tests
    assert own.fields.programs == ()
    named = {"GRADLE_USER_HOME": "/h/gradle", "GRADLE_INIT": f"{tmp_path}/init"}
    assert own.variables("/h") == named
    assert own.scripts == (tmp_path / "init",)
    assert own.digest not in (shipped.digest, written(tmp_path, text + "A = 'b'\n").digest)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('extends = "npx"\n', r"no shipped recipe 'npx' \(did you mean npm\?\). Choose cargo, go"),
        ("extends = 3\n", "own.toml, line 1: there is no shipped recipe 3"),
        ('extends = "npm"\nvariables = 3\n', r"own\.toml, line 2: variables: "),
        ('extends = "npm"\nformat = []\n', r"own\.toml: format is one for all"),
        ('files = ["x"]\nsuffixes = []\ntests = [["t"]]\nformat = "xml"\n', r"line \d+: format: "),
    ],
)
def test_a_wrong_recipe_is_told(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        written(tmp_path, text)


def test_in_an_image_nothing_of_this_machine_is_named() -> None:
    cargo = next(recipe for recipe in load_recipes() if recipe.name == "cargo").in_image()
    assert cargo.readable == ()
    assert set(cargo.variables("/h")) == {"CARGO_HOME", "CARGO_TERM_COLOR"}


def test_only_what_is_limited_to_a_date_is_called_so() -> None:
    dated = {recipe.name for recipe in load_recipes() if recipe.is_dated}
    assert dated == {"python", "npm"}


TESTS = '''\
"""Module."""
from __future__ import annotations
import unittest
import pytest

def test_plain(): pass

@pytest.mark.parametrize("x", [1, 2])
def test_each(x):
    """Doc."""
    helper()

def helper(): pass

class TestMore(unittest.TestCase):
    def testOld(self):
        with self.assertRaises(AssertionError):
            assert False

    @unittest.expectedFailure
    def test_expected(self):
        assert False
'''


def test_no_test_function_passes_and_all_keep_their_names(tmp_path: Path) -> None:
    names: list[set[str]] = []
    for change in (False, True):
        file = tmp_path / "test_it.py"
        file.write_text(TESTS, encoding="utf-8")
        if change:
            assert fail_tests(tmp_path, ["test_it.py", "none.py", "data.txt"])
        report = tmp_path / "report"
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n0"]
        command += ["-c", "/dev/null", "--rootdir", str(tmp_path), "-o", "junit_family=xunit1"]
        command += [f"--junitxml={report}", str(file)]
        subprocess.run(command, cwd=tmp_path, check=False, capture_output=True)
        run = read_report(report.read_bytes(), "junit")
        names.append(set(run))
        assert ("passed" in run.values()) is not change
    assert names[0] == names[1]
    assert len(names[0]) == 5


def test_no_file_outside_is_made_to_fail(tmp_path: Path) -> None:
    """Reports, which foreign code writes, name files of tests."""
    (tmp_path / "test_own.py").write_text(TESTS)
    testbed = tmp_path / "testbed"
    testbed.mkdir()
    (testbed / "link").symlink_to(tmp_path)
    outside = ["../test_own.py", str(tmp_path / "test_own.py"), "link/test_own.py"]
    assert not fail_tests(testbed, outside)
    assert (tmp_path / "test_own.py").read_text() == TESTS


@pytest.fixture
def usual_recursion_limit() -> Iterator[None]:
    """The limit that Python starts with; libraries that other tests load raise it."""
    raised = sys.getrecursionlimit()
    sys.setrecursionlimit(1_000)
    yield
    sys.setrecursionlimit(raised)


@pytest.mark.parametrize(
    "source",
    [
        b"print 'old'\n",
        b"x = 1\n",
        b"\0",
        b"",
        b"(" * 5000,
        b"def test_x(): pass\nx = " + b"+".join([b"1"] * 500),
    ],
)
def test_what_has_no_readable_test_function_stays_as_it_is(
    tmp_path: Path, source: bytes, usual_recursion_limit: None
) -> None:
    assert failing_tests(source) is None
    (tmp_path / "test_x.py").write_bytes(source)
    assert not fail_tests(tmp_path, ["test_x.py"])
    assert (tmp_path / "test_x.py").read_bytes() == source
