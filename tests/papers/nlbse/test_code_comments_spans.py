"""Sentences of comments are read in whatever encoding the file has."""

from __future__ import annotations

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldpan.papers.nlbse.comment_extract import (
    LONGEST_COMMENT,
    MOST_SENTENCES,
    CommentSource,
    read_file,
)
from goldpan.text.prose import normalize_sentence

ENCODED = {
    "utf-8": lambda text: text.encode(),
    "utf-8-sig": lambda text: codecs.BOM_UTF8 + text.encode(),
    "latin-1": lambda text: text.encode("latin-1"),
    "utf-16-le": lambda text: codecs.BOM_UTF16_LE + text.encode("utf-16-le"),
    "utf-16-be": lambda text: codecs.BOM_UTF16_BE + text.encode("utf-16-be"),
}
PYTHON = 'x = "é"\nclass A:\n\t"""Holds café.\n\n\tIs ünder.  Or "not"?\n\t"""\n'
JAVA = 'String x = "é";\n/**\n * Holds café.\n *\n *\tIs ünder.  Or "not"?\n */\nclass A {}\n'


@pytest.mark.parametrize("encoding", ENCODED)
@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize(("path", "text"), [("a.py", PYTHON), ("A.java", JAVA)])
def test_sentences_are_read_in_any_encoding(
    path: str, text: str, encoding: str, line_end: str
) -> None:
    file = read_file(CommentSource(path, ENCODED[encoding](text.replace("\n", line_end))))
    assert file.encoding == encoding
    assert [row["sentence"] for row in file.rows] == ["Holds café.", "Is ünder.", 'Or "not"?']
    assert {row["line"] for row in file.rows} == {3 if path == "a.py" else 2}


def test_a_sentence_may_go_over_lines() -> None:
    data = b"/**\n * Holds\n * water. Leaks.\n */\nclass A {}\n"
    first, second = read_file(CommentSource("A.java", data, "join")).rows
    assert (first["sentence"], first["text"]) == ("Holds\nwater.", "holds water.")
    assert (first["start"], first["position"], second["position"]) == (0, 0, 1)


LINES = st.lists(st.text(alphabet="aé😀 .!*<>@\t", max_size=12), max_size=5)


@given(LINES, st.sampled_from(["\n", "\r\n"]), st.sampled_from(["utf-8", "utf-8-sig", "utf-16-le"]))
def test_sentences_stand_in_any_comment(lines: list[str], line_end: str, encoding: str) -> None:
    body = line_end.join(f" * {line}".replace("*/", "* /") for line in lines)
    text = f"/**{line_end}{body}{line_end} */{line_end}class A {{}}{line_end}"
    file = read_file(CommentSource("A.java", ENCODED[encoding](text)))
    for row in file.rows:
        assert row["text"] == normalize_sentence(row["sentence"])
        assert any(row["sentence"] in line for line in text.split(line_end))


def test_a_binary_file_is_told() -> None:
    assert read_file(CommentSource("a.py", b'"""A."""\0')).encoding is None
    assert read_file(CommentSource("a.py", codecs.BOM_UTF16_LE + b"\x00\xd8")).encoding is None


def test_what_is_private_is_made_unreadable() -> None:
    text = '"""Write to bob.miner@sluice-mining.org.\n\nKey below.\n"""\n'
    file = read_file(CommentSource("a.py", text.encode(), kinds=frozenset({"module"})))
    assert file.rows[0]["sentence"] == "Write to <EMAIL>."
    assert file.rows[0]["text"] == "write to email ."
    assert "bob.miner" not in repr(file)
    assert file.redacted == {"email": 1}


def test_sentences_within_a_key_of_many_lines_are_left_out() -> None:
    key = "\n".join(["MIIEowIBAAKCAQEAx" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1eF3hJ5kL7" * 1] * 6)
    text = (
        f"class A:\n    '''Holds a key.\n\n-----BEGIN RSA PRIVATE KEY-----\n{key}\n"
        "-----END RSA PRIVATE KEY-----\nThat was it.\n'''\n"
    )
    file = read_file(CommentSource("a.py", text.encode()))
    assert [row["sentence"] for row in file.rows] == ["Holds a key.", "That was it."]
    assert file.counts["private"] >= 6
    assert "MIIE" not in repr(file)


def test_comments_without_words_and_endless_ones_are_counted() -> None:
    endless = "a" * (LONGEST_COMMENT + 1)
    many = "a.\n" * (MOST_SENTENCES + 1)
    text = "".join(f'class A{n}:\n    """{doc}"""\n' for n, doc in enumerate(("--", endless, many)))
    file = read_file(CommentSource("a.py", text.encode()))
    assert (file.rows, file.comments) == ([], 0)
    assert file.counts == {"comment-without-words": 1, "comment-too-long": 2}
