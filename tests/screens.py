"""What a real terminal of some size shows of a program, once it has ended."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
from collections.abc import Mapping, Sequence
from pathlib import Path

_ROWS = 45


def run_on_screen(
    command: Sequence[str | Path], columns: int, environment: Mapping[str, str], folder: Path
) -> list[str]:
    """Run a program on a terminal of so many columns; return the lines that it shows then."""
    controller, own = pty.openpty()
    fcntl.ioctl(own, termios.TIOCSWINSZ, struct.pack("HHHH", _ROWS, columns, 0, 0))
    sized = {name: value for name, value in environment.items() if name != "COLUMNS"}
    with subprocess.Popen(
        list(map(str, command)),
        cwd=folder,
        env={**sized, "TERM": "xterm"},
        stdin=own,
        stdout=own,
        stderr=own,
        start_new_session=True,
    ) as process:
        os.close(own)
        written = b""
        try:
            while part := os.read(controller, 1 << 16):
                written += part
        except OSError:  # the other end is closed
            pass
        os.close(controller)
    shown = lines_of(written.decode(), columns)
    assert process.returncode == 0, "\n".join(shown)
    return shown


def lines_of(written: str, columns: int) -> list[str]:
    """Return the lines of a terminal on which this was written, scrolled ones too."""
    lines, row, column = [""], 0, 0
    for part in re.findall(r"\x1b\[[?\d;]*[A-Za-z]|[^\x1b]", written):
        if column == columns and not part.startswith(("\x1b", "\r", "\n")):
            row, column = row + 1, 0
        lines += [""] * (row + 1 - len(lines))
        if part == "\n":
            row += 1
        elif part == "\r":
            column = 0
        elif part.startswith("\x1b[") and part.endswith("A"):
            row -= int(part[2:-1] or 1)
        elif part.startswith("\x1b[") and part.endswith("K"):
            lines[row] = "" if part[2:-1] == "2" else lines[row][:column]
        elif not part.startswith("\x1b"):
            lines[row] = lines[row][:column].ljust(column) + part + lines[row][column + 1 :]
            column += 1
    return [line.rstrip() for line in lines]
