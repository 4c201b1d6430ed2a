"""Metrics of code editing: how alike patches are (CodeBLEU), and what they do to a file.

FAUN-Eval compares patches as texts, so a patch that cannot be applied may score well. Beside that
stand the rates of patches that apply, and of those that give the right file.

CodeBLEU follows the paper (Ren et al. 2020, arXiv 2009.10297), mended where that is undefined. The
`codebleu` package on PyPI counts a data flow of 0 as 1, so an answer that has nothing right gets
0.25 there; `docs/metrics.md` lists all differences.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import pairwise

import numpy as np

from goldpan.code.edits.apply import EditError, FileEdits, Forgiveness, apply_edits
from goldpan.code.edits.diffs import as_diff, change_files, is_unified
from goldpan.code.edits.parse import parse_edits
from goldpan.code.languages import language_of
from goldpan.code.patch import split_patch
from goldpan.core.parallel.workers import Failed, map_in_sandbox
from goldpan.evaluation.metrics.estimate import Measure, MetricEvidence, Totals, means
from goldpan.evaluation.metrics.generation import ORDERS, bleu_counts, bleu_of_counts, ngrams
from goldpan.evaluation.metrics.syntax import Shape, data_flow, read_code, subtrees
from goldpan.git.apply import DiffError, FileState

NO_FILES = "the files before the edit are not given"
APPLICATION = ("patch_applied", "patch_applied_lenient", "file_exact")


@dataclass(frozen=True, slots=True)
class PatchPair:
    """A reference patch and what was answered, with the file before where it is known."""

    reference: str
    answer: str | None
    file_before: str | None = None


def patch_path(patch: str) -> str:
    """Return the file that a patch names first, "" where it names none or is malformed."""
    if edits := _parse(patch):
        return edits[0].path or ""
    with suppress(ValueError):
        return next((part.path for part in split_patch(patch)), "")
    return ""


def written(patch: str) -> str:
    """Return the lines that a patch writes: added ones of a diff, REPLACE parts of blocks."""
    if edits := _parse(patch):
        return "\n".join(edit.replace for file in edits for edit in file.edits)
    lines = patch.split("\n")  # files hold other signs that splitlines takes for ends
    return "\n".join(
        line[1:]
        for above, line in pairwise(["", *lines])
        if line.startswith("+") and not (line.startswith("+++ ") and above.startswith("--- "))
    )


def patch_evidence(patches: Sequence[PatchPair]) -> list[MetricEvidence]:
    """Return what the metrics of patches follow from.

    `codebleu` compares patches as they are written, as FAUN-Eval does, in the language of the file
    which the reference names.
    """
    paths = [patch_path(patch.reference) for patch in patches]
    pairs = [
        CodePair(path, patch.reference, patch.answer or "")
        for path, patch in zip(paths, patches, strict=True)
    ]
    results = list(codebleu(pairs))
    answered = np.array([patch.answer is not None for patch in patches], dtype=float)
    parsed = np.array([_is_well_formed(patch.answer or "") for patch in patches], dtype=float)
    unread = sum(result.trees.syntax is None for result in results)
    note = f"{unread} of {len(results)} references have no syntax tree" if unread else ""
    return [
        means({"codebleu": np.array([result.score for result in results]) * answered}, note=note),
        means({"patch_well_formed": parsed}),
        _application(patches, paths),
    ]


def apply_answer(
    answer: str, path: str, before: str, *, lenient: bool = False
) -> Sequence[str] | None:
    """Return the file after, nothing where it goes away, None where the patch does not apply.

    The answer must edit this file alone, under its name or, in blocks, under none.
    """
    edits = _parse(answer)
    try:
        if not edits:
            return _apply_diff(answer, path, before, lenient=lenient)
        if len(edits) != 1 or edits[0].path not in (None, path):
            return None
        after = apply_edits(before, edits[0].edits, lenient=lenient)
    except EditError:
        return None
    return () if edits[0].removes and not after else (after,)


def _apply_diff(
    answer: str, path: str, before: str, *, lenient: bool = False
) -> Sequence[str] | None:
    name = path.encode()
    file = FileState(before.encode("utf-8", "surrogateescape"))
    if not is_unified(answer):
        return None
    changed = change_files(answer, {name: file}.get, Forgiveness(lenient, lenient))
    if changed.diff.paths != (name,):
        return None
    return tuple(file.data.decode("utf-8", "replace") for file in changed.after.values())


def _application(patches: Sequence[PatchPair], paths: Sequence[str]) -> MetricEvidence:
    """Return what happens when patches are applied; undefined where a file before is missing.

    Models that see no fault answer with lines that replace themselves: that applies nothing.
    """
    has_file = [patch.file_before is not None for patch in patches]
    if not all(has_file):
        reason = (
            f"{has_file.count(False)} of {len(has_file)} {NO_FILES}" if any(has_file) else NO_FILES
        )
        unknown = [
            Measure(name, lambda totals: totals[:, 0] * np.nan, reason) for name in APPLICATION
        ]
        return Totals(np.ones((len(patches), 1)), unknown)
    columns = {name: np.zeros(len(patches)) for name in APPLICATION}
    for index, (patch, path) in enumerate(zip(patches, paths, strict=True)):
        before, answer = patch.file_before or "", patch.answer or ""
        after = apply_answer(answer, path, before)
        loose = apply_answer(answer, path, before, lenient=True) if after is None else after
        expected = apply_answer(patch.reference, path, before)
        columns["patch_applied"][index] = after not in (None, (before,))
        columns["patch_applied_lenient"][index] = loose not in (None, (before,))
        columns["file_exact"][index] = after is not None and after == expected
    return means(columns)


def _parse(patch: str) -> tuple[FileEdits, ...]:
    try:
        return parse_edits(patch)
    except EditError:
        return ()


def _is_well_formed(patch: str) -> bool:
    if _parse(patch):
        return True
    with suppress(DiffError):
        return is_unified(patch) and bool(as_diff(patch))
    return False


SECONDS = 5.0
"""Processor time for one answer; ordinary code takes milliseconds."""
MOST_PARSED = 200_000
"""Characters of a text beyond which it is not parsed: it shares no syntax with any other."""
_TOKEN = re.compile(r"\w+|[^\w\s]")
_OTHER_WEIGHT = 0.2


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
    data_flow: float | None = None


@dataclass(frozen=True, slots=True)
class CodeBleu:
    """The four parts and their mean, in [0, 1]."""

    ngram: float
    weighted_ngram: float
    trees: TreeMatch

    @property
    def score(self) -> float:
        """The mean of the parts that the reference has."""
        trees = (self.trees.syntax, self.trees.data_flow)
        parts = [self.ngram, self.weighted_ngram, *(part for part in trees if part is not None)]
        return math.fsum(parts) / len(parts)


@cache
def language_keywords() -> dict[str, frozenset[str]]:
    """Return the keywords of programming languages by name, without those that have none here."""
    path = files("goldpan.evaluation.metrics") / "keywords.toml"
    languages = tomllib.loads(path.read_text(encoding="utf-8"))
    return {name: frozenset(words.split()) for name, words in languages.items()}


def codebleu(pairs: Sequence[CodePair]) -> Iterator[CodeBleu]:
    """Yield the agreement of each answer with its reference, in order.

    Texts are parsed in another process; where one is too hard to parse, nothing of it matches.
    """
    for pair, trees in zip(pairs, map_in_sandbox(match_trees, pairs, 1, SECONDS), strict=True):
        language = language_of(pair.path)
        keywords = language_keywords().get(language.name, frozenset()) if language else frozenset()
        reference, answer = _TOKEN.findall(pair.reference), _TOKEN.findall(pair.answer)
        yield CodeBleu(
            _ngram_match(reference, answer, frozenset()),
            _ngram_match(reference, answer, keywords),
            TreeMatch(0.0, 0.0) if isinstance(trees, Failed) else trees,
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
        return TreeMatch(0.0, 0.0 if flows else None)
    answer_shapes, answer_flows = subtrees(reading, numbers), data_flow(reading)
    return TreeMatch(
        (shapes & answer_shapes).total() / shapes.total(),
        (flows & answer_flows).total() / flows.total() if flows else None,
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
