"""Models scored on tasks and datasets; predictions are stored, and metrics computed from them."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from cyclopts.validators import Number

from goldpan.core.errors import EvaluationError, GoldpanError, UsageError
from goldpan.core.result import Results
from goldpan.core.values import LOCAL, Execution, Positive, several
from goldpan.workspace import annotating, filtering, reporting
from goldpan.workspace.checking import checked_methods
from goldpan.workspace.dataset import Dataset, dataset_directory, find_dataset
from goldpan.workspace.opening import Group, OpenWorkspace
from goldpan.workspace.options import (
    Changes,
    DatasetNames,
    ModelNames,
    Names,
    Rows,
    Seeds,
    TaskNames,
)

if TYPE_CHECKING:
    from goldpan.evaluation.model import ModelEntry
    from goldpan.evaluation.protocol import Protocol
    from goldpan.evaluation.record import RunRecord
    from goldpan.workspace.runs import Evaluation, RunEstimate


@checked_methods
class Evaluate(Group):
    """Score models on tasks; predictions are stored, and metrics are computed from them alone."""

    def run(
        self,
        *,
        task: TaskNames = (),
        suite: str | None = None,
        dataset: DatasetNames = (),
        model: Names = ("majority",),
        seed: Seeds = (),
        protocol: str = "default",
        settings: Changes | None = None,
        ablate: Names = (),
        hold_out: str | None = None,
        by: Names = (),
        dry_run: bool = False,
        execution: Execution = LOCAL,
        gpus: Annotated[float, Parameter(validator=Number(gte=0))] = 0.0,
    ) -> Evaluation | Results[RunEstimate]:
        """Run models on tasks, once per seed; finished runs are not repeated.

        Runs that fail are reported, and the others continue. Exits with 1 if one failed, with 3 if
        a model behind an endpoint has not answered everything yet.

        Example: goldpan evaluate run --task issue_type --model tfidf-svm --seed 0

        Args:
            task (NAME): A task.
            suite (NAME): All tasks of a suite that are in the workspace; see goldpan tasks list.
            dataset (DATASET): A dataset to evaluate on, by its name or directory. With one --task,
                the directory of its rows.
            model (NAME): A model.
            seed: A seed. (default: the protocol's, 0)
            protocol (NAME): See goldpan evaluate protocols.
            settings: A setting of the model.
            ablate (PART): Leave a part out of the input: title, body, pull_title, pull_body, tree
                or file_before.
            hold_out (COLUMN): Test on groups that are not in train: COLUMN, such as document, for a
                fifth of its values, COLUMN:1 to COLUMN:4 for the others, COLUMN=VALUE for one, and
                COLUMN:each, such as repo:each, for every value in turn.
            by (COLUMN): Score by a column, such as document, or by input-length, which is short,
                medium or long, beside repo and place-in-issue.
            dry_run: Only estimate what paid models would cost.
            execution: Where runs are done, each by itself; models behind an endpoint are asked from
                this machine.
            gpus: How many GPUs of one machine of a cluster a run needs.
        """
        from goldpan.workspace.runs import Evaluation, plan_runs, run_on_cluster

        self.lab.settings.trust.require("plugins")
        data, directory = self._data(several(task), suite, dataset)
        plan = plan_runs(
            self.lab,
            data,
            directory,
            models=several(model),
            seeds=(seed,) if isinstance(seed, int) else tuple(seed),
            settings=settings or {},
            protocol=protocol,
            ablate=several(ablate),
            hold_out=hold_out,
            by=several(by),
        )
        if dry_run:
            return Results(planned.estimate() for planned in plan)
        if execution.engine == "ray" and not any(one.estimate for one in plan.models):
            work = partial(_run_there, self.lab.path.absolute())
            common = {"protocol": protocol, "settings": settings, "ablate": ablate}
            inputs = {**common, "hold_out": hold_out, "by": by}
            return run_on_cluster(plan, several(model), inputs, work, execution, gpus)
        finished: list[RunRecord] = []
        failures: list[GoldpanError] = []
        for planned in plan:
            try:
                finished.append(planned.run())
            except EvaluationError as error:
                if len(plan) == 1:
                    raise
                failures.append(error)
        return Evaluation(finished, failures, plan.by)

    def score(
        self, *, task: TaskNames = (), model: ModelNames = (), dataset: Rows = None, by: Names = ()
    ) -> Evaluation:
        """Recompute the scores of finished runs from their predictions; no model is run.

        Example: goldpan evaluate score --task issue_type

        Args:
            by (COLUMN): Score by a column, such as document, or by input-length.
        """
        from goldpan.datasets.tasks.data import task_directory
        from goldpan.evaluation.record import read_runs
        from goldpan.evaluation.run import rescore
        from goldpan.evaluation.task_input import (
            PLACE,
            files_to_score,
            read_places,
            scored_input,
            with_columns,
            with_places,
        )
        from goldpan.workspace.runs import Evaluation

        layout, columns = self.lab.layout, several(by)
        rows = None if dataset is None else dataset_directory(self.lab.layout, dataset)
        results = []
        for run in read_runs(layout, tasks=several(task), models=several(model)):
            known = self.lab.find_task(run.task)
            files = files_to_score(layout, known, run.data_hash, rows)
            data, by = None, columns
            folder = rows or task_directory(layout, known)
            places = read_places(layout, known, folder)
            missing = [name for name in columns if name not in run.predictions().column_names]
            with nullcontext() if missing else suppress(EvaluationError):  # the audit is of others
                if missing or places:
                    stored = scored_input(layout, known, run.data_hash, rows).data
                    data = with_columns(stored, folder, missing)
            if data is not None and places:
                data, by = with_places(data, places), (*columns, PLACE)
            results.append(rescore(layout, run.directory, known, files, by=by, data=data))
        return Evaluation(results, by=columns)

    compare = reporting.compare

    def finetune(
        self,
        *,
        task: Names,
        weights: Names,
        download: bool = False,
        seed: Seeds = (),
        protocol: str = "default",
        epochs: int | None = None,
        deepspeed: str | None = None,
        workers: Positive = 1,
        lora: bool = False,
        settings: Changes | None = None,
        dataset: Rows = None,
    ) -> Evaluation:
        """Fine-tune language models on tasks and test them; interrupted runs resume.

        Example: goldpan evaluate finetune --task issue_type --weights bert-base-cased

        Args:
            task (NAME): A task.
            weights: A folder, OWNER/NAME@COMMIT on the Hugging Face Hub, or minilm.
            download: Fetch weights from the Hub that are not on this machine.
            seed: A seed. (default: the protocol's, 0)
            protocol (NAME): See goldpan evaluate protocols; those of papers may bring a recipe.
            epochs: The maximum number of passes over the data. (default: the recipe's)
            deepspeed: none, zero2, or zero3 to share out the weights too; zero2-offload and
                zero3-offload keep the optimizer off the GPU. (default: the protocol's, none)
            workers: Processes, one per GPU.
            lora: Train low-rank adapters instead of the whole model.
            settings: Another setting; docs/reference/models.md lists those of fine-tuning.
        """
        from goldpan.evaluation.models.finetuned import NAME
        from goldpan.workspace.runs import Evaluation

        chosen: dict[str, Any] = {"processes": workers, "lora": lora, "download": download}
        if deepspeed is not None:
            chosen["deepspeed"] = deepspeed
        if epochs is not None:
            chosen |= {"epochs": epochs, "word_epochs": epochs}
        runs: list[RunRecord] = []
        failures: list[GoldpanError] = []
        for weight in several(weights):
            done = self.run(
                task=task,
                dataset=() if dataset is None else dataset,
                model=NAME,
                seed=seed,
                protocol=protocol,
                settings={**chosen, **(settings or {}), "weights": weight},
            )
            assert isinstance(done, Evaluation)
            runs += done.runs
            failures += done.failures
        return Evaluation(runs, failures)

    resolved = filtering.resolved
    labels = annotating.labels
    label_errors = annotating.label_errors

    def models(self) -> Results[ModelEntry]:
        """List the models that `goldpan evaluate run` knows.

        Example: goldpan evaluate models
        """
        from goldpan.evaluation.model import catalog

        _ = self.lab.settings  # which load plugins
        return Results(catalog().values())

    def protocols(self) -> Results[Protocol]:
        """List the evaluation protocols, with the known defects of those from papers.

        Example: goldpan evaluate protocols
        """
        from goldpan.evaluation.protocol import protocols

        _ = self.lab.settings  # which load plugins
        return Results(protocols().values())

    def _data(
        self, task: tuple[str, ...], suite: str | None, dataset: DatasetNames
    ) -> tuple[list[str | Dataset], Path | None]:
        """Return what to run on, and the directory of the rows where one holds those of a task."""
        given = (dataset,) if isinstance(dataset, (str, Path, Dataset)) else tuple(dataset)
        tasks = list(dict.fromkeys([*task, *(self._members(suite) if suite else ())]))
        if tasks and len(given) == 1:
            return [*tasks], dataset_directory(self.lab.layout, given[0])
        data: list[str | Dataset] = [find_dataset(self.lab, name) for name in given]
        if not data and not tasks:
            raise UsageError("No task is named", "Give --task NAME, --suite NAME or --dataset NAME")
        return [*data, *tasks], None

    def _members(self, suite: str) -> list[str]:
        """Return the tasks of a suite whose rows are in the workspace."""
        from goldpan.datasets.tasks.data import task_directory
        from goldpan.datasets.tasks.registry import load_tasks

        layout = self.lab.layout
        members = reporting.suite_members(load_tasks(self.lab.own_tasks), suite)
        present = [task.name for task in members if task_directory(layout, task).exists()]
        if not present:
            raise UsageError(
                f"{layout.root} holds no task of {suite}",
                f"Run goldpan tasks import for {', '.join(task.name for task in members)}",
            )
        return present


def _run_there(root: Path, values: Mapping[str, Any]) -> RunRecord:
    """Do one run on a machine of a cluster; raises what it raises."""
    found = Evaluate(OpenWorkspace(root)).run(**values)
    run: RunRecord = found[0]
    return run
