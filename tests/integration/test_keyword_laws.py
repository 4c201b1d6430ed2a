"""What holds for closing keywords in any text, hostile ones included."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldpan.text.keywords import closing_keywords, find_closing_keywords, find_mentions, may_close
from goldpan.text.markdown import blocks
from tests.drawing import examples, texts
from tests.unit.test_keywords import URL, WORDS, short

REFERENCES = [("#7", None), ("GH-7", None), ("gh-7", None), ("o-x/r.y#7", "o-x/r.y")]
REFERENCES += [(f"https://github.com/o/r/{kind}/7", "o/r") for kind in ("issues", "pull", "pulls")]


@given(
    st.sampled_from(["", "a ", "(", "- ", "* [ ] ", "## ", "a\n", "**", "x-", '"', "text.\n\n"]),
    st.sampled_from(WORDS).flatmap(
        lambda word: st.sampled_from([word, word.title(), word.upper()])
    ),
    st.sampled_from([" ", ": ", ":", "\n", "  ", " \n", ":\t"]),
    st.sampled_from(REFERENCES),
    st.sampled_from(["", ".", ",", ")", "**", "\n", " b", "\n\nb", "!", '"', "'s"]),
)
def test_round_trip(
    before: str, word: str, gap: str, reference: tuple[str, str | None], after: str
) -> None:
    if "#" in before and "\n" in gap:
        return  # a heading ends with its line
    written, repo = reference
    assert short(before + word + gap + written + after) == [(word.lower(), repo, 7)]


SIGNS = "fix es fixes closed RESOLVE : #1 gh GH-2 o/r#3 / - . [a] &#35; &num; &#x66; &nbsp; &colon;"
PIECES = (
    *SIGNS.split(),
    *(URL, f"]({URL})", f'<a href="{URL}">', f"[a]: {URL}\n", "&sol;", "&#49;", "&NewLine;"),
    *("\u2028", "\ufeff", "ﬁ", "K", "ſ", "https", "://"),
)
TEXT = texts(*PIECES, most=14)
FEW = st.lists(st.sampled_from(PIECES), max_size=3).map("".join)
GAPS = [" ", ": ", "\n", "&nbsp;", "&colon;", "** **", " <b>", " <!-- -->", "](x) ", "\\\n", " ["]
NEAR = st.tuples(
    st.sampled_from(["", "a ", "- "]) | FEW,
    st.sampled_from(["fixes", "**Closes**", "&#102;ix", "<b>fixed</b>", "[fix](x)", "<p>fix"]),
    st.sampled_from(GAPS) | FEW,
    st.sampled_from(["#1", "\\#1", "&num;1", "o\\_x/r\\#1", "gh\\-1", URL, f"[a]({URL})", "[a]"])
    | st.sampled_from(
        ["o&sol;r&#35;1", f"<{URL}>", f'<a href="{URL}">', "https\\:", "GH-1", "o/r#1"]
    ),
    st.sampled_from(["", ".", f"\n\n[a]: {URL}"]) | FEW,
).map("".join)


@examples(400)
@given(NEAR | TEXT)
def test_the_cheap_scan_misses_nothing(text: str) -> None:
    keywords = [keyword for block in blocks(text) for keyword in closing_keywords(block)]
    assert may_close(text) or not keywords
    assert find_closing_keywords(text) == keywords


@examples(400)
@given(NEAR | TEXT)
def test_a_plain_text_that_mentions_nothing_closes_nothing(text: str) -> None:
    assert find_mentions(text) or not find_closing_keywords(text, markdown=False)


@given(NEAR, st.booleans())
def test_any_text_gives_sound_keywords(text: str, markdown: bool) -> None:
    for keyword in find_closing_keywords(text, markdown=markdown):
        assert keyword.keyword in WORDS
        assert keyword.number >= 1
        assert 1 <= keyword.line <= text.count("\n") + text.count("\r") + 1
        assert len(keyword.excerpt) <= 160
        assert "\n" not in keyword.excerpt
        assert keyword.keyword in keyword.excerpt.lower()


@pytest.mark.parametrize(
    "text",
    ["Fixed in #1", "see #1", "fixed it, see #1", "fix for #1", "fixed `x`, #1", "prefix #1"],
)
def test_the_cheap_scan_spares_ordinary_texts(text: str) -> None:
    assert not may_close(text)
