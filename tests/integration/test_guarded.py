"""Hostile files cost themselves alone."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from goldpan.core.parallel.workers import _AHEAD, Failed, map_in_sandbox
from goldpan.papers.nlbse.comment_extract import CommentSource, FileRead, read_file
from tests.engine_work import die_at_three, double
from tests.processes import workers

EASY = CommentSource("a.py", b'class A:\n    """Holds."""\n')
HARD = CommentSource("a.py", b"(" * 400_000)
HUNGRY = CommentSource("a.cs", b"a<b<" * 250_000)


@pytest.mark.parametrize("workers", [1, 3])
def test_results_come_in_order(workers: int) -> None:
    assert list(map_in_sandbox(double, range(20), workers, 20.0)) == [2 * n for n in range(20)]


def test_a_hard_file_is_given_up_and_the_rest_goes_on() -> None:
    results = list(map_in_sandbox(read_file, [EASY, HARD, EASY], 2, 0.5))
    assert results[1] == Failed("timeout")
    assert results[0] == results[2]
    assert isinstance(results[0], FileRead)


@pytest.mark.nightly
def test_a_file_that_takes_too_much_memory_is_given_up() -> None:
    results = list(map_in_sandbox(read_file, [HUNGRY, EASY], 1, 60.0))
    assert isinstance(results[0], Failed)
    assert isinstance(results[1], FileRead)


def test_a_process_that_dies_costs_one_result() -> None:
    results = list(map_in_sandbox(die_at_three, range(5), 2, 20.0))
    assert results == [0, 1, 2, Failed("crash"), 4]


def test_nothing_is_read_far_ahead() -> None:
    drawn = 0

    def numbers() -> Iterator[int]:
        nonlocal drawn
        for number in range(5 * _AHEAD):
            drawn += 1
            yield number

    results = map_in_sandbox(double, numbers(), 2, 20.0)
    next(results)
    assert drawn < 2 * _AHEAD
    results.close()  # type: ignore[attr-defined]
    assert workers() == []


def test_what_needs_no_process_starts_none() -> None:
    results = map_in_sandbox(double, range(5), 2, 20.0, at_once=lambda number: -number or None)
    assert next(results) == 0
    assert len(workers()) == 1
    assert list(results) == [-1, -2, -3, -4]
    assert list(map_in_sandbox(die_at_three, [3, 3], 1, 1.0, at_once=lambda number: number)) == [
        3,
        3,
    ]
    assert workers() == []


def test_nothing_gives_nothing() -> None:
    assert list(map_in_sandbox(double, [], 2, 1.0)) == []
