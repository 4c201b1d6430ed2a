"""The shipped recipes run on real toolchains: a small project each, with a fix and its test."""

from __future__ import annotations

import http.server
import shutil
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import pytest

from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.execution.records import FixInstance, TrialSettings
from goldpan.execution.verify import verify_all
from goldpan.git.clone import clone
from goldpan.git.trees import patches
from tests.git_repositories import REPO, Repository
from tests.mining import Notes
from tests.verifying import ISOLATIONS

SETTINGS = TrialSettings(repeats=1, seconds=400)


@dataclass(frozen=True)
class Project:
    """A project whose `code` subtracts where it should add."""

    program: str
    files: dict[bytes, bytes]
    code: bytes
    test: bytes
    test_content: bytes
    proved: str
    recipe: str = ""
    """A recipe of one's own, which may name a file beside it."""
    beside: dict[str, str] = field(default_factory=dict)
    """That file. In both, ADDRESS stands for a mirror that is there while building alone."""
    needs: tuple[str, ...] = ()
    """Files of this machine without which it cannot run."""


DEBIAN = "/usr/share/maven-repo"
"""The Maven repository of Debian's own packages, which builds them without a network."""
SUM = b"package o;\npublic class Sum { public static int add(int a, int b) { return a - b; } }\n"
SUM_TEST = b"""package o;
import static org.junit.Assert.assertEquals;
import org.junit.Test;
public class SumTest {
  @Test public void adds() { assertEquals(3, Sum.add(1, 2)); }
  @Test public void keeps() { assertEquals(1, Sum.add(1, 0)); }
}
"""
POM = b"""<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>o</groupId><artifactId>n</artifactId><version>1.0</version>
  <properties>
    <maven.compiler.source>11</maven.compiler.source>
    <maven.compiler.target>11</maven.compiler.target>
    <project.build.sourceEncoding>UTF-8</project.build.sourceEncoding>
  </properties>
  <dependencies><dependency>
    <groupId>junit</groupId><artifactId>junit</artifactId><version>4.13.2</version>
    <scope>test</scope>
  </dependency></dependencies>
</project>
"""
MIRROR = """<settings><mirrors><mirror>
  <id>debian</id><mirrorOf>*</mirrorOf><url>ADDRESS</url>
</mirror></mirrors></settings>
"""
REPOSITORIES = """allprojects { repositories {
  all { repository -> if (repository.url.toString() != 'ADDRESS') remove repository }
  maven { url 'ADDRESS' }
} }
"""
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
    "maven": Project(
        "mvn",
        {b"pom.xml": POM, b"src/main/java/o/Sum.java": SUM},
        b"src/main/java/o/Sum.java",
        b"src/test/java/o/SumTest.java",
        SUM_TEST,
        "o.SumTest.adds",
        'extends = "maven"\nindex = ["ADDRESS"]\n'
        '[variables]\nMAVEN_SETTINGS = "{recipe}/settings.xml"\n',
        {"settings.xml": MIRROR},
        (f"{DEBIAN}/junit/junit/4.13.2", f"{DEBIAN}/org/apache/maven/surefire/surefire-junit4"),
    ),
    "gradle": Project(
        "gradle",
        {
            b"build.gradle": b"apply plugin: 'java'\nrepositories { mavenCentral() }\n"
            b"dependencies { testCompile 'junit:junit:4.13.2' }\n",
            b"src/main/java/o/Sum.java": SUM,
        },
        b"src/main/java/o/Sum.java",
        b"src/test/java/o/SumTest.java",
        SUM_TEST,
        "o.SumTest.adds",
        'extends = "gradle"\nindex = ["ADDRESS"]\n'
        '[variables]\nGRADLE_INIT = "{recipe}/mirror.gradle"\n',
        {"mirror.gradle": REPOSITORIES},
        (f"{DEBIAN}/junit/junit/4.13.2",),
    ),
}


@pytest.fixture
def mirror() -> Iterator[str]:
    """Debian's Maven repository behind an address, which isolated tests do not reach."""
    handler = partial(http.server.SimpleHTTPRequestHandler, directory=DEBIAN)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", list(PROJECTS))
def test_a_fix_is_proved(tmp_path: Path, name: str, mirror: str) -> None:
    project = PROJECTS[name]
    if shutil.which(project.program) is None:
        pytest.skip(f"{project.program} is not installed")
    if missing := [path for path in project.needs if not Path(path).exists()]:
        pytest.skip(f"Debian's {' and '.join(missing)} is not there")
    repository = Repository.create(tmp_path / "source.git")
    base = repository.commit(project.files, ref="refs/heads/main")
    right = project.files[project.code].replace(b"a - b", b"a + b")
    fixed = repository.commit({**project.files, project.code: right}, base, ref="refs/heads/fix")
    tested = repository.commit(
        {**project.files, project.test: project.test_content}, base, ref="refs/heads/tests"
    )
    workspace = WorkspaceLayout(tmp_path / "lab")
    clone(workspace, REPO, Notes(), source=repository.path)
    diffs = patches(workspace.clone(REPO), [(1, base, fixed), (2, base, tested)])
    fix, test_patch = (patch.text or "" for patch in diffs)
    test = project.test.decode()
    instance = FixInstance("x:o/n#1+2", REPO, 1, 2, base, fix, test_patch, (test,))
    settings = replace(SETTINGS, isolation=ISOLATIONS[0])
    recipes = [tmp_path / "recipe" / f"{name}.toml"] if project.recipe else []
    for path in recipes:
        path.parent.mkdir()
        path.write_text(project.recipe.replace("ADDRESS", mirror))
        for beside, text in project.beside.items():
            path.with_name(beside).write_text(text.replace("ADDRESS", mirror))
    (record,) = verify_all(workspace, [instance], settings, Notes(), recipes=recipes).records
    logs = [path.read_text(errors="replace")[-2_000:] for path in tmp_path.rglob("*.log")]
    assert record.proof.verdict == "verified", "\n".join((record.detail, *logs))
    assert record.proof.fail_to_pass == (project.proved,)
