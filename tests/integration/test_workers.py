"""Tests in several processes: what is told is what one process would tell, and nothing is lost."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.places import ROOT

_CONFTEST = """
import os
from pathlib import Path
import pytest
from tests.workers import pytest_addoption, pytest_runtestloop

@pytest.fixture(scope="session")
def dear():
    with Path("made").open("a") as file:
        file.write(f"{os.getpid()}\\n")
    yield
    with Path("removed").open("a") as file:
        file.write(f"{os.getpid()}\\n")
"""
_MIXED = """
import os
import pytest

def test_passes(dear, tmp_path, capfd):
    assert not list(tmp_path.iterdir())
    os.system("echo aloud")
    assert capfd.readouterr().out == "aloud\\n"

def test_fails(dear):
    print("what it printed")
    assert 1 == 2

@pytest.mark.skip("no use")
def test_skipped():
    pass

@pytest.fixture
def broken():
    raise OSError("broken fixture")

def test_error(broken):
    pass
"""
_PASSING = """
import os
from pathlib import Path

def test_one(dear):
    Path(f"{Path(__file__).stem}.pid").write_text(str(os.getpid()))

def test_two(dear):
    assert Path(f"{Path(__file__).stem}.pid").read_text() == str(os.getpid())
"""


def run(folder: Path, files: Mapping[str, str], *options: str) -> tuple[int, str]:
    """Return pytest's exit code and what it wrote."""
    (folder / "pytest.ini").touch()
    for name, text in {"conftest": _CONFTEST, **files}.items():
        (folder / f"{name}.py").write_text(text)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    assert not done.stderr
    return done.returncode, done.stdout


def counts(text: str) -> str:
    return re.sub(r"[= ]* in [0-9.]+s.*", "", text.splitlines()[-1]).strip("= ")


@pytest.mark.parametrize("processes", ["1", "2", "5"])
def test_reports_are_those_of_one_process(tmp_path: Path, processes: str) -> None:
    files = {"test_b": _MIXED, "test_a": _PASSING, "test_c": _PASSING, "test_d": _PASSING}
    code, text = run(tmp_path, files, "--processes", processes, "--junitxml=report.xml")
    assert code == 1
    assert counts(text) == "1 failed, 7 passed, 1 skipped, 1 error"
    assert "what it printed" in text
    assert "OSError: broken fixture" in text
    assert "aloud" not in text
    assert (tmp_path / "report.xml").read_text().count("<testcase") == 10
    made = (tmp_path / "made").read_text().split()
    assert len(set(made)) == len(made) <= int(processes)
    assert sorted((tmp_path / "removed").read_text().split()) == sorted(made)


def test_a_process_that_dies_fails_its_test_alone(tmp_path: Path) -> None:
    dies = "import os, signal\ndef test_dies():\n    os.kill(os.getpid(), signal.SIGKILL)\n"
    leaves = "import os\ndef test_leaves():\n    os._exit(0)\n"
    files = {"test_a": f"{dies}{_PASSING}", "test_b": _PASSING, "test_c": f"{_PASSING}{leaves}"}
    code, text = run(tmp_path, files, "--processes", "2")
    assert code == 1
    assert counts(text) == "2 failed, 6 passed"
    assert "FAILED test_a.py::test_dies - its process ended with -9, before the test did" in text
    assert "FAILED test_c.py::test_leaves - its process ended with 0, before the test did" in text


def test_the_first_failure_may_end_all(tmp_path: Path) -> None:
    fails = "def test_fails():\n    assert 0\n"
    code, text = run(
        tmp_path, {f"test_{number}": fails for number in range(30)}, "--processes", "2", "-x"
    )
    assert code == 1
    assert "!! stopping after " in text
    assert "30 failed" not in text


def test_what_cannot_be_collected_is_told(tmp_path: Path) -> None:
    files = {"test_a": "import no_such_module", "test_b": _PASSING}
    code, text = run(tmp_path, files, "--processes", "2")
    assert (code, counts(text)) == (2, "1 error")
