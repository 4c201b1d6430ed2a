"""Builds the environment of a Python project as of a date, from what the project declares.

`uv` resolves with `--exclude-newer`, so that packages are those of the time. The newest Python
that had been out for half a year, and that the project admits, is taken, or the nearest that is
installed; the record says which.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date as calendar
from datetime import datetime, timedelta
from pathlib import Path

from goldpan.core.errors import GoldpanError
from goldpan.core.imports import install_remedy
from goldpan.execution.command import CommandLimits, Exceeded, Finished, SandboxCommand
from goldpan.execution.declarations import declared, is_package, required_python, unpinned
from goldpan.execution.imports import own_modules
from goldpan.execution.isolation import Isolation
from goldpan.execution.network import BuildNetwork
from goldpan.execution.recipe import RunRecipe

RELEASED = {
    "3.6": "2016-12-23",
    "3.7": "2018-06-27",
    "3.8": "2019-10-14",
    "3.9": "2020-10-05",
    "3.10": "2021-10-04",
    "3.11": "2022-10-24",
    "3.12": "2023-10-02",
    "3.13": "2024-10-07",
    "3.14": "2025-10-07",
}
"""The day on which each version came out."""
Finder = Callable[[str], str | None]
"""Gives the path of the interpreter of a version such as 3.11, None where it is not installed."""
_FIND = ("python", "find", "--no-config", "--system", "--no-python-downloads")
_FIND_ALL = (
    f'uv=$1; shift; for v do p=$("$uv" --no-cache {" ".join(_FIND)} "$v" 2> /dev/null) '
    '&& echo "$v $p"; done'
)
_SECONDS = 120


def find_pythons(isolation: Isolation, uv: str) -> Finder:
    """Return the finder of the interpreters that isolated commands can run."""
    if isolation.is_own_system:
        return lambda version: _installed(version, uv)
    return _of_image(isolation, uv).get


def _installed(version: str, uv: str) -> str | None:
    """Return this machine's interpreter of a version, by uv or else of pyenv, if there is one."""
    process = subprocess.run(  # noqa: S603 - uv with our own arguments
        [uv, *_FIND, version], capture_output=True, text=True, check=False
    )
    if process.returncode == 0:
        return os.path.realpath(process.stdout.strip())
    # pyenv's shims run only the version that is switched on, so uv takes the others for broken.
    root = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    programs = sorted(root.glob(f"versions/{version}.*/bin/python"), key=_release)
    return os.path.realpath(programs[-1]) if programs else None


def _release(program: Path) -> list[int]:
    """Return the numbers in the folder of a version of pyenv, such as 3, 11 and 4."""
    return [int(number) for number in re.findall(r"\d+", program.parts[-3])]


def _of_image(isolation: Isolation, uv: str) -> dict[str, str]:
    """Return the interpreters of an image by version; uv runs there, in an empty folder."""
    arguments = ["/bin/sh", "-c", _FIND_ALL, "sh", uv, *RELEASED]
    lines = isolation.printed_lines(arguments, CommandLimits(_SECONDS), (Path(uv),))
    pairs = (line.split(" ", 1) for line in lines if " /" in line)
    return {version: path for version, path in pairs if version in RELEASED}


_SETTLED = timedelta(days=180)
_EDITABLE = "2023-01-01T00:00:00Z"
"""The date by which these installed projects so that a patch takes effect (PEP 660: setuptools 64,
poetry-core 1.0.8), and built those of years before: older projects get them as of this date."""
_SEEDED = dict.fromkeys(("3.6", "3.7", "3.8", "3.9", "3.10", "3.11"), ("setuptools",))
"""Packages that virtual environments of these Pythons held, which projects hence do not declare."""
_EDITABLE_TOOLS = ("setuptools", "wheel", "poetry-core", "flit-core")
_VERSIONS_OF_TAGS = (
    *("SETUPTOOLS_SCM_PRETEND_VERSION", "PBR_VERSION", "PDM_BUILD_SCM_VERSION"),
    *("POETRY_DYNAMIC_VERSIONING_BYPASS", "UV_DYNAMIC_VERSIONING_BYPASS"),
)
_PACKAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*==[A-Za-z0-9][A-Za-z0-9.!+_-]*")
_MOST_LISTED = 4 << 20  # bytes


class EnvironmentBuildError(Exception):
    """The environment of a commit cannot be built; the log says why."""

    def __init__(self, exceeded: Exceeded | None = None) -> None:
        super().__init__(exceeded)
        self.exceeded = exceeded
        """The limit at which building was stopped."""


@dataclass(frozen=True, slots=True)
class PythonEnv:
    """An environment and what it was made of."""

    python: str
    """The path of its interpreter."""
    version: str
    """The interpreter's version, as 3.11."""
    requested_version: str
    """The version that the date and the project ask for."""
    packages: tuple[str, ...]
    """Installed packages, as name==version, sorted."""
    readable: tuple[Path, ...]
    """Paths that must be readable to run it."""
    copied: frozenset[str] = frozenset()
    """The project's files of which it holds a copy, as it could not be installed in place."""


def find_uv() -> str:
    """Return the path of uv; raises `GoldpanError` that says how to get it."""
    installed = Path(sys.executable).parent / "uv"  # the extra puts it there, on PATH or not
    path = str(installed) if installed.exists() else shutil.which("uv")
    if path is None:
        raise GoldpanError(
            "Environments of Python projects are built by uv, which is not installed",
            install_remedy("uv"),
        )
    return os.path.realpath(path)


def build_python_env(
    recipe: RunRecipe,
    isolation: Isolation,
    network: BuildNetwork,
    testbed: Path,
    directory: Path,
    cache: Path,
    date: str,
    version: str,
    limits: CommandLimits,
    log: Path,
) -> PythonEnv:
    """Install a project, what its tests declare and the recipe's packages into `directory`.

    `date` is the moment, in ISO 8601, after whose packages nothing is taken; `version` is what the
    project's own version is taken for where it comes from tags. Foreign code runs in isolation,
    with `network` and `cache`, which no other project should share. Raises
    `EnvironmentBuildError`.
    """
    uv = find_uv()
    preferred, chosen_version, interpreter = choose_python(
        testbed, date, find_pythons(isolation, uv), log
    )
    readable = _needed(isolation, uv, interpreter)
    python = directory / "bin" / "python"
    settings = {
        **network.variables,
        "UV_CACHE_DIR": str(cache),
        # Each run of the tests would compile all anew; uv does not compile for Python 3.6.
        "UV_COMPILE_BYTECODE": "0" if chosen_version == "3.6" else "1",
        "UV_LINK_MODE": "copy",
        "UV_NO_CONFIG": "1",
        "UV_PYTHON_DOWNLOADS": "never",
        "VIRTUAL_ENV": str(directory),
        **dict.fromkeys(_VERSIONS_OF_TAGS, version),
    }
    cache.mkdir(parents=True, exist_ok=True)
    directory.mkdir(parents=True, exist_ok=True)

    def run(*arguments: str) -> Finished:
        command = SandboxCommand(arguments, testbed, (directory, cache), readable, settings)
        return isolation.run(network.through(command), limits, log)

    finished = run(uv, "venv", "--quiet", "--clear", "--python", str(interpreter), str(directory))
    if finished.code:
        raise EnvironmentBuildError(finished.exceeded)
    install = [uv, "pip", "install", "--python", str(python), "--exclude-newer", date]
    install += editable_cutoffs(date)
    runner = (*recipe.fields.packages, *_SEEDED.get(chosen_version, ()))
    for is_copied, packages in _attempts(recipe, testbed):
        finished = run(*install, *packages, *runner)
        if finished.code == 0:
            copied = own_modules(directory) if is_copied else frozenset()
            break
        if finished.exceeded:
            raise EnvironmentBuildError(finished.exceeded)
    else:
        raise EnvironmentBuildError
    # Not on this side: foreign code may have put another program in the interpreter's place.
    listing = directory.with_name("packages.txt")
    freeze = (uv, "pip", "freeze", "--exclude-editable", "--python", str(python))
    command = SandboxCommand(
        freeze, testbed, (directory, cache), readable, {**settings, "UV_QUIET": "1"}
    )
    listed = isolation.run(command, limits, listing).code == 0
    installed = _packages(listing) if listed else ()
    return PythonEnv(
        str(python), chosen_version, preferred, installed, (directory, *readable), copied
    )


def _attempts(recipe: RunRecipe, testbed: Path) -> Iterator[tuple[bool, Sequence[str]]]:
    """Yield what uv is asked to install, one after the other, and whether it copies the project.

    Files of requirements may hold lines that only pip reads. What a project pins for its tests may
    be gone; other versions of the time, or the project with a runner alone, may still do. Tools of
    before PEP 660, such as the first ones of Poetry, install nothing in place.
    """
    needs, can_be_installed = declared(recipe, testbed), is_package(testbed)
    project = f".[{','.join(needs.extras)}]" if needs.extras else "."
    groups = [part for group in needs.groups for part in ("--group", group)]
    files = [part for name in needs.files for part in ("--requirement", name)]
    declarations = [
        (*files, *groups, *needs.packages),
        (*needs.listed, *groups),
        tuple(map(unpinned, needs.listed)),
        (),
    ]
    for declaration in dict.fromkeys(declarations):
        if can_be_installed:
            yield False, ("--editable", project, *declaration)
            yield True, (project, *declaration)
        else:
            yield False, declaration


def _needed(isolation: Isolation, uv: str, interpreter: str) -> tuple[Path, ...]:
    """Return what of this machine isolated code has to see; an image has its own interpreter."""
    if not isolation.is_own_system:
        return (Path(uv),)
    base = Path(os.path.realpath(interpreter)).parent.parent
    return tuple(path for path in (base, Path(uv)) if not path.is_relative_to("/usr"))


def editable_cutoffs(date: str) -> tuple[str, ...]:
    """Return the arguments of uv that let a project of a date be installed in place."""
    if date >= _EDITABLE:
        return ()
    return tuple(
        part
        for tool in _EDITABLE_TOOLS
        for part in ("--exclude-newer-package", f"{tool}={_EDITABLE}")
    )


def choose_python(testbed: Path, date: str, find: Finder, log: Path) -> tuple[str, str, str]:
    """Return the version that the date and the project ask for, the nearest one at hand, its path.

    Raises `EnvironmentBuildError` where none at hand is admitted, and says so in `log`.
    """
    day = datetime.fromisoformat(date).date()
    admitted = required_python(testbed)
    versions = [version for version in RELEASED if admitted.contains(f"{version}.99")]
    settled = [
        version
        for version in versions
        if calendar.fromisoformat(RELEASED[version]) + _SETTLED <= day
    ]
    if versions:
        preferred = settled[-1] if settled else versions[0]
        at = versions.index(preferred)
        for version in (*versions[at:], *reversed(versions[:at])):
            if interpreter := find(version):
                return preferred, version, interpreter
    log.write_text(f"No installed Python is supported by the project: {admitted or 'any'}\n")
    raise EnvironmentBuildError


def _packages(listing: Path) -> tuple[str, ...]:
    """Return what ``uv pip freeze`` lists, sorted; none of addresses, which may hold passwords."""
    with listing.open("rb") as file:
        lines = file.read(_MOST_LISTED).decode("utf-8", "replace").split("\n")
    return tuple(sorted(line for line in lines if _PACKAGE.fullmatch(line)))
