"""What went wrong, as people read it, and as programs do where JSON was asked for."""

from __future__ import annotations

import shlex
import sys

import orjson

from goldpan.core.errors import GoldpanError, StoppedError, UnknownNameError, UsageError
from goldpan.core.log import LOG, PARTS, is_json
from goldpan.core.plugins import left_out
from goldpan.core.progress import Terminal
from goldpan.core.sanitize import for_json
from goldpan.core.secrets import mask

_JSON = "--json"


def complain(error: GoldpanError) -> None:
    """Say on standard error what went wrong and what to do, as JSON where that was asked for."""
    if isinstance(error, UnknownNameError):
        hints = left_out() or (f"If a plugin brings it, run {with_plugin()}",)
        error = UsageError(error.problem, ". ".join((error.remedy, *hints)))
    parts = {"problem": error.problem, "remedy": error.remedy, "exit_code": error.exit_code}
    LOG.error(str(error), extra={PARTS: parts})
    if is_json():
        return
    if _JSON in sys.argv[1:]:
        sys.stderr.write(for_json(mask(orjson.dumps({"error": parts}).decode())) + "\n")
        return
    start = "" if isinstance(error, StoppedError) else "Error: "
    # What servers say may hold lines: none of them looks like one of ours.
    text = str(error).replace("\n", "\n  ")
    Terminal(stderr=True).print(f"{start}{text}")


def with_plugin() -> str:
    """Return this command as it is to be given for a plugin to be loaded."""
    return shlex.join(["goldpan", "--plugin", "FILE.py", *sys.argv[1:]])
