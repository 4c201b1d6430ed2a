"""What a run says of rows seen in training, of single projects, and of groups held out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from goldpan.core.errors import UsageError
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.datasets.tasks.data import TaskData, task_data
from goldpan.evaluation.model import Answers, Model, TrainingContext
from goldpan.evaluation.protocol import find_protocol, hold_out
from goldpan.evaluation.record import read_runs
from goldpan.evaluation.run import rescore
from goldpan.evaluation.slices import COLUMN
from tests.comparing import add_run, add_runs, reported, two_labels, write_rows
from tests.evaluating import ran, replaced
from tests.invoking import invoke

DEFAULT = find_protocol("default")


class Remembers:
    """Answers as train does where it has the text, else with the first label of the task."""

    def __init__(self) -> None:
        self.repos: list[set[str]] = []

    def model(self) -> Model:
        return Model("remembers", self.fit)

    def fit(self, context: TrainingContext) -> Remembers:
        rows = context.whole_train.to_pylist()
        self.labels = {row["text"]: row["label"] for row in rows}
        self.other = context.task.label_names[0]
        self.repos.append({row["repo"] for row in rows})
        return self

    def answer(self, rows: pa.Table) -> Answers:
        return Answers([self.labels.get(text, self.other) for text in rows["text"].to_pylist()])


def repeated(share: float, train: int = 60, test: int = 60) -> TaskData:
    """Return rows of which this share of the test has a text of train, in other white space."""
    data = two_labels(train=train, test=test)
    learned = data.splits["train"].to_pylist()
    table = data.splits["test"]
    texts, labels = table["text"].to_pylist(), table["label"].to_pylist()
    for position in range(round(share * test)):
        texts[position] = f"  {learned[position]['text'].upper()} "
        labels[position] = learned[position]["label"]
    table = replaced(table, text=texts, label=labels)
    return task_data(data.task, {**data.splits, "test": table})


def test_a_test_that_stands_in_train_is_told_beside_its_score(tmp_path: Path) -> None:
    write_rows(WorkspaceLayout(tmp_path), repeated(1.0, test=20))
    command = ("run", "--task", "requirement_type", "--model", "majority")
    done = invoke("evaluate", *command, "--workspace", tmp_path)
    text = " ".join(done.stdout.split())
    assert "WARNING: 20 of 20 test rows (100.0%) have a text that is also in train" in text
    assert "says nothing about new texts" in text
    assert text.count("WARNING") == 1
    record = read_runs(WorkspaceLayout(tmp_path))[0]
    (texts, *_) = record.leaks.without
    assert (texts.left, texts.value) == (0, None)
    assert "too few" in texts.reason


@pytest.mark.parametrize(
    ("share", "level"), [(0.0, "none"), (1 / 150, "note"), (0.05, "warning"), (0.5, "alarm")]
)
def test_the_more_leaks_the_louder(tmp_path: Path, share: float, level: str) -> None:
    record = ran(tmp_path, repeated(share, train=150, test=150), Remembers().model())
    assert record.leaks.text == round(share * 150)
    assert record.leaks.level == level


def test_scores_stand_beside_those_without_what_was_seen(tmp_path: Path) -> None:
    done = ran(tmp_path, repeated(0.5), Remembers().model())
    table = read_runs(WorkspaceLayout(tmp_path))[0].predictions()
    is_new = ["text" not in mark for mark in table[COLUMN].to_pylist()]
    assert is_new.count(False) == done.leaks.text == 30
    without = done.leaks.score_without("texts")
    assert without is not None and without.value is not None and without.interval is not None
    assert without.left == 30
    fresh = table.filter(pa.array(is_new))
    right = pc.sum(pc.equal(fresh["truth"], fresh["answer"])).as_py()
    assert right == 15, "of new texts it answers one label alone"
    again = rescore(WorkspaceLayout(tmp_path), done.directory, two_labels().task)
    assert again.leaks == done.leaks


def test_the_report_begins_with_the_leaks(tmp_path: Path) -> None:
    data = repeated(0.5)
    add_runs(WorkspaceLayout(tmp_path), data, {"good": 0.9, "bad": 0.5})
    report = reported(WorkspaceLayout(tmp_path))
    assert report.warnings[0].startswith("WARNING: 30 of 60 test rows of requirement_type")
    assert "without them macro_f1 of good is" in report.warnings[0]


def test_each_project_is_tested_by_a_model_that_never_saw_it(tmp_path: Path) -> None:
    data = two_labels()
    held, rules = hold_out(data, DEFAULT, "repo:each")
    assert held.data_hash == data.data_hash
    spy = Remembers()
    record = ran(tmp_path, held, spy.model(), rules)
    assert record.protocol.name == "default+repo:each"
    assert sorted(map(sorted, spy.repos)) == [["octo/gem0"], ["octo/gem1"]]
    assert record.scores.examples == 120
    assert record.leaks.project == 0
    by = record.scores_by["repo"]
    assert {part.value: part.examples for part in by.parts} == {"octo/gem0": 60, "octo/gem1": 60}
    table = read_runs(WorkspaceLayout(tmp_path))[0].predictions()
    assert len(set(table["id"].to_pylist())) == 120


def test_one_value_of_any_column_can_be_held_out() -> None:
    data = two_labels()
    held, rules = hold_out(data, DEFAULT, "repo=octo/gem1")
    assert set(held.splits["test"]["repo"].to_pylist()) == {"octo/gem1"}
    assert set(held.splits["train"]["repo"].to_pylist()) == {"octo/gem0"}
    assert rules.name == "default+repo=octo/gem1"
    for kind, message in (
        ("repo=nobody", "octo/gem0, octo/gem1"),
        ("license", "name no license"),
        ("repo:7", "held out by"),
    ):
        with pytest.raises(UsageError, match=message):
            hold_out(data, DEFAULT, kind)


def test_what_cannot_be_held_out_says_what_can() -> None:
    data = two_labels(train=6, test=6)
    named = {part: replaced(rows, repo=["o/a", "o/d"] * 3) for part, rows in data.splits.items()}
    few = task_data(data.task, named)
    message = (
        r"None of the 2 values of repo .* Hold out repo:\d, (repo:\d, )?repo=VALUE, or repo:each"
    )
    with pytest.raises(UsageError, match=message):
        for fifth in range(5):
            hold_out(few, DEFAULT, f"repo:{fifth}")
    alone = task_data(data.task, {"train": named["train"].filter(pc.field("repo") == "o/a")})
    with pytest.raises(UsageError, match="has one value of repo, o/a, so nothing is left"):
        hold_out(alone, DEFAULT, "repo")
    with pytest.raises(UsageError, match="each repo once: there is one value"):
        hold_out(alone, DEFAULT, "repo:each")


def test_scores_by_a_column_come_with_the_run_or_later(tmp_path: Path) -> None:
    write_rows(WorkspaceLayout(tmp_path), two_labels())
    common = ["--workspace", str(tmp_path), "--task", "requirement_type"]
    done = invoke("evaluate", "run", *common, "--model", "majority", "--by", "document")
    assert "values of document" in done.stdout
    assert "octo/gem1" not in done.stdout
    later = invoke("evaluate", "score", *common, "--by", "partition", "--json")
    (result,) = orjson.loads(later.stdout)
    assert set(result["scores_by"]) == {"repo", "document", "partition"}
    (part,) = result["scores_by"]["partition"]["parts"]
    assert (part["value"], part["examples"]) == ("test", 60)
    invoke("evaluate", "run", *common, "--model", "majority", "--hold-out", "repo=octo/gem0")
    later = invoke("evaluate", "score", *common, "--by", "input-length", "--json")
    for result in orjson.loads(later.stdout):
        sizes = [part["examples"] for part in result["scores_by"]["input-length"]["parts"]]
        assert sizes == [20, 20, 20]
    unknown = invoke("evaluate", "score", *common, "--by", "severity")
    assert unknown.exit_code == 2
    assert "no column 'severity'" in unknown.stderr


def test_f1_of_each_label_is_shown_by_the_record(tmp_path: Path) -> None:
    write_rows(WorkspaceLayout(tmp_path), two_labels())
    common = ["--workspace", str(tmp_path), "--task", "requirement_type"]
    done = invoke("evaluate", "run", *common, "--model", "majority")
    assert "functional" not in done.stdout, "a line a run"
    (record,) = read_runs(WorkspaceLayout(tmp_path))
    (line,) = (row for row in str(record).splitlines() if row.split()[:1] == ["functional"])
    assert line.split()[1:] == ["0.5000", "1.0000", "0.6667", "30"]


def test_a_model_without_an_error_is_reported(tmp_path: Path) -> None:
    data = two_labels()
    write_rows(WorkspaceLayout(tmp_path), data)
    add_run(WorkspaceLayout(tmp_path), data, "perfect", 1.0)
    report = reported(WorkspaceLayout(tmp_path))
    assert "errors" in [section.key for section in report.sections]


def test_rows_without_a_value_are_a_group_that_is_held_out_too(tmp_path: Path) -> None:
    tables = two_labels().splits.items()
    named = {part: replaced(rows, repo=["", "o/a", "o/d"] * 20) for part, rows in tables}
    held, rules = hold_out(task_data(two_labels().task, named), DEFAULT, "repo:each")
    record = ran(tmp_path, held, Remembers().model(), rules)
    assert {part.value: part.examples for part in record.scores_by["repo"].parts} == {
        "(none)": 40,
        "o/a": 40,
        "o/d": 40,
    }


def test_what_another_model_learned_leaks_nothing(tmp_path: Path) -> None:
    data = repeated(1.0)
    apart = {"train": ["o/a"] * 10 + ["o/d"] * 50, "test": ["o/a"] * 60}
    data = task_data(
        data.task, {part: replaced(data.splits[part], repo=repos) for part, repos in apart.items()}
    )
    record = ran(tmp_path, data, "majority", replace(DEFAULT, model_per="repo"))
    assert record.learned_from.train + record.learned_from.validation == 10
    assert record.leaks.text == 10


def test_a_model_a_project_is_described_by_all_of_them(tmp_path: Path) -> None:
    rules = replace(
        DEFAULT,
        model_per="repo",
        settings={"tuned": {"depth": 3}},
        expected={"tuned": {"device": "cpu", "precision": "full"}},
    )

    class Tuned(Remembers):
        def fit(self, context: TrainingContext) -> Remembers:
            first = context.train["repo"][0].as_py() == "octo/gem0"
            context.learning.chosen_on = "" if first else "a part of train"
            context.learning.facts |= {"device": "cpu" if first else "gpu", "precision": "half"}
            return super().fit(context)

    model = Model("tuned", Tuned().fit, {"depth": 3})
    record = ran(tmp_path, two_labels(), model, rules)
    assert record.in_part == ("precision is half, not full", "device is gpu, not cpu, of octo/gem1")
    assert record.learning.chosen_on == "a part of train"
    assert {*record.learning.facts["parts"]} == {"octo/gem0", "octo/gem1"}
