"""Progress bars on a real terminal: when work has ended, none of their lines stays."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import sys
import termios

import pytest

_WORK = """
import time
from goldpan.core.terminal import Reporter

with Reporter() as outer, outer.task("mine", 4) as stage:
    for number in range(4):
        with Reporter() as inner, inner.task("Reading", 9) as work:
            for _ in range(9):
                work.advance()
                time.sleep(0.03)
            inner.note(f"note {number}")
            other = Reporter()
            other.note(f"another {number}")
        stage.advance()
print("the result")
"""


def _run(columns: int) -> str:
    """Run the work on a terminal of so many columns; return what it wrote."""
    child, terminal = pty.fork()
    if child == 0:
        environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
        os.execve(sys.executable, [sys.executable, "-c", _WORK], {**environment, "TERM": "xterm"})
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 45, columns, 0, 0))
    written = b""
    try:
        while part := os.read(terminal, 1 << 16):
            written += part
    except OSError:  # the other end is closed
        pass
    assert os.waitpid(child, 0)[1] == 0
    return written.decode()


def _lines(written: str) -> list[str]:
    """Return the lines that a terminal shows, scrolled ones too."""
    lines, row = [""], 0
    for part in re.findall(r"\x1b\[[?\d;]*[A-Za-z]|\r|\n|[^\x1b\r\n]+", written):
        if part == "\n":
            row += 1
            lines += [""] * (row == len(lines))
        elif part.startswith("\x1b[") and part.endswith("A"):
            row -= int(part[2:-1] or 1)
        elif part.startswith("\x1b[") and part.endswith("K"):
            lines[row] = ""
        elif not part.startswith(("\x1b", "\r")):
            lines[row] += part
    return [line.rstrip() for line in lines if line.strip()]


@pytest.mark.parametrize("columns", [110, 60])
def test_bars_within_bars_leave_nothing_behind(columns: int) -> None:
    lines = _lines(_run(columns))
    notes = [f"{kind} {number}" for number in range(4) for kind in ("note", "another")]
    assert lines == [*notes, "the result"]
