"""Metrics of code editing: what a patch of SEARCH/REPLACE blocks says, and what it does.

FAUN-Eval compares patches as texts (CodeBLEU), so a patch that cannot be applied may score well.
Beside that stand the rates of patches that apply, and of those that give the right file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from goldpan.code.edits.apply import EditError, FileEdits, apply_edits
from goldpan.code.edits.parse import parse_edits
from goldpan.core.workers import map_in_sandbox
from goldpan.evaluation.metrics.codebleu import SECONDS, CodePair, codebleu
from goldpan.evaluation.metrics.estimate import Measure, MetricEvidence, Totals, means
from goldpan.evaluation.metrics.syntax import same_code

NO_FILES = "the files before the edit are not given"
APPLICATION = (
    "patch_applied",
    "patch_applied_lenient",
    "file_ast_equal",
    "file_exact",
)


@dataclass(frozen=True, slots=True)
class PatchAnswer:
    """A reference patch and what was answered, with the file before where it is known."""

    reference: str
    answer: str | None
    file_before: str | None = None


@dataclass(frozen=True, slots=True)
class _Versions:
    """The file after by the reference and by the answer."""

    path: str
    reference: str
    answer: str


def patch_path(patch: str) -> str:
    """Return the file that a patch names first, "" where it names none or is malformed."""
    edits = _parse(patch)
    return edits[0].path or "" if edits else ""


def patch_evidence(patches: Sequence[PatchAnswer]) -> list[MetricEvidence]:
    """Return what the metrics of patches follow from.

    `codebleu` and `codebleu_package` compare patches as they are written, as FAUN-Eval does;
    `codebleu_replace` compares what their REPLACE parts say, so that copying SEARCH lines from the
    file earns nothing. The language is that of the file which the reference names.
    """
    paths = [patch_path(patch.reference) for patch in patches]
    written = [
        CodePair(path, patch.reference, patch.answer or "")
        for path, patch in zip(paths, patches, strict=True)
    ]
    replaces = [
        CodePair(path, _replaced(patch.reference), _replaced(patch.answer or ""))
        for path, patch in zip(paths, patches, strict=True)
    ]
    both = list(codebleu([*written, *replaces]))
    whole, replaced = both[: len(patches)], both[len(patches) :]
    answered = np.array([patch.answer is not None for patch in patches], dtype=float)
    parsed = [bool(_parse(patch.answer or "")) for patch in patches]
    unread = sum(result.trees.syntax is None for result in whole)
    note = f"{unread} of {len(whole)} references have no syntax tree" if unread else ""
    columns = {
        "codebleu": np.array([result.score for result in whole]) * answered,
        "codebleu_package": np.array([result.package_score for result in whole]) * answered,
        "codebleu_replace": np.array([result.score for result in replaced])
        * np.array(parsed, dtype=float),
    }
    return [
        means(columns, note=note),
        means({"patch_well_formed": np.array(parsed, dtype=float)}),
        _application(patches, paths),
    ]


def with_files(
    references: Sequence[str],
    answers: Sequence[str | None],
    ids: Sequence[str],
    files: Mapping[str, str],
) -> list[PatchAnswer]:
    """Return the patches with the files before that are known by the examples' ids."""
    rows = zip(references, answers, ids, strict=True)
    return [PatchAnswer(reference, answer, files.get(id_)) for reference, answer, id_ in rows]


def apply_answer(answer: str, path: str, before: str, *, lenient: bool = False) -> str | None:
    """Return the file after, None where the patch does not apply to it.

    The answer must edit this file alone, under its name or under none.
    """
    edits = _parse(answer)
    if len(edits) != 1 or edits[0].path not in (None, path):
        return None
    try:
        return apply_edits(before, edits[0].edits, lenient=lenient)
    except EditError:
        return None


def _application(patches: Sequence[PatchAnswer], paths: Sequence[str]) -> MetricEvidence:
    """Return what happens when patches are applied; undefined where a file before is missing."""
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
    compared: list[tuple[int, _Versions]] = []
    for index, (patch, path) in enumerate(zip(patches, paths, strict=True)):
        before, answer = patch.file_before or "", patch.answer or ""
        after = apply_answer(answer, path, before)
        loose = apply_answer(answer, path, before, lenient=True) if after is None else after
        expected = apply_answer(patch.reference, path, before)
        columns["patch_applied"][index] = after is not None
        columns["patch_applied_lenient"][index] = loose is not None
        if after is not None and expected is not None:
            columns["file_exact"][index] = after == expected
            compared.append((index, _Versions(path, expected, after)))
    equal = map_in_sandbox(_same_versions, [versions for _, versions in compared], 1, SECONDS)
    for (index, _), same in zip(compared, equal, strict=True):
        columns["file_ast_equal"][index] = same is True
    return means(columns)


def _same_versions(versions: _Versions) -> bool:
    return same_code(versions.path, versions.reference, versions.answer)


def _parse(patch: str) -> tuple[FileEdits, ...]:
    try:
        return parse_edits(patch)
    except EditError:
        return ()


def _replaced(patch: str) -> str:
    return "\n".join(edit.replace for file in _parse(patch) for edit in file.edits)
