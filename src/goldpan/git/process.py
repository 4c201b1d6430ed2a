"""Runs git in one environment, where nothing of the user's can change its output.

Settings, hooks, attributes and prompts of the user or of a repository take no part. Only a command
that is given the settings of a source reaches anything: the commands that read a clone reach
nothing, so no missing object is ever fetched behind our back.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import IO, TypeVar

from goldpan.core.errors import GitError
from goldpan.core.sanitize import line
from goldpan.core.secrets import mask, without_secrets
from goldpan.core.settings.file import read_toml

_LONGEST = 200
_AGAIN = "Run the same command again: finished work is kept"
_BLAME = re.compile(r"(?:fatal|error|ERROR|ssh): *")


def failure(subject: str, complaint: bytes, code: int, kind: str = "") -> GitError:
    """Return the error for a complaint of git's about a source of some kind."""
    text = complaint.decode("utf-8", "replace")
    reason = _reason(text, code)
    causes = read_toml(resources.files(__package__) / "failures.toml").values["causes"]
    for cause in causes:
        if cause.get("of", kind) == kind and any(mark in text for mark in cause["marks"]):
            return GitError(f"{subject} {cause['problem']} ({reason})", cause["remedy"])
    return GitError(f"{subject} cannot be read by git ({reason})", _AGAIN)


def _reason(text: str, code: int) -> str:
    """Return git's first complaint in one line; a server's message may hold anything."""
    rows = text.splitlines()
    blaming = [row for row in rows if _BLAME.match(row)] or rows[-1:] or [""]
    message = line(mask(_BLAME.sub("", blaming[0])), _LONGEST)
    return message.rstrip(".") or f"exit code {code}"


OLDEST = (2, 32)
"""The oldest git that can ignore the user's settings."""
MOST_BYTES = 16 << 20
"""Larger files are neither read nor compared: no table or dataset wants them."""
_EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
_KEPT = ("GIT_SSL_", "GIT_SSH")
_ALWAYS = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_ATTR_SOURCE": _EMPTY_TREE,  # later gits read attributes of a bare repository's HEAD
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "",
    "LC_ALL": "C",
}
_SETTINGS = (
    ("core.hooksPath", os.devnull),
    ("core.attributesFile", os.devnull),
    ("core.fsmonitor", "false"),
    ("core.bigFileThreshold", str(MOST_BYTES)),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("credential.helper", ""),
)


GitSettings = tuple[tuple[str, str], ...]
"""Names of settings, each with its value."""
SCHEMES = ("https", "http", "ssh", "git", "file")
"""The protocols by which a source is reached."""


def git(
    *arguments: str | Path,
    subject: str,
    clone: Path | None = None,
    reach: GitSettings = (),
    stdin: bytes | None = None,
) -> bytes:
    """Run git, on a clone if one is given, and return what it prints.

    `subject` is what the message of a `GitError` names, `reach` what `environment` takes.
    """
    check_version()
    try:
        process = subprocess.run(  # noqa: S603 - a program on PATH with our own arguments
            _command(arguments, clone),
            env=environment(reach, clone),
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            check=False,
        )
    except OSError as error:
        raise _not_started(error) from None
    if process.returncode:
        raise failure(subject, process.stderr, process.returncode)
    return process.stdout


def start(
    *arguments: str | Path,
    clone: Path,
    stdin: IO[bytes] | int,
    stderr: int = subprocess.DEVNULL,
    reach: GitSettings = (),
) -> subprocess.Popen[bytes]:
    """Start git on a clone with a pipe for its output."""
    check_version()
    try:
        return subprocess.Popen(  # noqa: S603 - a program on PATH with our own arguments
            _command(arguments, clone),
            env=environment(reach, clone),
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=stderr,
            bufsize=1 << 16,
        )
    except OSError as error:
        raise _not_started(error) from None


@contextmanager
def stream(
    *arguments: str | Path, clone: Path, stdin: Iterable[bytes] = ()
) -> Iterator[subprocess.Popen[bytes]]:
    """Give a git that reads a clone and writes; it is ended with the block.

    The reader checks whether it ended well: what a git that died has written is good.
    """
    with tempfile.TemporaryFile() as input_file:
        input_file.writelines(stdin)
        input_file.seek(0)
        with start(*arguments, clone=clone, stdin=input_file) as process:
            try:
                yield process
            finally:
                process.kill()


def environment(reach: GitSettings = (), clone: Path | None = None) -> dict[str, str]:
    """Return the environment of a git that reaches nothing, or the source of these settings.

    They travel here and not as arguments, which every user of the machine can list.
    """
    inherited = {
        name: value
        for name, value in without_secrets(os.environ).items()
        if not name.startswith("GIT_") or name.startswith(_KEPT)
    }
    owned = () if clone is None else (("safe.directory", str(clone.absolute())),)
    ssh = {"GIT_SSH_COMMAND": "ssh -oBatchMode=yes -oConnectTimeout=30"}
    return {
        **({} if "GIT_SSH" in inherited else ssh),
        **inherited,
        **_ALWAYS,
        "GIT_ALLOW_PROTOCOL": ":".join(SCHEMES) if reach else "none",
        **_configuration((*_SETTINGS, *owned, *reach)),
    }


@lru_cache(maxsize=1)
def check_version() -> None:
    """Raise `GitError` where git is missing or too old."""
    try:
        process = subprocess.run(
            ["git", "--version"],  # noqa: S607
            env=environment(),
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError as error:
        raise _not_started(error) from None
    match = re.search(r"(\d{1,4})\.(\d{1,4})", process.stdout)
    if match is None or (int(match[1]), int(match[2])) < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        answer = " ".join(process.stdout.split())[:60] or "git without a version"
        raise GitError(f"{answer} is too old", f"Install git {oldest} or later")


def _command(arguments: Sequence[str | Path], clone: Path | None) -> list[str]:
    inside = () if clone is None else (f"--git-dir={clone.absolute()}",)
    return ["git", *inside, *map(str, arguments)]


def _configuration(settings: Sequence[tuple[str, str]]) -> dict[str, str]:
    variables = {"GIT_CONFIG_COUNT": str(len(settings))}
    for index, (name, value) in enumerate(settings):
        variables[f"GIT_CONFIG_KEY_{index}"] = name
        variables[f"GIT_CONFIG_VALUE_{index}"] = value
    return variables


def _not_started(error: OSError) -> GitError:
    if isinstance(error, FileNotFoundError):
        return GitError("git is not installed", "Install git and run it again")
    return GitError(f"The program git cannot be started: {error.strerror}", "Correct it")


Item = TypeVar("Item")
Result = TypeVar("Result")


def results_in_order(
    items: Sequence[Item], ask: Callable[[Sequence[Item]], Iterator[Result]]
) -> Iterator[Result | None]:
    """Yield a result for each item, in order; None for one that git cannot give even alone.

    `ask` starts a git and yields the results, from the first item on, that are surely whole:
    each is followed by the next, or git ended well after it.
    """
    count = 0
    alone = False
    while count < len(items):
        first = count
        for result in ask(items[count : count + 1] if alone else items[count:]):
            count += 1
            yield result
        if alone and count == first:
            count += 1
            yield None
        # The last result before git died may be cut off: it is asked for again, alone, and after
        # it so is the one at which git died.
        alone = not alone
