"""How scores change with the length of the input, in thirds (FAUN-Eval, RQ3 and Figure 3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from goldpan.core.errors import EvaluationError
from goldpan.datasets.task import Task
from goldpan.evaluation.metrics.result import Scores
from goldpan.evaluation.score import RESAMPLES, score

THIRDS = ("short", "medium", "long")


@dataclass(frozen=True, slots=True)
class Third:
    """The scores of the shortest, middle or longest examples."""

    name: str
    shortest: int
    longest: int
    """Characters of the inputs."""
    scores: Scores


def length_thirds(lengths: Mapping[str, int]) -> tuple[tuple[str, ...], ...]:
    """Sort examples by length and divide them evenly; equal lengths go by id.

    The paper divides evenly and says no more; where the number is no multiple of three, shorter
    thirds get one more. A third may be empty where there are fewer than three examples.
    """
    ordered = sorted(lengths, key=lambda id_: (lengths[id_], id_))
    size, more = divmod(len(ordered), len(THIRDS))
    sizes = [size + (index < more) for index in range(len(THIRDS))]
    ends = [sum(sizes[: index + 1]) for index in range(len(THIRDS))]
    return tuple(tuple(ordered[end - size : end]) for end, size in zip(ends, sizes, strict=True))


def score_by_length(
    task: Task,
    predictions: pa.Table,
    lengths: Mapping[str, int],
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
    files: Mapping[str, str] | None = None,
) -> tuple[Third, ...]:
    """Score the short, the medium and the long examples apart; lengths are characters by id.

    Raises `EvaluationError` where an example has no length or there are fewer than three.
    """
    ids = predictions["id"].to_pylist()
    unknown = [id_ for id_ in ids if id_ not in lengths]
    if unknown or len(ids) < len(THIRDS):
        problem = f"{unknown[0]!r} has no length" if unknown else f"There are {len(ids)} examples"
        raise EvaluationError(problem, "Give at least three examples, all with their lengths")
    thirds = length_thirds({id_: lengths[id_] for id_ in ids})
    parts: list[Third] = []
    for name, members in zip(THIRDS, thirds, strict=True):
        rows = predictions.filter(pc.is_in(predictions["id"], pa.array(members, pa.string())))
        scores = score(task, rows, seed=seed, resamples=resamples, files=files)
        parts.append(Third(name, lengths[members[0]], lengths[members[-1]], scores))
    return tuple(parts)
