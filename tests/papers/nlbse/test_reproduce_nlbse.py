"""The recipes of the NLBSE competitions: rules, counts, repositories."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.places import DATA
from tests.reproducing import cells, reproduce_tables

pytest.importorskip("sklearn")
COMMENTS = DATA / "nlbse23-comments"
needs_data = pytest.mark.skipif(
    not (COMMENTS / "java.csv.xz").exists(),
    reason=f"{COMMENTS} is missing; set GOLDPAN_REAL_DATA to the real data's folder",
)


def test_rules_and_rankings_follow_from_the_print(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    where = ("--data", tmp_path / "data", "--workspace", tmp_path / "w", "--no-run")
    keys = ("issues", "1", "issue-ranking", "comment-ranking")
    code, tables = reproduce_tables(
        "nlbse23", *(part for key in keys for part in ("--table", key)), *where
    )
    assert code == 0
    for key in ("issues", "issue-ranking", "comment-ranking"):
        obtained = [cell for cell in tables[key]["cells"] if cell["state"] == "recomputed"]
        assert obtained
        assert all(cell["verdict"] == "equal" for cell in obtained), key
    issues = cells(tables["1"])
    assert issues["FastText", "Bug recall"]["state"] == "untested"
    computed = {key: cell for key, cell in issues.items() if cell["state"] == "recomputed"}
    assert len(computed) == 20
    for (model, _), cell in computed.items():
        # Laiq's figures have two digits, the others three.
        step = 0.005 if model == "SGD" else 0.0005
        assert abs(cell["distance"]) <= 2 * step, cell
    code, tables = reproduce_tables("nlbse23", "--table", "2", "--table", "3", *where)
    assert code == 3, "the sentences are missing"
    misprint = cells(tables["2"])["Pharo Example", "Training total"]
    assert (misprint["paper"], misprint["here"], misprint["state"]) == (748, 1408, "recomputed")


def test_published_results_stand_by_repository(tmp_path: Path) -> None:
    names = ("facebook/react", "tensorflow/tensorflow", "microsoft/vscode", "bitcoin/bitcoin")
    results = {name: {"average": {"f1-score": 0.8}} for name in names}
    results["opencv/opencv"] = {"average": {"f1-score": 0.6}}
    path = tmp_path / "data" / "output" / "roberta" / "results.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(results), encoding="utf-8")
    where = ("--data", tmp_path / "data", "--workspace", tmp_path / "w", "--no-run")
    code, tables = reproduce_tables("nlbse24", *where)
    assert code == 3, "the issues are missing"
    ranked = cells(tables["ranking"])
    assert ranked["RoBERTa (result file)", "Mean"]["here"] == pytest.approx(0.76)
    assert ranked["SetFit", "Mean"]["verdict"] == "equal"
    assert ("tfidf-svm", "Mean") not in ranked, "it was not run"
    for broken in ({}, {name: {"average": {"f1-score": None}} for name in results}):
        path.write_text(json.dumps(broken), encoding="utf-8")
        _, tables = reproduce_tables("nlbse24", *where)
        assert "holds no F1 of every repository" in tables["ranking"]["problems"][0]


@pytest.mark.real_data
@needs_data
def test_sentences_are_counted_as_printed(tmp_path: Path) -> None:
    """All 19 categories, of which two have a print that does not add up."""
    where = ("--data", COMMENTS, "--workspace", tmp_path, "--no-run")
    _, tables = reproduce_tables("nlbse23", "--table", "2", *where)
    counted = [cell for cell in tables["2"]["cells"] if cell["state"] == "run"]
    assert len(counted) == 19 * 9
    differing = {(cell["row"], cell["column"]) for cell in counted if cell["verdict"] != "equal"}
    assert differing == {("Java Rational", "Training total"), ("Pharo Example", "Training total")}
