"""Builds the environment of a Python project as of a date, from what the project declares.

`uv` resolves with `--exclude-newer`, so that packages are those of the time. The newest Python
that had been out for half a year, and that the project admits, is taken, or the nearest that is
installed; the record says which.
"""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterable
from configparser import Error as ConfigError
from configparser import RawConfigParser
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet

from goldpan.core.errors import GoldpanError
from goldpan.core.imports import install_remedy
from goldpan.execution.command import CommandLimits, Exceeded, Finished, SandboxCommand
from goldpan.execution.isolation import Isolation
from goldpan.execution.network import BuildNetwork
from goldpan.execution.recipe import RunRecipe
from goldpan.execution.reports import own_modules

# Finds the interpreters of Python that are installed on this machine, or in an image.

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
"""When each version came out."""
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
    programs = sorted(root.glob(f"versions/{version}.*/bin/python"))
    return os.path.realpath(programs[-1]) if programs else None


def _of_image(isolation: Isolation, uv: str) -> dict[str, str]:
    """Return the interpreters of an image by version; uv runs there, in an empty folder."""
    arguments = ["/bin/sh", "-c", _FIND_ALL, "sh", uv, *RELEASED]
    lines = isolation.printed_lines(arguments, CommandLimits(_SECONDS), (Path(uv),))
    pairs = (line.split(" ", 1) for line in lines if " /" in line)
    return {version: path for version, path in pairs if version in RELEASED}


_SETTLED = timedelta(days=180)
_EDITABLE = "2023-01-01T00:00:00Z"
"""By then these installed projects so that a patch takes effect (PEP 660: setuptools 64,
poetry-core 1.0.8), and built those of years before: older projects get them as of this date."""
_SEEDED = dict.fromkeys(("3.6", "3.7", "3.8", "3.9", "3.10", "3.11"), ("setuptools",))
"""Packages that virtual environments of these Pythons held, which projects hence do not declare."""
_EDITABLE_TOOLS = ("setuptools", "wheel", "poetry-core", "flit-core")
_REQUIRES = re.compile(r"""python_requires\s*=\s*["']?([^"'\n,)]+(?:,[^"'\n)]+)*)""")
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
        "SETUPTOOLS_SCM_PRETEND_VERSION": version,
        "PBR_VERSION": version,
    }
    cache.mkdir(parents=True, exist_ok=True)
    directory.mkdir(parents=True, exist_ok=True)

    def run(*arguments: str) -> Finished:
        command = SandboxCommand(arguments, testbed, (directory, cache), readable, settings)
        return isolation.run(network.through(command), limits, log)

    made = run(uv, "venv", "--quiet", "--clear", "--python", str(interpreter), str(directory))
    if made.code:
        raise EnvironmentBuildError(made.exceeded)
    install = [uv, "pip", "install", "--python", str(python), "--exclude-newer", date]
    install += editable_cutoffs(date)
    found = declared(recipe, testbed)
    extras = f"[{','.join(found.extras)}]" if found.extras else ""
    own_package = [f".{extras}"] if _is_package(testbed) else []
    groups = [part for group in found.groups for part in ("--group", group)]
    files = [part for name in found.files for part in ("--requirement", name)]
    lines = [line for name in found.files for line in _read(testbed / name).splitlines()]
    runner = (*recipe.fields.packages, *_SEEDED.get(chosen_version, ()))
    # Files of requirements may hold lines that only pip reads. What a project pins for its tests
    # may be gone; other versions of the time, or the project with a runner alone, may still do.
    # Tools of before PEP 660, such as the first ones of Poetry, install nothing in place.
    read = _requirements([*lines, *found.packages])
    declarations = [
        (*files, *groups, *found.packages),
        (*read, *groups),
        tuple(_unpinned(line) for line in read),
        (),
    ]
    attempts = [
        (is_copied, declaration)
        for declaration in dict.fromkeys(declarations)
        for is_copied in ((False, True) if own_package else (False,))
    ]
    for is_copied, declaration in attempts:
        in_place = ["--editable"] if own_package and not is_copied else []
        made = run(*install, *in_place, *own_package, *declaration, *runner)
        if made.code == 0 or made.exceeded:
            break
    if made.code:
        raise EnvironmentBuildError(made.exceeded)
    # Not on this side: foreign code may have put another program in the interpreter's place.
    listing = directory.with_name("packages.txt")
    freeze = (uv, "pip", "freeze", "--exclude-editable", "--python", str(python))
    command = SandboxCommand(
        freeze, testbed, (directory, cache), readable, {**settings, "UV_QUIET": "1"}
    )
    listed = isolation.run(command, limits, listing).code == 0
    packages = _packages(listing) if listed else ()
    copied = own_modules(directory) if is_copied else frozenset()
    return PythonEnv(
        str(python), chosen_version, preferred, packages, (directory, *readable), copied
    )


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


@dataclass(frozen=True, slots=True)
class Declared:
    """What a project says that its tests need."""

    extras: tuple[str, ...]
    groups: tuple[str, ...]
    files: tuple[str, ...]
    """Files of requirements."""
    packages: tuple[str, ...]
    """What tox and nox install to test, and what setuptools did."""


def declared(recipe: RunRecipe, testbed: Path) -> Declared:
    """Return what a project says that its tests need, by the usual names."""
    project = _pyproject(testbed)
    extras = set(_table(_table(project, "project"), "optional-dependencies"))
    extras |= _setup_extras(testbed)
    groups = _table(project, "dependency-groups")
    names = recipe.fields.extras
    tox = _section(testbed / "tox.ini", "testenv", "deps")
    setup = _section(testbed / "setup.cfg", "options", "tests_require")
    return Declared(
        tuple(name for name in names if name in extras),
        tuple(name for name in names if name in groups),
        tuple(name for name in recipe.fields.requirements if (testbed / name).is_file()),
        _requirements([*tox, *setup, *_installed_to_test(testbed)]),
    )


def _requirements(lines: Iterable[str]) -> tuple[str, ...]:
    """Return the lines that ask for a package by its name, each once; no addresses and options."""
    found = []
    for line in lines:
        try:
            requirement = Requirement(re.sub(r"\s+#.*", "", line).strip())
        except InvalidRequirement:
            continue
        if requirement.url is None:
            found.append(str(requirement))
    return tuple(dict.fromkeys(found))


def _unpinned(line: str) -> str:
    requirement = Requirement(line)
    requirement.specifier = SpecifierSet()
    return str(requirement)


def _section(path: Path, section: str, option: str) -> list[str]:
    """Return the lines of an option of a file that tox or setuptools reads."""
    parser = RawConfigParser(strict=False)
    try:
        parser.read_string(_read(path))
        return parser.get(section, option, fallback="").splitlines()
    except ConfigError:
        return []


def _installed_to_test(testbed: Path) -> list[str]:
    """Return `tests_require` of setup.py and what sessions of nox install; neither is run here."""
    lists = [
        node.value.elts
        for node in _nodes(testbed / "setup.py")
        if isinstance(node, ast.keyword)
        and node.arg == "tests_require"
        and isinstance(node.value, ast.List)
    ]
    lists += [
        call.args
        for node in _nodes(testbed / "noxfile.py")
        if isinstance(node, ast.FunctionDef) and "test" in node.name
        for call in ast.walk(node)
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and call.func.attr == "install"
    ]
    found = []
    for items in lists:
        words = [str(item.value) if isinstance(item, ast.Constant) else "" for item in items]
        # What follows an option is its value: nobody meant the package requirements.txt.
        found += [
            word
            for before, word in zip(["", *words], words, strict=False)
            if not before.startswith("-")
        ]
    return found


def _nodes(script: Path) -> Iterable[ast.AST]:
    try:
        return ast.walk(ast.parse(_read(script)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()


def choose_python(testbed: Path, date: str, find: Finder, log: Path) -> tuple[str, str, str]:
    """Return the version that the date and the project ask for, the nearest one at hand, its path.

    Raises `EnvironmentBuildError` where none at hand is admitted, and says so in `log`.
    """
    moment = datetime.fromisoformat(date)
    admitted = _requires(testbed)
    versions = [version for version in RELEASED if admitted.contains(f"{version}.99")]
    settled = [
        version
        for version in versions
        if datetime.fromisoformat(f"{RELEASED[version]}T00:00:00+00:00") + _SETTLED <= moment
    ]
    if versions:
        preferred = settled[-1] if settled else versions[0]
        at = versions.index(preferred)
        for version in (*versions[at:], *reversed(versions[:at])):
            if interpreter := find(version):
                return preferred, version, interpreter
    log.write_text(f"No Python is installed that the project admits: {admitted or 'any'}\n")
    raise EnvironmentBuildError


def _requires(testbed: Path) -> SpecifierSet:
    requirement = _table(_pyproject(testbed), "project").get("requires-python")
    if not isinstance(requirement, str):
        text = "\n".join(_read(testbed / name) for name in ("setup.cfg", "setup.py"))
        match = _REQUIRES.search(text)
        requirement = match[1].strip() if match else ""
    try:
        return SpecifierSet(requirement)
    except InvalidSpecifier:
        return SpecifierSet()


def _is_package(testbed: Path) -> bool:
    if (testbed / "setup.py").is_file():
        return True
    project = _pyproject(testbed)
    return "build-system" in project or "project" in project


def _setup_extras(testbed: Path) -> set[str]:
    """Return the extras of setup.cfg, and the likely ones of setup.py, which is not run here."""
    names: set[str] = set()
    section = ""
    for line in _read(testbed / "setup.cfg").splitlines():
        if line.startswith("["):
            section = line.strip()
        elif section == "[options.extras_require]" and (match := re.match(r"([\w.-]+)\s*=", line)):
            names.add(match[1])
    script = _read(testbed / "setup.py")
    if "extras_require" in script:
        names |= set(re.findall(r"""["']([\w.-]+)["']\s*(?::|\]\s*=)""", script))
    return names


def _pyproject(testbed: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(_read(testbed / "pyproject.toml"))
    except (ValueError, RecursionError):  # also numbers of thousands of digits
        return {}


def _table(values: dict[str, Any], name: str) -> dict[str, Any]:
    table = values.get(name)
    return table if isinstance(table, dict) else {}


def _read(path: Path) -> str:
    """Return a text of the repository; a link may lead anywhere, so it is not followed."""
    if path.is_symlink() or not path.is_file() or path.stat().st_size > 1 << 20:
        return ""
    return path.read_text(encoding="utf-8", errors="replace")


def _packages(listing: Path) -> tuple[str, ...]:
    """Return what ``uv pip freeze`` lists, sorted; none of addresses, which may hold passwords."""
    with listing.open("rb") as file:
        lines = file.read(_MOST_LISTED).decode("utf-8", "replace").split("\n")
    return tuple(sorted(line for line in lines if _PACKAGE.fullmatch(line)))
