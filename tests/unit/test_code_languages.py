from __future__ import annotations

import subprocess
import sys

import pytest

from goldpan.code.grammar import read
from goldpan.code.languages import CODE_SUFFIXES, LANGUAGES, language_of, suffix_of


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("a.py", "Python"),
        ("src/pkg/A.PY", "Python"),
        ("a.min.js", "JavaScript"),
        ("a.jsx", "JavaScript"),
        ("a.d.ts", "TypeScript"),
        ("a.tsx", "TSX"),
        ("a.h", "C"),
        ("a.hpp", "C++"),
        ("a.cu", "Cuda"),
        ("a.cs", "C#"),
        ("a.m", "Objective-C"),
        ("a.pl", "Perl"),
        ("a.R", "R"),
        ("a.vb", "Visual Basic .NET"),
        ("a.fs", "F#"),
        ("a.f90", "Fortran Free Form"),
        ("a.sh", "Shell"),
        (".hidden/a.rs", "Rust"),
        ("a b/ü.kt", "Kotlin"),
    ],
)
def test_language_of_a_path(path: str, name: str) -> None:
    language = language_of(path)
    assert language is not None
    assert language.name == name
    assert suffix_of(path) in CODE_SUFFIXES


@pytest.mark.parametrize(
    "path",
    [
        "",
        "Makefile",
        "README.md",
        "a.json",
        "a.yml",
        "a.toml",
        "a.html",
        "a.css",
        "a.vue",
        "a.sql",
        "a.ipynb",
        "a.tex",
        "CMakeLists.txt",
        "a.cmake",
        "py",
        ".py",
        "dir/.js",
        "a.py/",
        "dir.py/file",
        "a.py.orig",
        "a.",
        "a.py ",
    ],
)
def test_not_code(path: str) -> None:
    assert language_of(path) is None
    assert suffix_of(path) not in CODE_SUFFIXES


def test_the_table_is_sound() -> None:
    names = [language.name for language in LANGUAGES]
    suffixes = [suffix for language in LANGUAGES for suffix in language.suffixes]
    assert len(names) == len(set(names)) > 100
    assert len(suffixes) == len(set(suffixes)) == len(CODE_SUFFIXES) > 200
    for suffix in suffixes:
        assert suffix == suffix.lower()
        assert suffix_of(f"a{suffix}") == suffix
    expected = "Python Java JavaScript TypeScript TSX Go C C++ Rust C# Ruby PHP Kotlin Scala"
    parsed = {language.name for language in LANGUAGES if language.grammar}
    assert parsed >= {*expected.split(), "Swift", "Shell", "Lua", "Julia"}


@pytest.mark.parametrize(
    "language", [language for language in LANGUAGES if language.grammar], ids=lambda x: x.name
)
def test_every_grammar_loads_and_reads_nothing(language: object) -> None:
    (grammar,) = (other.grammar for other in LANGUAGES if other is language)
    assert grammar is not None
    reading = read(b"", grammar)
    assert reading.clean
    assert (reading.stripped.code, reading.stripped.comments) == (b"", [])


def test_parsers_load_only_when_they_are_needed() -> None:
    code = (
        "import sys, goldpan.code.substance as w\n"
        "from goldpan.code.substance import compare\n"
        "compare(b'a', b'b', 'a.md')\n"
        "compare(b'int a;', b'int b;', 'a.c')\n"
        "assert not [name for name in sys.modules if name.startswith('tree_sitter')]\n"
        "compare(b'a = 1', b'a = 2', 'a.py')\n"
        "print(*[name for name in sys.modules if name.startswith('tree_sitter_')])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert {name.partition(".")[0] for name in done.stdout.split()} == {"tree_sitter_python"}
