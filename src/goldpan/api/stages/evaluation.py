"""Models on tasks and datasets of a workspace."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from goldpan.api.evaluation import Evaluation, Plan
    from goldpan.evaluation.label_errors import LabelErrors
    from goldpan.operations.dataset import Dataset
    from goldpan.operations.workspace import Workspace


def evaluate(
    self: Workspace,
    data: str | Dataset | Iterable[str | Dataset],
    *,
    model: str | Iterable[str] = "majority",
    seeds: Iterable[int] | None = None,
    settings: Mapping[str, Any] | None = None,
    protocol: str = "default",
    ablate: Sequence[str] = (),
    hold_out: str | None = None,
    by: Sequence[str] = (),
) -> Evaluation:
    """Run models on tasks or datasets, once per seed; finished runs are not repeated.

    Without `seeds` it is the protocol's, 0 in most. `settings` are those of the model, in
    place of the protocol's. `hold_out` tests on groups that are not in train, such
    as ``document`` or ``repo:each``; `by` names columns to score by, beside the project. Raises
    what the first run that fails raises; those before it are kept, so that the next call
    resumes there.
    """
    from goldpan.api.evaluation import Evaluation

    plan = self.plan(
        data,
        model=model,
        seeds=seeds,
        settings=settings,
        protocol=protocol,
        ablate=ablate,
        hold_out=hold_out,
        by=by,
    )
    return Evaluation(tuple(planned.run() for planned in plan))


def plan(
    self: Workspace,
    data: str | Dataset | Iterable[str | Dataset],
    *,
    model: str | Iterable[str] = "majority",
    seeds: Iterable[int] | None = None,
    settings: Mapping[str, Any] | None = None,
    protocol: str = "default",
    directory: str | Path | None = None,
    ablate: Sequence[str] = (),
    hold_out: str | None = None,
    by: Sequence[str] = (),
) -> Plan:
    """Return the runs that `evaluate` would do, to run or price one by one.

    `directory` has the rows of the tasks, if they are outside the workspace.
    """
    from goldpan.api.evaluation import make_plan

    self.settings.trust.require("plugins")
    return make_plan(
        self,
        data,
        model=model,
        seeds=seeds,
        settings=settings or {},
        protocol=protocol,
        directory=None if directory is None else Path(directory),
        ablate=ablate,
        hold_out=hold_out,
        by=by,
    )


def label_errors(
    self: Workspace,
    task: str,
    *,
    dataset: str | Path | None = None,
    folds: int = 5,
    seed: int = 0,
    output: str | Path | None = None,
) -> LabelErrors:
    """Rank the labels of a classification task by how likely they are wrong.

    Each row is judged by a model that has not learned from it (confident learning).
    `dataset` holds the rows, where they lie outside the workspace; the file `output` takes
    all of them, the most suspect first.
    """
    from goldpan.datasets.registry import find_task, tasks_directory
    from goldpan.datasets.row_files import check_form
    from goldpan.datasets.task_data import task_directory
    from goldpan.evaluation.label_errors import find_label_errors, write_ranked
    from goldpan.evaluation.task_input import read_task_input

    found_task = find_task(task, tasks_directory(self.path))
    directory = task_directory(self.layout, found_task) if dataset is None else Path(dataset)
    if output is not None:
        check_form(Path(output))
    data = read_task_input(directory, found_task).data
    suspects = find_label_errors(data, folds=folds, seed=seed)
    if output is not None:
        write_ranked(suspects, Path(output))
    return suspects
