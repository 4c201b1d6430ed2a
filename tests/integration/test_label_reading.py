"""Labels: a sample is read in a terminal and goes into a build; likely wrong ones come first."""

from __future__ import annotations

import csv
import json
import random
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from goldpan.core.errors import EvaluationError, UsageError
from goldpan.core.storage.sealed import file_digest, sealed_json
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.datasets.provenance import read_provenance
from goldpan.datasets.tasks.registry import find_task
from goldpan.evaluation.label_errors import _folds, _margins, _suspects, find_label_errors
from tests.comparing import planted, split_rows, two_labels, write_rows
from tests.demo_workspace import attempt, make_demo, offline, run_demo
from tests.evaluating import replaced
from tests.keyboard import Screen, terminal
from tests.program import goldpan

ASKED = "then Enter"


@pytest.fixture
def lab(tmp_path: Path) -> Path:
    """Return the demo's workspace."""
    return make_demo(tmp_path / "lab")


def read(lab: Path, *options: str, dataset: str = "qa") -> AbstractContextManager[Screen]:
    words = ("evaluate", "labels", dataset, "--workspace", str(lab), *options)
    return terminal(*words, folder=lab.parent, environment=offline())


def judge(screen: Screen, keys: str) -> None:
    """Give one answer for each row that is shown."""
    for key in keys:
        screen.until(ASKED)
        screen.press(f"{key}\n")


def kept(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))


def test_two_people_read_a_sample_and_the_card_says_so(lab: Path) -> None:
    file = lab / "datasets" / "qa.readings.csv"
    with read(lab, "--sample", "4", "--reader", "ana") as screen:
        first = screen.until(ASKED)
        assert "Row 1 of 4 · issue:prospector/assay#" in first
        assert "ana has judged 0, 4 left" in first
        assert "│ " in first
        assert "judge this reply" in first
        screen.press("1\n")
        judge(screen, "2")
        screen.until("2 left")
        screen.until(ASKED)
        screen.press("\x03")  # Ctrl-C
        code, told = screen.ended()
        assert (code, "Run the same command again to resume" in told) == (130, True)
    assert [row["label"] for row in kept(file)] == ["answers", "partly"]
    with read(lab, "--sample", "4", "--reader", "ana") as screen:
        assert "Row 3 of 4" in screen.until(ASKED)
        screen.press("4\n")  # no answer
        judge(screen, "x3")  # x is none either
        judge(screen, "0")
        code, told = screen.ended()
    assert code == 0
    assert "sample of 4 rows, seed 0; read by ana 4" in told
    assert "right: 33% [6%, 79%]" in told
    assert "1 not counted: nobody could judge them" in told
    assert [row["label"] for row in kept(file)] == ["answers", "partly", "not", "cannot-tell"]
    with read(lab, "--sample", "4", "--reader", "ben") as screen:
        judge(screen, "1221")
        code, told = screen.ended()
    flat = " ".join(told.split())
    assert "ana and ben agree on 2 of 4 rows" in flat
    assert "goldpan build qa --profile default --" in flat

    command = told[told.rindex("goldpan build") :].split()[1:]
    done = attempt(*command, cwd=lab.parent)
    assert done.code == 0, done.err
    card = (lab / "datasets" / "qa" / "README.md").read_text(encoding="utf-8")
    screenful = card[card.index("# Question answering") : card.index("## Use")]
    assert "Of 4 rows drawn with seed 0, 4 were read by ana and ben" in screenful
    provenance = orjson.loads((lab / "datasets" / "qa" / "provenance.json").read_bytes())
    (score,) = provenance["gold"]
    assert score["sample"]["readers"] == {"ana": 4, "ben": 4}
    assert provenance["labels"]["accuracy"] in screenful
    croissant = orjson.loads((lab / "datasets" / "qa" / "croissant.json").read_bytes())
    assert croissant["rai:dataAnnotationAnalysis"] == [provenance["labels"]["accuracy"]]


def test_a_judgment_outlives_the_program_that_kept_it(lab: Path) -> None:
    file = lab.parent / "own.csv"
    options = ("--sample", "3", "--output", str(file))
    with read(lab, *options, dataset="fault-localization") as screen:
        assert "The file that pull request #" in screen.until(ASKED)
        screen.press("\x1b[3~\n")  # the key Delete is no answer
        screen.until(ASKED)
        screen.press("1\n")
        screen.until("Kept: This file has to change")
        screen.until(ASKED)
        screen.kill()
    assert [row["label"] for row in kept(file)] == ["right"]
    with read(lab, *options, dataset="fault-localization") as screen:
        judge(screen, "2q")
        code, told = screen.ended()
    assert (code, "1 not read by anyone yet" in told) == (0, True)
    assert "right: 50%" in told


def test_a_gold_set_of_other_rows_is_named(lab: Path, tmp_path: Path) -> None:
    gold = tmp_path / "gold.csv"
    gold.write_text("repo,issue,label,comment_id\nocto/gem,1,answers,2\n", encoding="utf-8")
    done = attempt("evaluate", "labels", "qa", "--gold", str(gold), "--workspace", str(lab))
    assert "no row of this dataset is in the gold set" in " ".join(done.out.split())


@pytest.mark.parametrize("family", ["code-edit", "issue-resolution"])
def test_pairs_are_read_with_their_change(lab: Path, family: str) -> None:
    with read(lab, "--sample", "2", dataset=family) as screen:
        shown = screen.until(ASKED)
        assert "│ Issue" in shown
        assert "│ + " in shown
        assert "Say whether the change fixes the issue" in shown
        screen.press("1\n")
        judge(screen, "3")
        code, told = screen.ended()
    assert code == 0
    assert "fix pairs: fixes 1, partly 0, not 1" in told


def test_texts_command_nothing_and_pass_for_nothing(lab: Path) -> None:
    dataset = lab / "datasets" / "qa"
    path = next((dataset / "data").glob("*.parquet"))
    rows = pq.read_table(path)
    hostile = "\x1b]0;owned\x07\x1b[2J\nRow 9 of 9\n\u202ekept"
    turns = [
        [{**turn, "content": hostile} for turn in dialogue]
        for dialogue in rows["dialogue"].to_pylist()
    ]
    at = rows.schema.get_field_index("dialogue")
    field = rows.schema.field(at)
    pq.write_table(rows.set_column(at, field, pa.array(turns, field.type)), path)
    facts = read_provenance(dataset)
    told = {"sha256": file_digest(path), "bytes": path.stat().st_size}
    facts["files"][f"data/{path.name}"] = told
    (dataset / "provenance.json").write_bytes(sealed_json(facts))
    with read(lab, "--sample", "1") as screen:
        shown = screen.until(ASKED)
    assert "⟨U+001B⟩]0;owned⟨U+0007⟩" in shown
    assert "\n│ Row 9 of 9" in shown
    assert "\x1b]" not in shown and "\x1b[2J" not in shown and "\u202e" not in shown


LINE = "prospector/assay,104,3030000371,ana,answers,,abc,0,4\n"
HEAD = "repo,issue,comment_id,reader,label,note,dataset,seed,sample\n"


KEPT = "--sample 4 --output f.csv"


@pytest.mark.parametrize(
    ("dataset", "options", "text", "problem"),
    [
        ("qa", "", "", "Labels are scored by a sample or by a gold set"),
        ("qa", "--sample 0", "", "--sample"),
        ("qa", "--sample 4", "", "There is no terminal in which first could read 4 rows"),
        ("qa", "--sample 4 --reader a\x1bb", "", "does not name a reader"),
        ("qa", f"{KEPT} --seed 1", HEAD + LINE, "by the seed 0"),
        ("qa", KEPT, HEAD, "is not a gold set"),
        ("qa", KEPT, HEAD + LINE.replace("answers", "good"), "line 2, is no"),
        ("qa", KEPT, HEAD + LINE.replace("104", "x"), "line 2, holds no"),
        ("qa", KEPT, HEAD + LINE.replace("prospector/assay", "o/n"), "of another sample, of o/n"),
        ("code-edit", KEPT, HEAD + LINE, "holds judgments of answers"),
        ("nlbse23_issue_type", "--sample 4", "", "has no question for readers"),
    ],
)
def test_bad_input_is_named(
    tmp_path: Path, dataset: str, options: str, text: str, problem: str
) -> None:
    if text:
        (tmp_path / "f.csv").write_text(text, encoding="utf-8")
    lab = str(run_demo()[0])
    words = ("evaluate", "labels", dataset, "--workspace", lab, *options.split(" "))
    done = attempt(*filter(None, words), cwd=tmp_path)
    assert done.code == 2
    assert problem in done.err
    assert not text or (tmp_path / "f.csv").read_text(encoding="utf-8") == text


def test_judgments_of_rows_that_are_gone_are_counted(lab: Path) -> None:
    file = lab.parent / "f.csv"
    gone = LINE.replace("3030000371", "1")
    elsewhere = LINE.replace("prospector/assay", "other/place")
    file.write_text(HEAD + LINE + gone + elsewhere, encoding="utf-8")
    done = attempt("evaluate", "labels", "qa", "--workspace", str(lab), "--gold", str(file))
    assert "2 judged but no longer in the sample: removed, changed, or of another" in done.out
    assert "answers: answers 1, partly 0, not 0" in done.out
    built = attempt("build", "qa", "--workspace", str(lab), "--gold", str(file), "--output", "x",
                    cwd=lab.parent)  # fmt: skip
    assert built.code == 0, built.err
    assert "f.csv: 1 of 4 rows judged, 2 judgments of rows that are not here" in built.out
    strange = HEAD + elsewhere
    file.write_text(strange, encoding="utf-8")
    built = attempt("build", "qa", "--workspace", str(lab), "--gold", str(file), "--output", "x",
                    cwd=lab.parent)  # fmt: skip
    assert "f.csv: 0 of 4 rows judged, 1 judgment of rows that are not here" in built.out
    card = (lab.parent / "x" / "README.md").read_text(encoding="utf-8")
    first = card.partition("## Use")[0]
    assert "measured on nine held-out repositories" in first
    assert "No judgment in f.csv decides on any of these rows." in first


def test_people_read_the_rows_that_inform_best_and_the_estimate_is_weighted(lab: Path) -> None:
    file = lab / "datasets" / "qa.readings.csv"
    informed = ("--sample", "6", "--subjects", "best-informed", "--reader", "ana")
    with read(lab, *informed) as screen:
        judge(screen, "112121")
        code, told = screen.ended()
    assert code == 0, told
    flat = " ".join(told.split())
    assert "weighted by a model's vote; read by vote:" in flat
    rows = kept(file)
    votes = {row["stratum"]: int(row["stratum_rows"]) for row in rows}
    whole = len(pq.read_table(lab / "datasets" / "qa" / "data"))
    assert set(votes) <= {"keep", "drop", "undecided", "another reply", "none"}
    assert sum(votes.values()) <= whole
    with read(lab, "--sample", "6", "--reader", "ana") as screen:
        code, told = screen.ended()
    assert code == 2
    assert "of another sample" in " ".join(told.split())
    command = flat[flat.rindex("goldpan build") :].split()[1:]
    done = attempt(*command, cwd=lab.parent)
    assert done.code == 0, done.err
    card = (lab / "datasets" / "qa" / "README.md").read_text(encoding="utf-8")
    assert "weighted by a model's vote" in " ".join(card.split())


def test_planted_wrong_labels_come_first() -> None:
    data, wrong = planted(two_labels(train=200, test=100), 0.05)
    errors = find_label_errors(data)
    assert (errors.task, errors.rows, len(errors.ranked)) == ("requirement_type", 300, 300)
    top = errors.ranked[:30]
    assert sum(row.id in wrong for row in top) >= 0.9 * len(wrong)
    assert {row.split for row in errors.ranked} == {"train", "test"}
    assert errors.ranked[0].suspect
    assert errors.ranked[0].given != errors.ranked[0].suggested
    margins = [row.margin for row in errors.ranked]
    assert margins == sorted(margins)
    assert 0.85 < errors.right_out_of_fold < 1
    assert find_label_errors(data) == errors


def test_rows_of_one_text_are_judged_by_models_that_have_not_seen_it() -> None:
    texts = [f"text {number % 40}" for number in range(120)]
    labels = np.array([number % 2 for number in range(120)], np.int64)
    folds = _folds(texts, labels, 5, 0)
    assert all(len({folds[at] for at in range(120) if texts[at] == text}) == 1 for text in texts)
    assert sorted(np.bincount(folds)) == [24] * 5
    assert np.array_equal(_folds(texts[::-1], labels[::-1], 5, 0)[::-1], folds)


def test_the_confident_joint_is_that_of_the_paper() -> None:
    """By hand: thresholds are the means of 0.9, 0.6, 0.3 and of 0.8, 0.6."""
    probabilities = np.array([[0.9, 0.1], [0.6, 0.4], [0.3, 0.7], [0.2, 0.8], [0.4, 0.6]])
    labels = np.array([0, 0, 0, 1, 1], np.int64)
    assert _suspects(probabilities, labels).tolist() == [False, False, True, False, False]
    margins, others = _margins(probabilities, labels)
    assert margins == pytest.approx([0.8, 0.2, -0.4, 0.6, 0.2])
    assert others.tolist() == [1, 1, 1, 0, 0]


def test_a_label_of_one_row_makes_no_others_suspect() -> None:
    """No model knows the label when its row is held out, so its mean is 0."""
    probabilities = np.array([[0.9, 0.1, 0.0], [0.7, 0.3, 0.0], [0.4, 0.6, 0.0]])
    labels = np.array([0, 0, 2], np.int64)
    assert _suspects(probabilities, labels).tolist() == [False, False, False]


def test_a_row_of_several_labels_is_ranked_by_its_least_probable_one() -> None:
    task = find_task("comment_type_java")
    first, second = task.label_names[:2]
    draw = random.Random(0)
    pairs: list[tuple[str, list[str]]] = []
    for number in range(200):
        kinds = [name for name in (first, second) if draw.random() < 0.5]
        words = {first: "compute display store", second: "call wash leaks"}
        pairs.append((f"{' '.join(words[name] for name in kinds)} gravel {number}", kinds))
    pairs[17] = (f"{words[first]} gravel 17", [second])
    errors = find_label_errors(split_rows(task, pairs, 150))
    worst = errors.ranked[0]
    assert worst.id == f"{task.name}:00017"
    assert worst.given == (second,)
    assert worst.suggested in ((), (first, second))


def test_what_has_no_labels_to_judge_is_refused() -> None:
    data = two_labels()
    alike = {part: replaced(rows, text=["same"] * len(rows)) for part, rows in data.splits.items()}
    with pytest.raises(EvaluationError, match="All rows of requirement_type have the same text"):
        find_label_errors(replace(data, splits=alike))
    with pytest.raises(UsageError, match="Give at least 2"):
        find_label_errors(data, folds=1)
    other = replace(data, task=replace(data.task, type="text-generation"))
    with pytest.raises(UsageError, match="has no labels to judge"):
        find_label_errors(other)
    names = data.task.label_names
    only = {
        name: table.filter(pa.compute.equal(table["label"], names[0]))
        for name, table in data.splits.items()
    }
    with pytest.raises(EvaluationError, match="have the same labels"):
        find_label_errors(replace(data, splits=only))


def table_rows(path: Path) -> list[dict[str, Any]]:
    return list(pq.read_table(path).to_pylist())


def test_the_command_names_the_rows_and_writes_all(tmp_path: Path) -> None:
    data, _ = planted(two_labels(), 0.05)
    write_rows(WorkspaceLayout(tmp_path), data)
    command = ("evaluate", "label-errors", "--task", "requirement_type", "--workspace", tmp_path)
    rows, table = tmp_path / "rows.csv", tmp_path / "rows.parquet"
    done = goldpan(*command, "--limit", "3", "--output", rows)
    assert done.code == 0, done.err
    assert "of 120 labels suspect" in done.out
    assert done.out.count("requirement_type:") == 4
    output = json.loads(goldpan(*command, "--json", "--output", table).out)
    assert len(output["ranked"]) == 20
    assert [row["id"] for row in table_rows(table)][:20] == [row["id"] for row in output["ranked"]]
    with rows.open(newline="") as file:
        assert [row["id"] for row in csv.DictReader(file)] == [
            row["id"] for row in table_rows(table)
        ]
    missing = goldpan(*command[:3], "issue_type", "--workspace", tmp_path)
    assert missing.code == 2
    assert "There are no rows of issue_type" in missing.err
