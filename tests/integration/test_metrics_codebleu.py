"""CodeBLEU: its laws, and answers that are too hard to parse."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldpan.code.languages import LANGUAGES
from goldpan.evaluation.metrics.patches import (
    CodePair,
    TreeMatch,
    codebleu,
    language_keywords,
    match_trees,
)
from goldpan.evaluation.metrics.syntax import ValueFlow, data_flow, read_code
from tests.drawing import examples

ADD = "def f(a):\n    b = a + 1\n    return b"
ADD_RENAMED = "def f(x):\n    y = x + 1\n    return y"
SUM = "def g(xs):\n    t = 0\n    for x in xs:\n        if x > 0:\n            t += x\n    return t"
SUM_OTHERWISE = "def g(vs):\n    r = 0\n    for v in vs:\n        r = r + v\n    return r"

SNIPPETS = st.lists(
    st.sampled_from(["x = 1", "y = x", "if x:", "    z = y + x", "return z", "# note", "f(x)"]),
    max_size=8,
).map("\n".join)


def codebleu_of(path: str, reference: str, answer: str) -> float:
    return next(codebleu([CodePair(path, reference, answer)])).score


def test_nothing_right_is_nearly_nothing() -> None:
    scores = next(codebleu([CodePair("x.py", ADD, "print('no')")]))
    assert scores.trees.data_flow == 0
    assert scores.score < 0.1


@examples(3)  # each starts processes; the pairs are many
@given(st.lists(st.tuples(SNIPPETS, SNIPPETS), min_size=20, max_size=60))
def test_values_are_bounded_and_a_text_is_perfect_with_itself(pairs: list[tuple[str, str]]) -> None:
    both = [CodePair("x.py", *pair) for pair in pairs]
    same = [CodePair("x.py", pair[0], pair[0]) for pair in pairs]
    for scores in codebleu(both):
        assert 0 <= scores.score <= 1 + 1e-12
    assert [scores.score for scores in codebleu(same)] == pytest.approx([1] * len(same))


def test_renaming_keeps_syntax_and_data_flow_and_comments_do_not_count() -> None:
    assert match_trees(CodePair("x.py", ADD, ADD_RENAMED)) == TreeMatch(1, 1)
    noted = '"""Adds."""\n' + ADD.replace("b = a", "# one more\n    b = a")
    assert match_trees(CodePair("x.py", ADD, noted)).syntax == 1
    other = match_trees(CodePair("x.py", SUM, SUM_OTHERWISE))
    assert other.syntax and 0 < other.syntax < 1


def test_keywords_weigh_more_than_names() -> None:
    reference = "while done : wait ( now )"
    with_keyword = next(codebleu([CodePair("x.py", reference, "while x")]))
    with_name = next(codebleu([CodePair("x.py", reference, "x done")]))
    assert with_keyword.ngram == pytest.approx(with_name.ngram)
    assert with_keyword.weighted_ngram > with_name.weighted_ngram


def test_what_the_reference_lacks_is_left_out() -> None:
    assert match_trees(CodePair("notes.txt", "a b", "a b")) == TreeMatch()
    assert match_trees(CodePair("x.py", "pass", "pass")).data_flow is None
    assert codebleu_of("notes.txt", "one two three four", "one two three four") == pytest.approx(1)


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("x.py", "def f(a):\n    c = a\n    c += 1\n    return c"),
        ("x.js", "function f(a) { let c = a; c += 1; return c }"),
        ("x.ts", "function f(a: number) { let c: number = a; c += 1; return c }"),
        ("x.java", "class X { int f(int a) { int c = a; c += 1; return c; } }"),
        ("x.go", "func f(a int) int { c := a; c += 1; return c }"),
        ("x.rs", "fn f(a: i32) -> i32 { let mut c = a; c += 1; c }"),
        ("x.c", "int f(int a) { int c = a; c += 1; return c; }"),
        ("x.cpp", "int f(int a) { auto c = a; c += 1; return c; }"),
        ("x.cs", "class X { int f(int a) { var c = a; c += 1; return c; } }"),
        ("x.rb", "def f(a)\n  c = a\n  c += 1\n  c\nend"),
        ("x.php", "<?php function f($a) { $c = $a; $c += 1; return $c; }"),
        ("x.kt", "fun f(a: Int): Int { var c = a\n c += 1\n return c }"),
        ("x.swift", "func f(a: Int) -> Int { var c = a\n c += 1\n return c }"),
    ],
)
def test_the_same_flow_is_seen_in_every_language(path: str, code: str) -> None:
    reading = read_code(path, code)
    assert reading and reading.clean
    flow = data_flow(reading)
    assert flow[ValueFlow("var_1", "computed", ("var_0",))] == 1
    assert flow[ValueFlow("var_1", "computed", ("var_1",))] == 1
    assert flow[ValueFlow("var_1", "comes", ("var_1",))] >= 1
    assert set(flow) <= {
        ValueFlow("var_0", "comes", ("var_0",)),
        ValueFlow("var_1", "computed", ("var_0",)),
        ValueFlow("var_1", "computed", ("var_1",)),
        ValueFlow("var_1", "comes", ("var_1",)),
    }


def test_every_language_with_a_grammar_has_keywords() -> None:
    parsed = {language.name for language in LANGUAGES if language.grammar}
    assert parsed == language_keywords().keys()


def test_nothing_depends_on_the_hash_seed() -> None:
    program = (
        "from goldpan.evaluation.metrics.patches import *\n"
        f"pair = CodePair('x.py', {SUM!r}, {SUM_OTHERWISE!r})\n"
        "if __name__ == '__main__': print(list(codebleu([pair])), match_trees(pair))\n"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("0", "77")
    }
    assert len(outputs) == 1


@pytest.mark.nightly
def test_an_answer_that_no_parser_survives_matches_nothing() -> None:
    pairs = [CodePair("x.py", ADD, "(" * 150_000), CodePair("x.py", ADD, ADD)]
    hard, easy = codebleu(pairs)
    assert hard.score < 0.1 and easy.score == pytest.approx(1)
    huge = match_trees(CodePair("x.py", ADD, "a\n" * 150_000))
    assert (huge.syntax, huge.data_flow) == (0, 0)
