"""Sentences that call an issue a duplicate, and those that only look so."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldpan.filters.issues.redundancy import find_claims

REPO = "Octo/Gem"


@pytest.mark.parametrize(
    "text",
    [
        "Duplicate of #2",
        "duplicate of #2.",
        "**Duplicate of #2**",
        "Duplicate of octo/gem#2",
        "Duplicate of other/repo#1",
        "Duplicate of https://github.com/octo/gem/issues/2",
        "Duplicate of: #2",
        "Thanks!\n\nDuplicate of #2",
        "This is a duplicate of GH-2.",
        "dupe of #2",
        "Dup of #2",
        "dup #2",
        "This duplicates #2.",
        "duplicate of [this one](https://github.com/octo/gem/issues/2)",
        "Same as #2",
        "That's the same issue as #2, closing.",
        "Already reported in #2",
        "This was already reported as #2.",
        "Closing as a duplicate.",
        "Closing in favor of #2.",
        "I'll close this one in favour of #2",
        "Superseded by #2, let us go on there",
        "This is tracked in #2.",
        "Already answered in #2",
        "Closing this as dupe, thanks",
        "I think this is a duplicate of #2",
        "It is not clear at first. This is a duplicate of #2.",
        "Closed #1 as a duplicate of #2",
        "> Not a duplicate of #7\n\nNo, this is a duplicate of #2",
    ],
)
def test_claims(text: str) -> None:
    assert [claim.guess for claim in find_claims(text, "Octo/Gem", 1)][:1] == [False]


@pytest.mark.parametrize(
    "text",
    [
        "Possibly a duplicate of #2",
        "Might be a dupe of #2",
        "Is this a duplicate of #2?",
        "This looks like a duplicate of #2",
    ],
)
def test_guesses(text: str) -> None:
    assert [claim.guess for claim in find_claims(text, "Octo/Gem", 1)] == [True]


@pytest.mark.parametrize(
    "text",
    [
        "This is not a duplicate of #2",
        "It isn't a duplicate of #2.",
        "I don't think this is a duplicate of #2",
        "> Duplicate of #2",
        "`Duplicate of #2`",
        "```\nDuplicate of #2\n```",
        "    Duplicate of #2",
        "<!-- Duplicate of #2 -->",
        "#15 is a duplicate of #2",
        "Closing #15 as a duplicate of #2",
        "#15 (duplicate of #2)",
        "Closed #15 as a duplicate",
        "Duplicate of #1",
        "#15 is a duplicate of #1",
        "Duplicated by #2",
        "Duplicate of #",
        "Duplicate of the other one",
        "We should not duplicate code. See #2.",
        "Duplicate key error in #2",
        "The same as before, see #2",
        "Not closing as a duplicate",
        "deduplicate #2",
        "The larger topic is tracked in #2",
        "Closing #15 in favor of #2",
        "The reporter tried the same as I did in #2",
        "",
    ],
)
def test_no_claims(text: str) -> None:
    assert list(find_claims(text, "Octo/Gem", 1)) == []


def test_claims_in_titles() -> None:
    assert [c.marker for c in find_claims("[Duplicate] Leak", REPO, 1, title=True)] == [False]
    assert len(list(find_claims("Leak (duplicate of #2)", REPO, 1, title=True))) == 1
    assert list(find_claims("Duplicate key", REPO, 1, title=True)) == []


@given(st.text(alphabet="dupe of#12 \n>`*[]()s.?", max_size=60))
def test_claims_name_another_issue(text: str) -> None:
    """So a text without the number of another issue claims nothing."""
    for claim in find_claims(text, REPO, 1):
        assert "#2" in text or "#1" in text
        assert claim.excerpt
