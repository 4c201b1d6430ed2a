"""Keeps beside a run what running tests said of its patches, for reports."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

import orjson
from pydantic import TypeAdapter, ValidationError

from goldpan.core.sealed import DamagedError, file_digest, read_json, sealed_json
from goldpan.core.workspace import write_whole
from goldpan.evaluation.resolved import PatchScore, ResolvedResult
from goldpan.evaluation.stored import PREDICTIONS, RESULT

RESOLVED_FILE = "resolved.json"
_PATCHES = TypeAdapter(tuple[PatchScore, ...])


@dataclass(frozen=True, slots=True)
class StoredResolved:
    """What running tests said of a run's patches."""

    instances: int
    """How many proved issues there are, answered or not."""
    patches: tuple[PatchScore, ...]


def write_resolved(predictions: Path, result: ResolvedResult) -> None:
    """Keep a result beside the run that the predictions are of; of other files nothing is kept."""
    directory = predictions.parent
    if predictions.name != PREDICTIONS or not (directory / RESULT).is_file():
        return
    plain = {
        "predictions": file_digest(predictions),
        "instances": len(result.resolutions),
        "patches": [asdict(patch) for patch in result.patches],
    }
    write_whole(directory / RESOLVED_FILE, sealed_json(plain))


def read_resolved(directory: Path) -> StoredResolved | None:
    """Return what is kept beside a run, None where nothing is or its predictions are others."""
    try:
        plain = read_json(directory / RESOLVED_FILE)
        if plain["predictions"] != file_digest(directory / PREDICTIONS):
            return None
        return StoredResolved(plain["instances"], _PATCHES.validate_python(plain["patches"]))
    except (OSError, DamagedError, orjson.JSONDecodeError, KeyError, TypeError, ValidationError):
        return None
