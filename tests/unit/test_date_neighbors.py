"""What dates alone tell of labels, and what they do not."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest

from goldpan.datasets.tasks.leakage import DateSignal, date_signal
from goldpan.datasets.tasks.registry import find_task
from goldpan.datasets.tasks.task import Task
from tests.evaluating import rows

START = datetime(2020, 1, 1, tzinfo=UTC)
LABELS = ("bug", "feature", "question")
Row = tuple[str, float | None, str]
"""A project, days since the start, a label."""


def table(task: Task, facts: Sequence[Row]) -> pa.Table:
    texts = rows(task, [("a text", label) for *_, label in facts])
    moments = [None if days is None else START + timedelta(days=days) for _, days, _ in facts]
    for name, values in (("repo", [project for project, *_ in facts]), ("created_at", moments)):
        at = texts.schema.get_field_index(name)
        texts = texts.set_column(at, name, pa.array(values, texts.schema.field(name).type))
    return texts


def signal(facts: Sequence[Row], task: str = "nlbse24_issue_type") -> DateSignal | None:
    return date_signal(find_task(task), table(find_task(task), facts).to_batches())


def test_labels_of_different_years_are_told_by_date() -> None:
    facts = [("o/r", 400 * index + day, LABELS[index]) for index in range(3) for day in range(50)]
    random.Random(0).shuffle(facts)
    measured = signal(facts)
    assert measured is not None
    assert (measured.rows, measured.majority) == (150, 50)
    assert measured.right >= 146, "only texts beside a border have other neighbors"
    told = f"the label of {measured.right / 150:.1%} of 150 train rows (33.3%"
    assert told in measured.sentence()


@pytest.mark.parametrize("shares", [(1, 1, 1), (8, 1, 1), (5, 5, 0)])
def test_labels_that_no_date_tells_are_not_called_so(shares: tuple[int, ...]) -> None:
    for seed in range(40):
        draw = random.Random(seed)
        facts = [
            (f"o/{draw.randrange(2)}", draw.random() * 900, draw.choices(LABELS, shares)[0])
            for _ in range(draw.choice((80, 300, 700)))
        ]
        measured = signal(facts)
        assert measured is not None
        assert not measured.sentence(), (seed, measured)


def test_projects_of_different_years_and_labels_tell_nothing_within_a_project() -> None:
    draw = random.Random(0)
    shares = {"o/old": (9, 1, 0), "o/new": (0, 1, 9)}
    starts = {"o/old": 0, "o/new": 3_000}
    facts = [
        (name, starts[name] + draw.random() * 900, draw.choices(LABELS, odds)[0])
        for name, odds in shares.items()
        for _ in range(300)
    ]
    measured = signal(facts)
    assert measured is not None
    assert not measured.notable


def test_texts_of_one_moment_count_once() -> None:
    """Sentences of a document have its date, and often its label."""
    facts = [("o/r", index // 10, LABELS[index // 10 % 3]) for index in range(600)]
    measured = signal(facts)
    assert measured is not None
    assert measured.rows == 60
    assert not measured.notable


def test_where_dates_are_too_few_nothing_is_measured() -> None:
    assert signal([("o/r", None, "bug")] * 90) is None
    assert signal([("o/r", day, LABELS[day % 3]) for day in range(29)]) is None
    assert signal([]) is None
    task = find_task("story_points")
    assert date_signal(task, rows(task, [("a text", 1.0)] * 40).to_batches()) is None


def test_the_order_of_rows_changes_nothing() -> None:
    facts = [("o/r", day // 2, LABELS[day * 7 % 5 % 3]) for day in range(200)]
    task = find_task("nlbse24_issue_type")
    texts = table(task, facts)
    turned = texts.take(list(reversed(range(len(texts)))))
    assert date_signal(task, texts.to_batches()) == date_signal(task, turned.to_batches())
