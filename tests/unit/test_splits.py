from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from fractions import Fraction
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldpan.core.errors import DatasetError, UsageError
from goldpan.datasets.splits import SplitCandidate, SplitPlan, Splits, assign_splits

START = datetime(2020, 1, 1, tzinfo=UTC)
CUTS = (START + timedelta(days=10), START + timedelta(days=20))


def row(number: int, group: str = "", repo: str = "o/n", day: int = 0) -> SplitCandidate:
    name = f"qa:{repo}#{number}"
    return SplitCandidate(name, group or name, repo, START + timedelta(days=day))


CANDIDATES = st.lists(
    st.builds(
        row,
        st.integers(1, 10**6),
        st.sampled_from(["", "", "a", "b", "c"]),
        st.sampled_from(["o/n", "o/m", "p/q", "O/N"]),
        st.integers(0, 30),
    ),
    max_size=25,
    unique_by=lambda candidate: candidate.id.lower(),
)
SHARES = st.sampled_from(["0.8,0.1,0.1", "0.5,0.5", "1/3,1/3,1/3", "0.01,0.99"])
PLANS = st.one_of(
    st.builds(
        lambda kind, shares, seed: SplitPlan.parse(f"{kind}:{shares}", seed),
        st.sampled_from(["random", "repository"]),
        SHARES,
        st.integers(0, 5),
    ),
    st.sampled_from([SplitPlan("time", cuts=CUTS[:1]), SplitPlan("time", cuts=CUTS), SplitPlan()]),
)


def sides(rows: list[SplitCandidate], plan: SplitPlan) -> dict[str, str | None]:
    names = assign_splits(rows, plan).names
    return {candidate.id: name for candidate, name in zip(rows, names, strict=True)}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("none", ("test",)),
        ("random:0.8,0.1,0.1", ("train", "validation", "test")),
        ("random:0.75, 0.25", ("train", "test")),
        ("random:1/3,1/3,1/3", ("train", "validation", "test")),
        ("repository:0.8,0.2", ("train", "test")),
        ("time:2023-01-01", ("train", "test")),
        ("time:2023-01-01,2024-01-01T12:00:00+00:00", ("train", "validation", "test")),
    ],
)
def test_plans_are_read_and_written(text: str, names: tuple[str, ...]) -> None:
    plan = SplitPlan.parse(text, seed=7)
    assert plan.names == names
    assert str(plan) == text.replace(" ", "")
    assert SplitPlan.parse(str(plan), seed=7) == plan


def test_dates_are_utc() -> None:
    zone = timezone(timedelta(hours=5))
    plan = SplitPlan.parse("time:2023-01-01T05:00:00+05:00")
    assert plan.cuts == (datetime(2023, 1, 1, tzinfo=UTC),)
    assert plan.cuts == (datetime(2023, 1, 1, 5, tzinfo=zone),)
    assert SplitPlan.parse("random:0.1,0.2,0.7").shares[2] == Fraction(7, 10)


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("", "not a way to split"),
        ("random", "not a way to split"),
        ("random:1", "not a way to split"),
        ("random:0.2,0.2,0.2,0.4", "not a way to split"),
        ("clustered:0.5,0.5", "not a way to split"),
        ("stratified:1", "not a way to split"),
        ("time:2020-01-01,2021-01-01,2022-01-01", "not a way to split"),
        ("random:0.5,x", "not numbers"),
        ("random:1/0,0.5", "not numbers"),
        ("random:0.5,0.6", "sum of 1"),
        ("random:1.5,-0.5", "above 0"),
        ("random:0,1", "above 0"),
        ("time:2023-02-30", "not dates"),
        ("time:0001-01-01T00:00:00+05:00", "not dates"),
        ("time:2024-01-01,2023-01-01", "do not rise"),
    ],
)
def test_wrong_plans_are_refused(text: str, cause: str) -> None:
    with pytest.raises(UsageError, match=cause):
        SplitPlan.parse(text)


@given(CANDIDATES, PLANS, st.randoms(use_true_random=False))
def test_every_row_is_counted_and_no_group_is_on_two_sides_in_any_order(
    rows: list[SplitCandidate], plan: SplitPlan, random: Random
) -> None:
    splits = assign_splits(rows, plan)
    shuffled = list(rows)
    random.shuffle(shuffled)
    assert sides(rows, plan) == sides(shuffled, plan)
    assert splits.report == assign_splits(shuffled, plan).report
    sides_of: defaultdict[str, set[str]] = defaultdict(set)
    for candidate, name in zip(rows, splits.names, strict=True):
        if name:
            sides_of[candidate.group].add(name)
    assert set(sides_of) == {candidate.group for candidate in rows}
    assert all(len(names) == 1 for names in sides_of.values())
    report = splits.report
    assert report.rows == {name: splits.names.count(name) for name in plan.names}
    assert list(report.rows) == list(plan.names)
    assert report.dropped == splits.names.count(None) == len(rows) - sum(report.rows.values())
    assert report.groups == len(sides_of)
    assert (report.straddling == 0) == (report.dropped == 0)


@given(CANDIDATES, st.sampled_from([CUTS[:1], CUTS]))
def test_time_separates(rows: list[SplitCandidate], cuts: tuple[datetime, ...]) -> None:
    plan = SplitPlan("time", cuts=cuts)
    spans = dict(zip(plan.names, zip((None, *cuts), (*cuts, None), strict=True), strict=True))
    earliest = {
        group: min(
            candidate.moment for candidate in rows if candidate.group == group and candidate.moment
        )
        for group in {candidate.group for candidate in rows}
    }
    for candidate in rows:
        name = sides(rows, plan)[candidate.id]
        moment = candidate.moment if name else earliest[candidate.group]
        assert moment is not None
        first, end = next(
            span for side, span in spans.items() if name in (None, side) and _in(moment, span)
        )
        if name is None:
            assert not _in(candidate.moment, (first, end))


def _in(moment: datetime | None, span: tuple[datetime | None, datetime | None]) -> bool:
    first, end = span
    return moment is not None and (not first or moment >= first) and (not end or moment < end)


@given(CANDIDATES, SHARES)
def test_a_repository_is_whole(rows: list[SplitCandidate], shares: str) -> None:
    sides_of: defaultdict[str, set[str | None]] = defaultdict(set)
    for candidate, name in zip(rows, _repository(rows, shares).names, strict=True):
        sides_of[candidate.repo.lower()].add(name)
    assert all(len(names - {None}) <= 1 for names in sides_of.values())


@given(CANDIDATES, SHARES)
def test_repositories_without_shared_groups_lose_nothing(
    rows: list[SplitCandidate], shares: str
) -> None:
    apart = [
        replace(candidate, group=f"{candidate.repo.lower()} {candidate.group}")
        for candidate in rows
    ]
    assert None not in _repository(apart, shares).names


def _repository(rows: list[SplitCandidate], shares: str) -> Splits:
    return assign_splits(rows, SplitPlan.parse(f"repository:{shares}"))


@given(CANDIDATES, CANDIDATES, SHARES, st.integers(0, 3))
def test_other_rows_do_not_move_a_row_drawn_at_random(
    rows: list[SplitCandidate], others: list[SplitCandidate], shares: str, seed: int
) -> None:
    plan = SplitPlan.parse(f"random:{shares}", seed)
    ids = {candidate.id for candidate in rows}
    together = [*rows, *(candidate for candidate in others if candidate.id not in ids)]
    assert sides(together, plan).items() >= sides(rows, plan).items()
    assert None not in sides(together, plan).values()


def test_shares_are_met_and_seeds_differ() -> None:
    rows = [row(number) for number in range(20_000)]
    plan = SplitPlan.parse("random:0.8,0.1,0.1", seed=1)
    counts = assign_splits(rows, plan).report.rows
    assert counts["train"] == pytest.approx(16_000, rel=0.02)
    assert counts["test"] == pytest.approx(2_000, rel=0.1)
    other = assign_splits(rows, replace(plan, seed=2))
    assert assign_splits(rows, plan).names != other.names


def test_what_a_seed_draws_stays_from_version_to_version() -> None:
    rows = [row(number) for number in range(12)]
    plan = SplitPlan.parse("random:0.5,0.5", seed=0)
    drawn = "".join((name or "-")[1] for name in assign_splits(rows, plan).names)
    assert drawn == "rrereereerrr"


def test_later_near_duplicates_are_dropped() -> None:
    rows = [
        row(1, "a", day=1),
        row(2, "a", day=15),
        row(3, "a", day=25),
        row(4, "b", day=15),
        row(5, "b", day=16),
        row(6, day=20),
    ]
    splits = assign_splits(rows, SplitPlan("time", cuts=CUTS))
    assert splits.names == ("train", None, None, "validation", "validation", "test")
    assert (splits.report.straddling, splits.report.dropped) == (1, 2)


def test_a_fork_goes_with_the_earlier_repository() -> None:
    plan = SplitPlan.parse("repository:0.5,0.5")
    repos = [f"owner/repository-{number}" for number in range(20)]
    by_side = {assign_splits([row(1, repo=repo)], plan).names[0]: repo for repo in repos}
    first, second = by_side["train"], by_side["test"]
    rows = [row(1, "a", second, day=1), row(1, "a", first, day=2), row(2, "", first, day=0)]
    assert assign_splits(rows, plan).names == ("test", None, "train")


def test_a_row_without_a_time_cannot_be_split_by_time() -> None:
    timeless = replace(row(1), moment=None)
    with pytest.raises(DatasetError, match="qa:o/n#1 has no time"):
        assign_splits([row(2), timeless], SplitPlan("time", cuts=CUTS))
    assert assign_splits([row(2), timeless], SplitPlan()).names == ("test", "test")
    assert assign_splits([], SplitPlan()).report.rows == {"test": 0}


LABELS = st.lists(st.sampled_from("abc"), min_size=1, max_size=80)
MANY = st.lists(st.sets(st.sampled_from("abcd")), min_size=1, max_size=80)


def stratified_rows(labels: Sequence[tuple[str, ...]]) -> list[SplitCandidate]:
    return [
        SplitCandidate(f"r{number}", f"r{number}", "", None, stratum=stratum)
        for number, stratum in enumerate(labels)
    ]


def drawn_sides(rows: list[SplitCandidate], plan: str, seed: int = 0) -> dict[str, str | None]:
    return sides(rows, SplitPlan.parse(plan, seed))


@given(LABELS, st.integers(0, 5))
def test_every_label_has_its_share(labels: list[str], seed: int) -> None:
    candidates = stratified_rows([(label,) for label in labels])
    assigned = drawn_sides(candidates, "stratified:0.8,0.2", seed)
    assert None not in assigned.values()
    for label, count in Counter(labels).items():
        test = sum(assigned[row.id] == "test" for row in candidates if row.stratum == (label,))
        assert abs(test - 0.2 * count) < 1


@given(MANY)
def test_every_label_of_several_is_near_its_share(labels: list[set[str]]) -> None:
    candidates = stratified_rows([tuple(sorted(labels_of_row)) for labels_of_row in labels])
    assigned = drawn_sides(candidates, "stratified:0.5,0.25,0.25")
    for label in {label for names in labels for label in names}:
        mine = [row for row in candidates if label in row.stratum]
        test = sum(assigned[row.id] == "test" for row in mine)
        # Labels pull at each other: no method keeps all shares exactly.
        assert abs(test - 0.25 * len(mine)) <= 2 + 0.15 * len(mine)


@given(MANY, st.randoms(use_true_random=False))
def test_the_order_of_rows_changes_no_stratified_split(
    labels: list[set[str]], random: Random
) -> None:
    candidates = stratified_rows([tuple(sorted(names)) for names in labels])
    assigned = drawn_sides(candidates, "stratified:0.8,0.2", 3)
    random.shuffle(candidates)
    assert drawn_sides(candidates, "stratified:0.8,0.2", 3) == assigned


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 9)), min_size=1, max_size=60))
def test_groups_stay_together_and_nothing_is_dropped(pairs: list[tuple[str, int]]) -> None:
    candidates = [
        SplitCandidate(f"r{number}", f"g{group}", "", None, stratum=(label,))
        for number, (label, group) in enumerate(pairs)
    ]
    assigned = drawn_sides(candidates, "stratified:0.7,0.3")
    for group in {row.group for row in candidates}:
        assert len({assigned[row.id] for row in candidates if row.group == group}) == 1
    assert None not in assigned.values()


def test_the_official_split_is_taken_as_it_is() -> None:
    candidates = [
        SplitCandidate("a", "same", "", None, partition="train"),
        SplitCandidate("b", "same", "", None, partition="test"),
        SplitCandidate("c", "c", "", None, partition="validation"),
    ]
    splits = assign_splits(candidates, SplitPlan.parse("given"))
    assert splits.names == ("train", "test", "validation")
    assert splits.report.rows == {"train": 1, "validation": 1, "test": 1}
    assert (splits.report.straddling, splits.report.dropped) == (1, 0)


def test_a_row_without_official_split_has_no_side() -> None:
    for partition in (None, "dev"):
        candidate = SplitCandidate("x", "x", "", None, partition=partition)
        with pytest.raises(DatasetError, match="x has no official split"):
            assign_splits([candidate], SplitPlan.parse("given"))


def test_a_project_without_rows_cannot_be_tested_on() -> None:
    rows = [row(1), row(2, repo="o/m")]
    assert sides(rows, SplitPlan.parse("project:O/M,no/pe")) == {
        "qa:o/n#1": "train",
        "qa:o/m#2": "test",
    }
    with pytest.raises(DatasetError, match=r"No row belongs to no/pe.*such as o/m, o/n"):
        assign_splits(rows, SplitPlan.parse("project:no/pe"))
