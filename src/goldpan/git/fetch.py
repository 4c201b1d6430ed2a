"""Fetches into a clone, saying how far it is."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from subprocess import PIPE
from typing import IO

from goldpan.core.progress import Reporter
from goldpan.git.failures import failure
from goldpan.git.process import Reach, start
from goldpan.git.remote import NAME, Remote

_OPTIONS = (
    "--progress",
    "--stdin",
    "--no-tags",
    "--no-write-fetch-head",
    "--no-auto-gc",
    "--no-recurse-submodules",
)
_PROGRESS = re.compile(rb"Receiving objects: +(\d{1,3})%")
_ENDS = re.compile(rb"[\r\n]")
# Nothing, a ref that was written, or how far something is.
_CHATTER = re.compile(rb"\s|\Z|From |remote: +\Z|[^%]{1,80}: +\d{1,3}% ")
_MOST_LINES = 200
_LONGEST_LINE = 2_000
NO_FILTER = b"filtering not recognized by server"


def fetch(
    clone: Path,
    remote: Remote,
    ids: Iterable[str],
    reporter: Reporter,
    title: str,
    settings: tuple[tuple[str, str], ...] = (),
) -> bool:
    """Fetch refspecs or object ids, and tell whether files stayed behind on the server.

    Raises `GitError`; refs that were written before a cut are whole, the others as they were.
    """
    reach = remote.reach
    reach = Reach(reach.protocols, (*reach.settings, *settings))
    options = (*_OPTIONS, *(("--filter=blob:none",) if remote.is_partial else ()))
    with tempfile.TemporaryFile() as wanted_file, reporter.task(title, 100) as task:
        wanted_file.writelines(f"{id_}\n".encode() for id_ in ids)
        wanted_file.seek(0)
        lines: list[bytes] = []
        process = start(
            "fetch", *options, NAME, clone=clone, stdin=wanted_file, stderr=PIPE, reach=reach
        )
        with process:
            try:
                for line in _lines(process.stderr):
                    if match := _PROGRESS.search(line):
                        task.advance(max(0, int(match[1]) - task.done))
                    elif len(lines) < _MOST_LINES and not _CHATTER.match(line):
                        lines.append(line)
            except BaseException:  # Ctrl-C too: git must not go on fetching for nobody
                process.terminate()
                raise
        complaint = b"\n".join(lines)
        if process.returncode:
            raise failure(remote.url, complaint, process.returncode)
    return remote.is_partial and NO_FILTER not in complaint


def _lines(source: IO[bytes] | None) -> Iterator[bytes]:
    """Yield what git says as it says it: progress lines end with a carriage return."""
    if source is None:
        raise RuntimeError("git was started without a pipe for what it says")
    rest = b""
    while block := source.read1(1 << 16):  # type: ignore[attr-defined]
        *lines, rest = _ENDS.split(rest + block)
        yield from lines
        rest = rest[-_LONGEST_LINE:]
    yield rest
