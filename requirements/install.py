"""Installs an environment from locks, for `make`: `install.py ENVIRONMENT LOCK...`.

It needs nothing but Python, and says in one sentence what stands in the way. An environment that
an installation left half made is made anew.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).parent
OLDEST, NEWEST = (3, 11), (3, 14)
"""The versions of Python whose files the locks list."""
UNFINISHED = "installing"
"""The file of an environment that says that it is not whole."""
_PIP = ("install", "--disable-pip-version-check", "--no-compile", "--no-deps")
_LOCKED = ("--require-hashes", "--no-build-isolation", "--requirement")
_UNREACHABLE = (
    "the package index cannot be reached",
    "Check the network and its certificates, or name an index "
    "(pip config set global.index-url ADDRESS)",
)
_NO_FILE = "the package index has no file of it for this Python and system"
_NOT_BUILT = "it comes as source, and building it failed"
_CAUSES = (
    (
        re.compile(r"DO NOT MATCH THE HASHES.*?\n\s+(?P<package>\S+)", re.S),
        "its file is not the one of the lock (another hash)",
        "Do not install it by hand: use another package index, or remove the proxy that changed it",
    ),
    (
        # Behind the page of a package that cannot be read, pip says that it has no version either.
        re.compile(
            r"(?:connection broken by|Could not fetch URL)[^\n]*/(?P<name>[\w.-]+)/\W.*"
            r"No matching distribution found for (?P<package>(?P=name)\S*)",
            re.S,
        ),
        *_UNREACHABLE,
    ),
    (
        re.compile(r"No matching distribution found for (?P<package>\S+)"),
        _NO_FILE,
        "Use a package index that has it (pip config set global.index-url ADDRESS)",
    ),
    (
        re.compile(r"Could not install requirement (?P<package>\S+) .*because of HTTP error"),
        "the package index lists its file and does not give it",
        "Use another package index (pip config set global.index-url ADDRESS), or try again later",
    ),
    (
        re.compile(
            r"(?:Failed (?:building wheel|to build) (?:for )?|from building "
            r"|generating package metadata\.\s+╰─> )(?P<package>\S+)"
        ),
        _NOT_BUILT,
        "Read the log; a compiler may be missing",
    ),
    (
        re.compile(r"Collecting (?P<package>\S+)(?:(?!Collecting ).)*BackendUnavailable", re.S),
        _NOT_BUILT,
        "Read the log; it needs a build system that the locks do not hold",
    ),
    (
        # The last package that pip turned to before the connection broke for good.
        re.compile(
            r"Collecting (?P<package>\S+)(?:(?!Collecting |Installing ).)*connection broken by"
            r"(?:(?!Collecting |Installing ).)*\Z",
            re.S,
        ),
        *_UNREACHABLE,
    ),
)


class InstallError(Exception):
    """What stands in the way of an installation, with what to do about it."""


def check_machine() -> None:
    """Raise `InstallError` where a program that everything needs is missing."""
    if sys.version_info < OLDEST:
        wanted = ".".join(map(str, OLDEST))
        raise InstallError(
            f"Python {sys.version.split()[0]} is too old: Goldpan needs {wanted} or later. Install "
            "one, and run make PYTHON=python3.13, or whatever its name is"
        )
    if shutil.which("git") is None:
        raise InstallError("git is not installed, and Goldpan needs it. Install git")


def make_environment(directory: Path) -> Path:
    """Return the interpreter of an environment, made anew if it is not whole."""
    if (directory / UNFINISHED).exists():
        shutil.rmtree(directory)
    python = directory / "bin" / "python"
    directory.mkdir(parents=True, exist_ok=True)
    (directory / UNFINISHED).touch()
    if not python.exists():
        made = _run([sys.executable, "-m", "venv", str(directory)])
        if made.returncode:
            raise InstallError(
                f"{directory} cannot be made an environment: {_last_line(made.stdout)}. On Debian "
                "and Ubuntu, install python3-venv"
            )
    return python


def install(python: Path, lock: Path, log: Path) -> None:
    """Install a lock; raises `InstallError` that names the package that could not be."""
    done = _install(python, (*_LOCKED, str(lock)), log)
    if done.returncode:
        raise InstallError(f"{explain(done.stdout, lock)} The log is {log}")


def explain(output: str, lock: Path, python: tuple[int, ...] = sys.version_info[:2]) -> str:
    """Return which package of a lock pip could not install, why, and what to do."""
    for pattern, cause, remedy in _CAUSES:
        if found := pattern.search(output):
            if python > NEWEST and cause in (_NO_FILE, _NOT_BUILT):
                named = "python" + ".".join(map(str, NEWEST))
                remedy = (
                    f"The lock is older than this Python: run make PYTHON={named}, if it is there"
                )
            return f"{found['package']} of {lock.name} was not installed: {cause}. {remedy}."
    return f"{lock.name} was not installed: {_last_line(output)}."


def _install(python: Path, arguments: Sequence[str], log: Path) -> subprocess.CompletedProcess[str]:
    done = _run([str(python), "-m", "pip", *_PIP, *arguments])
    with log.open("a", encoding="utf-8") as file:
        file.write(done.stdout)
    return done


def _run(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: S603 - our own interpreter
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )


def _last_line(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return (lines or ["no reason given"])[-1].rstrip(".")


def main(arguments: Sequence[str]) -> int:
    """Install what is asked for; return the exit code."""
    directory, *names = arguments
    environment, log = Path(directory), Path(f"{directory}-install.log")
    try:
        check_machine()
        log.write_text("", encoding="utf-8")
        python = make_environment(environment)
        for name in names:
            sys.stdout.write(f"Installing {name} into {environment}\n")
            sys.stdout.flush()
            if name == "torch":
                _install_torch(python, log)
            elif name == "goldpan":
                done = _install(python, ("--no-build-isolation", "--editable", "."), log)
                if done.returncode:
                    last = _last_line(done.stdout)
                    raise InstallError(f"Goldpan was not installed: {last}. The log is {log}")
            else:
                install(python, HERE / f"{name}.txt", log)
    except InstallError as error:
        sys.stderr.write(f"Error: {error}\n")
        return 1
    except OSError as error:
        sys.stderr.write(
            f"Error: {environment} was not installed: {error}. Make room or a folder that can be "
            "written, and run it again.\n"
        )
        return 1
    except KeyboardInterrupt:
        return 130
    (environment / UNFINISHED).unlink()
    log.unlink()
    return 0


def _install_torch(python: Path, log: Path) -> None:
    """Install torch without CUDA where pip finds such a build, else the index's.

    A folder of wheels or PyTorch's own index has such builds; CUDA's libraries, which the index's
    needs on Linux, take 2.5 GB.
    """
    try:
        install(python, HERE / "torch-cpu.txt", log)
    except InstallError:
        install(python, HERE / "torch.txt", log)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
