"""The two shortcut methods that a model has to beat (CrossCodeBench, section IV-B1).

Copy Ex-output answers with the output of one of the task's positive examples, drawn anew for
each instance; Copy Ins-input answers with the input of the instance.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pyarrow as pa
import pyarrow.parquet as pq

from goldpan.core.errors import DatasetError
from goldpan.core.registry import Registry
from goldpan.core.result import Block, Line, Result
from goldpan.datasets.hash_sampling import draw_number
from goldpan.datasets.provenance import read_provenance, shard_paths
from goldpan.papers.crosscodebench.build import FAMILY, read_tasks
from goldpan.papers.crosscodebench.meta import Meta
from goldpan.papers.crosscodebench.prompt_table import SHARDS

Shortcut = Literal["copy-ex-output", "copy-ins-input"]
SHORTCUTS: Mapping[str, Shortcut] = {
    "copy-ex-output": "copy-ex-output",
    "copy-ins-input": "copy-ins-input",
}
"""Both by name."""


@dataclass(frozen=True, slots=True)
class ShortcutAnswer:
    """What a shortcut answers to one instance."""

    id: str
    task: str
    truth: str
    answer: str | None
    """None where the task has no positive example to copy from."""


@dataclass(frozen=True, slots=True)
class ShortcutScores(Result):
    """What a shortcut scores on the evaluation side, in percent; None without instances."""

    shortcut: str
    seed: int
    instances: int
    exact_match: float | None
    bleu: float | None
    rouge_l: float | None

    def blocks(self) -> Iterator[Block]:
        """Yield each score."""
        yield Line(f"{self.shortcut} on {self.instances:,} instances")
        for name in ("exact_match", "bleu", "rouge_l"):
            score = getattr(self, name)
            yield Line(f"  {name}: " + ("none" if score is None else f"{score:.2f}"))


find_shortcut = Registry("shortcut", lambda: SHORTCUTS).find


def copied_example(meta: Meta, name: str, seed: int) -> str | None:
    """Return the output of one positive example, drawn by the seed and the instance's name."""
    if not meta.positive:
        return None
    return meta.positive[draw_number(seed, meta.stem, name, "shortcut") % len(meta.positive)].output


def shortcut_answers(
    directory: Path, shortcut: Shortcut, seed: int = 0
) -> Iterator[ShortcutAnswer]:
    """Yield what a shortcut answers to the evaluation instances of a built split, in their order.

    Memory follows a batch. Raises `DatasetError` where the directory holds no such split.
    """
    if read_provenance(directory).get("family") != FAMILY:
        raise DatasetError(
            f"{directory} holds no split of CrossCodeBench",
            "Give the directory that goldpan build crosscode split wrote",
        )
    tasks = read_tasks(directory)
    columns = ["id", "task", "input", "output"]
    for path in shard_paths(directory, SHARDS["evaluation"]):
        try:
            with pq.ParquetFile(path, page_checksum_verification=True) as file:
                for batch in file.iter_batches(batch_size=256, columns=columns):
                    for row in batch.to_pylist():
                        answer = (
                            row["input"]
                            if shortcut == "copy-ins-input"
                            else copied_example(tasks[row["task"]], row["id"], seed)
                        )
                        yield ShortcutAnswer(row["id"], row["task"], row["output"], answer)
        except (OSError, pa.ArrowException) as error:
            raise DatasetError(f"{path} cannot be read ({error})", "Build it again") from None


def write_answers(path: Path, answers: Sequence[ShortcutAnswer], schema: pa.Schema) -> None:
    """Write answers as the predictions table of free text, whose schema the caller brings.

    The file appears by a rename. Raises `DatasetError` where it cannot be written.
    """
    rows = [{"id": answer.id, "truth": answer.truth, "answer": answer.answer} for answer in answers]
    filled = [{**dict.fromkeys(schema.names), **row} for row in rows]
    unfinished = path.with_name(f"{path.name}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(
            pa.Table.from_pylist(filled, schema=schema),
            unfinished,
            compression="zstd",
            write_page_checksum=True,
        )
        unfinished.replace(path)
    except OSError as error:
        raise DatasetError(
            f"{path} cannot be written: {error.strerror}", "Choose another --output"
        ) from None
