"""Comment sentences in the form of NLBSE'23, partitioned by category as theirs; written here."""

from __future__ import annotations

import csv
import random
from pathlib import Path

from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.core.terminal import Reporter
from goldpan.datasets.tasks.importing import import_files
from goldpan.datasets.tasks.registry import find_task

CATEGORIES = ("summary", "usage", "Pointer")
TASKS = tuple(f"nlbse23_java_{name.lower()}" for name in CATEGORIES)
_WORDS = {
    "summary": ("compute", "display", "store"),
    "usage": ("call", "wash", "leaks"),
    "Pointer": ("record", "station", "creek"),
}
_FILLER = ("the", "system", "user", "of", "a", "gravel", "sieve", "pan", "on")


def import_comments(folder: Path, seed: int = 0, classes: int = 24) -> WorkspaceLayout:
    """Import three Java tasks about the same sentences, five a class."""
    draw = random.Random(seed)
    lines = []
    for number in range(classes * 5):
        category = CATEGORIES[draw.randrange(3)]
        words = [*draw.choices(_FILLER, k=4), *draw.choices(_WORDS[category], k=2), str(number)]
        lines.append((number, f"Pan{number // 5}.java", " ".join(words), category))
    path = folder / "java.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(
            ("comment_sentence_id", "class", "comment_sentence", "partition", "instance_type",
             "category")
        )  # fmt: skip
        for candidate in CATEGORIES:
            for number, document, text, category in lines:
                test = int(draw.random() < 0.2)
                writer.writerow(
                    (number, document, text, test, int(category == candidate), candidate)
                )
    workspace = WorkspaceLayout(folder / "workspace")
    for name in TASKS:
        import_files(workspace, find_task(name), [path], Reporter(quiet=True))
    return workspace
