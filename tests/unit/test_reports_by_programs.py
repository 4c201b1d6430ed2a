"""Reports that programs write here, and the odd lines of others."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import orjson
import pytest

from goldpan.execution.outcomes import ReportError
from goldpan.execution.reports import read_report
from tests.unit.test_reports import F, P


def test_pytest_names_a_file_that_it_cannot_collect(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_lost.py").write_text("import nowhere\n")
    (tmp_path / "tests" / "test_torn.py").write_text(
        "import pytest, unittest\n\n@pytest.fixture\ndef torn():\n    yield\n    assert 0\n\n"
        "def test_torn(torn): pass\n\n"
        "def test_prints():\n    print('\\x1b[1m\\x00')\n    assert 0\n"
        "@pytest.mark.parametrize('x', ['\\x1b', '\\u2028'])\ndef test_each(x): pass\n"
        "class TestOld(unittest.TestCase):\n    def test_parts(self):\n        for n in 1, 2:\n"
        "            with self.subTest(n=n):\n                assert n == 1\n"
        "    def test_all_parts(self):\n        for n in 1, 2:\n"
        "            with self.subTest(n=n):\n                assert n\n"
    )
    report = tmp_path / "report"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n0"]
    command += ["-c", "/dev/null", "--rootdir", str(tmp_path), "-o", "junit_family=xunit1"]
    command += ["--continue-on-collection-errors", f"--junitxml={report}", "tests"]
    subprocess.run(command, cwd=tmp_path, check=False, capture_output=True)
    run = read_report(report.read_bytes(), "junit")
    assert run["tests/test_lost.py"] == F
    assert run["tests/test_torn.py::test_torn"] == F
    assert run["tests/test_torn.py::test_prints"] == F
    assert run["tests/test_torn.py::TestOld::test_parts"] == F
    assert run["tests/test_torn.py::TestOld::test_all_parts"] == P
    assert [outcome for test, outcome in run.items() if "test_each" in test] == [P, P]


def test_unittest_names_a_file_that_it_cannot_import() -> None:
    report = (
        '<testsuite tests="1" errors="1"><testcase classname="unittest.loader._FailedTest" '
        'name="tests.test_lost"><error/></testcase></testsuite>'
    )
    assert read_report(report.encode(), "junit") == {"tests/test_lost.py": F}


@pytest.mark.node
@pytest.mark.skipif(shutil.which("node") is None, reason="needs Node.js: install node")
def test_nodes_own_runner_says_what_it_ran(tmp_path: Path) -> None:
    (tmp_path / "lost.test.js").write_text('throw new Error("lost")\n')
    (tmp_path / "a.test.js").write_text(
        'const {test} = require("node:test")\ntest("a \\u2028 b", () => {})\n'
        'test("same", () => {})\ntest("same", () => { throw new Error("ok 1 - a") })\n'
        'test("prints", () => { console.log("ok 9 - x\\n    ok 1 - y") })\n'
    )
    command = ["node", "--test", "--test-reporter=tap", "a.test.js", "lost.test.js"]
    done = subprocess.run(command, cwd=tmp_path, check=False, capture_output=True)
    run = read_report(done.stdout, "tap")
    lost = [test for test in run if test.endswith("lost.test.js")]
    assert run == {"a \u2028 b": P, "same": F, "same #2": F, "prints": P, lost[0]: F}


def test_go_cuts_long_lines_into_events() -> None:
    """As golang/go#36059 has it: the end of a test may stand in two of them."""
    events = [
        {"Action": "run", "Package": "p", "Test": "TestA"},
        {"Action": "output", "Package": "p", "Test": "TestA", "Output": "log--- PASS: Te"},
        {"Action": "output", "Package": "p", "Test": "TestA", "Output": "stA (0.00s)\n"},
        {"Action": "pass", "Package": "p"},
    ]
    content = b"\n".join(map(orjson.dumps, events))
    assert read_report(content, "go-json") == {"p.TestA": "passed"}


def test_what_a_program_logs_between_events_is_no_event() -> None:
    events = b'{"Action":"run","Package":"p","Test":"TestA"}\n{level: info}\n'
    ended = events + b'{"Action":"pass","Package":"p","Test":"TestA"}\n'
    assert read_report(ended, "go-json") == {"p.TestA": "passed"}
    with pytest.raises(ReportError, match="not JSON"):
        read_report(events + b'{"Action":"pass","Pack', "go-json")
