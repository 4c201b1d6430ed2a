"""The shipped recipes run on real toolchains: a small project each, with a fix and its test."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from goldpan.core.workspace import Workspace
from goldpan.execution.records import Instance, Settings
from goldpan.execution.verify_all import verify_all
from goldpan.git.clone import clone
from goldpan.git.patches import patches
from tests.git_repositories import REPO, Repository
from tests.mining import Notes
from tests.verifying import is_isolated

SETTINGS = Settings(repeats=1, seconds=400)


@dataclass(frozen=True)
class Project:
    """A project whose `code` subtracts where it should add."""

    program: str
    files: dict[bytes, bytes]
    code: bytes
    test: bytes
    test_content: bytes
    proved: str


PROJECTS = {
    "node": Project(
        "npm",
        {
            b"package.json": b'{"name": "n", "version": "1.0.0", "dependencies": {"is-odd": "3"}}',
            b"add.js": b"require('is-odd')\nexports.add = (a, b) => a - b\n",
        },
        b"add.js",
        b"add.test.js",
        b"const test = require('node:test'), assert = require('assert')\n"
        b"test('adds', () => assert.equal(require('./add').add(1, 2), 3))\n",
        "adds",
    ),
    "mocha": Project(
        "npm",
        {
            b"package.json": b'{"name": "n", "version": "1.0.0", "devDependencies": '
            b'{"mocha": "10.2.0"}}',
            b"add.js": b"exports.add = (a, b) => a - b\n",
        },
        b"add.js",
        b"test/add.js",
        b"it('adds', () => require('assert').equal(require('../add').add(1, 2), 3))\n",
        "adds",
    ),
    "cargo": Project(
        "cargo",
        {
            b"Cargo.toml": b'[package]\nname = "n"\nversion = "0.1.0"\nedition = "2021"\n',
            b"src/lib.rs": b"pub fn add(a: i32, b: i32) -> i32 {\n    a - b\n}\n",
        },
        b"src/lib.rs",
        b"tests/add.rs",
        b"#[test]\nfn adds() {\n    assert_eq!(n::add(1, 2), 3);\n}\n",
        "tests/add.rs::adds",
    ),
    "go": Project(
        "go",
        {
            b"go.mod": b"module example.org/n\n\ngo 1.18\n",
            b"add.go": b"package n\n\nfunc Add(a, b int) int { return a - b }\n",
        },
        b"add.go",
        b"add_test.go",
        b'package n\n\nimport "testing"\n\nfunc TestAdd(t *testing.T) {\n'
        b'\tif Add(1, 2) != 3 {\n\t\tt.Fatal("wrong")\n\t}\n}\n',
        "example.org/n.TestAdd",
    ),
}


@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", list(PROJECTS))
def test_a_fix_is_proved(tmp_path: Path, name: str) -> None:
    project = PROJECTS[name]
    if shutil.which(project.program) is None:
        pytest.skip(f"{project.program} is not installed")
    repository = Repository.create(tmp_path / "source.git")
    base = repository.commit(project.files, ref="refs/heads/main")
    right = project.files[project.code].replace(b"a - b", b"a + b")
    fixed = repository.commit({**project.files, project.code: right}, base, ref="refs/heads/fix")
    tested = repository.commit(
        {**project.files, project.test: project.test_content}, base, ref="refs/heads/tests"
    )
    workspace = Workspace(tmp_path / "lab")
    clone(workspace, REPO, Notes(), source=repository.path)
    diffs = patches(workspace.clone(REPO), [(1, base, fixed), (2, base, tested)])
    fix, test_patch = (patch.text or "" for patch in diffs)
    test = project.test.decode()
    instance = Instance("x:o/n#1+2", REPO, 1, 2, base, fix, test_patch, (test,))
    settings = SETTINGS if is_isolated() else replace(SETTINGS, isolation="none")
    (record,) = verify_all(workspace, [instance], settings, Notes()).records
    logs = [path.read_text(errors="replace")[-2_000:] for path in tmp_path.rglob("*.log")]
    assert record.proof.verdict == "verified", "\n".join((record.detail, *logs))
    assert record.proof.fail_to_pass == (project.proved,)
