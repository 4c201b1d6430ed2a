"""Metrics of texts against sacreBLEU, NLTK, rouge-score and a plain edit distance."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

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


def test_bleu_agrees_with_nltk_where_nothing_has_to_be_smoothed() -> None:
    peer: Any = pytest.importorskip("nltk.translate.bleu_score")
    reference = tokenize("the parser fails when the file has no line end at its last line")
    answer = tokenize("the parser fails when a file has no line end at its last line")
    counts = np.array([bleu_counts(reference, answer)], float)
    assert bleu_of_counts(counts)[0] == pytest.approx(peer.sentence_bleu([reference], answer))


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
