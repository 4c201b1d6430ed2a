"""One training as files, so that the processes that do it need nothing else.

DIRECTORY/job/
├── job.json            task, settings, seed, where the weights lie
├── train.parquet
└── validation.parquet  where the protocol has one
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

import orjson
import pyarrow as pa

from goldpan.core.parquet import read_table, write_table
from goldpan.core.resources import write_file
from goldpan.datasets.registry import plain_task, task_of
from goldpan.datasets.task import Task
from goldpan.evaluation.finetune.settings import Settings

_FOLDER = "job"
WORD_TASKS = ("ner", "mlm")


@dataclass(frozen=True, slots=True)
class Job:
    """What is to be learned, from what and how."""

    task: Task
    train: pa.Table
    validation: pa.Table | None
    settings: Settings
    seed: int
    weights: Path
    directory: Path
    """For checkpoints and the weights that were learned."""

    @property
    def epochs(self) -> int:
        """How often each row is seen at most."""
        words = self.task.type in WORD_TASKS
        return self.settings.word_epochs if words else self.settings.epochs


def write_job(job: Job) -> None:
    """Write a training into its directory; those of an earlier try are replaced."""
    folder = job.directory / _FOLDER
    folder.mkdir(exist_ok=True)
    write_table(job.train, folder / "train.parquet")
    if job.validation is not None:
        write_table(job.validation, folder / "validation.parquet")
    facts = {
        "task": plain_task(job.task),
        "settings": asdict(job.settings),
        "seed": job.seed,
        "weights": str(job.weights.resolve()),
    }
    write_file(folder / "job.json", orjson.dumps(facts, option=orjson.OPT_INDENT_2))


def read_job(directory: Path) -> Job:
    """Read what `write_job` wrote."""
    folder = directory / _FOLDER
    data = orjson.loads((folder / "job.json").read_bytes())
    chosen = folder / "validation.parquet"
    return Job(
        task_of(data["task"], str(folder)),
        read_table(folder / "train.parquet"),
        read_table(chosen) if chosen.exists() else None,
        Settings(**data["settings"]),
        data["seed"],
        Path(data["weights"]),
        directory,
    )
