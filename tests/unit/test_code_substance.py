from __future__ import annotations

import pytest

from goldpan.code.substance import LARGEST, Parsed, Reason, Substance, compare

PYTHON = b"a = 1\n"


@pytest.mark.parametrize(
    ("before", "after", "path", "previous", "reason", "language"),
    [
        (PYTHON, PYTHON, "a.py", None, "mode-only", "Python"),
        (PYTHON, PYTHON, "a.py", "a.py", "mode-only", "Python"),
        (PYTHON, PYTHON, "b.py", "a.py", "rename-only", "Python"),
        (PYTHON, PYTHON, "b.md", "a.py", "rename-only", None),
        (b"a\0", b"a\0", "a.png", None, "mode-only", None),
        (PYTHON, b"\xef\xbb\xbfa = 1\r\n", "a.py", None, "encoding", "Python"),
        ("a = 'é'\n".encode(), "a = 'é'\n".encode("latin-1"), "a.py", None, "encoding", "Python"),
        (PYTHON, "\ufeffa = 1\n".encode("utf-16-le"), "a.py", None, "encoding", "Python"),
        (PYTHON, "\ufeffa = 1\n".encode("utf-16-be"), "a.py", None, "encoding", "Python"),
        (None, b"", "a.py", None, "white-space", "Python"),
    ],
)
def test_nothing_to_read(
    before: bytes | None,
    after: bytes | None,
    path: str,
    previous: str | None,
    reason: Reason,
    language: str | None,
) -> None:
    assert compare(before, after, path, previous) == Substance(False, reason, language, "none")


@pytest.mark.parametrize(
    ("before", "after", "path", "previous", "reason", "language"),
    [
        (None, None, "a.py", None, "absent", "Python"),
        (PYTHON, b"a = 2\n", "a.md", None, "unknown-language", None),
        (PYTHON, b"a = 2\n", "Makefile", None, "unknown-language", None),
        (PYTHON, b"a = 2\n", "a.py", "a.txt", "unknown-language", "Python"),
        (PYTHON, b"a = \0\n", "a.py", None, "binary", "Python"),
        (PYTHON, b"#" * (LARGEST + 1), "a.py", None, "too-large", "Python"),
        (b"a = 1", b"a = 2", "a.hs", None, "no-grammar", "Haskell"),
        (b"a = 1", b"a = 2", "a.py", "a.pl", "no-grammar", "Python"),
    ],
)
def test_undecided(
    before: bytes | None,
    after: bytes | None,
    path: str,
    previous: str | None,
    reason: Reason,
    language: str | None,
) -> None:
    assert compare(before, after, path, previous) == Substance(None, reason, language, "none")


@pytest.mark.parametrize(
    ("text", "keep"),
    [(b"", False), (b"\n\n", False), (b"# x\n", False), (b'"""X."""\n', False), (b"a\n", True)],
)
def test_files_that_come_and_go(text: bytes, keep: bool) -> None:
    assert compare(None, text, "a.py").keep is keep
    assert compare(text, None, "a.py").keep is keep


def test_encodings_do_not_hide_changes() -> None:
    latin = "a = 'é'  # é\n".encode("latin-1")
    assert compare(latin, "a = 'ü'  # é\n".encode(), "a.py").reason == "strings"
    assert compare(latin, "b = 'é'  # é\n".encode("utf-16"), "a.py").keep is True
    assert compare(b"a = 1\r\nb = 2\r\n", b"a = 1\nb = 3\n", "a.py").changed_tokens == 2


@pytest.mark.parametrize(
    ("after", "reason"),
    [
        ("a = 'x'  # y\n", "comments"),
        ("a = 'y'  # x\n", "strings"),
        ("a = 'y'  # y\n", "comments-and-strings"),
        ("a  =  'x'  # x\n", "white-space"),
    ],
)
def test_reasons(after: str, reason: Reason) -> None:
    assert compare(b"a = 'x'  # x\n", after.encode(), "a.py").reason == reason


def test_renamed_and_changed() -> None:
    assert compare(b"f('a')\n", b"f('b') // x\n", "a.ts", "a.js").reason == "comments-and-strings"
    assert compare(b"f('a')\n", b"g('a')\n", "a.ts", "a.js").keep is True
    assert compare(b"int a;\n", b"int a; // x\n", "a.cpp", "a.c").reason == "comments"


@pytest.mark.parametrize(
    ("path", "before", "after", "keep"),
    [
        ("a.py", "a = = 1  # x\nb = 'c'\n", "a = = 1  # y\nb = 'd'\n", False),
        ("a.py", "a = = 1\nif b:\n    c()\n", "a = = 1\nif b:\n  c()\n", True),
        ("a.py", "a = = 1\nb()\n", "a = = 1\n\n\nb()\n", False),
        ("a.py", "a = = 1\n", "a = = 2\n", True),
        ("a.py", "a = = f'{b}'\n", "a = = f'{c}'\n", True),
        ("a.py", "a = 1\n", "a = = 1\n", True),
        ("a.c", "int a = ;\n#define A\nint b;\n", "int a = ;\n#define A int b;\n", True),
        ("a.c", "int a = ; // x\n", "int a = ; /* y */\n", False),
        ("a.c", "int a = ;\n#define A(x) x + 1\n", "int a = ;\n#define A(x) \\\n x + 1\n", False),
        ("a.c", 'int a = ; f() { asm("a"); }\n', 'int a = ; f() { asm("b"); }\n', True),
        ("a.js", "let = = `x`; // x\n", "let = = `y`; // y\n", False),
    ],
)
def test_a_file_that_does_not_parse(path: str, before: str, after: str, keep: bool) -> None:
    comparison = compare(before.encode(), after.encode(), path)
    assert (comparison.keep, comparison.parsed) == (keep, "failed")


@pytest.mark.parametrize(
    ("path", "before", "after", "keep"),
    [
        ("a.m", 'NSLog(@"x"); // x\n', 'NSLog(@"y"); // y\n', False),
        ("a.m", "[a b];\n", "[a c];\n", True),
        ("a.m", '#import "A.h"\n', '#import "B.h"\n', True),
        ("a.m", "#define A\nint b;\n", "#define A int b;\n", True),
        ("a.m", "int a;\n", "inta;\n", True),
        ("a.glsl", "/* x */ vec3 a;\n", "/* y */\nvec3 a;\n", False),
        ("a.sol", "string a = 'x';\n", 'string a = "y";\n', False),
        ("a.sol", 'import "x.sol";\n', 'import "y.sol";\n', True),
        ("a.sol", 'import {A} from "x.sol";\n', 'import {A} from "y.sol";\n', True),
    ],
)
def test_languages_without_a_grammar_whose_texts_are_plain(
    path: str, before: str, after: str, keep: bool
) -> None:
    comparison = compare(before.encode(), after.encode(), path)
    assert (comparison.keep, comparison.parsed) == (keep, "tokens")


@pytest.mark.parametrize(
    ("path", "text", "language", "parsed"),
    [
        ("a.h", "class A : B { int c; };\n", "C++", "tree"),
        ("a.h", "struct a { int c; };\n", "C", "tree"),
        ("a.h", "struct = {\n", "C", "failed"),
        ("a.c", "class A : B { int c; };\n", "C", "failed"),
        ("a.js", "function f(a: number): string { return a; }\n", "TSX", "tree"),
        ("a.js", "function f(a) { return <a/>; }\n", "JavaScript", "tree"),
    ],
)
def test_the_language_that_parses(path: str, text: str, language: str, parsed: Parsed) -> None:
    comparison = compare(text.encode(), f"// x\n{text}".encode(), path)
    assert (comparison.keep, comparison.language, comparison.parsed) == (False, language, parsed)


@pytest.mark.parametrize(
    ("before", "after", "tokens", "evidence"),
    [
        ("a = 1\nb = 2\n", "a = 1\nb = 3\n", 2, "2: b = 2 => 2: b = 3"),
        ("a = 1\n", "# x\na = 2\n", 2, "1: a = 1 => 2: a = 2"),
        ("a()\nb()\n", "b()\na()\n", 0, "1: a() => 1: b()"),
        ("a()\n", "a()\nb(1)\n", 4, "the end => 2: b(1)"),
        ("a()\n", "# x\n", 3, "1: a() => the end"),
        ("if a:\n  b\n  c\n", "if a:\n  b\nc\n", 0, "3: c => 3: c"),
        ("a = 'x'\n", "a = 'y'\n", 0, "1: a = 'x' => 1: a = 'y'"),
        ("a\x1b[2J\n", "b\u202e\n", 5, "1: a⟨U+001B⟩[2J => 1: b⟨U+202E⟩"),
    ],
)
def test_evidence(before: str, after: str, tokens: int, evidence: str) -> None:
    comparison = compare(before.encode(), after.encode(), "a.py")
    assert (comparison.changed_tokens, comparison.evidence) == (tokens, evidence)


def test_evidence_is_short() -> None:
    comparison = compare(b"a = 1\n", b"a = " + b"1 + " * 100_000 + b"1\n", "a.py")
    assert len(comparison.evidence) < 250
    assert comparison.evidence.endswith("…")
