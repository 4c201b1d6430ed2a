"""Findings that run tests again: weak tests and luck, on planted fixes."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from goldpan.core.storage.parquet import read_table
from goldpan.core.storage.sealed import read_json
from goldpan.lineage.check import check_workspace
from tests.git_repositories import REPO
from tests.mining import Notes
from tests.places import ROOT
from tests.planted_fixes import STRONG, WEAK, ZONE, Planted
from tests.verifying import runs_foreign_code

pytestmark = runs_foreign_code
RECIPE = ROOT / "src" / "goldpan" / "demo" / "recipe.toml"


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> Planted:
    root = tmp_path_factory.mktemp("planted")
    planted = Planted(root, {"weak": WEAK, "strong": STRONG, "zone": ZONE}, [RECIPE])
    assert {record.proof.verdict for record in planted.verify().values()} == {"verified"}
    planted.audit("weak-tests", "luck")
    return planted


@pytest.fixture
def planted(audited: Planted, tmp_path: Path) -> Planted:
    """The audited rows, in a workspace of the test's own."""
    copy = object.__new__(Planted)
    copy.__dict__.update(audited.__dict__)
    copy.workspace = replace(audited.workspace, root=tmp_path / "workspace")
    copy.dataset = tmp_path / "planted.jsonl"
    shutil.copytree(audited.workspace.root, copy.workspace.root)
    shutil.copyfile(audited.dataset, copy.dataset)
    return copy


def test_a_weak_test_lets_variants_pass_and_a_strong_one_none(planted: Planted) -> None:
    result, _ = planted.audit("weak-tests")
    assert planted.verdicts(result, "weak-tests") == {
        "weak": "found",
        "strong": "not-found",
        "zone": "not-found",
    }
    rows = {row["id"]: row for row in read_table(Path(result.file)).to_pylist()}
    weak, strong = rows["x:o/n#weak"], rows["x:o/n#strong"]
    assert weak["why"] == "2 of 2 variants of the fix pass its test"
    assert "+    return weight < limit\n" in {
        line + "\n" for span in weak["evidence"] for line in span["text"].split("\n")
    }
    assert (weak["value"], strong["value"]) == (0, 1)
    assert strong["low"] < strong["value"]
    assert weak["seconds"] > 0
    assert strong["evidence"] == []


def test_what_changes_the_verdict_is_named_and_what_cannot_be_told(planted: Planted) -> None:
    result, _ = planted.audit("luck")
    assert planted.verdicts(result, "luck") == {
        "weak": "not-found",
        "strong": "not-found",
        "zone": "time-zone",
    }
    rows = {row["id"]: row for row in read_table(Path(result.file)).to_pylist()}
    assert [span["text"] for span in rows["x:o/n#zone"]["evidence"]] == [
        "tests/test_mill.py::test_fits does not pass with the fix, 2 of 2 times"
    ]
    assert "the runner is not pytest" in rows["x:o/n#strong"]["why"]


def test_rows_that_are_known_are_not_run_again(planted: Planted) -> None:
    first, noted = planted.audit("weak-tests", "luck")
    assert not [line for line in noted.lines if "about" in line]
    planted.record("strong").unlink()
    second, noted = planted.audit("weak-tests", "luck")
    (line,) = [line for line in noted.lines if "about" in line]
    assert line.startswith("x:o/n#strong: about ")
    assert "; verify took " in line
    assert second.findings == first.findings
    _, noted = planted.audit("weak-tests", variants=2)
    assert len([line for line in noted.lines if "about" in line]) == 3
    assert set(read_json(planted.record("weak"))["findings"]) == {"weak-tests", "luck"}


def test_a_default_audit_runs_nothing_and_tells_what_is_known(planted: Planted) -> None:
    result, noted = planted.audit()
    assert not [line for line in noted.lines if "about" in line]
    assert planted.verdicts(result, "weak-tests")["weak"] == "found"
    shutil.rmtree(planted.record("weak").parent)
    result, _ = planted.audit()
    assert planted.verdicts(result, "weak-tests")["weak"] == "cannot-tell"
    for name in ("strong", "zone"):
        shutil.rmtree(planted.record(name).parent)
    result, _ = planted.audit()
    assert "weak-tests" not in {count.name for count in result.findings}


def test_a_changed_log_is_found_and_its_row_run_again(planted: Planted) -> None:
    log = planted.record("weak").with_name("after-1.log")
    log.write_bytes(log.read_bytes() + b"\n")
    (damage,) = check_workspace(planted.workspace, Notes()).damaged
    assert damage.file == str(log)
    assert "goldpan audit --finding weak-tests" in damage.remedy
    _, noted = planted.audit("weak-tests")
    assert len([line for line in noted.lines if "about" in line]) == 1


@pytest.mark.parametrize(
    ("damage", "why", "remedy"),
    [
        ("unverified", "not verified in this workspace", "goldpan verify"),
        ("cloneless", "the history of its repository is not at hand", "goldpan clone"),
        ("other", "no row of the family issue-resolution", "goldpan build issue-resolution"),
        ("hostile", "has the base_commit '--output=x', which is not one", "goldpan build"),
        ("slow", "its tests exceeded a limit (time", "--timeout"),
    ],
)
def test_rows_that_cannot_be_run_say_why_and_what_would_help(
    planted: Planted, damage: str, why: str, remedy: str
) -> None:
    instance = planted.instances["strong"]
    planted.write([instance])
    match damage:
        case "unverified":
            shutil.rmtree(planted.record("strong").parent.parent)
        case "cloneless":
            shutil.rmtree(planted.workspace.clone(REPO))
        case "other":
            line = planted.dataset.read_bytes().replace(b'"test_patch"', b'"test_diff"')
            planted.dataset.write_bytes(line)
        case "hostile":
            planted.write([replace(instance, base_commit="--output=x")])
        case "slow":
            planted.settings = replace(planted.settings, seconds=0.01)
    result, _ = planted.audit("weak-tests", "luck", again=damage == "slow")
    for count in result.findings:
        ((said, rows),) = count.undecided.items()
        assert why in said
        assert remedy in said
        assert rows == 1
