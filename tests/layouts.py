"""Small Python projects, each laid out or installed in another way, with a fix and its test."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.execution.isolation import IsolationName
from goldpan.execution.network import NetworkName
from goldpan.execution.proof import Verdict
from goldpan.execution.records import FixInstance, TrialRecord, TrialSettings
from goldpan.execution.verify import verify_all
from goldpan.git.clone import clone
from tests.git_repositories import REPO, Repository, fix_instance
from tests.mining import Notes

_COPYING = "from setuptools.build_meta import *\ndel build_editable\n"
_SPEED = """#include <Python.h>
static PyObject *same(PyObject *self, PyObject *number) { Py_INCREF(number); return number; }
static PyMethodDef methods[] = {{"same", same, METH_O, ""}, {0}};
static PyModuleDef module = {PyModuleDef_HEAD_INIT, "_speed", "", -1, methods};
PyMODINIT_FUNC PyInit__speed(void) { return PyModule_Create(&module); }
"""


@dataclass(frozen=True)
class Layout:
    """A project whose function `value` returns 1 where 2 is right."""

    files: Mapping[str, str]
    code: str = "thing/__init__.py"
    """The file that the fix changes."""
    module: str = "thing"
    test: str = "tests/test_value.py"
    head: str = ""
    """What the code begins with."""
    verdict: Verdict = "verified"

    def instance(self, number: int, repository: Repository) -> FixInstance:
        """Commit the project and its fix."""
        code = f"{self.head}def value():\n    return %d\n"
        test = (
            f"from {self.module} import value\n\ndef test_value():\n    assert value() == 2\n\n"
            "def test_kind():\n    assert isinstance(value(), int)\n"
        )
        before = {**self.files, self.code: code % 1}
        return fix_instance(repository, number, before, {self.code: code % 2}, {self.test: test})


def _package(arguments: str, copied: bool = False) -> dict[str, str]:
    """Return files that make a repository a package, which old backends install as a copy only."""
    backend = 'build-backend = "backend"\nbackend-path = ["."]\n' if copied else ""
    return {
        "pyproject.toml": f'[build-system]\nrequires = ["setuptools"]\n{backend}',
        "setup.py": "from setuptools import Extension, setup\n"
        f"setup(name='thing', version='1', {arguments})\n",
        **({"backend.py": _COPYING} if copied else {}),
    }


FLAT = "packages=['thing']"
SRC = "packages=['thing'], package_dir={'': 'src'}"
NAMESPACE = "packages=['space.thing']"
LIB = "packages=['thing'], package_dir={'': 'python/lib'}"
RENAMED = "packages=['thing'], package_dir={'thing': 'code'}"
COMPILED = f"{FLAT}, ext_modules=[Extension('thing._speed', ['speed.c'])]"
LAYOUTS: Mapping[str, Layout] = {
    "in place": Layout(_package(FLAT)),
    "in place, src": Layout(_package(SRC), "src/thing/__init__.py"),
    "in place, namespace": Layout(
        _package(NAMESPACE), "space/thing/__init__.py", module="space.thing"
    ),
    "in place, renamed": Layout(_package(RENAMED), "code/__init__.py"),
    "in place, compiled": Layout(
        {**_package(COMPILED), "speed.c": _SPEED}, head="from thing import _speed\n\n"
    ),
    "in place, tests beside": Layout(
        {**_package(SRC), "src/thing/tests/__init__.py": ""},
        "src/thing/__init__.py",
        test="src/thing/tests/test_value.py",
    ),
    "in place, conftest": Layout(
        {**_package(SRC), "conftest.py": "import thing\n"}, "src/thing/__init__.py"
    ),
    "copied": Layout(_package(FLAT, copied=True)),
    "copied, src": Layout(_package(SRC, copied=True), "src/thing/__init__.py"),
    "copied, namespace": Layout(
        _package(NAMESPACE, copied=True), "space/thing/__init__.py", module="space.thing"
    ),
    "copied, lib": Layout(_package(LIB, copied=True), "python/lib/thing/__init__.py"),
    "copied, tests beside": Layout(
        {**_package(LIB, copied=True), "python/lib/thing/tests/__init__.py": ""},
        "python/lib/thing/__init__.py",
        test="python/lib/thing/tests/test_value.py",
    ),
    "copied, renamed": Layout(
        _package(RENAMED, copied=True), "code/__init__.py", verdict="outside-checkout"
    ),
    # Only the environment's own copy is found.
    "published": Layout(
        {"requirements.txt": "", "src/iniconfig/exceptions.py": ""},
        "src/iniconfig/__init__.py",
        module="iniconfig",
        verdict="outside-checkout",
    ),
    "not installed": Layout({"requirements.txt": "\n"}),
}


class Projects:
    """Some projects, as the history of one repository."""

    def __init__(
        self, root: Path, names: Iterable[str], layouts: Mapping[str, Layout] = LAYOUTS
    ) -> None:
        repository = Repository.create(root / "source.git")
        self._workspace = WorkspaceLayout(root / "workspace")
        self._instances = {
            name: layouts[name].instance(number, repository) for number, name in enumerate(names, 1)
        }
        clone(self._workspace, REPO, Notes(), source=repository.path)

    def verify(
        self, isolation: IsolationName, network: NetworkName = "index"
    ) -> dict[str, TrialRecord]:
        """Run the tests of all, by the recipe that is shipped."""
        settings = TrialSettings(repeats=1, seconds=300, isolation=isolation, network=network)
        records = verify_all(self._workspace, self._instances.values(), settings, Notes()).records
        return dict(zip(self._instances, records, strict=True))
