"""Foreign files, reports and rows do nothing on this side of the isolation."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from goldpan.core import secrets
from goldpan.core.errors import UsageError
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.execution import command as running
from goldpan.execution.checkout import check_out, committed_at, make_accessible, nearest_version
from goldpan.execution.command import CommandLimits, Finished, IsolationError, SandboxCommand
from goldpan.execution.isolation import NoIsolation, find_isolation
from goldpan.execution.network import BuildNetwork
from goldpan.execution.python_env import PythonEnv, build_python_env
from goldpan.execution.recipe import RunRecipe, load_recipes
from goldpan.execution.records import EndedError, TrialJob, TrialSettings, instance_of
from goldpan.execution.reports import read_report
from goldpan.execution.resolve import restore_tests
from goldpan.execution.trial import Trial
from goldpan.git.apply import apply_in
from tests.git_repositories import Repository
from tests.shell_lab import QUICK, RECIPE, Lab
from tests.verifying import needs_isolation, runs_foreign_code

pytestmark = runs_foreign_code

PATCH = "diff --git a/value b/value\n--- a/value\n+++ b/value\n@@ -1 +1 @@\n-1\n+2\n"
RENAME = (
    "diff --git a/tests/old.sh b/tests/new.sh\nsimilarity index 100%\n"
    "rename from tests/old.sh\nrename to tests/new.sh\n"
)
ROW: dict[str, Any] = {
    "id": "issue-resolution:o/n#1+2", "repo": "o/n", "issue": 1, "pull": 2,
    "base_commit": "a" * 40, "patch": PATCH, "test_patch": RENAME, "test_files": ["tests/new.sh"],
}  # fmt: skip


@pytest.mark.parametrize("below", [".", ".git"])
def test_a_repository_among_the_files_runs_no_program(tmp_path: Path, below: str) -> None:
    """A build may leave one, and a commit may hold a bare one at its root."""
    tree, proof = tmp_path / "tree", tmp_path / "proof"
    for name in ("objects", "refs", "info"):
        (tree / below / name).mkdir(parents=True)
    (tree / below / "HEAD").write_text("ref: refs/heads/x\n")
    (tree / below / "info" / "attributes").write_text("* filter=x\n")
    program = f'"touch {proof}; cat"'
    (tree / below / "config").write_text(f'[filter "x"]\nclean = {program}\nsmudge = {program}\n')
    (tree / "value").write_text("1\n")
    apply_in(tree, PATCH.encode())
    assert (tree / "value").read_text() == "2\n"
    assert not proof.exists()


def test_files_are_laid_out_as_they_are_stored(tmp_path: Path) -> None:
    repository = Repository.create(tmp_path / "source.git")
    files = {b".gitattributes": b"* text eol=crlf ident\n", b"a.txt": b"$Id$\n"}
    commit = repository.commit(files)
    tree = tmp_path / "tree"
    tree.mkdir()
    check_out(repository.path, commit, tree, tmp_path / "index")
    assert (tree / "a.txt").read_bytes() == b"$Id$\n"


@pytest.mark.parametrize(
    ("second", "date"),
    [(1_700_000_000, "2023-11-14T22:13:20Z"), (999_999_999_999, "9999-12-31T00:00:00Z")],
)
def test_a_commits_date_is_the_same_in_all_time_zones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, second: int, date: str
) -> None:
    repository = Repository.create(tmp_path / "source.git")
    commit = repository.commit({b"a": b""}, time=second)
    monkeypatch.setenv("TZ", "Asia/Kolkata")
    assert committed_at(repository.path, commit) == date


@pytest.mark.parametrize(
    ("tag", "version"),
    [
        ("v1.2.3", "1.2.3"),
        ("release-2.0rc1", "2.0rc1"),
        ("v1.0-final/2", "1.0"),
        ("2020.1_stable", "2020.1"),
        ("Version-3", "3"),
    ],
)
def test_a_tag_gives_a_version_that_can_be_installed(
    tmp_path: Path, tag: str, version: str
) -> None:
    repository = Repository.create(tmp_path / "source.git")
    commit = repository.commit({b"a": b""}, ref=f"refs/tags/{tag}")
    assert nearest_version(repository.path, commit) == version


@pytest.fixture
def trial(tmp_path: Path) -> Trial:
    (tmp_path / "base" / "tests").mkdir(parents=True)
    (tmp_path / "base" / "tests" / "old.sh").write_text("true\n")
    job = TrialJob(WorkspaceLayout(tmp_path / "workspace"), instance_of(ROW), TrialSettings())
    return Trial(job, NoIsolation(), tmp_path, tmp_path)


def test_tests_that_the_fix_renames_are_restored(trial: Trial, tmp_path: Path) -> None:
    """The patch that is scored changed one and put a folder in the other's place."""
    (tmp_path / "copy" / "tests" / "new.sh" / "x").mkdir(parents=True)
    (tmp_path / "copy" / "tests" / "old.sh").write_text("exit 0\n")
    restore_tests(trial, instance_of(ROW), tmp_path / "copy", ())
    assert (tmp_path / "copy" / "tests" / "new.sh").read_text() == "true\n"
    assert not (tmp_path / "copy" / "tests" / "old.sh").exists()


def test_restoring_tests_leaves_what_a_link_leads_to(trial: Trial, tmp_path: Path) -> None:
    for name in ("old.sh", "new.sh"):
        (tmp_path / name).write_text("mine")
    (tmp_path / "copy").mkdir()
    (tmp_path / "copy" / "tests").symlink_to(tmp_path)
    with pytest.raises(EndedError):
        restore_tests(trial, instance_of(ROW), tmp_path / "copy", ())
    assert (tmp_path / "old.sh").read_text() == (tmp_path / "new.sh").read_text() == "mine"


@pytest.mark.parametrize(
    "wrong",
    [
        {"repo": "../x/y"},
        {"base_commit": "--index-output=/x"},
        {"test_files": ["a", "../../x"]},
        {"test_files": ["/x"]},
        {"patch": PATCH.partition("\n")[2]},
        {"test_patch": "diff --git a/x b/y\n"},
    ],
)
def test_a_row_names_nothing_elsewhere(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        instance_of({**ROW, **wrong})


def test_what_foreign_code_locked_can_be_read_and_removed(tmp_path: Path) -> None:
    inner = tmp_path / "tree" / "locked" / "inner"
    inner.mkdir(parents=True)
    (inner / "file").touch(0o000)
    (tmp_path / "tree" / "link").symlink_to(tmp_path / "outside")
    (inner.parent / "more").mkdir(0o000)
    inner.parent.chmod(0o000)
    make_accessible(tmp_path / "tree")
    modes = (inner.parent.stat().st_mode & 0o700, (inner / "file").stat().st_mode & 0o400)
    assert modes == (0o700, 0o400)


def test_a_run_of_the_tests_leaves_nothing_for_the_next(tmp_path: Path) -> None:
    """The folder of reports is that of one command: what it plants there, no other finds."""
    test = (
        "folder=$(dirname $(tr '\\0' '\\n' < /proc/$PPID/cmdline | sed -n 3p))\n"
        "for name in before-1 after-2; do mkdir -p $folder/$name.report; done\n"
        "mkdir locked; chmod 000 locked; grep -q 2 value"
    )
    lab = Lab(tmp_path)
    assert lab.verify(lab.instance(test), QUICK).proof.verdict == "verified"


def test_the_log_of_building_holds_no_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Foreign code that is built sees the password of the index."""
    addresses = {"UV_INDEX": "own=https://u:hunter2hunter2@host/simple https://host/x"}
    monkeypatch.setattr(secrets, "_known", set(secrets._known))
    secrets.register_environment(addresses)
    lab = Lab(tmp_path)
    lab.recipe.write_text(f'{RECIPE}\nbuild = [["/bin/echo", "got", "hunter2hunter2"]]\n')
    lab.verify(lab.instance("grep -q 2 value"), QUICK)
    assert (lab.record_folder / "build.log").read_text() == "got ***\n"


@dataclass(frozen=True, slots=True)
class Planting(NoIsolation):
    """An isolation in which installing puts a program in the interpreter's place."""

    program: str = ""
    commands: list[str] = field(default_factory=list)
    environment: dict[str, str] = field(default_factory=dict)

    def run(self, command: SandboxCommand, limits: CommandLimits, log: Path) -> Finished:
        """Note a command; foreign code of it writes into what it may write."""
        self.commands.append(" ".join(command.arguments[1:3]))
        self.environment.update(command.environment)
        python = command.writable[0] / "bin" / "python"
        python.parent.mkdir(exist_ok=True)
        python.write_text(self.program)
        python.chmod(0o755)
        log.write_text("b==2\nsecret @ https://u:p@host/x\na==1\n")
        return Finished(0)


def python_recipe() -> RunRecipe:
    return next(recipe for recipe in load_recipes() if recipe.name == "python")


def build(planting: Planting, tmp_path: Path) -> PythonEnv:
    if not Path(sys.executable).with_name("uv").exists():
        pytest.skip("uv is not installed")
    (tmp_path / "testbed").mkdir()
    (tmp_path / "testbed" / "pyproject.toml").write_text("a = " + "[" * 5_000)
    return build_python_env(
        python_recipe(),
        planting,
        BuildNetwork({}, (), "", None),
        tmp_path / "testbed", tmp_path / "environment",
        tmp_path / "cache", "2026-01-01T00:00:00Z", "1.0", CommandLimits(), tmp_path / "log",
    )  # fmt: skip


def test_an_interpreter_that_foreign_code_wrote_is_not_run_here(tmp_path: Path) -> None:
    planting = Planting(program=f"#!/bin/sh\ntouch {tmp_path}/proof\n")
    made = build(planting, tmp_path)
    assert not (tmp_path / "proof").exists()
    assert planting.commands[-1] == "pip freeze"
    assert made.packages == ("a==1", "b==2")


def test_all_tools_that_read_a_version_from_tags_are_told_one(tmp_path: Path) -> None:
    """Of setuptools and Hatch, OpenStack, PDM, Poetry and uv; else nothing builds without .git."""
    planting = Planting()
    build(planting, tmp_path)
    told = {name for name, value in planting.environment.items() if value == "1.0"}
    assert told == {
        "SETUPTOOLS_SCM_PRETEND_VERSION", "PBR_VERSION", "PDM_BUILD_SCM_VERSION",
        "POETRY_DYNAMIC_VERSIONING_BYPASS", "UV_DYNAMIC_VERSIONING_BYPASS",
    }  # fmt: skip


def test_all_tests_run_though_one_file_cannot_be_imported(tmp_path: Path) -> None:
    """Else those of other files would count as failing before the fix."""
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = -x\n")
    (tmp_path / "test_a.py").write_text("import no_such_module\ndef test_a(): pass\n")
    (tmp_path / "test_b.py").write_text("def test_b(): assert 0\ndef test_c(): pass\n")
    report = tmp_path / "report"
    python = python_recipe()
    command = python.test_commands(sys.executable, str(report), ["test_a.py", "test_b.py"])[0]
    subprocess.run(command, cwd=tmp_path, check=False, capture_output=True)
    outcomes = read_report(report.read_bytes(), "junit")
    assert outcomes["test_b.py::test_c"] == "passed"
    assert outcomes["test_b.py::test_b"] == "failed"


def test_settings_of_pytests_cache_are_known_where_all_warnings_are_errors(tmp_path: Path) -> None:
    settings = "[pytest]\naddopts = --ff\ncache_dir = cache\nfilterwarnings = error\n"
    (tmp_path / "pytest.ini").write_text(settings)
    (tmp_path / "test_a.py").write_text("def test_a(): pass\n")
    report = tmp_path / "report"
    command = python_recipe().test_commands(sys.executable, str(report), ["test_a.py"])[0]
    subprocess.run(command, cwd=tmp_path, check=False, capture_output=True)
    assert read_report(report.read_bytes(), "junit") == {"test_a.py::test_a": "passed"}
    assert not (tmp_path / "cache").exists()


@needs_isolation
def test_what_isolated_code_can_fill_is_bounded_and_its_variables_stay_unlisted(
    tmp_path: Path,
) -> None:
    script = (
        "for name in / /dev; do touch $name/x && echo wrote $name; done\n"
        "for name in /tmp /dev/shm; do head -c 65M /dev/zero > $name/x && echo filled $name; done\n"
        "grep -aq 's3cre[t]' /proc/1/cmdline && echo listed\n"
        "echo $TOKEN; touch /testbed/a; echo > /dev/null && echo ends"
    )
    command = SandboxCommand(["/bin/sh", "-c", script], tmp_path, environment={"TOKEN": "s3cret"})
    log = tmp_path / "log"
    find_isolation("bubblewrap").run(command, CommandLimits(60, 64 << 20), log)
    output = log.read_text()
    assert output.endswith("s3cret\nends\n")
    assert not [word for word in ("wrote", "filled", "listed") if word in output]
    assert (tmp_path / "a").exists()


@needs_isolation
def test_isolated_tests_find_their_own_servers_by_name() -> None:
    connect = (
        "import socket; server = socket.create_server(('localhost', 0)); "
        "print(socket.create_connection(('localhost', server.getsockname()[1])).fileno() > 0)"
    )
    command = [os.path.realpath(sys.executable), "-c", connect]
    readable = [Path(command[0]).parent.parent]
    lines = find_isolation("bubblewrap").printed_lines(command, CommandLimits(60), readable)
    assert lines == ["True"]


def test_a_log_without_end_is_stopped_and_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "MOST_FILE", 1 << 20)
    monkeypatch.setattr(running, "_MOST_LOG", 1 << 10)
    endless = "while :; do head -c 99999 /dev/zero; done"
    command = SandboxCommand(["/bin/sh", "-c", endless], tmp_path)
    finished = NoIsolation().run(command, CommandLimits(60), tmp_path / "log")
    assert finished.exceeded == "output"
    assert (tmp_path / "log").stat().st_size == 1 << 10


@needs_isolation
def test_a_patch_cannot_steer_the_tests_by_their_settings(tmp_path: Path) -> None:
    """What configures or precedes the runner becomes the base commit's, unless the fix has it."""
    lab = Lab(tmp_path)
    lab.recipe.write_text(f'{RECIPE}steering = ["rules", "hooks/*"]\n', encoding="utf-8")
    lab.files |= {b"rules": b"strict\n", b"tests/data": b"1\n"}
    instance = lab.instance(
        "if grep -q lax rules tests/data tests/more hooks/x; then exit 0; fi; grep -q 2 value"
    )
    assert lab.verify(instance).proof.verdict == "verified"
    lax = "{0}\n<<<<<<< SEARCH\n{1}=======\nlax\n>>>>>>> REPLACE\n"
    paths = {"./rules": "strict\n", "hooks/x": "", "tests/data": "1\n", "tests/more": ""}
    bent = lab.resolve(instance, "".join(lax.format(*each) for each in paths.items()))
    assert bent.outcome == "tests-fail"
    assert bent.restored == ("hooks/x", "rules", "tests/data", "tests/more")
    linked = lab.resolve(
        instance,
        "diff --git a/rules b/rules\ndeleted file mode 100644\n--- a/rules\n+++ /dev/null\n"
        "@@ -1 +0,0 @@\n-strict\ndiff --git a/rules b/rules\nnew file mode 120000\n--- /dev/null\n"
        "+++ b/rules\n@@ -0,0 +1 @@\n+other\n\\ No newline at end of file\n"
        "--- /dev/null\n+++ b/other\n@@ -0,0 +1 @@\n+lax\n",
    )
    assert (linked.outcome, linked.restored) == ("tests-fail", ("rules",))


def test_pytests_settings_steer_it() -> None:
    python = python_recipe()
    steering = ("conftest.py", "a/b/conftest.py", "setup.cfg", "_pytest/main.py", "pytest.py")
    assert all(map(python.steers, steering))
    assert not any(map(python.steers, ("src/pytest_x.py", "a.py", "src/pytest/a.py")))


def test_no_isolation_has_to_be_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(IsolationError, match="can isolate the code of repositories"):
        find_isolation()
    assert find_isolation("none").name == "none"


@needs_isolation
def test_bubblewrap_works_wherever_its_program_lies(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Isolated commands see the system's folders alone, so what `PATH` names may not be there."""
    (tmp_path / "bwrap").symlink_to(shutil.which("bwrap") or "")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_isolation("bubblewrap").name == "bubblewrap"
