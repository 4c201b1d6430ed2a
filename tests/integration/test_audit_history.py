"""What an audit reads of a history: the precedents of what a fix introduces."""

from __future__ import annotations

from pathlib import Path

import orjson

from goldpan.audit.audit import audit_dataset
from goldpan.core.storage.parquet import read_table
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.core.terminal import Reporter
from goldpan.git.refs import write_refs_record
from tests.git_repositories import Repository

SILO = "class Silo:\n    def close(self):\n        self.clear_all()\n"


def added(path: str, line: str) -> str:
    """Return a git diff that adds a line."""
    head = f"diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n"
    return f"{head}@@ -1 +1,2 @@\n x = 1\n+{line}\n"


def test_precedents_come_from_the_history_at_hand(tmp_path: Path) -> None:
    workspace = WorkspaceLayout(tmp_path)
    clone = workspace.clone("mill/grain")
    clone.parent.mkdir(parents=True)
    repository = Repository.create(clone)
    files = {b"mill/silo.py": SILO.encode(), b"mill/hopper.py": b"x = 1\n"}
    base = repository.commit(files, ref="refs/heads/main")
    other = repository.commit({b"mill/hopper.py": b"x = 1\n"}, base, ref="refs/heads/main")
    write_refs_record(clone)
    row = {
        "repo": "mill/grain",
        "patch": added("mill/hopper.py", "def close(self): ..."),
        "test_patch": added("tests/test_hopper.py", "hopper.close()"),
        "problem_statement": "Hoppers stay open.",
    }
    rows = [
        {**row, "instance_id": f"mill__grain-{number}", "base_commit": commit}
        for number, commit in enumerate((base, other, "0" * 40))
    ]
    file = tmp_path / "rows.jsonl"
    file.write_bytes(b"\n".join(map(orjson.dumps, rows)))
    result = audit_dataset(workspace, file, Reporter(quiet=True), findings=("demanding-tests",))
    (count,) = result.findings
    assert count.cases == {"determined": 1, "open": 1}
    assert count.undecided == {
        "not every demand is stated, and the code before the fix is not available. "
        "Run goldpan clone --repo mill/grain": 1
    }
    evidence = read_table(workspace.findings(file))["evidence"][0].as_py()
    (precedent,) = [span for span in evidence if span["kind"] == "precedent"]
    assert precedent["source"] == "mill/silo.py"
    assert SILO[precedent["start"] : precedent["end"]] == precedent["text"] == "close"
