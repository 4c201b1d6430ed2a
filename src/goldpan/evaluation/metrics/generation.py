"""Metrics of tasks that ask for a text (FAUN-Eval, section 4.4; CrossCodeBench, IV-C).

An answer that is not valid counts as an empty one, and matches nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from goldpan.evaluation.metrics.bleu import WIDTH, bleu_counts, bleu_of_counts, tokenize
from goldpan.evaluation.metrics.bootstrap import Floats
from goldpan.evaluation.metrics.estimate import Evidence, Measure, Totals, means
from goldpan.evaluation.metrics.paths import extract_path, mentions_path
from goldpan.evaluation.metrics.rouge import rouge_1, rouge_l, rouge_tokens
from goldpan.evaluation.metrics.similarity import edit_similarity


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


def text_evidence(references: Sequence[str], answers: Sequence[str | None]) -> list[Evidence]:
    """Return what the metrics of generated texts follow from.

    `bleu` is over all examples at once, `sentence_bleu` the mean of single examples;
    `faun_average` is the mean of BLEU, ROUGE-L, ROUGE-1 and edit similarity (FAUN-Eval, Table 4).
    """
    agreements = [compare_text(*pair) for pair in zip(references, answers, strict=True)]
    counts = np.array(
        [agreement.bleu_counts for agreement in agreements], dtype=np.float64
    ).reshape(-1, WIDTH)
    sentence_bleu = bleu_of_counts(counts, effective_order=True)
    columns: dict[str, Floats] = {
        "exact_match": np.array([agreement.exact_match for agreement in agreements]),
        "sentence_bleu": sentence_bleu,
        "rouge_1": np.array([agreement.rouge_1 for agreement in agreements]),
        "rouge_l": np.array([agreement.rouge_l for agreement in agreements]),
        "edit_similarity": np.array([agreement.edit_similarity for agreement in agreements]),
    }
    four = [columns[name] for name in ("sentence_bleu", "rouge_l", "rouge_1", "edit_similarity")]
    columns["faun_average"] = np.array(four).sum(axis=0) / len(four)
    corpus = Measure("bleu", _corpus_bleu, "there are no examples")
    return [means(columns), Totals(np.column_stack([counts, np.ones(len(agreements))]), [corpus])]


def path_evidence(references: Sequence[str], answers: Sequence[str | None]) -> list[Evidence]:
    """Return what the metrics of named files follow from."""
    pairs = list(zip(references, answers, strict=True))
    columns = {
        "exact_match": [answer == path for path, answer in pairs],
        "exact_match_normalized": [
            answer is not None and extract_path(answer) == path for path, answer in pairs
        ],
        "path_mentioned": [
            answer is not None and mentions_path(answer, path) for path, answer in pairs
        ],
    }
    return [means({name: np.array(column, dtype=float) for name, column in columns.items()})]


def _corpus_bleu(totals: Floats) -> Floats:
    return np.where(totals[:, WIDTH] > 0, bleu_of_counts(totals[:, :WIDTH]), np.nan)
