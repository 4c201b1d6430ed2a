"""Declared needs of a Python project and its tests, read without running any of its code."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Collection, Iterable, Iterator, Sequence
from configparser import Error as ConfigError
from configparser import RawConfigParser
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet

from goldpan.execution.checkout import leaves
from goldpan.execution.recipe import RunRecipe

_PYTHON_REQUIRES = re.compile(r"""python_requires\s*=\s*["']?([^"'\n,)]+(?:,[^"'\n)]+)*)""")
_CARET = re.compile(r"\^(\d+)[\d.]*")
_FACTORS = re.compile(r"([\w!{}.,-]+):\s+(.+)")
"""Names of tox's environments, before what they alone have: `tests,cov: pretend`."""
_FILE = re.compile(r"(?:-r|--requirement)[ =]*(?:\{(?:toxinidir|tox_root)\}/)?(\w[\w./-]*)")
"""A file of requirements that tox names."""
_HATCH = ("dependencies", "extra-dependencies")
_LARGEST = 1 << 20  # bytes


@dataclass(frozen=True, slots=True)
class Declared:
    """The needs of a project's tests, as it declares them."""

    extras: tuple[str, ...]
    groups: tuple[str, ...]
    files: tuple[str, ...]
    """Files of requirements."""
    packages: tuple[str, ...]
    """Packages that tools such as tox and Poetry install to test, and that setuptools did."""
    listed: tuple[str, ...]
    """The same, and the packages in the files; lines that only pip reads are left out."""


def declared(recipe: RunRecipe, testbed: Path) -> Declared:
    """Return the needs of a project's tests, which stand under the usual names."""
    project, setup = _pyproject(testbed), _configuration(testbed / "setup.cfg")
    tool = _table(project, "tool")
    extras = {
        *_table(_table(project, "project"), "optional-dependencies"),
        *_table(_table(tool, "poetry"), "extras"),
    }
    if setup.has_section("options.extras_require"):
        extras.update(setup.options("options.extras_require"))
    script = _read(testbed / "setup.py")
    if "extras_require" in script:  # the likely ones
        extras.update(re.findall(r"""["']([\w.-]+)["']\s*(?::|\]\s*=)""", script))
    groups = _table(project, "dependency-groups")
    names = recipe.fields.extras
    tox = _configuration(testbed / "tox.ini")
    deps, *chosen = (
        tox.get("testenv", key, fallback="") for key in ("deps", "extras", "dependency_groups")
    )
    taken = dict.fromkeys((*names, *re.findall(r"[\w.-]+", " ".join(chosen))))
    to_test = [*_without_factors(deps, names)]
    named = (match[1] for line in to_test if (match := _FILE.fullmatch(line.strip())))
    files = tuple(
        name
        for name in dict.fromkeys((*recipe.fields.requirements, *named))
        if (testbed / name).is_file() and not leaves(testbed, name)
    )
    tests_require = setup.get("options", "tests_require", fallback="")
    lines = [
        *to_test,
        *tests_require.split("\n"),
        *_installed_to_test(testbed),
        *_of_managers(tool, names),
    ]
    lines_of_files = [line for name in files for line in _read(testbed / name).split("\n")]
    return Declared(
        tuple(name for name in taken if name in extras),
        tuple(name for name in taken if name in groups),
        files,
        _requirements(lines),
        _requirements([*lines_of_files, *lines]),
    )


def required_python(testbed: Path) -> SpecifierSet:
    """Return the versions of Python that a project admits: all where it names none."""
    project = _pyproject(testbed)
    poetry = _table(_table(_table(project, "tool"), "poetry"), "dependencies")
    requirement = _table(project, "project").get("requires-python", poetry.get("python"))
    if not isinstance(requirement, str):
        text = "\n".join(_read(testbed / name) for name in ("setup.cfg", "setup.py"))
        match = _PYTHON_REQUIRES.search(text)
        requirement = match[1].strip() if match else ""
    try:
        requirement = _CARET.sub(
            lambda match: f">={match[0][1:]},<{int(match[1]) + 1}", requirement
        )
        specifiers = SpecifierSet(requirement)
        specifiers.contains("3")  # which reads its numbers
    except ValueError:  # of thousands of digits, too
        return SpecifierSet()
    return specifiers


def is_package(testbed: Path) -> bool:
    """Return whether a project can be installed."""
    return (testbed / "setup.py").is_file() or not {"build-system", "project"}.isdisjoint(
        _pyproject(testbed)
    )


def unpinned(line: str) -> str:
    """Return a line of `Declared.listed` that admits every version of its package."""
    requirement = Requirement(line)
    requirement.specifier = SpecifierSet()
    return str(requirement)


def _requirements(lines: Iterable[str]) -> tuple[str, ...]:
    """Return the lines that ask for a package by its name, each once; no addresses and options."""
    requirements = []
    for line in lines:
        try:
            requirement = Requirement(re.sub(r"\s#.*", "", line).strip())
        except InvalidRequirement:
            continue
        if requirement.url is None:
            requirements.append(str(requirement))
    return tuple(dict.fromkeys(requirements))


def _without_factors(deps: str, names: Collection[str]) -> Iterator[str]:
    """Yield the lines of `deps` of tox; of those for some factors alone, what tests' have."""
    for line in deps.split("\n"):
        match = _FACTORS.fullmatch(line.strip())
        if match is None:
            yield line
        elif not set(names).isdisjoint(re.split("[,-]", match[1])):
            yield match[2]


def _installed_to_test(testbed: Path) -> Iterator[str]:
    """Yield `tests_require` of setup.py, and what sessions of nox install to test."""
    for node in _nodes(testbed / "setup.py"):
        match node:
            case ast.keyword(arg="tests_require", value=ast.List(elts=items)):
                yield from _texts(items)
    for session in _nodes(testbed / "noxfile.py"):
        if isinstance(session, ast.FunctionDef) and "test" in session.name:
            for node in ast.walk(session):
                match node:
                    case ast.Call(func=ast.Attribute(attr="install"), args=items):
                        yield from _texts(items)


def _of_managers(tool: dict[str, Any], names: Sequence[str]) -> Iterator[str]:
    """Yield what Poetry, PDM, Hatch and uv install to test, of Poetry without versions."""
    poetry = _table(tool, "poetry")
    groups = _table(poetry, "group")
    yield from _of_poetry(_table(poetry, "dev-dependencies"))
    for name in names:
        yield from _of_poetry(_table(_table(groups, name), "dependencies"))
    pdm = _table(_table(tool, "pdm"), "dev-dependencies")
    hatch = _table(_table(tool, "hatch"), "envs")
    environments = [_table(hatch, name) for name in ("default", "hatch-test", *names)]
    for listed in (
        *(pdm.get(name) for name in names),
        *(table.get(key) for table in environments for key in _HATCH),
        _table(tool, "uv").get("dev-dependencies"),
    ):
        if isinstance(listed, list):
            yield from (line for line in listed if isinstance(line, str))


def _of_poetry(table: dict[str, Any]) -> Iterator[str]:
    """Yield packages of the index for all Pythons; versions have signs of Poetry's own."""
    for name, value in table.items():
        about = value if isinstance(value, dict) else {"version": value}
        if "version" in about and "python" not in about:
            extras = about.get("extras")
            yield f"{name}[{','.join(map(str, extras))}]" if isinstance(extras, list) else name


def _texts(items: Iterable[ast.expr]) -> Iterator[str]:
    """Yield texts, but none behind an option: nobody meant the package requirements.txt."""
    before = ""
    for item in items:
        text = str(item.value) if isinstance(item, ast.Constant) else ""
        if not before.startswith("-"):
            yield text
        before = text


def _nodes(script: Path) -> Iterable[ast.AST]:
    try:
        return ast.walk(ast.parse(_read(script)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()


def _configuration(path: Path) -> RawConfigParser:
    """Return a file that tox or setuptools reads, without sections where it is malformed."""
    parser = RawConfigParser(strict=False)
    try:
        parser.read_string(_read(path))
    except ConfigError:
        return RawConfigParser()
    return parser


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
    if path.is_symlink() or not path.is_file() or path.stat().st_size > _LARGEST:
        return ""
    return path.read_text(encoding="utf-8", errors="replace")
