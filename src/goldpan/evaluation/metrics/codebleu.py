"""CodeBLEU (Ren et al. 2020, arXiv 2009.10297): n-grams, keywords, syntax and data flow.

Two readings of it are computed. `score` follows the paper, mended where that is undefined.
`package_score` follows what the `codebleu` package on PyPI computes, for comparison with
published numbers; its data flow of 0 counts as 1, so an answer that has nothing right gets 0.25.
`docs/metrics.md` lists all differences.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np

from goldpan.code.languages import language_of
from goldpan.core.workers import Failed, map_in_sandbox
from goldpan.evaluation.metrics.generation import ORDERS, bleu_counts, bleu_of_counts, ngrams
from goldpan.evaluation.metrics.syntax import Shape, data_flow, read_code, subtrees

_KEYWORDS = files("goldpan.evaluation.metrics") / "keywords.toml"
SECONDS = 5.0
"""Processor time for one answer; ordinary code takes milliseconds."""
MOST_PARSED = 200_000
"""Characters of a text beyond which it is not parsed: it shares no syntax with any other."""
_TOKEN = re.compile(r"\w+|[^\w\s]")
_OTHER_WEIGHT = 0.2
_SMALL = 0.1


@dataclass(frozen=True, slots=True)
class CodePair:
    """Two texts in the language that the suffix of `path` names."""

    path: str
    reference: str
    answer: str


@dataclass(frozen=True, slots=True)
class TreeMatch:
    """How much of the reference's tree an answer has, in [0, 1]; None where it has no such."""

    syntax: float | None = None
    package_syntax: float | None = None
    """The same, but one subtree of the answer matches any number of equal ones."""
    data_flow: float | None = None


@dataclass(frozen=True, slots=True)
class CodeBleu:
    """The four parts and their mean, in [0, 1]."""

    ngram: float
    weighted_ngram: float
    trees: TreeMatch
    package_ngram: float
    package_weighted_ngram: float

    @property
    def score(self) -> float:
        """The mean of the parts that the reference has."""
        trees = (self.trees.syntax, self.trees.data_flow)
        parts = [self.ngram, self.weighted_ngram, *(part for part in trees if part is not None)]
        return math.fsum(parts) / len(parts)

    @property
    def package_score(self) -> float:
        """What the package gives, but for details of its data flow."""
        flow = self.trees.data_flow or 1.0
        syntax = self.trees.package_syntax or 0.0
        parts = (self.package_ngram, self.package_weighted_ngram, syntax, flow)
        return math.fsum(parts) / len(parts)


@cache
def language_keywords() -> dict[str, frozenset[str]]:
    """Return the keywords of programming languages by name, without those that have none here."""
    languages = tomllib.loads(_KEYWORDS.read_text(encoding="utf-8"))
    return {name: frozenset(words.split()) for name, words in languages.items()}


def codebleu(pairs: Sequence[CodePair]) -> Iterator[CodeBleu]:
    """Yield the agreement of each answer with its reference, in order.

    Texts are parsed in another process; where one is too hard to parse, nothing of it matches.
    """
    for pair, trees in zip(pairs, map_in_sandbox(match_trees, pairs, 1, SECONDS), strict=True):
        language = language_of(pair.path)
        keywords = language_keywords().get(language.name, frozenset()) if language else frozenset()
        reference, answer = _TOKEN.findall(pair.reference), _TOKEN.findall(pair.answer)
        split, answered = pair.reference.split(), pair.answer.split()
        yield CodeBleu(
            _ngram_match(reference, answer, frozenset()),
            _ngram_match(reference, answer, keywords),
            TreeMatch(0.0, 0.0, 0.0) if isinstance(trees, Failed) else trees,
            _package_bleu(split, answered),
            _package_weighted_bleu(split, answered, keywords),
        )


def match_trees(pair: CodePair) -> TreeMatch:
    """Compare the trees of two texts. Nothing bounds the time that a hostile text takes."""
    if len(pair.reference) > MOST_PARSED:
        return TreeMatch()
    reference_tree = read_code(pair.path, pair.reference)
    if reference_tree is None:
        return TreeMatch()
    numbers: dict[Shape, int] = {}
    shapes, flows = subtrees(reference_tree, numbers), data_flow(reference_tree)
    reading = read_code(pair.path, pair.answer[: MOST_PARSED + 1])
    if reading is None or len(pair.answer) > MOST_PARSED:
        return TreeMatch(0.0, 0.0, 0.0 if flows else None)
    given_shapes, given_flows = subtrees(reading, numbers), data_flow(reading)
    unclipped = sum(count for shape, count in shapes.items() if shape in given_shapes)
    return TreeMatch(
        (shapes & given_shapes).total() / shapes.total(),
        unclipped / shapes.total(),
        (flows & given_flows).total() / flows.total() if flows else None,
    )


def _ngram_match(
    reference: Sequence[str], answer: Sequence[str], keywords: frozenset[str]
) -> float:
    """Return sentence BLEU over code tokens; with keywords, those weigh five times the others."""
    counts = np.array([bleu_counts(reference, answer)], dtype=np.float64)
    if keywords and answer:
        reference_counts, answer_counts = ngrams(reference, 1), ngrams(answer, 1)
        weight = {token: 1.0 if token[0] in keywords else _OTHER_WEIGHT for token in answer_counts}
        counts[0, 2] = math.fsum(
            weight[t] * min(count, reference_counts[t]) for t, count in answer_counts.items()
        )
        counts[0, 2 + ORDERS] = math.fsum(weight[t] * count for t, count in answer_counts.items())
    return float(bleu_of_counts(counts, effective_order=True)[0])


def _package_bleu(reference: Sequence[str], answer: Sequence[str]) -> float:
    """Return BLEU over words as the package has it: a precision of 0 becomes 0.1 / n-grams."""
    shares: list[tuple[float, float]] = []
    for order in range(1, ORDERS + 1):
        answer_counts, reference_counts = ngrams(answer, order), ngrams(reference, order)
        shares.append(((answer_counts & reference_counts).total(), max(1, answer_counts.total())))
    return _package_mean(shares, len(reference), len(answer))


def _package_weighted_bleu(
    reference: Sequence[str], answer: Sequence[str], keywords: frozenset[str]
) -> float:
    """Return the package's weighted match: shares of the reference's n-grams, not the answer's."""
    shares: list[tuple[float, float]] = []
    for order in range(1, ORDERS + 1):
        answer_counts, reference_counts = ngrams(answer, order), ngrams(reference, order)
        clipped = answer_counts & reference_counts
        if order == 1:
            weight = {
                token: 1.0 if token[0] in keywords else _OTHER_WEIGHT for token in reference_counts
            }
            over = math.fsum(weight[token] * count for token, count in clipped.items())
            under = math.fsum(weight[token] * count for token, count in reference_counts.items())
            shares.append((over, max(1.0, under)))
        else:
            shares.append((clipped.total(), max(1, reference_counts.total())))
    # The package takes a pair of tokens and weights for the reference, so its length is two.
    return _package_mean(shares, 2, len(answer))


def _package_mean(
    shares: Sequence[tuple[float, float]], reference_length: int, answer_length: int
) -> float:
    if shares[0][0] == 0:
        return 0.0
    logs = [math.log((over or _SMALL) / under) for over, under in shares]
    brevity = (
        1.0 if answer_length > reference_length else math.exp(1 - reference_length / answer_length)
    )
    return brevity * math.exp(math.fsum(logs) / ORDERS)
