"""Output on a terminal: notes, results, and the progress of long work.

All of it goes through `Terminal`, which keeps out secrets and control characters.
"""

from __future__ import annotations

import functools
import re
import shlex
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from copy import copy
from threading import Lock
from typing import IO, TYPE_CHECKING, Any, Self, TextIO

import orjson
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table as RichTable
from rich.text import Text

from goldpan.core.errors import GoldpanError, StoppedError, UnknownNameError, UsageError
from goldpan.core.log import LOG, PARTS, WORDS, is_asked_for, is_json
from goldpan.core.plugins.loading import left_out
from goldpan.core.result import Block, Hint, Line, Table, Title, cell_text, is_numeric
from goldpan.core.sanitize import for_json, printable
from goldpan.core.secrets import mask

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


_COMMAND = re.compile(r"\bgoldpan (?!trust )(?=[a-z])")
"""The beginning of a command in a text, unless it names its workspace."""


class Terminal(Console):
    """A console that takes texts as they are: no markup, no secrets, no unseen characters."""

    def __init__(
        self, *, stderr: bool = False, soft_wrap: bool = True, file: IO[str] | None = None
    ) -> None:
        super().__init__(
            stderr=stderr,
            file=file,
            soft_wrap=soft_wrap,
            highlight=False,
            markup=False,
            emoji=False,
        )

    def on_broken_pipe(self) -> None:
        """Raise `BrokenPipeError`, by which the program ends quietly: its reader has enough."""
        with suppress(SystemExit):
            super().on_broken_pipe()
        raise BrokenPipeError

    def render_str(self, text: str, **options: Any) -> Text:
        """Return a string as it may be printed."""
        return super().render_str(printable(text), **options)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Render a text, or what holds texts."""
        if isinstance(renderable, Text) and printable(renderable.plain) != renderable.plain:
            renderable = Text(printable(renderable.plain), renderable.style)
        return super().render(renderable, options)


def clean(value: object, style: str = "") -> Text:
    """Return a value as a part of a line: what it holds cannot begin a new one."""
    return Text(printable(str(value)).translate({9: " ", 10: " "}), style)


def show(blocks: Iterable[Block]) -> None:
    """Print blocks; what they hold commands nothing and holds no secret (`Terminal`)."""
    for block in blocks:
        match block:
            case Line():
                has_command = isinstance(block, Hint) and bool(_COMMAND.search(block.text))
                text = in_workspace(block.text) if has_command else block.text
                _print_wrapped(sys.stdout, clean(text, block.style), soft=has_command)
            case Title():
                line = Text.assemble("\n", clean(block.name, "bold"), clean(block.rest))
                Terminal().print(line)
            case Table():
                _show_table(block)


_BOUNDLESS = 10_000
"""Columns of a terminal on which everything fits."""


def _show_table(table: Table) -> None:
    console = Terminal(soft_wrap=False)
    drawn = _drawn(table, frozenset())
    boundless = console.options.update(width=_BOUNDLESS)
    if table.wide and console.measure(drawn, options=boundless).maximum > console.width:
        drawn = _drawn(table, table.wide)
    console.print(drawn)


def _drawn(table: Table, left_out: frozenset[str]) -> RichTable:
    drawn = RichTable(box=None, header_style="dim", title=table.title or None, title_justify="left")
    shown = [number for number, name in enumerate(table.columns) if name not in left_out]
    for number in shown:
        is_right = is_numeric(table, number)
        drawn.add_column(clean(table.columns[number]), justify="right" if is_right else "left")
    for place, row in enumerate(table.cells):
        cells = [clean(cell_text(row[number])) for number in shown]
        drawn.add_row(*cells, style="dim" if place in table.dim else None)
    return drawn


_SECONDS_BETWEEN_LINES = 10.0
_DRAWING = Lock()
"""Held while the first bar of a display begins, or its last one ends."""


class ProgressTask:
    """One long piece of work that is counted."""

    def __init__(self, reporter: Reporter, title: str, total: int) -> None:
        self._reporter = reporter
        self.title = title
        self.total = total
        self.done = 0
        self._line = time.monotonic()
        self._bars = reporter._display
        self._id: TaskID | None = None
        if self._bars is not None:
            with _DRAWING:
                self._id = self._bars.add_task(clean(reporter._prefix + title).plain, total=total)
                self._bars.start()

    def advance(self, count: int = 1) -> None:
        """Say that `count` more units are done."""
        self.done += count
        self._draw()
        now = time.monotonic()
        if self._bars is None and now - self._line >= _SECONDS_BETWEEN_LINES:
            self._line = now
            self._reporter.note(f"{self.title}: {self.done:,} of {self.total:,}")

    def extend(self, count: int) -> None:
        """Say that `count` more units have turned up."""
        self.total += count
        self._draw()

    def close(self) -> None:
        """Take its bar off the display, which ends with the last one."""
        if self._bars is not None and self._id is not None:
            with _DRAWING:
                self._bars.remove_task(self._id)
                if not self._bars.tasks:
                    self._bars.stop()

    def _draw(self) -> None:
        if self._bars is not None and self._id is not None:
            self._bars.update(self._id, completed=self.done, total=self.total)


@functools.cache
def _standard_error() -> Terminal:
    """Return one console for all reporters, so that bars below bars are drawn as one display."""
    return Terminal(stderr=True)


class Reporter:
    """Says on standard error how long work goes on; threads may share it, but for its tasks."""

    def __init__(self, console: Console | None = None, *, quiet: bool = False) -> None:
        self._console = console or _standard_error()
        self._quiet = quiet
        self._prefix = ""
        self._display: Progress | None = None
        if self._console.is_terminal and not quiet:
            from rich.progress import (  # which take long to import
                BarColumn,
                MofNCompleteColumn,
                Progress,
                TextColumn,
                TimeElapsedColumn,
                TimeRemainingColumn,
            )

            self._display = Progress(
                TextColumn("{task.description}", markup=False),
                BarColumn(),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
                TimeRemainingColumn(),
                console=self._console,
                transient=True,
            )

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
        with closing(ProgressTask(self, title, total)) as task:
            yield task


def complain(error: GoldpanError) -> None:
    """Say on standard error what went wrong and what to do, as JSON where that was asked for."""
    if isinstance(error, UnknownNameError):
        hints = left_out() or (f"If a plugin brings it, run {with_plugin()}",)
        error = UsageError(error.problem, ". ".join((error.remedy, *hints)))
    error = error.reworded(error.problem, in_workspace(error.remedy))
    parts = {"problem": error.problem, "remedy": error.remedy, "exit_code": error.exit_code}
    LOG.error(str(error), extra={PARTS: parts})
    if is_json():
        return
    if is_asked_for("--json"):
        sys.stderr.write(for_json(mask(orjson.dumps({"error": parts}).decode())) + "\n")
        return
    start = "" if isinstance(error, StoppedError) else "Error: "
    # What servers say may hold lines: none of them looks like one of ours.
    text = str(error).replace("\n", "\n  ")
    _print_wrapped(sys.stderr, f"{start}{text}")


def _print_wrapped(file: TextIO, text: Text | str, *, soft: bool = False) -> None:
    """Print a line; a terminal gets it in lines of whole words, which it would cut at its edge.

    A `soft` one is left to the terminal: what people copy of it has no line end in a command.
    """
    Terminal(stderr=file is sys.stderr, soft_wrap=soft or not file.isatty()).print(text)


def in_workspace(text: str) -> str:
    """Return a text whose commands name the workspace that this command was given."""
    parts = [part for word in WORDS.get() for part in word.split("=", 1)]
    named = parts[parts.index("--workspace") :][1:2] if "--workspace" in parts else []
    if not named or "--workspace" in text or " -h" in text:
        return text
    return _COMMAND.sub(f"goldpan --workspace {shlex.quote(named[0])} ", text)


def with_plugin() -> str:
    """Return this command as it is to be given for a plugin to be loaded."""
    return shlex.join(["goldpan", "--plugin", "FILE.py", *WORDS.get()])
