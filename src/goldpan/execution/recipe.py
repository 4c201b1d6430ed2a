"""How the tests of an ecosystem are run: a TOML file each, shipped or one's own."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import partial
from importlib.resources import files
from pathlib import Path, PurePosixPath
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, field_validator, model_validator

from goldpan.code.paths import holds_tests
from goldpan.core.errors import refuse_empty
from goldpan.core.plugins.registry import Registry, files_in
from goldpan.core.settings.file import read_toml
from goldpan.execution.checkout import leaves
from goldpan.execution.command import SYSTEM_PATH
from goldpan.execution.reports import ReportFormat

_SHIPPED = Registry("shipped recipe", partial(files_in, files("goldpan.execution") / "recipes"))


class _Fields(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    files: tuple[str, ...]
    """A repository with one of these files at its root is of this ecosystem."""
    suffixes: tuple[str, ...]
    """Suffixes of the test files that the runner accepts."""
    environment: Literal["uv", "commands"] = "commands"
    """`uv`: a virtual environment as of the date. `commands`: what `build` says."""
    build: tuple[tuple[str, ...], ...] = ()
    """Commands that fetch and build; ``{testbed}``, ``{home}``, ``{date}``,
    the moment of the base commit, and ``{recipe}/NAME`` in them."""
    fallback: tuple[tuple[str, ...], ...] = ()
    """Commands that build where those of `build` fail, with packages of any date; the record says
    that they were taken."""
    index: tuple[str, ...] = ()
    """Addresses of the web that building reaches, beside uv's index in a recipe with `uv`."""
    extras: tuple[str, ...] = ()
    requirements: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    tests: tuple[tuple[str, ...], ...]
    """Commands of the tests; the first that reports a test is taken. In them, ``{report}`` is the
    file to write, ``{files}`` the test files, ``{python}`` the environment's interpreter or else
    the one that runs Goldpan, ``{recipe}/NAME`` a file beside this one."""
    readable: tuple[Path, ...] = ()
    """Paths that the commands read beside the system's own folders, such as a compiler's."""
    variables: dict[str, str] = {}
    """Set when building and testing; ``{home}`` stands for a home directory of its own, ``~`` for
    that of whoever runs Goldpan, ``{recipe}/NAME`` for a file beside this one."""
    programs: tuple[str, ...] = ()
    """Programs of this machine that the commands need; their folders are on PATH and readable."""
    format: tuple[ReportFormat, ...]
    """Formats that the commands report in, one for all or one for each."""
    compiled: tuple[str, ...] = ()
    """Suffixes whose change needs another build."""
    declaring: tuple[str, ...] = ()
    """Names of files that declare dependencies, as in `steering`: what the fix makes of those that
    are there is installed, so that a fix may need another package."""
    steering: tuple[str, ...] = ()
    """Names of files that configure the runner, or run before it; ``*`` stands for any text. A
    name without ``/`` counts in each folder. A patch that is scored cannot change them."""

    @field_validator("format", mode="before")
    @classmethod
    def _one_or_more(cls, value: object) -> object:
        return (value,) if isinstance(value, str) else value

    @model_validator(mode="after")
    def _a_format_a_command(self) -> Self:
        if len(self.format) not in (1, len(self.tests)):
            raise ValueError("format is one for all commands of tests, or one for each")
        return self


@dataclass(frozen=True, slots=True)
class RunRecipe:
    """How the tests of one ecosystem are run."""

    name: str
    digest: str
    """SHA-256 of its file."""
    directory: Path
    """Where its file lies, and the scripts that its commands name."""
    fields: _Fields

    is_own: bool = False
    """True where it is the user's, which is taken before the shipped ones."""

    def in_image(self) -> RunRecipe:
        """Return the recipe for an image, which has programs and settings of its own."""
        variables = {
            name: value for name, value in self.fields.variables.items() if value[:2] != "~/"
        }
        update = {"programs": (), "readable": (), "variables": variables}
        return replace(self, fields=self.fields.model_copy(update=update))

    def fits(self, names: Collection[str]) -> bool:
        """Return whether a repository with these files at its root is of this ecosystem."""
        return any(name in names for name in self.fields.files)

    def runnable(self, paths: Iterable[str]) -> tuple[str, ...]:
        """Return those test files that the runner can be given, sorted."""
        return tuple(
            sorted(path for path in paths if PurePosixPath(path).suffix in self.fields.suffixes)
        )

    def given(self, testbed: Path, paths: Iterable[str]) -> tuple[str, ...]:
        """Return those test files that the runner is given, sorted; all tests run where none is.

        Pytest finds no test in a Python file of data, which tests of other files read.
        """
        return tuple(path for path in self.runnable(paths) if not self._is_data(testbed, path))

    def _is_data(self, testbed: Path, path: str) -> bool:
        file = testbed / path
        if not self.is_python or not file.is_file():
            return False
        if file.is_symlink() or leaves(testbed, path):  # to where nothing may be read
            return False
        return not holds_tests(path, file.read_text("utf-8", "replace"))

    def rebuilds(self, paths: Iterable[str]) -> bool:
        """Return whether a change of these files needs another build."""
        return any(PurePosixPath(path).suffix.lower() in self.fields.compiled for path in paths)

    def steers(self, path: str) -> bool:
        """Return whether a file configures the runner of tests, or runs before it."""
        return _matches(path, self.fields.steering)

    def declares(self, path: str) -> bool:
        """Return whether a file declares dependencies."""
        return _matches(path, self.fields.declaring)

    def builds(self, testbed: str, home: str, date: str) -> list[list[list[str]]]:
        """Return the commands that fetch and build, then those of the fallback if there is one.

        `date` is the moment of the base commit.
        """
        values = {"{testbed}": testbed, "{home}": home, "{date}": date}
        ways = [self.fields.build, *filter(None, [self.fields.fallback])]
        return [[[self._filled(part, values) for part in line] for line in way] for way in ways]

    @property
    def is_dated(self) -> bool:
        """True where `build` takes packages as of the date of the base commit."""
        return self.fields.environment == "uv" or any(
            "{date}" in part for command in self.fields.build for part in command
        )

    def test_commands(self, python: str, report: str, paths: Sequence[str]) -> list[list[str]]:
        """Return the commands that run the tests of some files, of all where there are none."""
        values = {"{python}": python, "{report}": report}
        return [
            [
                argument
                for part in command
                for argument in (paths if part == "{files}" else [self._filled(part, values)])
            ]
            for command in self.fields.tests
        ]

    @property
    def takes_files(self) -> bool:
        """False where all tests run, whichever files are given."""
        return any("{files}" in command for command in self.fields.tests)

    def format_of(self, number: int) -> ReportFormat:
        """Return what a command of the tests reports, by its place."""
        return self.fields.format[min(number, len(self.fields.format) - 1)]

    @property
    def is_python(self) -> bool:
        """True where an interpreter runs the tests whose environment was built for the project."""
        return self.fields.environment == "uv"

    def variables(self, home: str) -> dict[str, str]:
        """Return what is set for the commands, PATH with the folders of the programs."""
        folders = [str(path.parent) for path in self.program_paths]
        own = {
            name: _in_home(self._filled(value, {"{home}": home}))
            for name, value in self.fields.variables.items()
        }
        path = {"PATH": ":".join((*dict.fromkeys(folders), SYSTEM_PATH))} if folders else {}
        return {**path, **own}

    @property
    def program_paths(self) -> tuple[Path, ...]:
        """Where the programs lie that are installed."""
        paths = (shutil.which(name) for name in self.fields.programs)
        return tuple(Path(path) for path in paths if path)

    @property
    def readable(self) -> tuple[Path, ...]:
        """The paths that commands see beside the system's own folders."""
        named = (path.expanduser() for path in self.fields.readable)
        return (*(path.parent for path in self.program_paths), *filter(Path.exists, named))

    @property
    def scripts(self) -> tuple[Path, ...]:
        """The files beside the recipe that its commands and variables name."""
        fields = self.fields
        commands = (*fields.build, *fields.fallback, *fields.tests, fields.variables.values())
        parts = (part for command in commands for part in command)
        names = {part.removeprefix("{recipe}/") for part in parts if part.startswith("{recipe}/")}
        return tuple(self.directory / name for name in sorted(names))

    def _filled(self, part: str, values: Mapping[str, str]) -> str:
        for name, value in {**values, "{recipe}": str(self.directory)}.items():
            part = part.replace(name, value)
        return part


def load_recipes(own: Sequence[Path] = ()) -> tuple[RunRecipe, ...]:
    """Return the user's own recipes, then the shipped ones.

    Raises `UsageError` naming the file and the key that is wrong.
    """
    for path in own:
        refuse_empty(path, "docs/verification.md describes every key")
    return (
        *(replace(_read(path), is_own=True) for path in own),
        *(_read(Path(str(path))) for path in _SHIPPED),
    )


def choose_recipe(
    recipes: Iterable[RunRecipe], names: Collection[str], test_files: Sequence[str]
) -> RunRecipe | None:
    """Return the recipe for a repository with these files at its root, None where none fits.

    The user's own come first; of the shipped ones, that whose runner takes most test files: a
    Python project may have a package.json for its documentation.
    """
    fitting = [recipe for recipe in recipes if recipe.fits(names)]
    return max(
        fitting, key=lambda recipe: (recipe.is_own, len(recipe.runnable(test_files))), default=None
    )


def _matches(path: str, patterns: Iterable[str]) -> bool:
    name = PurePosixPath(path).name
    return any(fnmatchcase(path if "/" in pattern else name, pattern) for pattern in patterns)


def _in_home(value: str) -> str:
    return str(Path(value).expanduser()) if value.startswith("~/") else value


def _merged(base: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    variables = own.get("variables", {})
    if isinstance(variables, dict):  # else validation refuses it
        variables = {**base.get("variables", {}), **variables}
    return {**base, **own, "variables": variables}


def _read(path: Path) -> RunRecipe:
    source = read_toml(path, "docs/verification.md")
    text, table = source.text, dict(source.values)
    if "extends" in table:
        base = read_toml(_SHIPPED.find(table.pop("extends"), where=source.place("extends")))
        text = base.text + text
        table = _merged(base.values, table)
    digest = hashlib.sha256(text.encode()).hexdigest()
    return RunRecipe(path.stem, digest, path.absolute().parent, source.read(_Fields, table))
