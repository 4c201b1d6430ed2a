"""The shipped recipes run on real toolchains, and on Python however a project is laid out."""

from __future__ import annotations

import http.server
import shutil
import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import pytest

from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.execution.isolation import IsolationName
from goldpan.execution.records import FixInstance, TrialSettings
from goldpan.execution.verify import verify_all
from goldpan.git.clone import clone
from goldpan.git.trees import CommitPair, patches
from tests.git_repositories import REPO, Repository
from tests.layouts import LAYOUTS, Projects
from tests.mining import Notes
from tests.twin.code import files
from tests.verifying import ISOLATIONS, in_each_isolation

SETTINGS = TrialSettings(repeats=1, seconds=400)


FILES = files(Path(__file__).with_name("ecosystems.txt").read_text(encoding="utf-8"))
"""Files by project or, where a recipe of one's own needs some, by project and `recipe`.

ADDRESS stands for a mirror that is there while building alone.
"""
DEBIAN = "/usr/share/maven-repo"
"""The Maven repository of Debian's own packages, which builds them without a network."""


@dataclass(frozen=True)
class Project:
    """A project whose `code` subtracts where it should add."""

    program: str
    code: str
    test: str
    proved: str
    more: str = ""
    """Whose files it has too."""
    needs: tuple[str, ...] = ()
    """Files of this machine without which it cannot run."""


JAVA = ("src/main/java/o/Sum.java", "src/test/java/o/SumTest.java", "o.SumTest.adds", "java")
JUNIT = f"{DEBIAN}/junit/junit/4.13.2"
SUREFIRE = f"{DEBIAN}/org/apache/maven/surefire/surefire-junit4"
PROJECTS = {
    "node": Project("npm", "add.js", "add.test.js", "adds"),
    "mocha": Project("npm", "add.js", "test/add.js", "adds"),
    "jasmine": Project("npm", "add.js", "spec/add.js", "adds"),
    "vitest": Project("npm", "add.ts", "add.test.ts", "add.test.ts > adds"),
    "pnpm": Project("npm", "add.js", "add.test.js", "adds"),
    "yarn": Project("npm", "add.js", "add.test.js", "adds"),
    "cargo": Project("cargo", "src/lib.rs", "tests/add.rs", "tests/add.rs::adds"),
    "go": Project("go", "add.go", "add_test.go", "example.org/n.TestAdd"),
    "maven": Project("mvn", *JAVA, (JUNIT, SUREFIRE)),
    "gradle": Project("gradle", *JAVA, (JUNIT,)),
}


def files_of(folder: str) -> dict[bytes, bytes]:
    """Return the files of a folder by their paths below it."""
    named = ((path.partition("/"), text) for path, text in FILES.items())
    return {path.encode(): text for (top, _, path), text in named if top == folder}


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
    content = {**files_of(name), **files_of(project.more)}
    test = {project.test.encode(): content.pop(project.test.encode())}
    right = content[project.code.encode()].replace(b"a - b", b"a + b")
    repository = Repository.create(tmp_path / "source.git")
    base = repository.commit(content, ref="refs/heads/main")
    fixed = repository.commit({**content, project.code.encode(): right}, base, ref="refs/heads/fix")
    tested = repository.commit({**content, **test}, base, ref="refs/heads/tests")
    workspace = WorkspaceLayout(tmp_path / "lab")
    clone(workspace, REPO, Notes(), source=repository.path)
    diffs = patches(workspace.clone(REPO), [CommitPair(base, fixed), CommitPair(base, tested)])
    fix, test_patch = (patch or "" for patch in diffs)
    instance = FixInstance("x:o/n#1+2", REPO, 1, 2, base, fix, test_patch, (project.test,))
    settings = replace(SETTINGS, isolation=ISOLATIONS[0])
    own = files_of(f"{name} recipe")
    for path, text in own.items():
        (tmp_path / path.decode()).write_text(text.decode().replace("ADDRESS", mirror))
    recipes = [tmp_path / f"{name}.toml"] if own else []
    (record,) = verify_all(workspace, [instance], settings, Notes(), recipes=recipes).records
    logs = [path.read_text(errors="replace")[-2_000:] for path in tmp_path.rglob("*.log")]
    assert record.proof.verdict == "verified", "\n".join((record.detail, *logs))
    assert record.proof.fail_to_pass == (project.proved,)


@pytest.fixture(scope="module")
def projects(tmp_path_factory: pytest.TempPathFactory) -> Projects:
    root: Path = tmp_path_factory.mktemp("layouts")
    return Projects(root, LAYOUTS)


@pytest.mark.timeout(900)
@in_each_isolation
def test_each_layout_is_tested_with_its_fix(projects: Projects, isolation: IsolationName) -> None:
    records = projects.verify(isolation)
    verdicts = {name: record.proof.verdict for name, record in records.items()}
    assert verdicts == {name: layout.verdict for name, layout in LAYOUTS.items()}
