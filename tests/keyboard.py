"""A program in a real terminal: what it shows is awaited, keys are pressed."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.places import ROOT
from tests.program import MAIN

_PATIENCE = 120
"""Seconds of silence after which nothing more is expected."""


class Screen:
    """What a program has shown, and its keyboard."""

    def __init__(self, process: subprocess.Popen[bytes], terminal: int) -> None:
        self._process, self._terminal = process, terminal
        self.text = ""
        """All that was shown so far."""
        self._seen = 0

    def until(self, words: str) -> str:
        """Wait until words stand behind those that were awaited before; return what led to them."""
        while words not in self.text[self._seen :]:
            assert self._read(), f"it ended, or was silent, without {words!r}:\n{self.text}"
        end = self.text.index(words, self._seen) + len(words)
        part, self._seen = self.text[self._seen : end], end
        return part

    def press(self, keys: str) -> None:
        """Type keys, control characters among them."""
        os.write(self._terminal, keys.encode())

    def ended(self) -> tuple[int, str]:
        """Wait for the program's end; return its exit code, and what it showed since."""
        while self._read():
            pass
        part, self._seen = self.text[self._seen :], len(self.text)
        return self._process.wait(_PATIENCE), part

    def kill(self, number: int = signal.SIGKILL) -> None:
        """End the program by a signal, such as one that leaves no chance to clean up."""
        self._process.send_signal(number)
        self._process.wait(_PATIENCE)

    def _read(self) -> bool:
        if not select.select([self._terminal], [], [], _PATIENCE)[0]:
            return False
        try:
            data = os.read(self._terminal, 65_536)
        except OSError:  # how Linux says that the other side is closed
            return False
        self.text += data.decode("utf-8", "replace").replace("\r\n", "\n")
        return bool(data)


@contextmanager
def terminal(
    *arguments: str | Path, folder: Path, environment: Mapping[str, str]
) -> Iterator[Screen]:
    """Run `goldpan` in a terminal of its own while the block runs; it is killed at its end."""
    controller, own = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-c", MAIN, *map(str, arguments)],
        cwd=folder,
        env={**environment, "PYTHONPATH": str(ROOT), "TERM": "dumb", "LINES": "50"},
        stdin=own,
        stdout=own,
        stderr=own,
        start_new_session=True,
        preexec_fn=_take_terminal,  # so that Ctrl-C reaches it
    ) as process:
        os.close(own)
        try:
            yield Screen(process, controller)
        finally:
            process.kill()
            os.close(controller)


def _take_terminal() -> None:
    import fcntl
    import termios

    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # a shell's background jobs ignore it
