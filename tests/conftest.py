"""What all tests share: how examples are drawn, the browser, a folder for what is dear, skips."""

from __future__ import annotations

import gc
import os
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadFileScheduling  # type: ignore[import-untyped]

from tests.browser import browser, chromium
from tests.program import spare_the_disk
from tests.shared_folder import shared_folder

__all__ = ["browser", "chromium"]

_SHARED = (
    r"servers/test_(studio|annotate)_",  # Label Studio
    r"servers/.*_llama",  # a server of llama.cpp
    r"test_(finetune_command|evaluation_ensemble)",  # transformers
)
"""Files that share what takes seconds to start, a pattern each."""
# A loaded machine is no failure, so no example has a deadline.
settings.register_profile(
    "ci",
    derandomize=True,
    database=None,
    print_blob=True,
    deadline=None,
    max_examples=30,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "nightly", settings.get_profile("ci"), derandomize=False, max_examples=2_000
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


def pytest_configure() -> None:
    """Spare tests the waits for the disk."""
    spare_the_disk()


def pytest_collection() -> None:
    """Collect no garbage while tests are imported, which makes none."""
    gc.disable()


@pytest.hookimpl(wrapper=True)
def pytest_cmdline_main() -> Iterator[None]:
    """Share a folder among the processes of a run."""
    with shared_folder():
        return (yield)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadFileScheduling | None:
    """Give a file to one process, and with it the files that need what that process has made."""
    return _FilesTogether(config, log) if config.getvalue("dist") == "loadfile" else None


class _FilesTogether(LoadFileScheduling):  # type: ignore[misc]
    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return next((shared for shared in _SHARED if re.search(shared, file)), file)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what needs a browser or bubblewrap, so that it can be chosen."""
    for item in items:
        reasons = [str(mark.kwargs.get("reason")) for mark in item.iter_markers("skipif")]
        if any("bubblewrap" in reason for reason in reasons):
            item.add_marker("isolation")
        if {"chromium", "browser"} & set(getattr(item, "fixturenames", ())):
            item.add_marker("browser")


def pytest_collection_finish() -> None:
    """Spare what was imported from the garbage collector, which takes a tenth of the time."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
    gc.enable()


def pytest_unconfigure() -> None:
    """Let the interpreter take everything apart at its end."""
    gc.unfreeze()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say at the end what was skipped, by what it needs."""
    reports = terminalreporter.stats.get("skipped", [])
    reasons = Counter(str(report.longrepr[2]).removeprefix("Skipped: ") for report in reports)
    if reasons:
        terminalreporter.section("skipped, by what is missing")
        for reason, count in sorted(reasons.items()):
            terminalreporter.write_line(f"{count:>6,}  {reason}")
