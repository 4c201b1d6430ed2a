"""The log of a run: what people were told and what was asked of servers, for `--log-file`.

Every line passes the same mask as the screen, so a log may be shown to others.
"""

from __future__ import annotations

import logging
import sys
from pathlib import Path

from goldpan.core.errors import UsageError
from goldpan.core.terminal import printable

LOG = logging.getLogger("goldpan")
LOG.addHandler(logging.NullHandler())  # what is told is printed elsewhere
_SERVERS = ("httpx", "httpx2")
"""Libraries whose own lines name each request with its status."""


class _Masked(logging.Formatter):
    """One line a record, without secrets and without characters that command a terminal."""

    def format(self, record: logging.LogRecord) -> str:
        return printable(super().format(record)).replace("\n", "\n  ")


def start_log(file: Path | None, *, verbose: bool) -> None:
    """Write the log to a file, and the requests to standard error where `verbose`.

    Raises `UsageError` where the file cannot be written.
    """
    if file is not None:
        try:
            handler = logging.FileHandler(file, encoding="utf-8")
        except OSError as error:
            raise UsageError(
                f"--log-file {file} cannot be written: {error.strerror}", "Name another file"
            ) from None
        handler.setFormatter(_Masked("%(asctime)s %(levelname)s %(name)s: %(message)s"))
        _attach(handler, ("goldpan", *_SERVERS))
    if verbose:
        screen = logging.StreamHandler(sys.stderr)
        screen.setFormatter(_Masked("%(message)s"))
        _attach(screen, _SERVERS)


def _attach(handler: logging.Handler, names: tuple[str, ...]) -> None:
    for name in names:
        logger = logging.getLogger(name)
        logger.setLevel(logging.INFO)
        logger.addHandler(handler)
