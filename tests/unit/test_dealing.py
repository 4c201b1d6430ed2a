"""Which repositories get a process of their own."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from goldpan.miners.tables.normalize import deal


def test_the_largest_come_first() -> None:
    assert deal({"a/b": 3, "a/c": 5, "a/d": 4}, 2, worth=1) == ["a/c", "a/d", "a/b"]


def test_what_is_larger_than_a_share_is_left_to_all_processes() -> None:
    assert deal({"a/huge": 90, "a/b": 5, "a/c": 4}, 2, worth=1) == ["a/b", "a/c"]


def test_little_work_stays_in_this_process() -> None:
    sizes = {"a/b": 3, "a/c": 5}
    assert deal(sizes, 2, worth=9) == deal(sizes, 1, worth=1) == deal({"a/b": 3}, 2, worth=1) == []
    assert deal({}, 2, worth=1) == []


@given(
    st.dictionaries(st.text(max_size=3), st.integers(0, 100), max_size=6),
    st.integers(1, 4),
    st.integers(0, 200),
)
def test_only_known_units_are_dealt_each_once(
    sizes: dict[str, int], processes: int, worth: int
) -> None:
    dealt = deal(sizes, processes, worth)
    assert len(dealt) == len(set(dealt)) and set(dealt) <= set(sizes)
    assert len(dealt) != 1
