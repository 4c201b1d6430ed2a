"""Metrics of texts and code against sacreBLEU and rouge-score, and by their laws."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from goldpan.code.languages import LANGUAGES
from goldpan.evaluation.metrics.generation import (
    MOST_CHARACTERS,
    bleu_counts,
    bleu_of_counts,
    compare_text,
    edit_similarity,
    extract_path,
    rouge_1,
    rouge_l,
    rouge_tokens,
    tokenize,
)
from goldpan.evaluation.metrics.patches import (
    CodePair,
    TreeMatch,
    codebleu,
    language_keywords,
    match_trees,
)
from goldpan.evaluation.metrics.syntax import ValueFlow, data_flow, read_code
from tests.drawing import examples
from tests.scoring import make_task, scored

WORDS = st.text(alphabet="ab1.,-&;\n <Zé", max_size=60)
PAIRS = st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=6)
TASK = make_task("text-generation", metric="rouge_l")
PATH_TASK = make_task("text-generation", metric="exact_match", builder="fault-localization")


@examples(150)
@given(PAIRS)
@example([("x &amp;quot; -\n <skipped> 1.5, a-b 2-3", "x & quot 1.5 a-b")])
def test_bleu_agrees_with_sacrebleu(pairs: list[tuple[str, str]]) -> None:
    peer: Any = pytest.importorskip("sacrebleu")
    counts = [bleu_counts(tokenize(reference), tokenize(answer)) for reference, answer in pairs]
    corpus = float(bleu_of_counts(np.array([counts], float).sum(axis=1))[0])
    references, answers = [reference for reference, _ in pairs], [other for _, other in pairs]
    if any(count[0] or count[1] for count in counts):  # without tokens it is 1 here, 0 there
        expected = peer.corpus_bleu(answers, [references]).score / 100
        assert corpus == pytest.approx(expected, abs=1e-9)
    singles = bleu_of_counts(np.array(counts, float), effective_order=True)
    for single, (reference, answer), count in zip(singles, pairs, counts, strict=True):
        if count[0] or count[1]:
            expected = peer.sentence_bleu(answer, [reference]).score / 100
            assert single == pytest.approx(expected, abs=1e-9)


@examples(100)
@given(WORDS, WORDS)
def test_rouge_agrees_with_rouge_score(reference: str, answer: str) -> None:
    peer: Any = pytest.importorskip("rouge_score.rouge_scorer")
    expected = peer.RougeScorer(["rouge1", "rougeL"]).score(reference, answer)
    tokens = rouge_tokens(reference), rouge_tokens(answer)
    assert rouge_1(*tokens) == pytest.approx(expected["rouge1"].fmeasure)
    assert rouge_l(*tokens) == pytest.approx(expected["rougeL"].fmeasure)


def plain_distance(first: str, second: str) -> int:
    row = list(range(len(second) + 1))
    for number, sign in enumerate(first, start=1):
        last, row[0] = row[0], number
        for column, target in enumerate(second, start=1):
            best = min(row[column] + 1, row[column - 1] + 1, last + (sign != target))
            last, row[column] = row[column], best
    return row[-1]


@examples(100)
@given(WORDS, WORDS)
def test_edit_similarity_is_one_less_the_distance_by_the_longer_length(
    reference: str, answer: str
) -> None:
    longest = max(len(reference), len(answer))
    expected = 1 - plain_distance(reference, answer) / longest if longest else 1
    assert edit_similarity(reference, answer) == pytest.approx(expected)
    assert edit_similarity(answer, reference) == pytest.approx(expected)


@examples(60)
@given(WORDS, WORDS)
def test_texts_are_bounded_and_perfect_only_with_themselves(reference: str, answer: str) -> None:
    same = compare_text(reference, reference)
    assert (same.exact_match, same.rouge_1, same.rouge_l, same.edit_similarity) == (1, 1, 1, 1)
    counts = np.array([same.bleu_counts], float)
    assert bleu_of_counts(counts, effective_order=True)[0] == pytest.approx(1)
    agreement = compare_text(reference, answer)
    assert agreement.exact_match == (reference == answer)
    for value in (agreement.rouge_1, agreement.rouge_l, agreement.edit_similarity):
        assert 0 <= value <= 1
    assert (agreement.edit_similarity == 1) == (reference == answer)
    none = compare_text(reference, None)
    assert (none.exact_match, none.rouge_1, none.edit_similarity) == (0, 0, 0)


def test_a_text_beyond_the_bound_gets_a_lower_bound_and_its_ends_are_free() -> None:
    long = "ab" * MOST_CHARACTERS
    assert edit_similarity(long + "x", long + "y") == pytest.approx(1 - 1 / len(long + "x"))
    moved = "c" + long
    assert 0 < edit_similarity(long, moved[:-1]) <= 1
    assert edit_similarity("a", "a" + "b" * 10**6) == pytest.approx(1 / (10**6 + 1))


@pytest.mark.parametrize("unit", ["a", "ab ", "&quot;", "(((", "1.", "-\n", "`'\"", "/", "a/b.py "])
def test_long_answers_do_not_hang(unit: str) -> None:
    answer = unit * (200_000 // len(unit))
    reference = "Set the timeout in config/app.py to 30.\n" * 1_000
    agreement = compare_text(reference, answer)
    assert 0 <= agreement.edit_similarity < 1 and 0 <= agreement.rouge_l < 1
    assert extract_path(answer) in (None, "a/b.py")


PATH = "src/app/config.py"


@pytest.mark.parametrize(
    "answer",
    [
        PATH,
        f" {PATH}\n",
        f"`{PATH}`",
        f"**{PATH}**",
        f"./{PATH}",
        f"~/{PATH}",
        f'"{PATH}"',
        f"```\n{PATH}\n```",
        f"The file to change is `{PATH}`.",
        f"Path: {PATH}",
        f"path={PATH}",
        f"See {PATH}:120 and again {PATH}.",
        f"In Node.js terms it would be config.js, but here it is {PATH}, see https://x.org/a/b.py",
        PATH.replace("/", "\\"),
        f"[{PATH}](https://github.com/o/n/blob/main/{PATH})",
        *(
            f"/{PATH}",
            f"{PATH}:12-20",
            f"{PATH}::Config.read",
            f"{PATH}:Config.read",
            f"<file>{PATH}</file>",
        ),
        *(f'["{PATH}"]', f"\\boxed{{{PATH}}}", f"\u201c{PATH}\u201d", f"文件：{PATH}。"),
    ],
)
def test_a_path_that_is_wrapped_in_prose_is_found(answer: str) -> None:
    assert extract_path(answer) == PATH


@pytest.mark.parametrize(
    "answer",
    ["", "I do not know.", f"Either {PATH} or src/app/other.py", "Use e.g. the settings. Ok?"],
)
def test_no_path_or_several_are_none(answer: str) -> None:
    assert extract_path(answer) is None


def test_a_path_with_brackets_is_taken_whole() -> None:
    assert extract_path("`app/[id]/(shop)/page.tsx`") == "app/[id]/(shop)/page.tsx"
    assert extract_path("Change `app/[id]/(shop)/page.tsx`.") == "app/[id]/(shop)/page.tsx"


def test_prose_around_a_path_fails_the_papers_exact_match_only() -> None:
    answers = [PATH, f"b/{PATH}", f"{PATH} or a/b.py", "a/b.py", None]
    scores = scored(PATH_TASK, [PATH] * 5, answers)
    names = ("exact_match", "exact_match_normalized")
    assert [scores.value(name) for name in names] == pytest.approx([0.2, 0.4])
    assert scores.invalid == 1


def test_faun_average_is_the_mean_of_four() -> None:
    scores = scored(TASK, ["set the flag to 1"], ["set a flag"])
    four = [scores.value(name) for name in ("sentence_bleu", "rouge_l", "rouge_1")]
    four.append(scores.value("edit_similarity"))
    assert scores.value("faun_average") == pytest.approx(sum(value or 0 for value in four) / 4)


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
