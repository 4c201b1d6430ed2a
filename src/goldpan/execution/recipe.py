"""How the tests of an ecosystem are run: a TOML file each, shipped or one's own."""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from importlib.resources import files
from pathlib import Path, PurePosixPath
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from goldpan.core.errors import UsageError
from goldpan.execution.reports import ReportFormat

_SHIPPED = files("goldpan.execution") / "recipes"


class _Fields(BaseModel):
    """What stands in a recipe's file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    files: tuple[str, ...]
    """A repository with one of these files at its root is of this ecosystem."""
    suffixes: tuple[str, ...]
    """What test files end in that the runner can be given."""
    environment: Literal["uv", "commands"] = "commands"
    """`uv`: a virtual environment as of the date. `commands`: what `build` says."""
    build: tuple[tuple[str, ...], ...] = ()
    """Commands that fetch and build, with network access; ``{testbed}`` and ``{home}`` in them."""
    extras: tuple[str, ...] = ()
    requirements: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    tests: tuple[tuple[str, ...], ...]
    """Commands of the tests; the first that reports a test is taken. In them, ``{report}`` is the
    file to write, ``{files}`` the test files, ``{python}`` the environment's interpreter or else
    the one that runs Goldpan, ``{recipe}/NAME`` a file beside this one."""
    readable: tuple[Path, ...] = ()
    """What the commands need to see beside the system's own folders, such as a compiler's."""
    format: ReportFormat
    compiled: tuple[str, ...] = ()
    """Suffixes whose change needs another build."""
    steering: tuple[str, ...] = ()
    """Names of files that configure the runner, or run before it; ``*`` stands for any text. A
    name without ``/`` counts in each folder. A patch that is scored cannot change them."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """How the tests of one ecosystem are run."""

    name: str
    digest: str
    """SHA-256 of its file."""
    directory: Path
    """Where its file lies, and the scripts that its commands name."""
    fields: _Fields

    def fits(self, names: Collection[str]) -> bool:
        """Say whether a repository with these files at its root is of this ecosystem."""
        return any(name in names for name in self.fields.files)

    def runnable(self, paths: Iterable[str]) -> tuple[str, ...]:
        """Return those test files that the runner can be given, sorted."""
        return tuple(
            sorted(path for path in paths if PurePosixPath(path).suffix in self.fields.suffixes)
        )

    def rebuilds(self, paths: Iterable[str]) -> bool:
        """Say whether a change of these files needs another build."""
        return any(PurePosixPath(path).suffix.lower() in self.fields.compiled for path in paths)

    def steers(self, path: str) -> bool:
        """Say whether a file configures the runner of tests, or runs before it."""
        name = PurePosixPath(path).name
        return any(
            fnmatchcase(path if "/" in pattern else name, pattern)
            for pattern in self.fields.steering
        )

    def test_commands(self, python: str, report: str, paths: Sequence[str]) -> list[list[str]]:
        """Return the commands that run the tests of some files, of all where there are none."""
        return [
            [
                argument
                for part in command
                for argument in (
                    paths if part == "{files}" else [self._filled(part, python, report)]
                )
            ]
            for command in self.fields.tests
        ]

    @property
    def scripts(self) -> tuple[Path, ...]:
        """The files beside the recipe that its commands name."""
        names = {
            part.removeprefix("{recipe}/")
            for command in (*self.fields.build, *self.fields.tests)
            for part in command
            if part.startswith("{recipe}/")
        }
        return tuple(self.directory / name for name in sorted(names))

    def _filled(self, part: str, python: str, report: str) -> str:
        values = {"{python}": python, "{report}": report, "{recipe}": str(self.directory)}
        for name, value in values.items():
            part = part.replace(name, value)
        return part


def load_recipes(own: Sequence[Path] = ()) -> tuple[Recipe, ...]:
    """Return one's own recipes, then the shipped ones; the first that fits is taken.

    Raises `UsageError` naming the file and the key that is wrong.
    """
    shipped = sorted(
        (Path(str(path)) for path in _SHIPPED.iterdir() if path.name.endswith(".toml")),
        key=lambda path: path.name,
    )
    return tuple(_read(path) for path in (*own, *shipped))


def _read(path: Path) -> Recipe:
    try:
        content = path.read_bytes()
        fields = _Fields.model_validate(tomllib.loads(content.decode()))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}", "Check the recipe") from None
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"]))
        raise UsageError(
            f"The recipe {path} has a wrong {key}: {first['msg']}",
            "docs/verification.md describes the keys of a recipe",
        ) from None
    return Recipe(path.stem, hashlib.sha256(content).hexdigest(), path.absolute().parent, fields)
