"""How far the labels of a dataset or a task are to be believed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from goldpan.operations.group import Group
from goldpan.operations.repositories import dataset_directory, find_dataset
from goldpan.operations.values import Count, file_paths

if TYPE_CHECKING:
    from goldpan.evaluation.label_errors import LabelScores, SuspectLabels
    from goldpan.operations.dataset import Dataset


def labels(
    self: Group,
    dataset: Path | str | Dataset,
    *,
    gold: Path | str | Sequence[Path | str],
    half: Literal["dev", "test"] | None = None,
) -> LabelScores:
    """Score the labels of a dataset against a gold set, labelled by hand.

    A gold set has the columns repo, issue, label and comment_id, for answers, or pull, for fix
    pairs. Rows that it does not label are ignored.

    Args:
        dataset (DATASET): A dataset, by its name or directory.
        gold: A gold set, a CSV file; may be given several times.
        half: Only this half of a gold set.
    """
    from goldpan.evaluation.label_errors import LabelScores

    data = find_dataset(self.lab, dataset)
    return LabelScores(tuple(data.score_labels(path, half) for path in file_paths(gold)))


def label_errors(
    self: Group,
    *,
    task: str,
    dataset: str | Path | Dataset | None = None,
    folds: int = 5,
    seed: Count = 0,
    limit: Count = 20,
    output: Path | str | None = None,
) -> SuspectLabels:
    """Rank the labels of a task by how likely they are wrong (confident learning).

    Each row is judged by a model that was not trained on it. A suspect label may be right: have
    people look at it.

    Args:
        task (NAME): A classification task.
        dataset (DATASET): The rows: a dataset by its name or directory.
            (default: WORKSPACE/datasets)
        folds: How many models to train, each leaving out a share of the rows.
        seed: Seed of the folds.
        limit: At most this many rows are listed.
        output: Write all rows, the most suspect first, to this .parquet, .jsonl or .csv file.
    """
    from goldpan.core.workspace import tasks_directory
    from goldpan.datasets.registry import find_task
    from goldpan.datasets.table_files import check_form
    from goldpan.datasets.task_data import task_directory
    from goldpan.evaluation.label_errors import SuspectLabels, find_label_errors, write_ranked
    from goldpan.evaluation.task_input import read_task_input

    known = find_task(task, tasks_directory(self.lab.path))
    rows = (
        task_directory(self.lab.layout, known)
        if dataset is None
        else dataset_directory(self.lab.layout, dataset)
    )
    if output is not None:
        check_form(Path(output))
    found = find_label_errors(read_task_input(rows, known).data, folds=folds, seed=seed)
    if output is not None:
        write_ranked(found, Path(output))
    return SuspectLabels(replace(found, ranked=found.ranked[:limit]))
