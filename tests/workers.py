"""Tests run by several processes, forked from one that has imported and collected them all.

So this is paid for once. A file goes to one process, as its tests share what is dear; files start
in the order in which they were collected.
"""

from __future__ import annotations

import atexit
import multiprocessing
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from io import StringIO
from itertools import groupby, zip_longest
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest

_FORK = multiprocessing.get_context("fork")
_SIZE = 4


@pytest.hookimpl
def pytest_addoption(parser: pytest.Parser) -> None:
    """Let a user say how many processes run the tests."""
    parser.addoption("--processes", type=int, default=1, help="processes that run the tests")


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Run the tests in the processes asked for; leave a single one to pytest."""
    count = session.config.getoption("processes")
    if count == 1 or session.config.option.collectonly or session.testsfailed:
        return None
    files = [list(group) for _, group in groupby(session.items, lambda item: item.path)]
    _Run(session, files).run(count)
    if session.shouldfail:
        raise session.Failed(session.shouldfail)
    return True


class _Queue:
    """Numbers of files that no process has taken; a pipe hands each to one reader."""

    def __init__(self, count: int) -> None:
        self._reader, writer = os.pipe()
        os.set_blocking(writer, False)  # a pipe that is too small fails at once
        os.write(writer, b"".join(number.to_bytes(_SIZE) for number in range(count)))
        os.close(writer)

    def take(self) -> int | None:
        """Return the next file's number; None where all are taken."""
        data = os.read(self._reader, _SIZE)
        return int.from_bytes(data) if data else None

    def clear(self) -> None:
        """Leave nothing to be taken."""
        while self.take() is not None:
            pass

    def close(self) -> None:
        """Close this process's end."""
        os.close(self._reader)


@dataclass(slots=True)
class _Worker:
    """A process that runs tests, and what it is to do where it stopped short."""

    process: BaseProcess
    left: list[pytest.Item] = field(default_factory=list)


class _Run:
    """The processes of a run, whose reports are told as if there were one."""

    def __init__(self, session: pytest.Session, files: Sequence[list[pytest.Item]]) -> None:
        self._session, self._files = session, files
        self._queue = _Queue(len(files))
        self._workers: dict[Connection, _Worker] = {}
        self._folder = session.config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]
        self._started = 0

    def run(self, count: int) -> None:
        """Start as many processes, and hear them until all have ended."""
        try:
            for _ in range(count):
                self._start([])
            while self._workers:
                for connection in wait(list(self._workers)):
                    assert isinstance(connection, Connection)
                    self._hear(connection)
                if self._session.shouldfail:
                    self._queue.clear()
        finally:
            for worker in self._workers.values():  # an interrupt went to them as well
                worker.process.join(30)
                worker.process.kill()
            self._queue.close()

    def _start(self, first: list[pytest.Item]) -> None:
        self._started += 1
        ours, theirs = multiprocessing.Pipe(duplex=False)
        folder = self._folder / f"process-{self._started}"
        process = _FORK.Process(
            target=_work, args=(self._session, first, self._files, self._queue, theirs, folder)
        )
        process.start()
        theirs.close()
        self._workers[ours] = _Worker(process)

    def _hear(self, connection: Connection) -> None:
        hook, config = self._session.config.hook, self._session.config
        worker = self._workers[connection]
        try:
            kind, value = connection.recv()
        except (EOFError, OSError):
            self._bury(connection)
            return
        if kind == "file":
            worker.left = list(self._files[value])
        elif kind == "report":
            report = hook.pytest_report_from_serializable(config=config, data=value)
            hook.pytest_runtest_logreport(report=report)
        else:
            assert kind == "done"
            worker.left = worker.left[1:]

    def _bury(self, connection: Connection) -> None:
        """Tell of a process that ended; another runs the tests that it left."""
        worker = self._workers.pop(connection)
        connection.close()
        worker.process.join()
        if not worker.left or self._session.shouldfail:
            if worker.process.exitcode:
                raise RuntimeError(f"a process of tests ended with {worker.process.exitcode}")
            return
        item, *left = worker.left
        report = pytest.TestReport(
            nodeid=item.nodeid,
            location=item.location,
            keywords={},
            outcome="failed",
            longrepr=f"its process ended with {worker.process.exitcode}, before the test did",
            when="call",
        )
        self._session.config.hook.pytest_runtest_logreport(report=report)
        self._start(left)


class _Reporter:
    """Sends what a process reports to the one that it was forked from."""

    def __init__(self, config: pytest.Config, connection: Connection) -> None:
        self._config, self._connection = config, connection

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Send a report."""
        data = self._config.hook.pytest_report_to_serializable(config=self._config, report=report)
        self.send("report", data)

    def send(self, kind: str, value: Any) -> None:
        """Send what has happened."""
        self._connection.send((kind, value))


def _work(
    session: pytest.Session,
    first: list[pytest.Item],
    files: Sequence[list[pytest.Item]],
    queue: _Queue,
    connection: Connection,
    folder: Path,
) -> None:
    """Run tests left by another process, then files that none has taken, until there are none."""
    config = session.config
    atexit._clear()  # what the process above is to do at its end
    _take_own(config, folder)
    reporter = _Reporter(config, connection)
    config.pluginmanager.register(reporter)
    with suppress(KeyboardInterrupt):  # which the process above has got too
        _run(session, first, reporter)
        while not session.shouldfail and (number := queue.take()) is not None:
            reporter.send("file", number)
            _run(session, files[number], reporter)
    session._setupstate.teardown_exact(None)
    atexit._run_exitfuncs()


def _run(session: pytest.Session, items: Sequence[pytest.Item], reporter: _Reporter) -> None:
    """Run the tests of a file. After each but the last, what the next one shares stays."""
    for item, following in zip_longest(items, items[1:], fillvalue=session):
        session.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        reporter.send("done", None)
        if session.shouldfail:
            break


def _take_own(config: pytest.Config, folder: Path) -> None:
    """Have files of one's own for what is captured, a folder for tests, and a silent terminal."""
    capture = config.pluginmanager.getplugin("capturemanager")
    assert capture is not None
    capture.stop_global_capturing()
    capture.start_global_capturing()
    capture.suspend_global_capture()
    terminal = config.pluginmanager.getplugin("terminalreporter")
    assert terminal is not None
    terminal._tw._file = StringIO()
    folder.mkdir()
    config._tmp_path_factory._basetemp = folder  # type: ignore[attr-defined]
