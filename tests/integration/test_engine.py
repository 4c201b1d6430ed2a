"""Engines give the same results in the same order, and say which unit failed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from goldpan.core.errors import UsageError
from goldpan.core.parallel.engine import Engine, EngineError, UnitError, open_engine
from goldpan.core.values import EngineName, Execution
from tests.engine_work import (
    break_three,
    die_at_three,
    leave_mark,
    linger,
    process_of,
    refuse_three,
    square,
)
from tests.places import ROOT


@pytest.fixture(params=[1, 2], ids=["in this process", "in two processes"])
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    with open_engine(Execution(workers=request.param)) as opened:
        yield opened


def test_results_come_in_the_order_of_units(engine: Engine) -> None:
    assert list(engine.map(square, range(20))) == [number**2 for number in range(20)]
    assert list(engine.map(square, [])) == []
    assert list(engine.map(square, [7])) == [49]


def test_few_units_are_in_flight(tmp_path: Path, engine: Engine) -> None:
    results = engine.map(partial(leave_mark, tmp_path), range(500))
    assert next(results) == 0
    time.sleep(0.5)
    assert len(list(tmp_path.iterdir())) < 20


def test_failures_for_people_name_the_unit(engine: Engine) -> None:
    results = engine.map(refuse_three, range(10))
    assert [next(results) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(UsageError, match=r"^3: The number is odd\. Give another one\.$"):
        next(results)
    assert list(engine.map(square, [2])) == [4]


def test_other_failures_name_the_unit_and_the_cause(engine: Engine) -> None:
    with pytest.raises(UnitError, match=r"^3: ZeroDivisionError: ") as caught:
        list(engine.map(break_three, range(10)))
    cause = caught.value.__cause__
    assert isinstance(cause, ZeroDivisionError) or "break_three" in str(cause)


def test_as_many_processes_work_as_were_asked_for() -> None:
    with open_engine(Execution(workers=1)) as engine:
        assert set(engine.map(process_of, range(2))) == {os.getpid()}
    with open_engine(Execution(workers=2)) as engine:
        processes = set(engine.map(process_of, range(30)))
    assert len(processes - {os.getpid()}) == 2


def test_a_process_that_is_killed() -> None:
    with (
        open_engine(Execution(workers=2)) as engine,
        pytest.raises(EngineError, match=r"was killed, perhaps for lack of memory, at \d"),
    ):
        list(engine.map(die_at_three, range(10)))


def test_ctrl_c_waits_for_no_unit_at_work(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), open_engine(Execution(workers=2)) as engine:
        assert next(engine.map(partial(linger, tmp_path), range(8))) == 0
        while not (tmp_path / "begun").exists():
            time.sleep(0.05)
        raise KeyboardInterrupt
    assert {path.name for path in tmp_path.iterdir()} == {"begun", "cleaned up"}


@pytest.mark.parametrize(
    ("name", "processes", "address", "problem"),
    [
        ("local", 0, "", "0 processes are too few"),
        ("local", 1, "auto", "has no cluster at 'auto'"),
        ("spark", 1, "", "no engine 'spark'"),
    ],
)
def test_options_that_make_no_sense(
    name: EngineName, processes: int, address: str, problem: str
) -> None:
    with pytest.raises(UsageError, match=problem):
        open_engine(Execution(name, address, processes))


def test_a_missing_ray_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(EngineError, match=r'Run pip install .*\[ray\]"'):
        open_engine(Execution("ray", workers=1))


_PARENT = """
import os, signal, sys
from pathlib import Path
from goldpan.core.parallel.engine import open_engine
from goldpan.core.values import Execution
from tests.engine_work import process_of

if __name__ == "__main__":
    with open_engine(Execution(workers=2)) as engine:
        print(*set(engine.map(process_of, range(8))), flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
"""


def test_processes_end_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    program = tmp_path / "parent.py"
    program.write_text(_PARENT, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(program)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    children = [int(word) for word in done.stdout.split()]
    assert children
    deadline = time.monotonic() + 300
    while any(Path(f"/proc/{child}").exists() for child in children):
        assert time.monotonic() < deadline, "the workers outlive their parent"
        time.sleep(0.05)
