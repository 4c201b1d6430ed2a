"""Metrics of tasks that ask for a text (FAUN-Eval, section 4.4; CrossCodeBench, IV-C).

An answer that is not valid counts as an empty one, and matches nothing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from rapidfuzz.distance import LCSseq, Levenshtein, Postfix, Prefix

from goldpan.code.languages import language_of
from goldpan.evaluation.metrics.estimate import Floats, Measure, MetricEvidence, Totals, means

# Scores of texts beside the right ones: exact match, edit similarity, BLEU.
#
# Tokens are those of mteval-v13a, case counts, n-grams up to 4. Over a corpus, counts are summed
# before precisions are taken; a precision of 0 is smoothed exponentially. A single text takes
# only the orders that it is long enough for (sacreBLEU's effective order). Values lie in [0, 1].

MOST_CHARACTERS = 65_536
"""Characters beyond which texts count as different: GitHub's own limit for a text."""


def edit_similarity(reference: str, answer: str) -> float:
    """Return 1 - (fewest insertions, deletions and substitutions) / (length of the longer).

    FAUN-Eval (section 4.4) does not say by what it divides. Where a text is longer than
    `MOST_CHARACTERS`, once what both begin and end with is set aside, the distance is bounded
    from above by that of the first parts and the length of the longer rest: the time a hostile
    answer takes is bounded, and no answer gains by its length.
    """
    longest = max(len(reference), len(answer))
    if reference == answer:
        return 1.0
    if longest <= MOST_CHARACTERS:
        return 1 - Levenshtein.distance(reference, answer) / longest
    start = Prefix.similarity(reference, answer)
    end = Postfix.similarity(reference[start:], answer[start:])
    left, right = reference[start : len(reference) - end], answer[start : len(answer) - end]
    distance = Levenshtein.distance(left[:MOST_CHARACTERS], right[:MOST_CHARACTERS])
    unread = max(len(left), len(right), MOST_CHARACTERS) - MOST_CHARACTERS
    return 1 - (distance + unread) / longest


ORDERS = 4
WIDTH = 2 + 2 * ORDERS
"""Columns of counts: tokens of the answer, of the reference, then n-grams matched and answered."""
_ENTITIES = (("&quot;", '"'), ("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">"))
_SIGNS = re.compile(r"([\{-\~\[-\` -\&\(-\+\:-\@\/])")
_POINT_AFTER_OTHER = re.compile(r"([^0-9])([\.,])")
_POINT_BEFORE_OTHER = re.compile(r"([\.,])([^0-9])")
_DASH_AFTER_DIGIT = re.compile(r"([0-9])(-)")


def tokenize(text: str) -> list[str]:
    """Return the tokens of a text by the rules of mteval-v13a."""
    text = text.rstrip().replace("<skipped>", "").replace("-\n", "").replace("\n", " ")
    for entity, sign in _ENTITIES:
        text = text.replace(entity, sign)
    text = _SIGNS.sub(r" \1 ", f" {text} ")
    text = _POINT_AFTER_OTHER.sub(r"\1 \2 ", text)
    text = _POINT_BEFORE_OTHER.sub(r" \1 \2", text)
    return _DASH_AFTER_DIGIT.sub(r"\1 \2 ", text).split()


def ngrams(tokens: Sequence[str], order: int) -> Counter[tuple[str, ...]]:
    """Count the runs of `order` tokens."""
    return Counter(zip(*(tokens[start:] for start in range(order)), strict=False))


def bleu_counts(reference: Sequence[str], answer: Sequence[str]) -> list[int]:
    """Return what BLEU follows from, `WIDTH` numbers that may be summed over examples."""
    matched: list[int] = []
    answered: list[int] = []
    for order in range(1, ORDERS + 1):
        candidate, target = ngrams(answer, order), ngrams(reference, order)
        matched.append(sum(min(count, target[ngram]) for ngram, count in candidate.items()))
        answered.append(max(len(answer) - order + 1, 0))
    return [len(answer), len(reference), *matched, *answered]


def bleu_of_counts(totals: Floats, *, effective_order: bool = False) -> Floats:
    """Return BLEU from counts, rows x `WIDTH`; 1 where neither text has a token."""
    answer_length, reference_length = totals[:, 0], totals[:, 1]
    matched, candidate = totals[:, 2 : 2 + ORDERS], totals[:, 2 + ORDERS : WIDTH]
    long_enough = candidate > 0
    missed = long_enough & (matched == 0)
    smoothing = 2.0 ** np.cumsum(missed, axis=1)
    over = np.where(missed, 1 / smoothing, matched)
    precisions = np.where(long_enough, over / np.where(long_enough, candidate, 1.0), 1.0)
    orders = long_enough.sum(axis=1) if effective_order else np.full(len(totals), ORDERS)
    has_orders = long_enough.all(axis=1) | effective_order
    mean = np.log(precisions).sum(axis=1) / np.maximum(orders, 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        brevity = np.where(
            answer_length < reference_length, np.exp(1 - reference_length / answer_length), 1.0
        )
    scores = np.where(has_orders & (matched.sum(axis=1) > 0), np.exp(mean) * brevity, 0.0)
    return np.where((answer_length == 0) & (reference_length == 0), 1.0, scores)


# Answers that name the right file: as they stand, and where prose wraps the path.
#
# FAUN-Eval takes the answer as it stands, so models that explain themselves score 0 (section
# 5.1); the other two tell a model that does not find the file from one that does not obey.

# Quotation marks and the punctuation of Chinese, which no one puts into a path.
_MARKS = "\u201c\u201d\u2018\u2019\u300c\u300d\uff08\uff09\uff0c\u3001\u3002\uff1a\uff1b"
_WORD = re.compile(rf"""[^\s`'"<>()\[\]{{}}*,;|={_MARKS}]+""")
_QUOTED = re.compile(r"`([^`\s]+)`")
_NOT_ALONE = re.compile(rf"""[\s=`"<>{_MARKS}]|://|\]\(|\\?boxed\{{""")
"""Signs that an answer is more than a path; brackets alone are not, as in app/[id]/page.tsx."""
_LONGEST = 4_096
"""Characters of a path, as file systems bound it."""
_PLACE = re.compile(r"(?::\d+){1,2}(?:-\d+)?$|#L\d+(?:-L?\d+)?$|::?[A-Za-z_][\w.:]*$")


def extract_path(answer: str) -> str | None:
    """Return the one path that an answer names, None where it names none or several.

    Code fences, quotes, emphasis, a leading `./`, `/` or `~/`, line numbers and names of functions
    are set aside. A name counts as a path where its suffix is that of a programming language; names
    without a folder count only where none has one, as "Node.js" is not a path.
    """
    alone = _clean(answer.strip().strip("`'\"*").strip())
    if alone and len(alone) <= _LONGEST and not _NOT_ALONE.search(alone):
        return alone
    named = {
        path
        for word in [*_QUOTED.findall(answer), *_WORD.findall(_QUOTED.sub(" ", answer))]
        if len(word) <= _LONGEST and "://" not in word
        if language_of(path := _clean(word)) is not None
    }
    in_folders = {path for path in named if "/" in path}
    candidates = in_folders or named
    return candidates.pop() if len(candidates) == 1 else None


def _clean(word: str) -> str:
    word = word.rstrip(".:!?").replace("\\", "/")
    return _PLACE.sub("", word).removeprefix("./").removeprefix("~/").removeprefix("/")


# ROUGE-1 and ROUGE-L as F1, over tokens as the `rouge-score` package makes them, unstemmed.
#
# Tokens are runs of a-z and 0-9 in the lower-cased text, so texts in other scripts have none.
# Where neither text has a token, the score is 1 for equal texts, else 0.

MOST_TOKENS = 65_536
"""Tokens beyond which ROUGE-L counts no common ones, in each text: it is a lower bound then."""
_TOKEN = re.compile(r"[a-z0-9]+")


def rouge_tokens(text: str) -> list[str]:
    """Return the tokens of a text."""
    return _TOKEN.findall(text.lower())


def rouge_1(reference: Sequence[str], answer: Sequence[str]) -> float:
    """Return the F1 of tokens that both have, whatever their order."""
    shared = (Counter(reference) & Counter(answer)).total()
    return _f1(shared, len(reference), len(answer))


def rouge_l(reference: Sequence[str], answer: Sequence[str]) -> float:
    """Return the F1 of the longest common subsequence of tokens."""
    shared = LCSseq.similarity(reference[:MOST_TOKENS], answer[:MOST_TOKENS])
    return _f1(shared, len(reference), len(answer))


def _f1(shared: int, reference_length: int, answer_length: int) -> float:
    return 2 * shared / (reference_length + answer_length) if shared else 0.0


@dataclass(frozen=True, slots=True)
class TextAgreement:
    """How one answer compares with its reference; all but the counts lie in [0, 1]."""

    exact_match: float
    bleu_counts: tuple[int, ...]
    rouge_1: float
    rouge_l: float
    edit_similarity: float


def compare_text(reference: str, answer: str | None) -> TextAgreement:
    """Compare one answer with its reference."""
    if answer is None:
        counts = bleu_counts(tokenize(reference), ())
        return TextAgreement(0.0, tuple(counts), 0.0, 0.0, 0.0)
    same = answer == reference
    counts = bleu_counts(tokenize(reference), tokenize(answer))
    reference_tokens, answer_tokens = rouge_tokens(reference), rouge_tokens(answer)
    return TextAgreement(
        float(same),
        tuple(counts),
        1.0 if same else rouge_1(reference_tokens, answer_tokens),
        1.0 if same else rouge_l(reference_tokens, answer_tokens),
        edit_similarity(reference, answer),
    )


def text_evidence(references: Sequence[str], answers: Sequence[str | None]) -> list[MetricEvidence]:
    """Return what the metrics of generated texts follow from.

    `bleu` is over all examples at once, `sentence_bleu` the mean of single examples;
    `faun_average` is the mean of BLEU, ROUGE-L, ROUGE-1 and edit similarity (FAUN-Eval, Table 4).
    """
    agreements = [compare_text(*pair) for pair in zip(references, answers, strict=True)]
    rows = [agreement.bleu_counts for agreement in agreements]
    counts = np.array(rows, dtype=np.float64).reshape(-1, WIDTH)
    columns: dict[str, Floats] = {
        name: np.array([getattr(agreement, name) for agreement in agreements])
        for name in ("exact_match", "rouge_1", "rouge_l", "edit_similarity")
    }
    columns["sentence_bleu"] = bleu_of_counts(counts, effective_order=True)
    four = [columns[name] for name in ("sentence_bleu", "rouge_l", "rouge_1", "edit_similarity")]
    columns["faun_average"] = np.array(four).sum(axis=0) / len(four)
    corpus = Measure("bleu", _corpus_bleu, "there are no examples")
    return [means(columns), Totals(np.column_stack([counts, np.ones(len(agreements))]), [corpus])]


def path_evidence(references: Sequence[str], answers: Sequence[str | None]) -> list[MetricEvidence]:
    """Return what the metrics of named files follow from."""
    pairs = list(zip(references, answers, strict=True))
    columns = {
        "exact_match": [answer == path for path, answer in pairs],
        "exact_match_normalized": [
            answer is not None and extract_path(answer) in (path, f"a/{path}", f"b/{path}")
            for path, answer in pairs
        ],
    }
    return [means({name: np.array(column, dtype=float) for name, column in columns.items()})]


def _corpus_bleu(totals: Floats) -> Floats:
    return np.where(totals[:, WIDTH] > 0, bleu_of_counts(totals[:, :WIDTH]), np.nan)
