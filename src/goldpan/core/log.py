"""The log of a run: what people were told and what was asked of servers, for `--log-file`.

Every line passes the same mask as the screen, so a log may be shown to others.
"""

from __future__ import annotations

import logging
import sys
from contextvars import ContextVar
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from goldpan.core.errors import UsageError
from goldpan.core.sanitize import for_json, printable
from goldpan.core.secrets import mask

LOG = logging.getLogger("goldpan")
LOG.addHandler(logging.NullHandler())  # what is told is printed elsewhere
PARTS = "parts"
"""The extra of a record that holds more keys of its JSON line."""
WORDS: ContextVar[tuple[str, ...]] = ContextVar("words", default=())
"""The command line of the program; none where Goldpan is a library of another program."""
_SERVERS = ("httpx", "httpx2")
"""Libraries whose own lines name each request with its status."""


LogFormat = Literal["plain", "json"]
"""How progress is written on standard error."""


class _Masked(logging.Formatter):
    """One line a record, without secrets and without characters that command a terminal."""

    def format(self, record: logging.LogRecord) -> str:
        return printable(super().format(record)).replace("\n", "\n  ")


class _JsonLines(logging.Formatter):
    """One JSON object a line, for programs that read logs."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "event": "error" if record.levelno >= logging.ERROR else "note",
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="seconds"),
            "said": record.getMessage(),
            **getattr(record, PARTS, {}),
        }
        import orjson  # which takes long to import

        return for_json(mask(orjson.dumps(line).decode()))


def start_log(file: Path | None, *, verbose: bool, as_json: bool = False) -> None:
    """Write the log to a file, and the requests to standard error where `verbose`.

    `as_json` has all that people are told on standard error written there as JSON lines instead.
    Raises `UsageError` where the file cannot be written.
    """
    if as_json or verbose:
        screen = logging.StreamHandler(sys.stderr)
        screen.setFormatter(_JsonLines() if as_json else _Masked("%(message)s"))
        _attach(screen, (*(["goldpan"] if as_json else []), *(_SERVERS if verbose else ())))
    if file is not None:
        try:
            handler = logging.FileHandler(file, encoding="utf-8")
        except OSError as error:
            raise UsageError(
                f"--log-file {file} cannot be written: {error.strerror}", "Name another file"
            ) from None
        handler.setFormatter(_Masked("%(asctime)s %(levelname)s %(name)s: %(message)s"))
        _attach(handler, ("goldpan", *_SERVERS))


def is_json() -> bool:
    """Tell whether what people are told goes to standard error as JSON lines."""
    return any(isinstance(handler.formatter, _JsonLines) for handler in LOG.handlers)


def is_asked_for(option: str) -> bool:
    """Tell whether the program's command line has an option without a value."""
    words = WORDS.get()
    return option in words[: words.index("--") if "--" in words else None]


def _attach(handler: logging.Handler, names: tuple[str, ...]) -> None:
    for name in names:
        logger = logging.getLogger(name)
        logger.setLevel(logging.INFO)
        logger.addHandler(handler)
