"""Progress for people: a live display on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from typing import Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from goldpan.core.log import LOG
from goldpan.core.terminal import Terminal, clean

_SECONDS_BETWEEN_LINES = 10.0


class ProgressTask:
    """One long piece of work that is counted."""

    def __init__(self, reporter: Reporter, title: str, total: int) -> None:
        self._reporter = reporter
        self.title = title
        self.total = total
        self.done = 0
        self._line = time.monotonic()
        self._id = reporter._begin(title, total)

    def advance(self, count: int = 1) -> None:
        """Say that `count` more units are done."""
        self.done += count
        self._reporter._update(self._id, self.done, self.total)
        now = time.monotonic()
        if self._id is None and now - self._line >= _SECONDS_BETWEEN_LINES:
            self._line = now
            self._reporter.note(f"{self.title}: {self.done:,} of {self.total:,}")

    def extend(self, count: int) -> None:
        """Say that `count` more units have turned up."""
        self.total += count
        self._reporter._update(self._id, self.done, self.total)


class Reporter:
    """Says on standard error how long work goes on; threads may share it, but for its tasks."""

    def __init__(self, console: Console | None = None, *, quiet: bool = False) -> None:
        self._console = console or Terminal(stderr=True)
        self._quiet = quiet
        self._prefix = ""
        self._display: Progress | None = None
        if self._console.is_terminal and not quiet:
            self._display = Progress(
                TextColumn("{task.description}", markup=False),
                BarColumn(),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
                TimeRemainingColumn(),
                console=self._console,
                transient=True,
            )

    def __enter__(self) -> Self:
        if self._display:
            self._display.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._display:
            self._display.stop()

    def named(self, name: str) -> Self:
        """Return one for a piece of work among others: its lines and bars begin with the name."""
        other = copy(self)
        other._prefix = f"{name}: "
        return other

    def note(self, text: str) -> None:
        """Print one line that stays."""
        text = self._prefix + text
        LOG.info(text)
        if not self._quiet:
            self._console.print(clean(text), soft_wrap=True)

    @contextmanager
    def task(self, title: str, total: int) -> Iterator[ProgressTask]:
        """Count a piece of work; the display shows it while the block runs."""
        task = ProgressTask(self, title, total)
        try:
            yield task
        finally:
            if self._display and task._id is not None:
                self._display.remove_task(task._id)

    def _begin(self, title: str, total: int) -> TaskID | None:
        if self._display is None:
            return None
        return self._display.add_task(clean(self._prefix + title).plain, total=total)

    def _update(self, task: TaskID | None, done: int, total: int) -> None:
        if self._display and task is not None:
            self._display.update(task, completed=done, total=total)
