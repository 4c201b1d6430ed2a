from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldpan.code.grammar import read
from goldpan.code.languages import LANGUAGES, language_of
from goldpan.code.lexer import LexicalRules, squeeze, strip
from goldpan.code.substance import LARGEST, Parsed, Reason, Substance, compare
from goldpan.core.sanitize import visible
from tests.code_cases import CASES, SAMPLES

PYTHON = b"a = 1\n"
E_ACUTE = "a = 'é'\n"


@pytest.mark.parametrize(
    ("before", "after", "path", "previous", "keep", "reason", "language"),
    [
        (PYTHON, PYTHON, "a.py", None, False, "mode-only", "Python"),
        (PYTHON, PYTHON, "a.py", "a.py", False, "mode-only", "Python"),
        (PYTHON, PYTHON, "b.py", "a.py", False, "rename-only", "Python"),
        (PYTHON, PYTHON, "b.md", "a.py", False, "rename-only", None),
        (b"a\0", b"a\0", "a.png", None, False, "mode-only", None),
        (PYTHON, b"\xef\xbb\xbfa = 1\r\n", "a.py", None, False, "encoding", "Python"),
        (E_ACUTE.encode(), E_ACUTE.encode("latin-1"), "a.py", None, False, "encoding", "Python"),
        (PYTHON, "\ufeffa = 1\n".encode("utf-16-le"), "a.py", None, False, "encoding", "Python"),
        (PYTHON, "\ufeffa = 1\n".encode("utf-16-be"), "a.py", None, False, "encoding", "Python"),
        (None, b"", "a.py", None, False, "white-space", "Python"),
        (None, None, "a.py", None, None, "absent", "Python"),
        (PYTHON, b"a = 2\n", "a.md", None, None, "unknown-language", None),
        (PYTHON, b"a = 2\n", "Makefile", None, None, "unknown-language", None),
        (PYTHON, b"a = 2\n", "a.py", "a.txt", None, "unknown-language", "Python"),
        (PYTHON, b"a = \0\n", "a.py", None, None, "binary", "Python"),
        (PYTHON, b"#" * (LARGEST + 1), "a.py", None, None, "too-large", "Python"),
        (b"a = 1", b"a = 2", "a.hs", None, None, "no-grammar", "Haskell"),
        (b"a = 1", b"a = 2", "a.py", "a.pl", None, "no-grammar", "Python"),
    ],
)
def test_what_is_not_read(
    before: bytes | None,
    after: bytes | None,
    path: str,
    previous: str | None,
    keep: bool | None,
    reason: Reason,
    language: str | None,
) -> None:
    assert compare(before, after, path, previous) == Substance(keep, reason, language, "none")


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
        # Languages without a grammar, whose texts are plain.
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
def test_a_file_that_does_not_parse_or_has_no_grammar(
    path: str, before: str, after: str, keep: bool
) -> None:
    comparison = compare(before.encode(), after.encode(), path)
    has_grammar = path in ("a.py", "a.c", "a.js")
    assert (comparison.keep, comparison.parsed) == (keep, "failed" if has_grammar else "tokens")


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


def comment_sign(path: str) -> str:
    if path.endswith((".py", ".rb", ".sh", ".jl")):
        return "#"
    return "--" if path.endswith(".lua") else "//"


FLAT = [
    pytest.param(path, before, after, keep, id=f"{path}-{what}")
    for path, cases in CASES.items()
    for what, before, after, keep in cases
]


@pytest.mark.parametrize(("path", "before", "after", "keep"), FLAT)
def test_case(path: str, before: str, after: str, keep: bool) -> None:
    old, new = before.encode(), after.encode()
    comparison = compare(old, new, path)
    assert comparison.keep is keep, comparison
    assert comparison.parsed in ("tree", "tokens"), comparison
    assert (comparison.reason is None) == keep
    assert (comparison.changed_tokens > 0) <= keep
    assert " => " in comparison.evidence
    back = compare(new, old, path)
    assert_same_verdict(back, comparison)


@pytest.mark.parametrize("path", SAMPLES)
def test_samples_parse(path: str) -> None:
    text = SAMPLES[path].encode()
    assert compare(text, text + b"\n", path).parsed == "tree"


def test_every_language_with_a_grammar_has_cases_and_a_sample() -> None:
    expected = {language.name for language in LANGUAGES if language.grammar}
    for paths in (CASES, SAMPLES):
        covered = {language.name for path in paths if (language := language_of(path))}
        assert covered >= expected - {"Cuda"}


@pytest.mark.parametrize("path", SAMPLES)
def test_comment_lines_anywhere_have_no_substance(path: str) -> None:
    lines = SAMPLES[path].splitlines(keepends=True)
    sign = comment_sign(path)
    for number in range(1, len(lines) + 1):
        indent = " " * (len(lines[number - 1]) - len(lines[number - 1].lstrip()))
        with_comment = [*lines[:number], f'{indent}{sign} it\'s "new"\n', *lines[number:]]
        comparison = compare(SAMPLES[path].encode(), "".join(with_comment).encode(), path)
        assert (comparison.keep, comparison.reason) == (False, "comments"), (number, comparison)
        assert comparison.parsed == "tree"


PATHS = st.sampled_from(sorted(SAMPLES))


WORDS = st.lists(
    st.sampled_from(["it's", '"', "a", "x = 1", "{", "}", "(", "`", "${b}", "é", "end", "/", "*"]),
    max_size=4,
).map(" ".join)


def assert_same_verdict(forward: Substance, backward: Substance) -> None:
    for name in ("keep", "reason", "parsed", "changed_tokens"):
        assert getattr(forward, name) == getattr(backward, name), (forward, backward)


def is_visible_line(text: str) -> bool:
    """What is drawn does not hang on the characters that this Python knows."""
    return visible(text) == text and "\n" not in text


@st.composite
def commented(draw: st.DrawFn) -> tuple[str, str, str]:
    """Return a path, a program, and that program with comments."""
    path = draw(PATHS)
    sign = comment_sign(path)
    lines: list[str] = []
    for line in SAMPLES[path].splitlines():
        for words in draw(st.lists(WORDS, max_size=1)):
            if lines or path not in ("a.php", "a.sh"):
                lines.append(f"{line[: len(line) - len(line.lstrip())]}{sign} {words}")
        also = draw(st.booleans()) and not line.startswith(("#", "<?"))
        lines.append(f"{line}  {sign} {draw(WORDS)}" if also else line)
    return path, SAMPLES[path], "".join(f"{line}\n" for line in lines)


@given(commented())
def test_comments_have_no_substance(change: tuple[str, str, str]) -> None:
    path, before, after = change
    comparison = compare(before.encode(), after.encode(), path)
    expected = (False, "mode-only", "none") if before == after else (False, "comments", "tree")
    assert (comparison.keep, comparison.reason, comparison.parsed) == expected, comparison


@st.composite
def mixed(draw: st.DrawFn) -> tuple[str, bytes, bytes]:
    """Return a path and two texts that are made of pieces of its language, most of them broken."""
    path = draw(PATHS)
    pieces = [SAMPLES[path].encode()]
    for _, old, new, _ in CASES[path]:
        pieces += [old.encode(), new.encode()]
    cut = st.builds(
        lambda piece, start, length: piece[start : start + length],
        st.sampled_from(pieces),
        st.integers(0, 60),
        st.integers(0, 80),
    )
    whole = st.sampled_from(pieces)
    text = st.lists(whole | cut | st.binary(max_size=3), max_size=5).map(b"".join)
    before = draw(text)
    if draw(st.booleans()):
        start, length = draw(st.integers(0, len(before))), draw(st.integers(0, 10))
        return path, before, before[:start] + draw(cut) + before[start + length :]
    return path, before, draw(text)


@given(mixed())
def test_both_directions_agree(change: tuple[str, bytes, bytes]) -> None:
    path, before, after = change
    forward, backward = compare(before, after, path), compare(after, before, path)
    assert_same_verdict(forward, backward)
    assert forward == compare(before, after, path)


@given(mixed())
def test_a_text_and_itself_have_no_substance(change: tuple[str, bytes, bytes]) -> None:
    path, text, _ = change
    assert compare(text, text, path).reason == "mode-only"
    assert compare(text, text, path, f"old-{path}").reason == "rename-only"


@given(mixed())
def test_tokens_differ_for_the_tree_where_they_differ_without(
    change: tuple[str, bytes, bytes],
) -> None:
    path, before, after = change
    language = language_of(path)
    assert language is not None
    if language.lexis is None or language.grammar is None:
        return
    if len({squeeze(strip(text, language.lexis).code, strings=False) for text in change[1:]}) == 1:
        return
    readings = [read(text, language.grammar) for text in (before, after)]
    if all(reading.clean for reading in readings):
        assert squeeze(readings[0].stripped.code) != squeeze(readings[1].stripped.code)


@given(st.sampled_from([language.suffixes[0] for language in LANGUAGES]), st.binary(), st.binary())
def test_garbage_gets_a_verdict(suffix: str, before: bytes, after: bytes) -> None:
    comparison = compare(before, after, f"a{suffix}")
    assert is_visible_line(comparison.evidence)


@given(PATHS, st.text(st.characters(codec="utf-8")), st.text(st.characters(codec="utf-8")))
def test_any_text_gets_a_verdict(path: str, before: str, after: str) -> None:
    assert is_visible_line(compare(before.encode(), after.encode(), path).evidence)


@given(mixed())
def test_stripped_code_has_the_lines_of_the_text(change: tuple[str, bytes, bytes]) -> None:
    path, text, _ = change
    language = language_of(path)
    assert language is not None
    assert language.grammar is not None
    lines = text.count(b"\n")
    assert read(text, language.grammar).stripped.code.count(b"\n") == lines
    kinds: list[LexicalRules] = [language.lexis for language in LANGUAGES if language.lexis]
    for lexis in kinds:
        assert strip(text, lexis).code.count(b"\n") == lines


@pytest.mark.parametrize(
    ("path", "before", "after", "keep"),
    [
        ("a.rs", "fn f() { g(1, 2) }", "fn f() { g(\n1,\n2,\n) }", False),
        ("a.py", "f(1, [2])", "f(\n  1,\n  [2,],\n)", False),
        ("a.php", "<?php $a = [1, f(2)];", "<?php $a = [\n1,\nf(2),\n];", False),
        ("a.ts", "f({ a: 1 }, [2]);", "f(\n{ a: 1, },\n[2],\n);", False),
        ("a.go", "package a\nvar b = c(1, 2)\n", "package a\nvar b = c(\n1,\n2,\n)\n", False),
        ("a.java", "class A { int[] a = {1, 2}; }", "class A { int[] a = {1, 2,}; }", False),
        ("a.py", "a = (1)", "a = (1,)", True),
        ("a.py", "a[1]", "a[1,]", True),
        ("a.rs", "fn f() { let a = (1); }", "fn f() { let a = (1,); }", True),
        ("a.rs", "fn f() { let (a) = b; }", "fn f() { let (a,) = b; }", True),
        ("a.rs", "fn f(a: (T)) {}", "fn f(a: (T,)) {}", True),
        ("a.rb", "a { |b| c }", "a { |b,| c }", True),
        ("a.cs", "class A { int[] a; }", "class A { int[,] a; }", True),
        ("a.cs", "class A { B a = typeof(C<>); }", "class A { B a = typeof(C<,>); }", True),
        ("a.js", "a = [1,];", "a = [1,,];", True),
        ("a.js", "a = [];", "a = [,];", True),
        ("a.c", "int a = F(1);", "int a = F(1,);", True),
    ],
)
def test_a_comma_after_the_last_item_is_layout_but_where_it_makes_a_tuple(
    path: str, before: str, after: str, keep: bool
) -> None:
    for old, new in ((before, after), (after, before)):
        substance = compare(old.encode(), new.encode(), path)
        assert (substance.keep, substance.reason) == (keep, None if keep else "last-comma")
