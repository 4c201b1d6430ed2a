"""What mining many repositories costs: asked at once under one limiter, told in their order."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from goldpan.core.errors import RepositoryError, UsageError
from goldpan.miners.github.cost import CostEstimate
from goldpan.miners.mine_many import predict_many
from tests.mining import PACE, SOFT, Notes, predict, twin_settings
from tests.planning import run, write_plan
from tests.twin import Twin, mills_world
from tests.twin.transport import Received, Reply

COUNT = 6
MILLS = [f"workload/mill-{index}" for index in range(COUNT)]
_ALONE = 12
"""Requests after which the client has seen enough good answers to send two at a time."""
_FREE = re.compile(r"; .* are free")
"""What a dry run says of the disk, on which others write meanwhile."""


class Meeting(Twin):
    """A GitHub that once answers a request only when another one is under way, too."""

    def __init__(self) -> None:
        super().__init__(mills_world(COUNT, issues=4, pulls=3), limits=SOFT)
        self.met = False
        self._barrier = threading.Barrier(2, timeout=90)

    def _serve(self, received: Received) -> Reply:
        if self.count >= _ALONE and not self.met:
            try:
                self._barrier.wait()
                self.met = True
            except threading.BrokenBarrierError:
                pass
        return super()._serve(received)


@pytest.fixture(scope="module")
def twin() -> Iterator[Twin]:
    with Twin(mills_world(COUNT, issues=4, pulls=3), limits=SOFT) as twin:
        yield twin


def test_a_dry_run_of_a_plan_asks_of_several_at_once(tmp_path: Path) -> None:
    """With as many requests, and the bytes, of asking of one after another."""
    listed = ", ".join(f'"{name}"' for name in reversed(MILLS))
    plan = f"[repositories]\nlisted = [{listed}]\n[clone]\nenabled = false\n[mine]\nat-once = %d\n"
    with Meeting() as meeting:
        write_plan(tmp_path, plan % 1)
        meeting.met = True  # nobody else is waited for
        alone = [run(meeting, tmp_path, "--dry-run", *form) for form in ((), ("--json",))]
        requests = meeting.count
        assert requests % (2 * COUNT) == 0
        write_plan(tmp_path, plan % 4)
        meeting.requests.clear()
        meeting.met = False
        together = [run(meeting, tmp_path, "--dry-run", *form) for form in ((), ("--json",))]
        assert meeting.met, "two requests were never under way together"
        assert meeting.count == requests
    for before, now in zip(alone, together, strict=True):
        assert (before.code, now.code) == (0, 0), before.err + now.err
        assert _FREE.sub("", now.out) == _FREE.sub("", before.out)
    units = [line for line in now.out.splitlines() if '"unit": "mine/' in line]
    assert [line.split('"')[3].removeprefix("mine/") for line in units] == MILLS[::-1]
    assert not (tmp_path / "lab" / "raw").exists()


def test_no_more_requests_are_under_way_than_of_one(tmp_path: Path) -> None:
    limits = replace(SOFT, concurrency=2)  # refuses a third at once
    with Twin(mills_world(COUNT, issues=4, pulls=3), limits=limits) as twin:
        settings = twin_settings(twin, tmp_path, "graphql", concurrency=2, at_once=COUNT)
        predicted = predict_many(settings, MILLS, Notes(), PACE)
        assert {request.status for request in twin.requests} == {200}
    assert list(predicted) == MILLS


def test_each_is_what_it_is_alone_and_none_stops_the_others(twin: Twin, tmp_path: Path) -> None:
    settings = twin_settings(twin, tmp_path, "graphql", at_once=3)
    names = [MILLS[2], "workload/gone", MILLS[0], MILLS[2]]
    predicted = predict_many(settings, names, Notes(), PACE)
    assert list(predicted) == names[:3]
    assert isinstance(predicted["workload/gone"], RepositoryError)
    for name in (MILLS[0], MILLS[2]):
        answer = predicted[name]
        assert isinstance(answer, CostEstimate)
        assert answer == predict(settings, name, Notes(), PACE)


def test_settings_that_cannot_work_are_told_before_anything_is_asked(
    twin: Twin, tmp_path: Path
) -> None:
    twin.requests.clear()
    with pytest.raises(UsageError, match="without a token"):
        predict_many(twin_settings(twin, tmp_path, "graphql", tokens=()), MILLS, Notes(), PACE)
    assert not twin.count
