"""ECSER's recipe: metrics out of printed counts, steps out of counts of each set, external sets."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

from goldpan.core.errors import DatasetError
from goldpan.papers.ecser.sets import requirements
from goldpan.reproduce.data import FoundFile
from goldpan.reproduce.finding import find_recipe
from tests.pages import write_requirements
from tests.places import DATA
from tests.reproducing import cells, reproduce_tables

pytest.importorskip("sklearn")
KINDS = ("TP", "FP", "TN", "FN")
PLACE = DATA / "requirements"
needs_data = pytest.mark.skipif(
    not (PLACE / "leeds.csv").exists(),
    reason=f"{PLACE} is missing; set GOLDPAN_REAL_DATA to the real data's folder",
)


def run(*arguments: object) -> tuple[int, dict[str, Any]]:
    return reproduce_tables("ecser", *arguments)


def test_metrics_follow_from_the_printed_counts(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    where = ("--data", tmp_path / "data", "--workspace", tmp_path / "w", "--no-run")
    _, tables = run("--table", "5", "--table", "10", "--table", "12", "--table", "14", *where)
    assert tables["5"]["counts"]["recomputed"] == 60
    assert tables["5"]["verdicts"]["equal"] == 60
    assert tables["12"]["verdicts"]["equal"] == tables["12"]["counts"]["recomputed"] == 4
    requirements = cells(tables["10"])
    differs = requirements["isQ ling17", "F1 training"]
    assert (differs["paper"], round(differs["here"], 3)) == (0.80, 0.832), "an error in the print"
    assert requirements["isF km500", "Precision training"]["verdict"] == "equal"
    assert requirements["isF km500", "Precision test"]["state"] == "untested"
    assert cells(tables["14"])["Voc", "F1 training"]["verdict"] == "equal"


def counts_file(folder: Path) -> Path:
    """Write counts of three classifiers on train, four folds and seven projects."""
    lines = ["model,task,part,project,fold,tp,fp,tn,fn"]
    for model, hits in (("FF", 1), ("Voc", 6), ("VocFF", 2)):
        lines.append(f"{model},flaky,train,all,,40,0,60,0")
        lines += [f"{model},flaky,validation,,{fold},8,{fold},20,2" for fold in range(1, 5)]
        lines += [
            f"{model},flaky,test,p{number},,{hits},{number},50,{10 - hits}" for number in range(7)
        ]
    (folder / "ecser").mkdir(parents=True)
    (folder / "ecser" / "flaky-counts.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def test_steps_come_out_of_counts_a_project(tmp_path: Path) -> None:
    data = counts_file(tmp_path / "data")
    keys = ("13", "14", "14-degradation", "15")
    chosen = [part for key in keys for part in ("--table", key)]
    code, tables = run(*chosen, "--data", data, "--workspace", tmp_path / "w")
    assert code == 0
    pooled = cells(tables["13"])
    assert [pooled["Tests FF", kind]["here"] for kind in KINDS] == [7, 21, 350, 63]
    performed = cells(tables["14"])
    assert performed["Voc", "Recall test"]["here"] == pytest.approx(0.6)
    assert performed["Voc", "Recall test SD"]["here"] == pytest.approx(0.0)
    assert performed["Voc", "Recall overfitting"]["here"] == pytest.approx(-0.4)
    worse = cells(tables["14-degradation"])["FF", "Recall degradation p"]
    assert worse["state"] == "recomputed"
    assert worse["here"] < 0.05
    tested = cells(tables["15"])
    assert tested["Precision", "Omnibus"]["here"] in ("friedman", "anova")
    assert tested["Precision", "p"]["here"] < 0.05


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        (",flaky,", ",Flaky,", "has counts of Flaky, which are none of the paper's tasks"),
        ("V", "v", "has counts of ff, voc, vocff, which Table 13"),
    ],
)
def test_counts_of_other_names_are_a_problem(
    tmp_path: Path, old: str, new: str, problem: str
) -> None:
    data = counts_file(tmp_path / "data")
    path = data / "ecser" / "flaky-counts.csv"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace(old, new).replace("FF", "FF" if old != "V" else "ff"), "utf-8")
    code, tables = run("--table", "13", "--data", data, "--workspace", tmp_path / "w")
    assert code == 3
    assert problem in tables["13"]["problems"][0]


def requirement_files(folder: Path) -> Path:
    """Write a training set, and one external set that has some of its requirements."""
    text = write_requirements(folder, 30).read_text(encoding="utf-8")
    lines = ["ProjectID,RequirementText,IsFunctional,IsQuality"]
    for row in list(csv.DictReader(text.splitlines(), quotechar="'"))[:8]:
        lines.append(f'1,"{row["RequirementText"]}!",{row["IsFunctional"]},{row["IsQuality"]}')
    (folder / "leeds.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def test_baselines_are_trained_on_promise_and_tested_on_external_sets(tmp_path: Path) -> None:
    data = requirement_files(tmp_path / "data")
    where = ("--data", data, "--workspace", tmp_path / "w")
    code, tables = run("--table", "7", "--table", "9", *where)
    assert code == 3, "other sets are missing"
    sizes = cells(tables["7"])
    assert (sizes["Leeds Library", "Size"]["here"], sizes["WASP", "Size"]["here"]) == (8, None)
    counted = cells(tables["9"])
    assert sum(counted["Training tfidf-svm", f"isF {kind}"]["here"] for kind in KINDS) == 30
    tested = counted["Test tfidf-svm", "isQ TP"]
    other = "promise-reclass.csv and leeds.csv are not as published"
    assert (tested["state"], tested["note"]) == ("in part", f"1 of 13 external sets; {other}")
    assert sizes["Leeds Library", "Size"]["note"] == "leeds.csv is not as published"
    assert sizes["Leeds Library", "Size"]["state"] == "in part"
    assert sum(counted["Test tfidf-svm", f"isQ {kind}"]["here"] for kind in KINDS) == 8
    assert tested["paper"] is None, "a row of Goldpan's own"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ProjectID,RequirementText,IsFunctional\n1,a,1\n", "has no column IsQuality"),
        ("ProjectID,RequirementText,IsFunctional,IsQuality\n1,a,1,x\n", "'x' is neither 0 nor 1"),
    ],
)
def test_requirements_of_another_layout_are_refused(
    tmp_path: Path, text: str, message: str
) -> None:
    path = tmp_path / "set.csv"
    path.write_text(text, encoding="utf-8")
    file = FoundFile(find_recipe("ecser").file("leeds"), path, "", "differs")
    with pytest.raises(
        DatasetError, match=rf"set\.csv.*{message}.*explainable-re/RE-2019-Materials"
    ):
        list(requirements(file))


@pytest.mark.real_data
@needs_data
def test_the_sets_at_hand_have_the_printed_sizes(tmp_path: Path) -> None:
    where = ("--data", PLACE, "--workspace", tmp_path, "--no-run")
    _, tables = run("--table", "7", *where)
    ran = [cell for cell in tables["7"]["cells"] if cell["state"] == "run"]
    assert len(ran) == 9
    assert all(cell["verdict"] == "equal" for cell in ran)


def test_labels_without_texts_give_sizes(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "promise-reclass.csv").write_text(
        "ProjectID,RequirementText,Class,IsFunctional,IsQuality\n1,'It logs.',F,1,0\n", "utf-8"
    )
    labels = folder / "ds2.csv"
    labels.write_text(
        "ProjectID;RequirementText;IsFunctional;IsQuality\n2;;0;1\n2;;1.0;1\n", "utf-8"
    )
    where = ("--table", "7", "--data", folder, "--workspace", tmp_path / "w", "--no-run")
    _, tables = run(*where)
    counted = cells(tables["7"])
    assert [counted["Helpdesk", name]["here"] for name in ("Size", "F", "Q")] == [2, 1, 2]
    assert counted["ESA", "Size"]["state"] == "untested"
    labels.write_text("ProjectID;RequirementText;IsFunctional;IsQuality\n2;;;1\n", "utf-8")
    _, tables = run(*where)
    assert "ds2.csv, requirement 1: '' is neither 0 nor 1" in tables["7"]["problems"][0]
