"""Tests that are made to fail keep their names and fail, whatever they are."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from goldpan.execution.reports import read_report
from goldpan.execution.resolve import fail_tests, failing_tests

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


@pytest.mark.parametrize("source", [b"print 'old'\n", b"x = 1\n", b"\0", b"", b"(" * 5000])
def test_what_has_no_readable_test_function_stays_as_it_is(tmp_path: Path, source: bytes) -> None:
    assert failing_tests(source) is None
    (tmp_path / "test_x.py").write_bytes(source)
    assert not fail_tests(tmp_path, ["test_x.py"])
    assert (tmp_path / "test_x.py").read_bytes() == source
