"""Scores of datasets against labels of people."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from goldpan.builders.label_facts import answer_accuracy, label_facts, other_choices
from goldpan.core.errors import DatasetError, UsageError
from goldpan.datasets.gold import read_gold, score_labels
from goldpan.filters.profile import change_settings, load_profile

ANSWERS = """repo,issue,comment_id,half,label
o/r,1,11,dev,answers
o/r,1,12,dev,not
o/r,2,21,test,partly
o/r,3,31,test,answers
o/r,4,41,test,not
o/r,5,51,test,answers
p/q,1,11,test,answers
"""


def gold_file(tmp_path: Path, text: str = ANSWERS) -> Path:
    path = tmp_path / "answers.csv"
    path.write_text(text, encoding="utf-8")
    return path


def rows(tmp_path: Path, *items: tuple[str, int, int]) -> list[Path]:
    path = tmp_path / "rows.parquet"
    names = ("repo", "issue", "answer_comment_id")
    pq.write_table(pa.table([list(values) for values in zip(*items, strict=True)], names), path)
    return [path]


def test_rows_are_scored_where_they_are_labelled(tmp_path: Path) -> None:
    files = rows(tmp_path, ("O/R", 1, 11), ("o/r", 2, 21), ("o/r", 4, 41), ("o/r", 9, 91))
    score = score_labels(files, read_gold(gold_file(tmp_path)))
    assert (score.rows, score.labelled) == (4, 3)
    assert score.labels == {"answers": 1, "partly": 1, "not": 1}
    assert score.right.value == pytest.approx(1 / 3)
    assert score.at_least_partly.value == pytest.approx(2 / 3)
    # Issues 1, 3 and 5 of the repository have a right answer; there is a row for the first.
    assert score.there == 3
    assert score.kept.value == pytest.approx(1 / 3)


def test_one_half(tmp_path: Path) -> None:
    files = rows(tmp_path, ("o/r", 1, 11), ("o/r", 3, 31))
    score = score_labels(files, read_gold(gold_file(tmp_path), "test"))
    assert (score.half, score.labelled, score.right.value) == ("test", 1, 1.0)
    assert score.right.low is not None and score.right.low < 0.3  # one row proves little


def test_what_nobody_labelled_cannot_be_told(tmp_path: Path) -> None:
    score = score_labels(rows(tmp_path, ("x/y", 1, 1)), read_gold(gold_file(tmp_path)))
    assert (score.labelled, score.right.value, score.kept.value) == (0, None, None)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "is empty"),
        ("repo,issue,label\no/r,1,answers\n", "is not a gold set"),
        ("repo,issue,comment_id,label\no/r,one,11,answers\n", "line 2, holds no numbers"),
        (ANSWERS + "o/r,1,11,dev,not\n", "line 9, labels an item twice"),
    ],
)
def test_what_is_no_gold_set_is_refused(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        read_gold(gold_file(tmp_path, text))


def test_a_half_or_a_column_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="has no half 'train'"):
        read_gold(gold_file(tmp_path), "train")
    pairs = gold_file(tmp_path, "repo,issue,pull,label\no/r,1,2,fixes\n")
    with pytest.raises(DatasetError, match="no fix pairs"):
        score_labels(rows(tmp_path, ("o/r", 1, 11)), read_gold(pairs))


def test_the_gold_sets_here_are_whole() -> None:
    folder = Path(__file__).parents[1] / "gold"
    answers, pairs = read_gold(folder / "answers.csv"), read_gold(folder / "pairs.csv")
    assert set(answers.labels.values()) == {"answers", "partly", "not"}
    assert set(pairs.labels.values()) == {"fixes", "partly", "not", "cannot-tell"}
    assert len({item[:2] for item in answers.labels}) == 300 == len(pairs.labels)


DEFAULT = load_profile("default")


def verdict(issue: int, criterion: str, keep: bool | None, value: float | None = None) -> object:
    decides = criterion not in ("answer", "answered")
    return {
        "subject": "issue",
        "issue": issue,
        "criterion": criterion,
        "decides": decides,
        "keep": keep,
        "value": value,
    }


def test_a_share_is_told_only_of_the_choice_that_was_measured() -> None:
    assert "71% [58%, 82%]" in answer_accuracy(DEFAULT, None, ())
    nine = change_settings(DEFAULT, {"answer.least": 9})
    assert "46% [36%, 56%]" in answer_accuracy(nine, None, ())
    ten = change_settings(DEFAULT, {"answer.least": 10})
    looser = change_settings(DEFAULT, {"comment-scale.minimum": 5})
    for told in (
        answer_accuracy(looser, None, ()),
        answer_accuracy(ten, None, ()),
        answer_accuracy(DEFAULT, "all", ()),
        answer_accuracy(DEFAULT, None, ["question-answer"]),
        label_facts(("pair",), load_profile("verified"), "", None, ())[2],
        label_facts(("discussion",), DEFAULT, "the accepted reply", None, ())[2],
    ):
        assert told == ""
    assert "99% [93%, 100%]" in label_facts(("pair",), DEFAULT, "", None, ())[2]


def test_other_thresholds_count_what_all_other_criteria_keep() -> None:
    rows = [
        *(verdict(1, name, True) for name in ("bots", "answered")),
        verdict(1, "answer", True, 12),
        *(verdict(2, name, True) for name in ("bots", "answered")),
        verdict(2, "answer", False, 9),
        verdict(3, "bots", False),
        verdict(3, "answered", True),
        verdict(3, "answer", True, 14),
        verdict(4, "bots", True),
        verdict(4, "answered", False),
        verdict(4, "answer", False, 9),
        verdict(5, "bots", None),
        verdict(5, "answered", True),
        verdict(5, "answer", True, 13),
        verdict(6, "answer", False, None),
    ]
    table = pa.Table.from_pylist(rows)
    for least, line in (
        (12, "  goldpan filter --set answer.least=9 (here 12) gives 2 rows; "),
        (9, "  goldpan filter --set answer.least=12 (here 9) gives 1 row; "),
    ):
        assert [text[: len(line)] for text in other_choices([table], least)] == [line]
