"""Sentences of code comments and their form (NLBSE'23, section III-A)."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldpan.text.prose import Wrapping, has_words, normalize_sentence, split_sentences


def sentences(text: str, wrapping: Wrapping = "cut") -> list[str]:
    return [text[sentence.start : sentence.end] for sentence in split_sentences(text, wrapping)]


def test_a_sentence_ends_at_its_mark_or_its_line() -> None:
    text = "Holds water.  Leaks? Never!\nMust be\nclosed."
    assert sentences(text) == ["Holds water.", "Leaks?", "Never!", "Must be", "closed."]


@pytest.mark.parametrize(
    "whole",
    [
        *("Use e.g. a bucket.", "Pipes, hoses etc. are below.", "Water vs. steam"),
        *("Written by J. Doe.", "Calls os.path.join first.", "See {@link java.io.File#exists()}."),
        *("Costs 2.50 at most.", "Uses self._items inside."),
        "Opens https://www.example.org/watch?v=1 first.",
    ],
)
def test_other_dots_end_no_sentence(whole: str) -> None:
    assert sentences(whole) == [whole]


def test_what_closes_goes_with_the_sentence() -> None:
    text = 'Say "stop." (Or wait.) Then **go.** Done.'
    assert sentences(text) == ['Say "stop."', "(Or wait.)", "Then **go.**", "Done."]


def test_a_mark_before_markup_ends_a_sentence() -> None:
    first, second = sentences("Runs on Java 8.</li><li>Not on 7.</li>")
    assert (first, second) == ("Runs on Java 8.", "</li><li>Not on 7.")


@pytest.mark.parametrize("text", ["", " \n\t\r\n", "-----", "<p>", "<ul>\n<li>\n</ul>", "1.", "{"])
def test_what_says_nothing_is_no_sentence(text: str) -> None:
    assert sentences(text) == []


def test_all_line_ends_count() -> None:
    assert sentences("one\r\ntwo\rthree\n\n\nfour") == ["one", "two", "three", "four"]


def test_wrapped_lines_can_be_joined() -> None:
    text = "Holds\n  water.  Leaks\nat times.\n\nIs old.\n- one\n- two\n  parts\n@author me\n1. x"
    assert sentences(text, "join") == [
        *("Holds\n  water.", "Leaks\nat times.", "Is old.", "- one", "- two\n  parts"),
        *("@author me", "x"),
    ]


@pytest.mark.parametrize(
    ("sentence", "text"),
    [
        ("Request to remove a set of blocks.", "request to remove a set of blocks."),
        ("A one-element look_ahead: pyx->c,", "a one element look ahead pyx c,"),
        ("from org.apache.hadoop.mapreduce.Job", "from org^apache.hadoop^mapreduce.job"),
        ("returned from RpcHandler.receiveStream()", "returned from rpchandler^receivestream"),
        ("bind(A).in(Singleton.class)", "bind a ^in singleton^class"),
        ("E.g. the window, i.e. the frame etc.", "eg the window, ie the frame etc"),
        ("tabs\tand   spaces", "tabs and spaces"),
        ("don't <b>panic</b> & wait #now", "don t b panic b & wait #now"),
        ("Größe der Öffnung", "größe der öffnung"),
    ],
)
def test_the_form_is_that_of_the_competition(sentence: str, text: str) -> None:
    assert normalize_sentence(sentence) == text


@given(
    st.text(alphabet="aB1 .!?\n\r\t-@<>_(&*e.g'\"", max_size=80),
    st.sampled_from(get_args(Wrapping)),
)
def test_sentences_are_parts_of_the_text_in_order(text: str, wrapping: Wrapping) -> None:
    end = 0
    rest = text
    for sentence in split_sentences(text, wrapping):
        part = text[sentence.start : sentence.end]
        assert end <= sentence.start < sentence.end <= len(text)
        assert part == part.strip()
        assert has_words(part)
        rest = rest.replace(part, "", 1)
        end = sentence.end
    assert not {"a", "B"} & {*rest}, "no letter is lost"


@given(st.text(alphabet="aB1 .!?\n-@_(", max_size=80))
def test_no_letter_is_lost(text: str) -> None:
    joined = "".join(sentences(text))
    assert joined.count("a") == text.count("a") and joined.count("B") == text.count("B")


@given(st.text(max_size=60))
def test_the_form_holds_no_other_signs(text: str) -> None:
    normalized = normalize_sentence(text)
    assert normalized == normalized.strip().lower()
    assert "  " not in normalized
    assert all(char.isalnum() or char in " ,.@#&^%!?" or not char.isascii() for char in normalized)
