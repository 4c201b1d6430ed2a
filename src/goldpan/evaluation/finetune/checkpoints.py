"""Checkpoints that a kill, even in the middle of writing, does no harm to.

    DIRECTORY/checkpoints/step-00000120/
    ├── state.json    how far the training is, and the size of every other file
    ├── random-0.pt   the state of each process's random numbers
    └── ...           weights and optimizer, as the engine writes them

One is complete when it has its name. Two are kept; where the newer is damaged, the older serves.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import orjson

from goldpan.core.errors import EvaluationError
from goldpan.core.progress import Reporter
from goldpan.core.resources import write_file
from goldpan.evaluation.finetune.engines import ProcessGroup, TrainingEngine
from goldpan.evaluation.model import load

_KEPT = 2
_STATE = "state.json"


@dataclass(slots=True)
class TrainingState:
    """How far a training is."""

    step: int = 0
    best: float | None = None
    """The best validation score, higher is better."""
    best_step: int = 0
    misses: int = 0
    """Evaluations since then."""
    losses: list[float] = field(default_factory=list)
    """Loss of each step."""
    scores: list[tuple[int, float | None]] = field(default_factory=list)
    """Score of each evaluation, with its step."""
    tokens: int = 0
    seconds: float = 0.0


def save(
    directory: Path, state: TrainingState, engine: TrainingEngine, group: ProcessGroup
) -> None:
    """Write a checkpoint and remove older ones; all processes call it together.

    Raises `EvaluationError` where the disk does not take it.
    """
    folder = directory / "checkpoints"
    final = folder / f"step-{state.step:08d}"
    unfinished = folder / f"{final.name}.unfinished"
    if group.first:
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(parents=True)
    group.wait()
    try:
        engine.save(unfinished)
        load("torch").save(_random(group), unfinished / f"random-{group.rank}.pt")
        group.wait()
        if group.first:
            _finish(unfinished, final, state)
    except (OSError, RuntimeError) as error:
        raise EvaluationError(
            f"The checkpoint {final} cannot be written ({' '.join(str(error).split())[:300]})",
            "Free some space on that disk; the same command resumes from the previous checkpoint",
        ) from None
    group.wait()


def resume(
    directory: Path, engine: TrainingEngine, group: ProcessGroup, reporter: Reporter
) -> TrainingState:
    """Set engine and random numbers to the newest sound checkpoint; all processes together.

    Returns a fresh state where there is none; raises `EvaluationError` where all are damaged.
    """
    paths = group.gather(_complete(directory))[0]
    for path in paths:
        problem = _read(path, engine, group)
        problems = [text for text in group.gather(problem) if text]
        if not problems:
            stored = orjson.loads((path / _STATE).read_bytes())["state"]
            stored["scores"] = [(step, score) for step, score in stored["scores"]]
            return TrainingState(**stored)
        if group.first:
            reporter.note(f"The checkpoint {path.name} is damaged: {problems[0]}")
    if paths:
        raise EvaluationError(
            f"All checkpoints in {directory / 'checkpoints'} are damaged",
            "Remove them and run the same command again, which starts over",
        )
    return TrainingState()


def _complete(directory: Path) -> list[Path]:
    paths = (directory / "checkpoints").glob("step-*")
    return sorted((path for path in paths if path.suffix != ".unfinished"), reverse=True)


def _read(path: Path, engine: TrainingEngine, group: ProcessGroup) -> str:
    """Load a checkpoint; return what is wrong with it, empty if nothing."""
    try:
        sizes = orjson.loads((path / _STATE).read_bytes())["sizes"]
        for name, size in sizes.items():
            if (path / name).stat().st_size != size:
                return f"{name} is cut off"
        torch = load("torch")
        states = torch.load(path / f"random-{group.rank}.pt", weights_only=True)
        engine.load(path)
    except Exception as error:  # noqa: BLE001 - torch raises any kind for a broken file
        return " ".join(f"{type(error).__name__}: {error}".split())[:200]
    torch.set_rng_state(states["processor"])
    if group.device.type == "cuda":
        torch.cuda.set_rng_state(states["device"], group.device)
    return ""


def _random(group: ProcessGroup) -> dict[str, Any]:
    torch = load("torch")
    states = {"processor": torch.get_rng_state()}
    if group.device.type == "cuda":
        states["device"] = torch.cuda.get_rng_state(group.device)
    return states


def _finish(unfinished: Path, final: Path, state: TrainingState) -> None:
    files = sorted(path for path in unfinished.rglob("*") if path.is_file())
    sizes = {str(path.relative_to(unfinished)): path.stat().st_size for path in files}
    state_file = unfinished / _STATE
    write_file(state_file, orjson.dumps({"state": asdict(state), "sizes": sizes}))
    for path in (*files, state_file):
        with path.open("rb") as file:
            os.fsync(file.fileno())
    if final.exists():
        shutil.rmtree(final)
    unfinished.rename(final)
    for old in _complete(final.parents[1])[_KEPT:]:
        shutil.rmtree(old, ignore_errors=True)
