"""Rows of texts as they stood before the fix was begun, or the question answered."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from goldpan import Workspace
from goldpan.core.schemas.mined import COMMENTS, COMMITS, ENTRIES, EVENTS, LEDGER
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.datasets.provenance import read_provenance
from goldpan.miners.versions import open_versions
from tests.mining import SLUICE, mine_twin
from tests.table_rows import put_table
from tests.twin import Editor, Twin
from tests.twin.history import history_world

HINTED = 1
CHANGED = ("updated_at", "raw", "answer_points", "answer_because")
"""Columns that an edit changes and that are of no earlier time."""
LATE = "2030-01-01T00:00:00Z"
PROFILES = ("default", "verified")
FAMILIES = ("code-edit", "issue-resolution", "qa")
Rows = dict[str, dict[str, Any]]
EDITED = "Seen on Linux as well."


def built(lab: Workspace, family: str, texts: str) -> Rows:
    output, profile = lab.path / f"{family}-{texts}", PROFILES[family == "issue-resolution"]
    dataset = lab.build(family, SLUICE, texts=texts, profile=profile, output=output)
    rows = [row for file in sorted(dataset.path.rglob("*.parquet")) for row in read(file)]
    return {row["id"]: row for row in rows}


def read(file: Path) -> list[dict[str, Any]]:
    rows = pq.read_table(file).to_pylist()
    return [{name: row[name] for name in row if name not in CHANGED} for row in rows]


def test_a_text_without_a_date_stands_for_itself_and_says_so(tmp_path: Path) -> None:
    """As of a backup that lacks `created_at`."""
    workspace, entry = WorkspaceLayout(tmp_path), {"number": 1, "title": "T", "body": "B"}
    put_table(workspace, "o/n", ENTRIES, [entry])
    put_table(workspace, "o/n", COMMENTS, [{"number": 1, "kind": "comment", "body": "C"}])
    put_table(workspace, "o/n", LEDGER, [{"number": 1, "part": "edits", "state": "complete"}])
    for table in (COMMITS, EVENTS):
        put_table(workspace, "o/n", table, [])
    with open_versions(workspace, "o/n") as versions:
        texts = versions.of([1])[1]
    assert len(texts) == 3
    for text in texts:
        version = text.before(datetime(2024, 1, 1, tzinfo=UTC))
        assert version is text.versions[-1]
        assert "when it was written" in text.lacks


class Mined:
    """A repository whose issues were edited after all, mined with its history and filtered."""

    def __init__(self, folder: Path) -> None:
        git = folder / "sluice.git"
        world = history_world(git)
        editor = Editor(world)
        opened = editor.entry(HINTED).created_at
        self.hint = editor.comment(HINTED, "Seen with 0.3 only.", at=f"{opened[:17]}30Z")
        with Twin(world) as twin:
            mine_twin(twin, folder / "lab", repo=SLUICE)
            self.lab = prepared(folder, git)
            self.before = {family: built(self.lab, family, "as-mined") for family in FAMILIES}
            self.edit(editor)
            mine_twin(twin, folder / "lab", repo=SLUICE)
        self.lab = prepared(folder, git)
        self.after = {family: built(self.lab, family, "as-mined") for family in FAMILIES}
        self.earlier = {family: built(self.lab, family, "before-fix") for family in FAMILIES}

    def edit(self, editor: Editor) -> None:
        """Edit the texts of two issues and a comment; of the second, take the first version."""
        edits, _, questions = (list(self.before[family].values()) for family in FAMILIES)
        self.edited, self.withheld = edits[0]["issue"], edits[1]["issue"]
        self.question = questions[0]["issue"]
        editor.edit_comment(self.hint, EDITED, at=LATE)
        for number in (self.edited, self.withheld, self.question):
            body = f"{editor.entry(number).body}\n\n{EDITED}"
            editor.edit_entry(
                number, title=f"{editor.entry(number).title} (late)", body=body, at=LATE
            )
        editor.delete_edit(self.withheld, 0)


def prepared(folder: Path, git: Path) -> Workspace:
    lab = Workspace(folder / "lab")
    lab.pair(SLUICE)
    lab.clone(SLUICE, source=git)
    for profile in PROFILES:
        lab.filter(SLUICE, profile=profile)
    return lab


@pytest.fixture(scope="module")
def mined(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mined]:
    folder = tmp_path_factory.mktemp("before-fix")
    yield Mined(folder)
    shutil.rmtree(folder)


def test_rows_read_as_before_the_fix(mined: Mined) -> None:
    for family in FAMILIES:
        shared = mined.earlier[family].keys() & mined.before[family].keys()
        for name in shared:
            if name.endswith("#67+68"):  # whose issue has the solution, by an edit
                assert "it fits" not in mined.earlier[family][name]["body"]
                continue
            assert mined.earlier[family][name] == mined.before[family][name]
        assert shared
    edited = [row for row in mined.after["code-edit"].values() if row["issue"] == mined.edited]
    assert edited
    for row in edited:
        assert EDITED in row["body"]
        assert row["title"].endswith("(late)")
        assert EDITED not in mined.earlier["code-edit"][row["id"]]["body"]


def test_a_question_reads_as_before_its_answer(mined: Mined) -> None:
    (name,) = (row["id"] for row in mined.after["qa"].values() if row["issue"] == mined.question)
    assert EDITED in mined.after["qa"][name]["dialogue"][0]["content"]
    assert mined.earlier["qa"][name]["dialogue"] == mined.before["qa"][name]["dialogue"]


def test_rows_whose_earlier_text_is_withheld_are_left_out_and_counted(mined: Mined) -> None:
    kept = {row["issue"] for row in mined.earlier["code-edit"].values()}
    assert mined.withheld not in kept
    assert mined.withheld in {row["issue"] for row in mined.after["code-edit"].values()}
    about = read_provenance(mined.lab.path / "code-edit-before-fix")
    assert about["counts"]["earlier-text"] >= 1
    assert about["settings"]["texts"] == "before-fix"
    assert {"edits"} <= set(about["sources"][0]["inputs"])
    card = (mined.lab.path / "code-edit-before-fix" / "README.md").read_text(encoding="utf-8")
    assert "as they stood before the fix was begun" in card
    assert "the earlier text is withheld" in card
    plain = (mined.lab.path / "code-edit-as-mined" / "README.md").read_text(encoding="utf-8")
    assert "before the fix was begun" not in plain
    assert "people may have edited them since" in plain
    assert "people may have edited them since" not in card


def test_hints_are_those_of_before(mined: Mined) -> None:
    hints = [
        row["hints_text"]
        for rows in (mined.after, mined.earlier)
        for row in rows["issue-resolution"].values()
        if row["issue"] == HINTED
    ]
    assert [hint.partition("\n")[0] for hint in hints] == [EDITED, "Seen with 0.3 only."]
