"""Scores of datasets against labels of people."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from goldpan.builders.label_facts import BY_REPOSITORY, TIERS, label_accuracy, tier_of
from goldpan.core.errors import DatasetError, UsageError
from goldpan.core.proportions import wilson
from goldpan.datasets.examples import FAMILIES
from goldpan.datasets.gold import read_gold, score_labels
from goldpan.filters.profile import Profile, change_settings, load_profile
from tests.gold import by_repository

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


def test_rows_are_scored_where_they_are_labeled(tmp_path: Path) -> None:
    files = rows(tmp_path, ("O/R", 1, 11), ("o/r", 2, 21), ("o/r", 4, 41), ("o/r", 9, 91))
    score = score_labels(files, read_gold(gold_file(tmp_path)))
    assert (score.rows, score.labeled) == (4, 3)
    assert score.labels == {"answers": 1, "partly": 1, "not": 1}
    assert score.right.value == pytest.approx(1 / 3)
    assert score.at_least_partly.value == pytest.approx(2 / 3)
    # Issues 1, 3 and 5 of the repository have a right answer; there is a row for the first.
    assert score.there == 3
    assert score.kept.value == pytest.approx(1 / 3)


def test_what_nobody_labeled_cannot_be_told(tmp_path: Path) -> None:
    score = score_labels(rows(tmp_path, ("x/y", 1, 1)), read_gold(gold_file(tmp_path)))
    assert (score.labeled, score.right.value, score.kept.value) == (0, None, None)


def test_a_gold_set_is_read_as_spreadsheets_and_pandas_write_it(tmp_path: Path) -> None:
    text = "sep=;\nrepo;issue;comment_id;label\n o/r;1.0;11.0; Answers\n"
    gold = read_gold(gold_file(tmp_path, text))
    assert gold.labels == {("o/r", 1, 11): "answers"}


def test_a_reader_may_be_a_number_and_is_somebody(tmp_path: Path) -> None:
    path = tmp_path / "gold.jsonl"
    row = {"repo": "o/r", "issue": 1, "comment_id": 11, "label": "not", "seed": 0, "sample": 9}
    path.write_text(json.dumps(row | {"reader": 7}))
    assert [each.reader for each in read_gold(path).judgments] == ["7"]
    path.write_text(json.dumps(row | {"reader": None}))
    with pytest.raises(UsageError, match="line 2, is no judgment"):
        read_gold(path)


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


def test_a_column_that_is_not_there(tmp_path: Path) -> None:
    pairs = gold_file(tmp_path, "repo,issue,pull,label\no/r,1,2,fixes\n")
    with pytest.raises(DatasetError, match="no fix pairs"):
        score_labels(rows(tmp_path, ("o/r", 1, 11)), read_gold(pairs))


def test_the_gold_sets_here_are_whole() -> None:
    folder = Path(__file__).parents[1] / "gold"
    answers, pairs = read_gold(folder / "answers.csv"), read_gold(folder / "pairs.csv")
    assert set(answers.labels.values()) == {"answers", "partly", "not"}
    assert set(pairs.labels.values()) == {"fixes", "partly", "not", "cannot-tell"}
    assert len({item[:2] for item in answers.labels}) == 300 == len(pairs.labels)


def test_the_tiers_of_answers_are_those_of_the_gold_set() -> None:
    rows = by_repository.read_rows(by_repository.read_gold())
    counted = by_repository.counted_by_tier(rows)
    assert [(counted[tier.name][0], counted[tier.name][2]) for tier in TIERS] == [
        (tier.whole, tier.rows) for tier in TIERS
    ]
    of_repository: dict[str, list[bool]] = {}
    for row in rows:
        if row.random:
            of_repository.setdefault(row.repo, []).append(row.label == "answers")
    shares = [sum(whole) / len(whole) for whole in of_repository.values() if len(whole) >= 10]
    assert (round(min(shares), 2), round(max(shares), 2)) == BY_REPOSITORY
    assert [tier.name for tier in TIERS] == sorted(tier.name for tier in TIERS)
    told = FAMILIES["qa"].column("answer_tier").description
    assert all(wilson(tier.whole, tier.rows).short() in told for tier in TIERS)
    assert tier_of(12) == "likely" and tier_of(9) == "possible" and tier_of(8) is tier_of(None)


DEFAULT = load_profile("default")


def test_a_share_is_told_only_of_the_choice_that_was_measured() -> None:
    mix = {"likely": 1, "possible": 9}

    def told(profile: Profile, chosen: str | None = None, *reviews: str) -> str:
        return label_accuracy(("issue",), profile, chosen, reviews, mix)

    assert "1 likely (12 points or more; 70% [56%, 81%] complete)" in told(DEFAULT)
    assert "9 possible (9 to 11 points; 39% [28%, 51%] complete)" in told(DEFAULT)
    assert told(DEFAULT, "likely")
    ten = change_settings(DEFAULT, {"answer.least": 10})
    looser = change_settings(DEFAULT, {"comment-scale.minimum": 5})
    for unread in (
        told(looser),
        told(ten),
        told(DEFAULT, "all"),
        told(DEFAULT, None, "question-answer"),
        label_accuracy(("pair",), load_profile("verified"), None, (), {}),
        label_accuracy(("discussion",), DEFAULT, None, (), {}),
    ):
        assert unread == ""
    assert "99% [93%, 100%]" in label_accuracy(("pair",), DEFAULT, None, (), {})
