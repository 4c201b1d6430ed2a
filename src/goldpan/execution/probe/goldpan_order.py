"""A plugin of pytest: runs tests in reversed order, or each in a process of its own.

It runs on whatever versions of Python and pytest the repository needs.
"""

import json
import os
from typing import Any

import pytest
from _pytest.runner import TestReport, runtestprotocol  # type: ignore[attr-defined]

ORDER = os.environ.get("GOLDPAN_ORDER", "")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: Any) -> None:  # noqa: D103
    if ORDER == "reversed":
        items.reverse()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: Any) -> "bool | None":  # noqa: D103
    if ORDER != "alone":
        return None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for when, outcome, expected in run_alone(item):
        why = ("", 0, outcome) if outcome == "skipped" else None if outcome == "passed" else outcome
        report = TestReport(item.nodeid, item.location, {}, outcome, why, when)
        if expected is not None:
            report.wasxfail = expected
        item.ihook.pytest_runtest_logreport(report=report)
    return True


def run_alone(item: Any) -> Any:
    """Return the steps of a test as a child process reports them, each with its outcome."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            reports = runtestprotocol(item, log=False, nextitem=None)
            steps = [(step.when, step.outcome, getattr(step, "wasxfail", None)) for step in reports]
            os.write(write, json.dumps(steps).encode())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        content = pipe.read()
    os.waitpid(child, 0)
    return json.loads(content.decode()) if content else [("call", "failed", None)]
