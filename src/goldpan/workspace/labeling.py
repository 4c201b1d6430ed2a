"""How far the labels of a dataset or a task are to be believed."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from goldpan.core.errors import UsageError
from goldpan.core.result import Results
from goldpan.core.values import Count, Positive, file_paths
from goldpan.workspace.opening import Group
from goldpan.workspace.options import DatasetName, Rows, StudioUrl
from goldpan.workspace.repositories import dataset_directory, find_dataset

if TYPE_CHECKING:
    from goldpan.datasets.gold import GoldScore
    from goldpan.evaluation.label_errors import LabelErrors


def labels(
    self: Group,
    dataset: DatasetName,
    *,
    gold: Path | str | Sequence[Path | str] = (),
    half: Literal["dev", "test"] | None = None,
    sample: Positive | None = None,
    seed: Count = 0,
    subjects: Literal["random", "best-informed"] = "random",
    reader: str = "first",
    output: Path | str | None = None,
    studio: str | None = None,
    url: StudioUrl = None,
) -> Results[GoldScore]:
    """Score the labels of a dataset by reading a sample of its rows, or by a gold set.

    With --sample, rows drawn by --seed are judged in the terminal, a number each, or in Label
    Studio; the same command goes on with what is left. docs/labels.md has the columns of a gold
    set.

    Example: goldpan evaluate labels qa --gold answers.csv

    Args:
        dataset (DATASET): A dataset, by its name or directory.
        gold: A gold set, a CSV file.
        half: Only this half of a gold set.
        sample: Read this many rows.
        seed: With --sample, the seed that draws them.
        subjects: With --sample, which rows are drawn: best-informed draws more of those of which
            stored reviews leave more doubt.
        reader (NAME): With --sample, who reads; each reader judges the same rows.
        output: With --sample, the CSV file of the judgments. (default: DATASET.readings.csv)
        studio (PROJECT): With --sample, send the rows to this project in Label Studio, and fetch
            what its annotators said.
    """
    data, golds = find_dataset(self.lab, dataset), file_paths(gold)
    if (sample is None) == (not golds):
        raise UsageError(
            "Labels are scored by a sample or by a gold set", "Give --sample or --gold"
        )
    if sample is None:
        return Results(data.score_labels(path, half) for path in golds)
    from goldpan.annotation.review.stored import row_votes
    from goldpan.annotation.studio.label_sample import draw_sample, read_in_terminal, readings_path
    from goldpan.datasets.provenance import build_command

    path = readings_path(data.path) if output is None else Path(output)
    vote = row_votes(self.lab.layout, data.path) if subjects == "best-informed" else None
    drawn = draw_sample(data.path, sample, seed, path, vote)
    notes: tuple[str, ...] = ()
    if studio is None:
        read_in_terminal(drawn, reader)
    else:
        from goldpan.annotation.studio.gold import collect_readings
        from goldpan.annotation.studio.serve import find_server

        server = find_server(url, os.environ, self.lab.layout)
        page = collect_readings(self.lab.layout, server, studio, drawn, self.lab.reporter)
        notes = (f"Annotators read at {page}; the same command fetches what they say",)
    if not path.exists():
        return Results((), ("Nothing is judged yet", *notes))
    command = build_command(data.path, self.lab.path, path)
    notes = ("To have this on the card and in provenance.json:", f"  {command}", *notes)
    return Results([data.score_labels(path)], notes)


def label_errors(
    self: Group,
    *,
    task: str,
    dataset: Rows = None,
    folds: int = 5,
    seed: Count = 0,
    limit: Count = 20,
    output: Path | str | None = None,
) -> LabelErrors:
    """Rank the labels of a task by how likely they are wrong (confident learning).

    Each row is judged by a model that was not trained on it. A suspect label may be right: have
    people look at it.

    Example: goldpan evaluate label-errors --task requirement_type

    Args:
        task (NAME): A classification task.
        folds: How many models to train, each leaving out a share of the rows.
        seed: Seed of the folds.
        limit: At most this many rows are listed.
        output: Write all rows, the most suspect first, to this .parquet, .jsonl or .csv file.
    """
    from goldpan.datasets.table_files import check_form
    from goldpan.datasets.tasks.data import task_directory
    from goldpan.evaluation.label_errors import find_label_errors, write_ranked
    from goldpan.evaluation.task_input import read_task_input

    known = self.lab.find_task(task)
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
    return replace(found, ranked=found.ranked[:limit])
