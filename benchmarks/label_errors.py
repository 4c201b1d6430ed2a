"""What correcting the most suspect labels does: NLBSE'23 comments with planted wrong labels.

In each task 5% of all labels are turned, the rows are ranked, and the planted labels among the
most suspect tenth are put right, as people would who know. A classifier then learns from train as
it is, corrected and without planted labels, and is tested on labels without planted ones::

    python -m benchmarks.label_errors [--data ../shared/data/nlbse23-comments] [--seeds 3]

Ten minutes on two cores.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.core.terminal import Reporter
from goldpan.datasets.tasks.data import TaskData, read_task_data
from goldpan.datasets.tasks.importing import import_files
from goldpan.datasets.tasks.registry import load_tasks
from goldpan.evaluation.label_errors import find_label_errors
from goldpan.evaluation.model import load
from goldpan.evaluation.models.features import Features
from goldpan.papers.nlbse.nlbse23_tables import BASELINE

DATA = Path(__file__).parents[2] / "shared" / "data" / "nlbse23-comments"
PLANTED, LOOKED_AT = 0.05, 0.1
Labels = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Measured:
    """What one task with one seed gave."""

    planted: int
    reached: int
    """Planted labels among those that people look at."""
    looked_at: int
    f1: tuple[float, float, float]
    """After learning from train with planted labels, corrected, and without any."""
    noisy_test: tuple[float, float]
    """Of the classifier that learned without planted labels, tested against planted ones and
    against corrected ones."""


def measure(data: TaskData, seed: int) -> Measured:
    """Plant, rank, correct and learn."""
    truth = {
        name: label
        for table in data.splits.values()
        for name, label in zip(table["id"].to_pylist(), table["label"].to_pylist(), strict=True)
    }
    first, second = data.task.label_names
    wrong = set(random.Random(seed).sample(sorted(truth), round(PLANTED * len(truth))))
    other = {first: second, second: first}
    planted = {name: other[label] if name in wrong else label for name, label in truth.items()}
    ranked = find_label_errors(_with(data, planted), seed=seed).ranked
    seen = [row.id for row in ranked[: round(LOOKED_AT * len(ranked))]]
    corrected = {**planted, **{name: truth[name] for name in seen}}
    train, test = data.splits["train"], data.splits["test"]
    features = Features(train, pa.concat_tables([train, test]), "neighbors")
    learned, tested = features.of(train), features.of(test)

    def predictions(labels: Labels) -> list[str]:
        own = [labels[name] for name in train["id"].to_pylist()]
        model = load("sklearn.linear_model").LogisticRegression(
            C=4.0, max_iter=1_000, class_weight="balanced"
        )
        return list(model.fit(learned, own).predict(tested))

    def score(predicted: list[str], labels: Labels) -> float:
        right = [labels[name] for name in test["id"].to_pylist()]
        f1 = load("sklearn.metrics").f1_score
        return float(f1(right, predicted, pos_label=first, zero_division=0.0))

    clean = predictions(truth)
    learned_from = (predictions(planted), predictions(corrected), clean)
    noisy, mended, best = (score(predicted, truth) for predicted in learned_from)
    return Measured(
        len(wrong),
        len(wrong.intersection(seen)),
        len(seen),
        (noisy, mended, best),
        (score(clean, planted), score(clean, corrected)),
    )


def _with(data: TaskData, labels: Labels) -> TaskData:
    def table(rows: pa.Table) -> pa.Table:
        own = pa.array([labels[name] for name in rows["id"].to_pylist()], pa.string())
        return rows.set_column(rows.schema.get_field_index("label"), "label", own)

    return replace(data, splits={name: table(rows) for name, rows in data.splits.items()})


def main() -> None:
    """Print what correcting did, over all tasks and seeds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    measured: list[Measured] = []
    tasks = load_tasks(None)
    with tempfile.TemporaryDirectory() as folder:
        workspace = WorkspaceLayout(Path(folder))
        for name in BASELINE:
            task = tasks[name]
            file = options.data / f"{task.settings['language']}.csv.xz"
            import_files(workspace, task, [file], Reporter(quiet=True))
            data = read_task_data(workspace.dataset(name), task)
            measured += [measure(data, seed) for seed in range(options.seeds)]
            print(name, measured[-1], flush=True)
    planted = sum(trial.planted for trial in measured)
    reached = sum(trial.reached for trial in measured)
    looked_at = sum(trial.looked_at for trial in measured)
    noisy, corrected, clean = np.mean([trial.f1 for trial in measured], axis=0)
    against_planted, against_corrected = np.mean([trial.noisy_test for trial in measured], axis=0)
    share = reached / planted
    print(f"{len(measured)} runs: {reached:,} of {planted:,} planted labels ({share:.1%}) stand")
    print(f"among the {looked_at:,} rows that people look at ({reached / looked_at:.0%} of them)")
    print(f"wrong labels: {PLANTED:.1%} before, {PLANTED * (1 - reached / planted):.2%} after")
    print(f"F1 on clean labels: {noisy:.3f} planted, {corrected:.3f} corrected, {clean:.3f} clean")
    print(f"F1 of the clean classifier: {against_planted:.3f} against planted test labels,")
    print(f"{against_corrected:.3f} against corrected ones")


if __name__ == "__main__":
    main()
