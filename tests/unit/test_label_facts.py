"""What cards and results say of labels: only what was measured for the very choice."""

from __future__ import annotations

import pyarrow as pa

from goldpan.builders.label_facts import answer_accuracy, label_facts, other_choices, rows_by_points
from goldpan.filters.profile import change_settings, load_profile

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
    counts = rows_by_points(pa.Table.from_pylist(rows))
    assert counts == {9: 2, 12: 1}
    (line,) = other_choices(counts, 12)
    assert line.startswith("  2 rows with goldpan filter --set answer.least=9 in place of 12:")
