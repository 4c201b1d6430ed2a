"""What is installed is what was tried: exact versions, their hashes, and nothing beside."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tomllib
from dataclasses import replace
from hashlib import sha256
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from goldpan.annotation.studio.serve import SERVER
from goldpan.core.errors import GoldpanError
from goldpan.core.imports import DISTRIBUTION
from goldpan.core.isolated_env import LOCKS, IsolatedEnv
from goldpan.core.terminal import Reporter
from goldpan.evaluation.models.fasttext import TRAINER
from tests.package_index import Index, write_wheel
from tests.places import ROOT

REQUIREMENTS = ROOT / "requirements"
PINNED = re.compile(
    r"^(\S+)==(\S+)(?: ;.*?)?(?: \\\n|\s)(?:[ \t]*--hash=sha256:[0-9a-f]{64}.*\n)+", re.MULTILINE
)
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def versions(*locks: Path) -> dict[str, set[Version]]:
    """Return what locks install, after checking that each file has a hash."""
    pinned: dict[str, set[Version]] = {}
    for lock in locks:
        text = re.sub(r"^#.*\n", "", lock.read_text(encoding="utf-8"), flags=re.M)
        assert not PINNED.sub("", text).strip(), lock
        for name, version in PINNED.findall(text):
            pinned.setdefault(canonicalize_name(name), set()).add(Version(version))
    return pinned


def requirements(*extras: str) -> list[Requirement]:
    """Return what the project needs with these extras, for the building too."""
    project = PROJECT["project"]
    lines = [*project["dependencies"], *PROJECT["dependency-groups"]["build"]]
    lines += PROJECT["build-system"]["requires"]
    open_extras = list(extras)
    while open_extras:
        for line in project["optional-dependencies"][open_extras.pop()]:
            needed = Requirement(line)
            if needed.name == DISTRIBUTION:
                open_extras += needed.extras
            else:
                lines.append(line)
    return [Requirement(line) for line in lines]


@pytest.mark.parametrize(
    ("locks", "extras"), [(["demo"], []), (["test", "torch"], ["dev"])], ids=["demo", "test"]
)
def test_the_locks_hold_what_the_project_needs(locks: list[str], extras: list[str]) -> None:
    locked = versions(*(REQUIREMENTS / f"{lock}.txt" for lock in locks))
    for needed in requirements(*extras):
        pinned = locked[canonicalize_name(needed.name)]
        assert all(version in needed.specifier for version in pinned), needed


def test_the_demo_is_tested_with_its_versions() -> None:
    tested = versions(REQUIREMENTS / "test.txt")
    for name, pinned in versions(REQUIREMENTS / "demo.txt").items():
        assert tested[name] == pinned


def test_both_builds_of_torch_are_of_one_version() -> None:
    (plain,) = versions(REQUIREMENTS / "torch.txt")["torch"]
    (cpu,) = versions(REQUIREMENTS / "torch-cpu.txt")["torch"]
    assert (cpu.public, cpu.local) == (str(plain), "cpu")


@pytest.mark.parametrize("name", ["label-studio", "fasttext"])
def test_environments_of_their_own_are_locked(name: str) -> None:
    needed = Requirement((REQUIREMENTS / f"{name}.in").read_text(encoding="utf-8").strip())
    pinned = versions(LOCKS / f"{name}.txt")[needed.name]
    assert all(version in needed.specifier for version in pinned)


@pytest.mark.parametrize(
    "lock", [*REQUIREMENTS.glob("*.txt"), *LOCKS.glob("*.txt")], ids=lambda lock: lock.name
)
def test_no_lock_names_a_registry(lock: Path) -> None:
    assert not re.search(r"://|--\S*(index|find-links|trusted)", lock.read_text(encoding="utf-8"))


def script(name: str) -> ModuleType:
    """Return a program of `requirements/`, which is no package."""
    spec = spec_from_file_location(f"requirements_{name}", REQUIREMENTS / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


LOCK, INSTALL = script("lock"), script("install")
SOURCES = tomllib.loads((REQUIREMENTS / "sources.toml").read_text(encoding="utf-8"))


def test_every_package_installs_on_an_empty_machine() -> None:
    assert not list(LOCK.problems(LOCK.locks(), SOURCES))


def test_what_nothing_pinned_builds_is_refused_by_name() -> None:
    """seqeval 1.2.2 has no wheel, and its setup.py wants setuptools_scm."""
    packages = {**SOURCES["test"]["packages"], "seqeval==1.2.2": ["setuptools_scm", "setuptools"]}
    sources = {**SOURCES, "test": {**SOURCES["test"], "packages": packages}}
    (problem,) = LOCK.problems(LOCK.locks(), sources)
    assert "seqeval==1.2.2 comes as source alone" in problem
    assert "demo.txt holds no setuptools_scm" in problem


def test_a_lock_that_was_changed_by_hand_is_refused() -> None:
    sources = {**SOURCES, "docs": {**SOURCES["docs"], "digest": "0" * 16}}
    (problem,) = LOCK.problems(LOCK.locks(), sources)
    assert problem == "docs.txt is not as make lock wrote it: run make lock"


def test_environments_of_their_own_say_for_which_pythons_they_are() -> None:
    for environment in (SERVER, TRAINER):
        newest = SOURCES[environment.lock.stem]["pythons"][-1]
        assert ".".join(map(str, environment.newest_python)) == newest


@pytest.mark.parametrize(
    ("output", "said"),
    [
        (
            "ERROR: Could not find a version that satisfies the requirement none==1\n"
            "ERROR: No matching distribution found for none==1\n",
            "none==1 of demo.txt was not installed: the package index has no file of it",
        ),
        (
            "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE. If you\n"
            "    six==1.16.0 from file:///six.whl (from -r demo.txt (line 1)):\n"
            "        Expected sha256 00\n             Got        11\n",
            "six==1.16.0 of demo.txt was not installed: its file is not the one of the lock",
        ),
        ("boom\n", "demo.txt was not installed: boom."),
        (
            "WARNING: Could not fetch URL https://host/simple/six/: There was a problem confirming "
            "the ssl certificate: Max retries exceeded with url: /simple/six/ - skipping\n"
            "ERROR: No matching distribution found for six==1\n",
            "six==1 of demo.txt was not installed: the package index cannot be reached",
        ),
        (
            "× Encountered error while generating package metadata.\n╰─> rpds-py\n\n"
            "note: This is an issue with the package mentioned above, not pip.\n",
            "rpds-py of demo.txt was not installed: it comes as source, and building it failed",
        ),
        (
            "Collecting six==1\nCollecting rpds-py==1\npip._vendor.pyproject_hooks._impl."
            "BackendUnavailable: Traceback\nModuleNotFoundError: No module named 'maturin'\n",
            "rpds-py==1 of demo.txt was not installed: it comes as source, and building it failed",
        ),
    ],
)
def test_what_pip_could_not_install_is_named(output: str, said: str) -> None:
    assert INSTALL.explain(output, Path("demo.txt")).startswith(said)


def test_a_python_newer_than_the_locks_is_told() -> None:
    pythons = SOURCES["demo"]["pythons"]
    assert [tuple(map(int, python.split("."))) for python in (pythons[0], pythons[-1])] == [
        INSTALL.OLDEST,
        INSTALL.NEWEST,
    ]
    output, newer = "ERROR: No matching distribution found for none==1\n", (3, 99)
    said = f"is older than this Python: run make PYTHON=python{pythons[-1]}"
    assert said in INSTALL.explain(output, Path("demo.txt"), newer)
    assert said not in INSTALL.explain(output, Path("demo.txt"), INSTALL.NEWEST)
    assert said not in INSTALL.explain("boom\n", Path("demo.txt"), newer)


class Machine:
    """A folder with a lock of one package, which `install.py` installs from an index."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.wheel = write_wheel(folder, "thing")
        self._locks = folder / "requirements"
        self._locks.mkdir()
        self._program = shutil.copy(REQUIREMENTS / "install.py", self._locks)
        self.lay_out()

    def lay_out(self) -> None:
        """Put our own interpreter where an environment is expected: making one takes long."""
        shutil.rmtree(self.folder / ".venv", ignore_errors=True)
        python = self.folder / ".venv" / "bin" / "python"
        python.parent.mkdir(parents=True)
        python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n', encoding="utf-8")
        python.chmod(0o755)

    @property
    def is_half_made(self) -> bool:
        return (self.folder / ".venv" / str(INSTALL.UNFINISHED)).exists()

    def start(self, index: str, digest: str = "") -> subprocess.Popen[str]:
        hashed = digest or sha256(self.wheel.read_bytes()).hexdigest()
        lock = f"thing==1 --hash=sha256:{hashed}\n"
        (self._locks / "demo.txt").write_text(lock, encoding="utf-8")
        settings = {"PIP_CONFIG_FILE": os.devnull, "PIP_INDEX_URL": index, "PIP_RETRIES": "1"}
        return subprocess.Popen(
            [sys.executable, self._program, ".venv", "demo"],
            cwd=self.folder, env={"PATH": os.environ["PATH"], **settings},
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
            # A program in the background of a shell ignores Ctrl-C, and so would this one.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )  # fmt: skip

    def install(self, index: str, digest: str = "") -> tuple[int, str]:
        """Return the exit code, and what is said where it failed."""
        with self.start(index, digest) as process:
            _, said = process.communicate()
        return process.returncode, said


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_a_half_made_environment_is_never_taken_for_ready(machine: Machine) -> None:
    """The install fails on a hash, and the next one begins anew."""
    with Index(machine.folder) as index:
        code, said = machine.install(index.url, "0" * 64)
        assert code == 1
        assert "thing==1" in said and "another hash" in said
        assert machine.is_half_made
        (machine.folder / ".venv" / "left").touch()
        assert machine.install(index.url) == (0, "")
    assert not machine.is_half_made
    assert not (machine.folder / ".venv" / "left").exists()


def test_what_an_index_does_not_give_is_told_as_it_is(machine: Machine, tmp_path: Path) -> None:
    """It lists a file that it lacks, has no version, or answers for a page or a file no more."""

    def check(index: str, cause: str) -> None:
        machine.lay_out()
        code, said = machine.install(index)
        assert code == 1
        assert said.startswith(f"Error: thing==1 of demo.txt was not installed: {cause}"), said

    nowhere = "http://127.0.0.1:9/"
    (tmp_path / "none").mkdir()
    with Index(tmp_path / "none") as empty:
        check(empty.url, "the package index has no file of it for this Python and system")
        with Index(tmp_path, f"{empty.url}/") as index:
            check(index.url, "the package index lists its file and does not give it")
    with Index(tmp_path, nowhere) as index:
        check(index.url, "the package index cannot be reached")
    check(f"{nowhere}simple", "the package index cannot be reached")


def test_an_interrupted_installation_ends_quietly_and_half_made(machine: Machine) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}/simple"
        with machine.start(address) as process:
            connection, _ = silent.accept()  # pip waits for a reply
            os.killpg(process.pid, signal.SIGINT)
            _, said = process.communicate()
            connection.close()
    assert (process.returncode, said) == (130, "")
    assert machine.is_half_made


QUIET = Reporter(quiet=True)
MDURL = """mdurl==0.1.2 \\
    --hash=sha256:84008a41e51615a49fc9966191ff91509e3c40b939176e643fd50a5c2196b8f8
"""


@pytest.fixture
def small(tmp_path: Path) -> IsolatedEnv:
    lock = tmp_path / "lock.txt"
    lock.write_text(MDURL, encoding="utf-8")
    proof = "lib/python*/*/mdurl/__init__.py"
    return IsolatedEnv("Mdurl", lock, "MDURL_VENV", "mdurl", proof, sys.version_info[:2])


def test_constraints_of_our_environment_do_not_count(
    small: IsolatedEnv, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    constraints = tmp_path / "constraints.txt"
    constraints.write_text("mdurl==0.0.1\n", encoding="utf-8")
    monkeypatch.setenv("PIP_CONSTRAINT", str(constraints))
    environment = tmp_path / "environment"
    small.install(environment, QUIET)
    assert small.is_installed(environment)
    (environment / "goldpan-begun").unlink()  # as if a user had installed it
    assert small.is_installed(environment)


def test_a_failed_installation_is_told_repaired_and_deletes_nothing(
    small: IsolatedEnv, tmp_path: Path
) -> None:
    environment = tmp_path / "environment"
    environment.mkdir()
    (environment / "thesis.txt").write_text("all of it", encoding="utf-8")
    other = tmp_path / "other.txt"
    other.write_text(MDURL.replace("sha256:84", "sha256:85"), encoding="utf-8")
    with pytest.raises(GoldpanError, match="Mdurl cannot be installed"):
        replace(small, lock=other).install(environment, QUIET)
    assert not small.is_installed(environment)
    small.install(environment, QUIET)
    assert small.is_installed(environment)
    assert (environment / "thesis.txt").read_text(encoding="utf-8") == "all of it"


def test_a_package_without_a_wheel_is_built_by_the_setuptools_of_the_lock(
    small: IsolatedEnv, tmp_path: Path
) -> None:
    entries = (LOCKS / "label-studio.txt").read_text(encoding="utf-8").split("\nordered-set")[1]
    own = tmp_path / "own.txt"
    own.write_text("ordered-set" + "\n".join(entries.split("\n")[:2]) + "\n", encoding="utf-8")
    environment = tmp_path / "environment"
    replace(small, lock=own).install(environment, QUIET)
    (version,) = re.findall(r"^setuptools==(\S+)", (LOCKS / "build.txt").read_text(), re.M)
    packages = {path.name for path in environment.glob("lib/python*/site-packages/*")}
    assert {"ordered_set.py", f"setuptools-{version}.dist-info"} <= packages


def test_where_it_lives(small: IsolatedEnv, tmp_path: Path) -> None:
    assert small.default_place({"MDURL_VENV": "/x"}) == Path("/x")
    assert small.default_place({"XDG_CACHE_HOME": "/c"}) == Path("/c/goldpan/mdurl")
    (tmp_path / "file").touch()
    with pytest.raises(GoldpanError, match=r"cannot be written.*MDURL_VENV"):
        small.install(tmp_path / "file", QUIET)
