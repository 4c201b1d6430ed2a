"""Pauses between tries."""

from __future__ import annotations

from goldpan.core.http import Backoff, jittered


def test_pauses_double_up_to_the_longest() -> None:
    pace = Backoff(0.5, 3.0)
    assert [pace.pause(failures) for failures in range(1, 6)] == [0.5, 1.0, 2.0, 3.0, 3.0]


def test_very_many_failures_do_not_overflow() -> None:
    assert Backoff(1.0, 1e9).pause(10_000) == 1024.0


def test_chance_cuts_a_pause_by_at_most_half() -> None:
    pauses = [jittered(10.0) for _ in range(200)]
    assert all(5.0 <= pause <= 10.0 for pause in pauses)
    assert len(set(pauses)) > 100
