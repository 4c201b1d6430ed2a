"""Funnels of repositories add up to the funnel over all of them."""

from __future__ import annotations

from itertools import product

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from goldpan.core.schemas import VERDICTS
from goldpan.filters.funnel import count_funnel, sum_funnels
from tests.drawing import examples

DECIDE = ("length", "people")
CRITERIA = (*DECIDE, "age")
KEEPS = st.sampled_from([True, False, None])
REPOSITORIES = st.lists(
    st.lists(st.tuples(KEEPS, KEEPS, KEEPS), max_size=4), min_size=1, max_size=4
)


def verdicts(repo: str, subjects: list[tuple[bool | None, ...]]) -> pa.Table:
    rows = [
        {
            "repo": repo,
            "subject": "issue",
            "issue": number,
            "criterion": criterion,
            "decides": criterion in DECIDE,
            "keep": keep,
            "reason": None if keep else f"{criterion}-{number % 2}",
        }
        for number, keeps in enumerate(subjects)
        for criterion, keep in zip(CRITERIA, keeps, strict=True)
    ]
    return pa.Table.from_pylist(rows, schema=VERDICTS.schema)


@examples(30)
@given(REPOSITORIES)
def test_sums_are_the_counts_over_all(subjects: list[list[tuple[bool | None, ...]]]) -> None:
    tables = [verdicts(f"o/{number}", rows) for number, rows in enumerate(subjects)]
    whole = count_funnel(pa.concat_tables(tables), "issue", DECIDE)
    own = [count_funnel(table, "issue", DECIDE) for table in tables]
    assert sum_funnels(own, DECIDE) == whole


def test_a_criterion_that_some_did_not_ask_takes_nothing_out_of_theirs() -> None:
    table = verdicts("o/1", list(product([True, False], repeat=3)))
    other = verdicts("o/2", [(True, False, None), (False, True, None)])
    partly = other.filter(pa.compute.not_equal(other["criterion"], "people"))
    whole = count_funnel(pa.concat_tables([table, partly]), "issue", DECIDE)
    own = [count_funnel(part, "issue", DECIDE) for part in (table, partly)]
    assert sum_funnels(own, DECIDE) == whole
