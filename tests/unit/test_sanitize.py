"""One table says what is not drawn, and all who print, publish, name or ask go by it."""

from __future__ import annotations

import json
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldpan.annotation.review.subjects import find_injection
from goldpan.code.paths import quote_path, unquote_path
from goldpan.core.errors import GoldpanError
from goldpan.core.sanitize import for_json, for_prompt, line, visible
from goldpan.core.terminal import clean
from goldpan.datasets.card import escape
from goldpan.datasets.hub.errors import HubCall
from goldpan.git.process import failure

DRAWN = {  # format characters that have a shape of their own
    *range(0x600, 0x606),
    *(0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD),
    *range(0x13430, 0x13440),
}
BLANK = "\u034f\u115f\u1160\u17b4\u17b5\u180b\u2800\u3164\uffa0\ufe00\U000e0100"
HOSTILE = [
    *(chr(at) for at in range(sys.maxunicode + 1) if unicodedata.category(chr(at)) in ("Cc", "Cf"))
]
UNSEEN = [
    character for character in HOSTILE if character not in "\t\n" and ord(character) not in DRAWN
] + [*BLANK]


def test_every_control_and_format_character_is_known() -> None:
    text = "".join(UNSEEN)
    assert len(UNSEEN) > 200
    assert visible(text) == "".join(f"⟨U+{ord(character):04X}⟩" for character in text)
    assert for_prompt(text).strip("\n") == ""
    assert for_json(text).isascii()


@pytest.mark.parametrize("sign", ["\x1b", "\x9b", "\u202e", "\u200b", "\u2066", "\U000e0041"])
def test_all_outlets_agree(sign: str) -> None:
    text = f"a{sign}b"
    shown = f"a⟨U+{ord(sign):04X}⟩b"
    assert visible(text) == line(text) == clean(text).plain == shown
    assert str(GoldpanError(text, "Do it")) == f"{shown}. Do it."
    assert HubCall("o/n", "https://h", None).plain(text) == shown
    assert shown in str(failure("https://h/x", f"fatal: {text}".encode(), 128))
    assert escape(text) == shown
    assert sign not in quote_path(text)
    assert unquote_path(quote_path(text)) == text
    assert for_prompt(text) == "ab"
    assert json.loads(for_json(json.dumps(text, ensure_ascii=False))) == text


def test_emoji_keep_their_looks_for_people() -> None:
    assert visible("⚠\ufe0f") == "⚠\ufe0f"
    assert for_prompt("⚠\ufe0f") == "⚠"


def test_a_value_cannot_begin_a_line_of_its_own() -> None:
    assert clean("x\nDone.\tAll\r\nfine").plain == "x Done. All⟨U+000D⟩ fine"


def test_hidden_words_are_still_found() -> None:
    assert find_injection("\u202eabc")[0].startswith("hidden: characters that reverse")


@given(st.text(st.characters(), max_size=80))
def test_doing_it_twice_changes_nothing(text: str) -> None:
    assert visible(visible(text)) == visible(text)
    assert for_prompt(for_prompt(text)) == for_prompt(text)
    assert "\n" not in line(text)
    assert len(line(text)) <= 200


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=80))
def test_json_keeps_its_value(text: str) -> None:
    escaped = for_json(json.dumps({"a": text}, ensure_ascii=False))
    assert json.loads(escaped) == {"a": text}
    assert visible(escaped) == escaped
