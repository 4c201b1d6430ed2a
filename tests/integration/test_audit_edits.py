"""When a solution came to stand in an issue: from the edits that were mined of it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from goldpan import Workspace
from goldpan.core.storage.parquet import read_table
from tests.mining import SLUICE, mine_twin
from tests.twin import Editor, Twin, World
from tests.twin.editing import VISITOR
from tests.twin.world import Repository

PATCH = """\
diff --git a/grain.py b/grain.py
--- a/grain.py
+++ b/grain.py
@@ -1,2 +1,3 @@
 def pour(weight):
-    return total + weight
+    total_poured = max(total, weight)
+    return total_poured * scale_of(weight)
"""
ADDED = "total_poured = max(total, weight)\nreturn total_poured * scale_of(weight)"
WRONG = "Pouring gives a wrong weight."
SOLVED = f"{WRONG}\n\n```python\n{ADDED}\n```"
OPENED, BEFORE, BEGUN, SINCE = (f"2024-03-0{day}T00:00:00Z" for day in (1, 2, 3, 4))


class Mill:
    """A repository with an issue that is opened, and a pull request that fixes it later."""

    def __init__(self, body: str = WRONG, *, opened: str = OPENED) -> None:
        self.world = World(
            Repository(
                owner="prospector",
                name="sluice",
                id=61_000_001,
                created_at="2024-01-01T00:00:00Z",
                pushed_at="2024-05-01T00:00:00Z",
            )
        )
        self.editor = Editor(self.world)
        self.issue = self.editor.issue("Wrong weight", body, author=VISITOR, at=opened)
        self.pull = self.editor.pull("Pour right", f"Fixes #{self.issue}.", at=BEGUN)

    def row(self, **columns: Any) -> dict[str, Any]:
        entry = self.editor.entry(self.issue)
        return {
            "id": f"code-edit:{SLUICE}#{self.issue}+{self.pull}",
            "repo": SLUICE,
            "issue": self.issue,
            "pull": self.pull,
            "title": entry.title,
            "body": entry.body,
            "diff": PATCH,
            **columns,
        }

    def audit(self, folder: Path, via: Any = "graphql", **columns: Any) -> dict[str, Any]:
        """Mine all, audit one row, and return its finding with the notes."""
        with Twin(self.world) as twin:
            mine_twin(twin, folder / "lab", via)
        return audited(folder, self.row(**columns))


def audited(folder: Path, row: dict[str, Any]) -> dict[str, Any]:
    file = folder / "rows.parquet"
    pq.write_table(pa.Table.from_pylist([row]), file)
    result = Workspace(folder / "lab").audit(file, finding="solution-in-issue")
    (finding,) = read_table(Path(result.file)).to_pylist()
    return {**finding, "notes": result.notes}


def at(moment: str) -> datetime:
    return datetime.strptime(moment, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("opened", "edited", "case"),
    [
        (OPENED, None, "before-fix"),
        (OPENED, BEFORE, "before-fix"),
        (OPENED, SINCE, "edited-in"),
        (SINCE, None, "after-fix"),
    ],
)
def test_when_a_solution_came_is_told(
    opened: str, edited: str | None, case: str, tmp_path: Path
) -> None:
    mill = Mill(WRONG if edited else SOLVED, opened=opened)
    if edited:
        mill.editor.edit_entry(mill.issue, body=SOLVED, at=edited)
    found = mill.audit(tmp_path)
    assert (found["verdict"], found["case"]) == ("found", case)
    assert {span["time"] for span in found["evidence"]} == {at(edited or opened)}
    if case == "before-fix":
        assert found["notes"] == ()
    if case == "edited-in":
        assert found["notes"] == ("Edited after the fix was begun, or the answer given: 1",)
        assert found["why"].endswith("by an edit after the fix was begun")
        earlier = audited(tmp_path, mill.row(body=WRONG))
        assert (earlier["verdict"], earlier["notes"]) == ("not-found", ())


def test_an_edit_that_brings_no_solution_is_told_and_is_no_case(tmp_path: Path) -> None:
    mill = Mill(SOLVED)
    mill.editor.edit_entry(mill.issue, body=f"{SOLVED}\n\nThank you!", at=SINCE)
    mill.editor.edit_entry(mill.issue, title="Wrong weights", at=SINCE)
    found = mill.audit(tmp_path)
    assert found["case"] == "before-fix"
    assert found["notes"] == ("Edited after the fix was begun, or the answer given: 1",)


def test_the_first_commit_begins_a_fix_as_well(tmp_path: Path) -> None:
    mill = Mill()
    pull = mill.editor.entry(mill.pull)
    (commit,) = pull.commits
    begun = replace(commit, authored_at="2024-03-01T12:00:00Z")
    mill.world.put(replace(pull, timeline=(begun,)))
    mill.editor.edit_entry(mill.issue, body=SOLVED, at=BEFORE)
    assert mill.audit(tmp_path)["case"] == "edited-in"


@pytest.mark.parametrize("case", ["rest", "deleted", "foreign"])
def test_what_cannot_be_told_has_its_reason_and_remedy(case: str, tmp_path: Path) -> None:
    mill = Mill()
    mill.editor.edit_entry(mill.issue, body=SOLVED, at=SINCE)
    if case == "deleted":
        mill.editor.delete_edit(mill.issue, 0)
    body = f"Rewritten.\n\n{SOLVED}" if case == "foreign" else SOLVED
    found = mill.audit(tmp_path, "rest" if case == "rest" else "graphql", body=body)
    reason = {
        "rest": "edits of its texts were not mined",
        "deleted": "an earlier version of its text is withheld",
        "foreign": "a text of the row differs from what was mined",
    }[case]
    assert (found["verdict"], found["case"]) == ("found", "when-unknown")
    assert reason in found["why"]
    assert found["remedy"] == f"Run goldpan mine --repo {SLUICE}"
    if case != "foreign":
        assert {span["time"] for span in found["evidence"]} == {None}
    (note,) = found["notes"]
    assert note.startswith(f"Whether a text was edited later is unknown for 1: {reason}")


def test_statements_and_hints_are_made_of_titles_bodies_and_comments(tmp_path: Path) -> None:
    mill = Mill()
    hint = mill.editor.comment(mill.issue, "Which scale?", at=BEFORE)
    mill.editor.edit_comment(hint, f"Try this:\n\n```python\n{ADDED}\n```", at=SINCE)
    hints = f"First.\n{mill.editor.entry(mill.issue).comments[0].body}"
    columns = {"problem_statement": f"Wrong weight\n{WRONG}", "hints_text": hints}
    found = mill.audit(tmp_path, title=None, body=None, **columns)
    assert (found["verdict"], found["case"]) == ("found", "edited-in")
    assert {(span["source"], span["time"]) for span in found["evidence"]} == {
        ("hints_text", at(SINCE))
    }


def test_an_answer_that_an_edit_tells_came_after_the_answer(tmp_path: Path) -> None:
    mill = Mill("How do I pour?")
    answer = mill.editor.comment(mill.issue, "Turn the wheel until it clicks.", at=BEFORE)
    told = "How do I pour?\n\nEdit: solved by turning the wheel."
    mill.editor.edit_entry(mill.issue, body=told, at=SINCE)
    columns = {
        "answer": "Turn the wheel until it clicks.",
        "answer_comment_id": answer,
        "answer_created_at": at(BEFORE),
        "id": f"qa:{SLUICE}#{mill.issue}",
        "diff": None,
        "pull": None,
    }
    found = mill.audit(tmp_path, **columns)
    assert found["verdict"] == "found"
    assert found["case"] == "edited-in"


@pytest.mark.parametrize(
    ("text", "verdict", "kind"),
    [
        ("See https://github.com/marlow-k/sluice/tree/topic for it.", "found", "branch"),
        ("See https://github.com/marlow-k/sluice/tree/topical for it.", "not-found", None),
        ("See https://gist.github.com/marlow-k/0123456789abcdef0123.", "cannot-tell", "gist"),
        ("See https://gist.github.com/ferry-n/0123456789abcdef0123.", "not-found", None),
    ],
)
def test_branches_and_gists_of_whom_wrote_the_fix(
    text: str, verdict: str, kind: str | None, tmp_path: Path
) -> None:
    found = Mill(text).audit(tmp_path)
    assert found["verdict"] == verdict
    assert [span["kind"] for span in found["evidence"]] == ([kind] if kind else [])
    if kind == "gist":
        assert (found["case"], found["remedy"]) == ("gist", "Read the gist")
