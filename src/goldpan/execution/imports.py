"""Which files a run of Python tests imported, and whether they are those under test.

An environment may hold another copy of the project: as it was built, or as it was published.
Tests of that copy say nothing of a fix, so a run that imports it is not believed.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

PROBE = Path(__file__).parent / "probe"
"""The folder of what Python imports at its start to report what it imports."""
VARIABLE = "GOLDPAN_IMPORTS"
_USUAL_ROOTS = (".", "src", "lib")
_INSTALLED = ("site-packages", "dist-packages")
_MOST_LISTED = 16 << 20


@dataclass(frozen=True, slots=True)
class Imports:
    """The files of the project that a run imported."""

    inside: tuple[str, ...]
    """Below the checkout, relative to it, sorted."""
    outside: tuple[str, ...]
    """Elsewhere, though the checkout has them: a copy was tested."""


NOTHING_IMPORTED = Imports((), ())


def own_modules(environment: Path) -> frozenset[str]:
    """Return the Python files that a project brought into an environment as a copy of its own.

    They are relative to the folder of installed packages.
    """
    files: set[str] = set()
    for origin in environment.glob("lib/python*/site-packages/*.dist-info/direct_url.json"):
        record = origin.with_name("RECORD")
        if record.is_symlink() or not record.is_file() or record.stat().st_size > _MOST_LISTED:
            continue
        with (
            record.open(encoding="utf-8", errors="replace", newline="") as lines,
            suppress(csv.Error),  # foreign code may have written it
        ):
            names = [row[0] for row in csv.reader(lines) if row]
            files |= {name for name in names if name.endswith(".py") and ".." not in name}
    return frozenset(files)


def python_files(checkout: Path) -> frozenset[str]:
    """Return the Python files of a checkout, relative to it; call it before anything is built."""
    files: set[str] = set()
    for folder, folders, names in os.walk(checkout):
        folders[:] = [name for name in folders if not name.startswith(".")]
        base = Path(folder).relative_to(checkout)
        files |= {(base / name).as_posix() for name in names if name.endswith(".py")}
    return frozenset(files)


def import_roots(files: frozenset[str], copied: Iterable[str]) -> tuple[str, ...]:
    """Return the folders from which Python imports these files, ``.`` for the checkout itself.

    `copied` are the files of a copy of the project, whose places give the first root.
    """
    folders = {parent.as_posix() for name in files for parent in PurePosixPath(name).parents}
    packaged = sorted(copied, key=lambda name: (name.count("/"), name))[:20]
    found = [
        folder
        for folder in sorted(folders, key=lambda name: (name.count("/"), name))
        if packaged and all(os.path.normpath(f"{folder}/{name}") in files for name in packaged)
    ]
    return tuple(dict.fromkeys([*found[:1], *(root for root in _USUAL_ROOTS if root in folders)]))


def read_imports(
    folder: Path, checkout: str, files: frozenset[str], copied: frozenset[str], roots: Iterable[str]
) -> Imports:
    """Return what the probe of a run wrote into a folder.

    `checkout` is where the run saw it; `files` are its Python files as they were before anything
    was built, since building leaves copies in the checkout, too. The run may have written anything.
    """
    inside: set[str] = set()
    outside: set[str] = set()
    for name, path in _written(folder):
        own = _file_of(name, files, roots)
        if path.is_relative_to(checkout):
            file = path.relative_to(checkout).as_posix()
            (outside if own and file != own and file not in files else inside).add(file)
            continue
        package = next((part for part in _INSTALLED if part in path.parts), "")
        if package and path.suffix == ".py":
            installed = str(path).rpartition(f"/{package}/")[2]
            if installed in copied or (own and own.endswith(installed)):
                outside.add(installed)
    return Imports(tuple(sorted(inside)), tuple(sorted(outside)))


def _file_of(module: str, files: frozenset[str], roots: Iterable[str]) -> str:
    """Return the file of the checkout that a module is, empty where it has none."""
    base = module.replace(".", "/")
    candidates = (
        os.path.normpath(f"{root}/{path}")
        for root in roots
        for path in (f"{base}/__init__.py", f"{base}.py")
    )
    return next((path for path in candidates if path in files), "")


def _written(folder: Path) -> Iterator[tuple[str, PurePosixPath]]:
    for file in sorted(folder.glob("imports-*")):
        if file.is_symlink() or not file.is_file() or file.stat().st_size > _MOST_LISTED:
            continue
        for line in file.read_text(encoding="utf-8", errors="replace").split("\n"):
            name, _, path = line.partition("\t")
            if path.startswith("/"):
                yield name, PurePosixPath(os.path.normpath(path))
