"""Exports for Harbor: a folder a task, whose scripts reward the fix and nothing less."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

from goldpan import load
from goldpan.datasets.examples import ISSUE_RESOLUTION
from tests.examples import ENVIRONMENT, write
from tests.integration.test_export import fix
from tests.twin.history import git

BROKEN = "def add(a, b):\n    return a - b\n"
TEST_PATCH = """\
diff --git a/test_add.py b/test_add.py
new file mode 100644
--- /dev/null
+++ b/test_add.py
@@ -0,0 +1,5 @@
+from calc import add
+
+
+def test_add():
+    assert add(1, 2) == 3
"""
PATCH = """\
diff --git a/calc.py b/calc.py
--- a/calc.py
+++ b/calc.py
@@ -1,2 +1,2 @@
 def add(a, b):
-    return a - b
+    return a + b
"""


def test_harbor_gets_a_folder_a_task_with_no_text_in_its_scripts(tmp_path: Path) -> None:
    rows = [
        fix(1),
        fix(2, environment=None),
        fix(3, environment=ENVIRONMENT.replace("3.11", "3.11\\nRUN x")),
        fix(4, verification="flaky"),
        fix(5, instance_id="../../x"),
        fix(6, instance_id="o__n-101"),
        fix(7, instance_id="a" * 64 + "!"),
        fix(8, base_commit=None),
    ]
    dataset = write(tmp_path / "lab", ISSUE_RESOLUTION, rows).directory
    result = load(dataset).export(to="harbor", output=tmp_path / "out")
    assert result.rows == {"test": 1}
    assert result.left_out == {"flaky": 1, "no-environment": 5, "same-instance": 1}
    task = tmp_path / "out" / "test" / "o__n-101"
    settings = tomllib.loads((task / "task.toml").read_text())
    assert settings["task"]["name"] == "goldpan/o__n-101"
    assert settings["metadata"]["issue"] == 1
    image = (task / "environment" / "Dockerfile").read_text()
    assert "FROM python:3.11-slim" in image
    assert "--exclude-newer 2024-03-01T12:30:00Z --editable ." in image
    assert (task / "environment" / "packages.txt").read_text() == "pytest==8.0.2\n"
    for name in ("task.toml", "environment/Dockerfile", "tests/test.sh", "solution/solve.sh"):
        assert "cycler" not in (task / name).read_text()
    assert "cycler" in (task / "instruction.md").read_text()
    assert (task / "tests" / "test.sh").stat().st_mode & 0o111


def test_a_task_of_harbor_rewards_the_fix_and_nothing_less(tmp_path: Path) -> None:
    """The scripts run as in the container, without one."""
    testbed = tmp_path / "testbed"
    testbed.mkdir()
    (testbed / "calc.py").write_text(BROKEN)
    (testbed / os.fsdecode(b"caf\xe9.txt")).touch()
    in_testbed = ("-C", testbed)
    git(*in_testbed, "init", "-q", ".")
    git(*in_testbed, "add", ".")
    git(*in_testbed, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x")
    base = git(*in_testbed, "rev-parse", "HEAD").decode().strip()
    row = fix(
        1, base_commit=base, patch=PATCH, test_patch=TEST_PATCH, test_files=["test_add.py"],
        FAIL_TO_PASS=["test_add.py::test_add"], PASS_TO_PASS=[],
    )  # fmt: skip
    dataset = write(tmp_path / "lab", ISSUE_RESOLUTION, [row]).directory
    load(dataset).export(to="harbor", output=tmp_path / "out")
    task = tmp_path / "out" / "test" / "o__n-101"

    def reward() -> str:
        subprocess.run(
            [sys.executable, task / "tests" / "score.py"],
            env={
                "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
                "GOLDPAN_TESTBED": str(testbed),
                "GOLDPAN_LOGS": str(tmp_path / "logs"),
            },
            check=True,
            capture_output=True,
        )
        return (tmp_path / "logs" / "reward.txt").read_text()

    assert reward() == "0\n"
    (testbed / "conftest.py").write_text("import calc\ncalc.add = lambda a, b: 3\n")
    (testbed / "test_add.py").write_text("def test_add():\n    pass\n")
    assert reward() == "0\n"
    git(*in_testbed, "apply", task / "solution" / "fix.patch")
    assert reward() == "1\n"
