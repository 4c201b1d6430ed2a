"""Variants of fixes: what is varied, what is no variant, and how they are drawn."""

from __future__ import annotations

import ast
from difflib import unified_diff
from pathlib import Path

import pytest

from goldpan.audit.trials.variants import FixedFile, Variant, changed_blocks, make_variants
from goldpan.code.patch import split_patch
from goldpan.git.apply import apply_in

BEFORE = """\
def pour(weights, limit):
    total = 0
    for weight in weights:
        total = total + weight
    return total


def empty():
    return []
"""
AFTER = '''\
def pour(weights, limit):
    """Return what fits."""
    total = 0
    for weight in weights:
        if weight < 0:
            continue
        if total + weight > limit:
            raise ValueError("too heavy")
        try:
            total = total + weight
        except TypeError:
            pass
    return total


def empty():
    return [0]
'''


def fixed(after: str, before: str = BEFORE, path: str = "mill.py") -> FixedFile:
    lines = unified_diff(
        before.splitlines(keepends=True), after.splitlines(keepends=True), f"a/{path}", f"b/{path}"
    )
    (part,) = split_patch(f"diff --git a/{path} b/{path}\n" + "".join(lines))
    return FixedFile(path, after.encode(), changed_blocks(part))


def varied(after: str, before: str = BEFORE, path: str = "mill.py") -> list[Variant]:
    return list(make_variants([fixed(after, before, path)], 500, 0))


def changes(variants: list[Variant]) -> set[tuple[str, str]]:
    """Return what variants have instead of the fix's lines, by kind."""
    found: set[tuple[str, str]] = set()
    for variant in variants:
        lines = [line[1:] for line in variant.diff.split("\n")[3:] if line[:1] == "+"]
        found.add((variant.kind, " ".join(" ".join(lines).split())))
    return found


def test_each_part_of_a_fix_is_left_out_or_changed() -> None:
    found = changes(varied(AFTER))
    assert {
        ("condition", "if not (weight < 0):"),
        ("operator", "if weight <= 0:"),
        ("operator", "if total - weight > limit:"),
        ("operator", "if total + weight >= limit:"),
        ("constant", "if weight < 1:"),
        ("exit", "break"),
        ("exit", "pass"),
        ("exception", 'raise Exception("too heavy")'),
        ("exception", "except Exception:"),
        ("statement", "pass"),
        ("return", "return None"),
        ("constant", "return [1]"),
        ("hunk", "return []"),
    } <= found


def test_every_variant_parses_differs_and_applies(tmp_path: Path) -> None:
    variants = varied(AFTER)
    for variant in variants:
        ast.parse(variant.content)
        (tmp_path / "mill.py").write_text(AFTER)
        apply_in(tmp_path, variant.diff.encode())
        assert (tmp_path / "mill.py").read_bytes() == variant.content
    assert len({variant.content for variant in variants}) == len(variants)


@pytest.mark.parametrize(
    "after",
    [
        BEFORE.replace("    total = 0\n", '    """Pour."""\n    total = (0)  # grams\n'),
        BEFORE.replace("return []\n", "return []  # nothing\n"),
        BEFORE.replace("return []\n", 'return []\n\n\n__version__ = "2.0"\n'),
    ],
)
def test_what_changes_no_behavior_has_no_hunk_to_leave_out(after: str) -> None:
    assert not [variant for variant in varied(after) if variant.kind == "hunk"]


def test_where_lines_break_is_no_behavior() -> None:
    before = AFTER.replace("weights, limit", "weights, limit=None")
    after = before.replace("weights, limit", "weights,\n         limit").replace("0]", "2]")
    kinds = [variant.kind for variant in varied(after, before)]
    assert sorted(kinds) == ["constant", "return"]


def test_leaving_out_the_only_hunk_is_no_variant_for_it_is_no_fix() -> None:
    assert not [v for v in varied(BEFORE.replace("[]", "[0]")) if v.kind == "hunk"]


def test_strings_with_words_and_imports_are_left_alone() -> None:
    after = "import os\n" + BEFORE.replace("[]", 'os.getenv("MILL")') + 'raise OSError("no mill")\n'
    found = changes(varied(after))
    assert ("return", "return None") in found
    assert not [text for kind, text in found if kind == "constant"]
    assert not [text for _, text in found if text == "pass" and "import" in text]


@pytest.mark.parametrize("path", ["mill.py", "mill.js"])
def test_a_string_without_a_word_is_a_constant(path: str) -> None:
    before = "names = found;\n" + "\n" * 9
    found = changes(varied(before.replace("found", 'found.split(",")'), before, path))
    assert ("constant", 'names = found.split("");') in found


def test_types_are_no_behavior() -> None:
    after = BEFORE.replace("def empty():", "def empty(size: int | None = 1) -> list | None:")
    assert {text for _, text in changes(varied(after))} == {
        "def empty(size: int | None = 2) -> list | None:"
    }


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("mill.py", "raise OSError('a' % x)\n", "raise OSError('b' % x)\n"),
        ("mill.py", "warnings.warn('a', E)\n", "warnings.warn(f'b {x}', E)\n"),
        ("mill.py", "x = [y, DryWarning('a')]\n", "x = [y, DryWarning('b')]\n"),
        ("mill.py", "log.info('{}'.format(x))\n", "log.info('grain {}'.format(x))\n"),
        ("mill.py", "text = 'a'\nraise E(text)\n", "text = f'b {x}' + 'c'\nraise E(text)\n"),
        ("mill.py", "def f(x: int) -> str: ...\n", "def f(x: 'float', ) -> list[str]: ...\n"),
        ("mill.py", "class A(TypedDict):\n    a: int\n", "class A(TypedDict):\n    a: str\n"),
        ("mill.py", "def f():\n    'A'\n", "def f():\n    'B'\n"),
        ("mill.py", "f = lambda: \\\n    OSError('a')\n", "f = lambda: \\\n    OSError('b')\n"),
        ("mill.py", "print 1\nraise E, 'a'\n", "print 1\nraise E, 'b'\n"),
        ("mill.js", "throw new E('a');\n", "throw new E('b');\n"),
        ("mill.js", "console.warn('a', x);\n", "console.warn(`b ${x}`, x);\n"),
        ("mill.js", "const t = 'a';\nthrow E(t);\n", "const t = 'b';\nthrow E(t);\n"),
        ("mill.ts", "interface A { a: 1 }\nf();\n", "interface A { a: 2 }\nf();\n"),
        ("mill.ts", "function f(a: A): B {}\n", "function f(a: X<A>): C {}\n"),
        ("mill.go", 'var e = errors.New("a")\n', 'var e = errors.New("b")\n'),
        ("mill.rs", 'fn f() { panic!("a"); }\n', 'fn f() { panic!("b"); }\n'),
        ("Mill.java", 'class A { E e = new E1Exception("a"); }\n',
         'class A { E e = new E1Exception("b"); }\n'),
        ("Mill.cs", 'class A { void F() { throw new E("a"); } }\n',
         'class A { void F() { throw new E("b"); } }\n'),
    ],
)  # fmt: skip
def test_what_no_test_of_behavior_checks_is_not_varied(path: str, before: str, after: str) -> None:
    start, end = ("package mill\n\n" if path == "mill.go" else ""), "\n\n\n" + "\n" * 20
    apart = {"mill.py": "y = 1\n", "mill.go": "var y = 1\n"}.get(path, "")
    variants = varied(start + after + end + apart, start + before + end, path)
    texts = [v for v in variants if v.kind in ("hunk", "constant") and v.line <= 5]
    assert texts == []


def test_a_document_before_imports_from_the_future_hides_no_variant() -> None:
    head = '"""Grain."""\n\nfrom __future__ import annotations\n'
    assert changes(varied(head + BEFORE.replace("[]", "[0]"), head + BEFORE))


def test_a_returned_false_is_no_nothing() -> None:
    after = BEFORE.replace("return []", "return False")
    assert changes(varied(after)) == {("constant", "return True"), ("exit", "pass")}


def test_the_draw_is_the_same_for_a_seed_and_spread_over_hunks() -> None:
    file = fixed(AFTER)
    first = make_variants([file], 6, 1)
    assert make_variants([file], 6, 1) == first
    assert make_variants([file], 6, 2) != first
    assert len(first) == 6
    assert len(make_variants([file], 1, 1)) == 1


@pytest.mark.parametrize(
    ("path", "before", "after", "expected"),
    [
        (
            "mill.js",
            "function f(a) {\n  return a;\n}\n",
            "function f(a) {\n  if (a === 1) {\n    return 2;\n  }\n  return a;\n}\n",
            {("condition", "if (!(a === 1)) {"), ("operator", "if (a !== 1) {"),
             ("return", "return undefined;"), ("constant", "return 3;")},
        ),
        (
            "Mill.java",
            "class Mill {\n  int f(int a) {\n    return a;\n  }\n}\n",
            "class Mill {\n  int f(int a) {\n    try { a += 1; }\n"
            "    catch (IOException e) { a = 2; }\n    return a;\n  }\n}\n",
            {("statement", "try { }"), ("exception", "catch (Exception e) { a = 2; }")},
        ),
        (
            "mill.go",
            "package mill\n\nfunc F(a int) int {\n\treturn a\n}\n",
            "package mill\n\nfunc F(a int) int {\n\tif a < 1 && a > -9 {\n\t\treturn 2\n\t}\n"
            "\treturn a\n}\n",
            {("condition", "if !(a < 1 && a > -9) {"), ("operator", "if a < 1 || a > -9 {")},
        ),
        (
            "mill.sh",
            "echo a\n",
            'if [ "$1" = b ]; then\n  exit 1\nfi\necho a\n',
            {("condition", 'if ! ([ "$1" = b ]); then')},
        ),
    ],
)  # fmt: skip
def test_other_languages_are_varied_by_their_grammars(
    path: str, before: str, after: str, expected: set[tuple[str, str]]
) -> None:
    assert expected <= changes(varied(after, before, path))


@pytest.mark.parametrize(
    ("path", "content"),
    [("mill.md", "# Mill\n"), ("mill.sol", "contract A {}\n"), ("mill.py", "def (\n"), ("m.c", "")],
)
def test_what_no_grammar_reads_has_no_variants(path: str, content: str) -> None:
    assert varied(content, "x\n", path) == []


def test_python_of_another_version_is_judged_by_its_tree() -> None:
    after = BEFORE.replace("    return []\n", '    print "empty"\n    return [1]\n')
    assert ("constant", "return [2]") in changes(varied(after))


def test_deep_and_hostile_code_stops_nothing() -> None:
    deep = "x = " + "(" * 3_000 + "1" + ")" * 3_000 + "\n"
    assert isinstance(varied(BEFORE + deep), list)
    assert isinstance(varied(BEFORE + "y = '\udcff'\n".encode("utf-8", "replace").decode()), list)
