"""Paths and contents of files, told as text and had back byte for byte."""

from __future__ import annotations

import codecs
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldpan.git.objects import encodings, ends_its_line, is_pointer, line_ends, shared_encoding
from goldpan.git.trees import is_unsafe, path_bytes, path_text, quoted, unquoted
from tests.git_repositories import Repository

BYTES = st.one_of(
    st.binary(),
    st.text().map(lambda text: text.encode("utf-8", "surrogatepass")),
    st.text(st.characters(codec="utf-8")).map(lambda text: text.encode("utf-16")),
    st.text(st.characters(codec="utf-8")).map(lambda text: text.encode("utf-8-sig")),
    st.text(st.characters(codec="utf-8")).map(
        lambda text: codecs.BOM_UTF16_BE + text.encode("utf-16-be")
    ),
)
NAMES = st.one_of(st.binary(min_size=1), st.text('"\\\n\té\x7fab01').map(str.encode))


@given(NAMES)
def test_every_path_can_be_had_back(path: bytes) -> None:
    text = path_text(path)
    assert path_bytes(text) == path
    assert text.encode().decode() == text  # no lone surrogates: Parquet takes it
    assert unquoted(quoted(path).encode()) == path


@given(st.lists(NAMES, unique=True, min_size=2, max_size=8))
def test_no_two_paths_are_told_alike(paths: list[bytes]) -> None:
    assert len({path_text(path) for path in paths}) == len(paths)


def test_paths_are_quoted_as_git_does(tmp_path: Path) -> None:
    repository = Repository.create(tmp_path / "r.git")
    names = [bytes([value]) + b"x" for value in range(1, 256) if value != ord("/")]
    commit = repository.commit(dict.fromkeys(names, b""))
    listed = repository.git("ls-tree", "--name-only", commit).split("\n")
    assert len(listed) == len(names)
    for name, line in zip(sorted(names), listed, strict=True):
        assert line in (quoted(name), name.decode("latin-1"))
        assert unquoted(line.encode("latin-1")) == name


UNSAFE = ["../a", "a/../b", "/a", "a//b", "./a", "a/.", ".git/config", "a/.GiT/x", "", "a/"]
SAFE = ["a", ".gitignore", "..a/b", "a/...", "C:/x", "-", "a b"]


def test_unsafe_paths_are_told_from_safe_ones() -> None:
    assert [path for path in UNSAFE + SAFE if is_unsafe(path.encode())] == UNSAFE


@given(BYTES)
def test_an_encoding_gives_the_bytes_back(data: bytes) -> None:
    names = encodings(data)
    for name in names:
        assert data.decode(name).encode(name) == data
    assert (names == ()) == (b"\0" in data and not names)
    for name in names[:1]:
        line_ends(data, name)
        ends_its_line(data, name)


@given(BYTES, BYTES)
def test_a_shared_encoding_gives_both_back(first: bytes, second: bytes) -> None:
    name = shared_encoding(first, second)
    if name is None:
        assert not set(encodings(first)) & set(encodings(second))
    else:
        for data in (first, second):
            assert data.decode(name).encode(name) == data


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (b"", b"a\n", "utf-8"),
        ("é".encode(), b"a", "utf-8"),
        ("é".encode("latin-1"), "é".encode(), "latin-1"),
        (codecs.BOM_UTF8 + b"a", codecs.BOM_UTF8 + b"b", "utf-8-sig"),
        (codecs.BOM_UTF8 + b"a", b"a", "utf-8"),
        ("a".encode("utf-16-le"), b"a", None),
        (codecs.BOM_UTF16_LE + "a".encode("utf-16-le"),) * 2 + ("utf-16-le",),
        (codecs.BOM_UTF16_BE + "a".encode("utf-16-be"),) * 2 + ("utf-16-be",),
        (codecs.BOM_UTF16_LE + b"a", b"a", "latin-1"),  # half a character: no UTF-16
        (b"a\0", b"a", None),
    ],
)
def test_encodings_of_two_versions(first: bytes, second: bytes, expected: str | None) -> None:
    assert shared_encoding(first, second) == expected


@pytest.mark.parametrize(
    ("data", "expected", "final_newline"),
    [
        (b"", "none", True),
        (b"a", "none", False),
        (b"a\nb\n", "lf", True),
        (b"a\nb", "lf", False),
        (b"a\r\nb\r\n", "crlf", True),
        (b"a\rb\r", "cr", True),
        (b"a\r\nb\n", "mixed", True),
        (b"a\r\r\n", "mixed", True),
    ],
)
def test_line_ends(data: bytes, expected: str, final_newline: bool) -> None:
    assert (line_ends(data, "utf-8"), ends_its_line(data, "utf-8")) == (expected, final_newline)
    wide = codecs.BOM_UTF16_LE + data.decode().encode("utf-16-le")
    assert line_ends(wide, "utf-16-le") == expected
    assert ends_its_line(wide, "utf-16-le") == final_newline


def test_pointers_of_lfs() -> None:
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12\n"
    assert is_pointer(pointer)
    assert is_pointer(b"version https://hawser.github.com/spec/v1\n")
    assert not is_pointer(b"# " + pointer)
    assert not is_pointer(pointer + b"x" * 1_024)
