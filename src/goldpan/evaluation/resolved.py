"""Issues that a model's patches resolve, as tests decide, beside their similarity to the fix.

CodeBLEU and exact match compare texts: a correct patch in other words scores low, and a wrong
one that copies most lines scores high. Execution tells them apart, so both stand beside each
other.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import orjson
from pydantic import TypeAdapter, ValidationError

from goldpan.code.patch import split_patch
from goldpan.core.errors import EvaluationError, UsageError
from goldpan.core.proportions import Estimate, wilson
from goldpan.core.result import Result
from goldpan.core.storage.parquet import read_table
from goldpan.core.storage.sealed import read_json, sealed_json
from goldpan.core.storage.workspace import write_whole
from goldpan.datasets.table_files import table_rows
from goldpan.evaluation.metrics.patches import CodePair, codebleu, written
from goldpan.evaluation.record import PREDICTIONS, RESULT
from goldpan.execution.resolve import Outcome, Resolution

RESOLVED: Outcome = "resolved"
_IDS = ("instance_id", "id")
_ANSWERS = ("model_patch", "answer", "patch")
_REMEDY = (
    "Give JSON lines with instance_id and model_patch, as SWE-bench has them, or a run's "
    "predictions.parquet"
)


@dataclass(frozen=True, slots=True)
class PatchScore:
    """Outcome of one patch by execution, and its similarity to the fix."""

    id: str
    outcome: Outcome
    codebleu: float
    """CodeBLEU of the lines that it writes and those of the merged fix, in [0, 1]."""
    exact: bool
    """True if these are the same lines, but for white space."""


@dataclass(frozen=True, slots=True)
class Similarity:
    """Similarity of patches with one outcome to their merged fixes."""

    patches: int
    codebleu: float | None
    """The mean CodeBLEU of the lines that they write, in [0, 1]."""
    exact: int
    """How many write exactly the lines of the merged fix."""


@dataclass(frozen=True, slots=True)
class PatchScores:
    """Patches to a number of instances, scored by execution and by similarity."""

    instances: int
    """How many proved issues there are, answered or not."""
    patches: tuple[PatchScore, ...]
    """One a patch that was given."""

    @property
    def resolved(self) -> Estimate:
        """The share of instances that are resolved, with its 95% interval (Wilson)."""
        return wilson(self.right.patches, self.instances)

    @property
    def right(self) -> Similarity:
        """Textual similarity to the merged fixes, of patches that resolve their issue."""
        return _similarity([patch for patch in self.patches if patch.outcome == RESOLVED])

    @property
    def wrong(self) -> Similarity:
        """Textual similarity to the merged fixes, of patches that do not resolve their issue."""
        return _similarity([patch for patch in self.patches if patch.outcome != RESOLVED])

    @property
    def separation(self) -> float | None:
        """How often CodeBLEU puts a patch that resolves its issue above one that does not.

        It is the area under the ROC curve, ties counted half: 0.5 is as good as guessing. None
        where all are right or all wrong.
        """
        scores: dict[bool, list[float]] = {True: [], False: []}
        for patch in self.patches:
            scores[patch.outcome == RESOLVED].append(patch.codebleu)
        right, wrong = scores[True], sorted(scores[False])
        if not right or not wrong:
            return None
        below = sum(bisect_left(wrong, score) + bisect_right(wrong, score) for score in right) / 2
        return below / (len(right) * len(wrong))


def _similarity(patches: Sequence[PatchScore]) -> Similarity:
    mean = fmean(patch.codebleu for patch in patches) if patches else None
    return Similarity(len(patches), mean, sum(patch.exact for patch in patches))


@dataclass(frozen=True, slots=True)
class ResolvedResult(PatchScores, Result):
    """The score of a set of patches by execution."""

    schema = 2
    shown_in_json = ("resolved", "right", "wrong", "separation", "counts")

    resolutions: tuple[Resolution, ...]

    @property
    def counts(self) -> dict[Outcome, int]:
        """How many instances have each outcome, the most first."""
        outcomes = Counter(resolution.outcome for resolution in self.resolutions)
        return dict(outcomes.most_common())


def read_patches(path: Path) -> dict[str, str | None]:
    """Return the patch of each instance by its name: an `instance_id` or an example's id.

    Reads JSON as SWE-bench has it and the predictions of a run. Raises `EvaluationError`
    naming file and row, also where an instance has two patches, and what `table_rows` raises.
    """
    patches: dict[str, str | None] = {}
    if not path.exists():
        raise UsageError(f"There is no file {path}", _REMEDY)
    for number, row in enumerate(table_rows(path), 1):
        name = next((row[key] for key in _IDS if isinstance(row.get(key), str)), None)
        answers = [row[key] for key in _ANSWERS if key in row]
        answer = next((answer for answer in answers if answer is not None), None)
        if name is None or not answers or not isinstance(answer, str | None):
            raise EvaluationError(f"{path}:{number} names no instance, or no patch", _REMEDY)
        if name in patches:
            raise EvaluationError(
                f"{path}:{number} has a second patch for {name}", "Give one patch per instance"
            )
        patches[name] = answer
    return patches


def patches_of(
    rows: Sequence[Mapping[str, Any]], patches: Mapping[str, str | None]
) -> dict[str, str | None]:
    """Return the patches by the ids of a dataset's rows.

    A patch may be named by `instance_id`, by the row's id, or by the id of the code edit of the
    same fix. Raises `EvaluationError` where none of them is for a row.
    """
    by_id: dict[str, str | None] = {}
    for row in rows:
        fix = str(row["id"]).partition(":")[2]
        for name in (row["instance_id"], row["id"], f"code-edit:{fix}"):
            if name in patches:
                by_id[row["id"]] = patches[name]
                break
    if patches and not by_id:
        raise EvaluationError(
            f"None of {len(patches):,} patches is for a row of the dataset, such as "
            f"{next(iter(patches))}",
            "Name instances as the dataset's column instance_id does",
        )
    return by_id


def summarize(
    resolutions: Sequence[Resolution], patches: Mapping[str, str | None]
) -> ResolvedResult:
    """Return the outcomes of patches by execution, and the similarity of their texts."""
    answered = [resolution for resolution in resolutions if resolution.outcome != "no-answer"]
    pairs = []
    for resolution in answered:
        instance = resolution.instance
        path = next((part.path for part in split_patch(instance.patch)), "")
        pairs.append(
            CodePair(path, written(instance.patch), written(patches.get(instance.id) or ""))
        )
    scores = tuple(
        PatchScore(
            resolution.instance.id,
            resolution.outcome,
            result.score,
            pair.reference.split() == pair.answer.split(),
        )
        for resolution, pair, result in zip(answered, pairs, codebleu(pairs), strict=True)
    )
    return ResolvedResult(len(resolutions), scores, tuple(resolutions))


RESOLVED_FILE = "resolved.json"
_SCORES = TypeAdapter(PatchScores)


def write_resolved(predictions: Path, result: ResolvedResult) -> None:
    """Store a result beside the run that predicted; results of other files are not stored."""
    directory = predictions.parent
    if predictions.name != PREDICTIONS or not (directory / RESULT).is_file():
        return
    plain = {
        "predictions": _answers_digest(predictions),
        "instances": result.instances,
        "patches": [asdict(patch) for patch in result.patches],
    }
    write_whole(directory / RESOLVED_FILE, sealed_json(plain))


def _answers_digest(predictions: Path) -> str:
    """Return the SHA-256 of the answers alone: other columns may be added to score by."""
    rows = read_table(predictions, ["id", "answer"]).to_pylist()
    return hashlib.sha256(orjson.dumps(rows)).hexdigest()


def read_resolved(directory: Path) -> PatchScores | None:
    """Return the scores stored beside a run, None without any, or for other predictions."""
    try:
        plain = read_json(directory / RESOLVED_FILE)
        if plain["predictions"] != _answers_digest(directory / PREDICTIONS):
            return None
        return _SCORES.validate_python(plain)
    except (OSError, orjson.JSONDecodeError, KeyError, TypeError, ValidationError):
        return None
