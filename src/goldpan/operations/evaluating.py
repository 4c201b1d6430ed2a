"""Models scored on tasks and datasets; predictions are stored, and metrics computed from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from annotated_types import Ge, Le

from goldpan.core.errors import EvaluationError, GoldpanError, UsageError
from goldpan.core.result import Result, Results
from goldpan.operations import verifying
from goldpan.operations.group import Group
from goldpan.operations.repositories import find_dataset
from goldpan.operations.values import Count, Positive, file_paths, several

if TYPE_CHECKING:
    from goldpan.datasets.task import Task
    from goldpan.evaluation.listed import (
        LabelScores,
        LengthScores,
        ModelList,
        ProtocolList,
        SuspectLabels,
    )
    from goldpan.evaluation.run import RunResult
    from goldpan.operations.dataset import Dataset
    from goldpan.operations.runs import Evaluation, RunEstimate

Seed = Annotated[int, Ge(0), Le(2**32 - 1)]
Names = str | Sequence[str]
_ENDINGS = {"output": ".html", "markdown": ".md", "latex": ".tex"}
_MOST_NAMED = 40


class Evaluate(Group):
    """Score models on tasks; predictions are stored, and metrics are computed from them alone."""

    resolved = verifying.resolved

    def run(
        self,
        *,
        task: Names = (),
        suite: str | None = None,
        dataset: str | Path | Dataset | Sequence[str | Path | Dataset] = (),
        model: Names = ("majority",),
        seed: Seed | Sequence[Seed] = (),
        protocol: str = "default",
        settings: Mapping[str, Any] | None = None,
        ablate: Names = (),
        hold_out: str | None = None,
        by: Names = (),
        dry_run: bool = False,
    ) -> Evaluation | Results[RunEstimate]:
        """Run models on tasks, once per seed; finished runs are not repeated.

        Runs that fail are reported, and the others continue. Exits with 1 if one failed, with 3 if
        a model behind an endpoint has not answered everything yet.

        Args:
            task (NAME): A task; may be given several times.
            suite (NAME): All tasks of a suite, such as selu, that are in the workspace.
            dataset (DATASET): A dataset to evaluate on, by its name or directory; may be given
                several times. With one --task, the directory of its rows.
            model (NAME): A model; may be given several times.
            seed: A seed; may be given several times. (default: the protocol's, 0)
            protocol (NAME): See goldpan evaluate protocols.
            settings: A setting of the model; may be given several times.
            ablate (PART): Leave a part out of the input: title, body, pull_title or pull_body; may
                be given several times.
            hold_out (COLUMN): Test on groups that are not in train. COLUMN, such as document, holds
                out a fifth of its values; COLUMN:1 to COLUMN:4 hold out the other fifths,
                COLUMN=VALUE one value, and COLUMN:each, such as repo:each, every value in turn.
            by (COLUMN): Score by a column, such as document; may be given several times. Scores by
                repo are always included.
            dry_run: Only estimate what paid models would cost.
        """
        from goldpan.operations.runs import Evaluation, RunEstimate, plan_runs

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
            return Results(
                RunEstimate(planned.task, planned.model.name, planned.seed, planned.estimate())
                for planned in plan
            )
        finished: list[RunResult] = []
        failures: list[GoldpanError] = []
        for planned in plan:
            try:
                finished.append(planned.run())
            except EvaluationError as error:
                if len(plan) == 1:
                    raise
                failures.append(error)
        return Evaluation(finished, failures)

    def score(
        self,
        *,
        task: Names = (),
        model: Names = (),
        dataset: str | Path | Dataset | None = None,
        by: Names = (),
    ) -> Evaluation:
        """Recompute the scores of finished runs from their predictions; no model is run.

        Args:
            task (NAME): A task; may be given several times. (default: all)
            model (NAME): A model; may be given several times. (default: all)
            dataset (DATASET): The rows: a dataset by its name or directory.
                (default: WORKSPACE/datasets)
            by (COLUMN): Score by a column, such as document; may be given several times.
        """
        from goldpan.datasets.registry import find_task, tasks_directory
        from goldpan.datasets.task_data import task_directory
        from goldpan.evaluation.columns import with_columns
        from goldpan.evaluation.run import RunResult
        from goldpan.evaluation.runs import read_runs
        from goldpan.evaluation.stored import rescore
        from goldpan.evaluation.task_input import files_to_score, scored_input
        from goldpan.operations.runs import Evaluation

        layout, columns = self.lab.layout, several(by)
        rows = None if dataset is None else find_directory(self, dataset)
        results = []
        for run in read_runs(layout, tasks=several(task), models=several(model)):
            known = find_task(run.task, tasks_directory(self.lab.path))
            files = files_to_score(layout, known, run.record.data_hash, rows)
            data = None
            if missing := [name for name in columns if name not in run.predictions().column_names]:
                stored = scored_input(layout, known, run.record.data_hash, rows).data
                data = with_columns(stored, rows or task_directory(layout, known), missing)
            result = rescore(run.directory, known, files, by=columns, data=data)
            results.append(RunResult(run.directory, result, again=False))
        return Evaluation(results)

    def lengths(
        self, *, task: Names = (), model: Names = (), dataset: str | Path | Dataset | None = None
    ) -> LengthScores:
        """Score short, medium and long inputs of finished runs separately (FAUN-Eval, RQ3).

        Args:
            task (NAME): A task; may be given several times. (default: all)
            model (NAME): A model; may be given several times. (default: all)
            dataset (DATASET): The rows: a dataset by its name or directory.
                (default: WORKSPACE/datasets)
        """
        from goldpan.datasets.registry import find_task, tasks_directory
        from goldpan.evaluation.lengths import score_by_length
        from goldpan.evaluation.listed import LengthScores
        from goldpan.evaluation.runs import read_runs
        from goldpan.evaluation.task_input import input_lengths, scored_input

        layout = self.lab.layout
        rows = None if dataset is None else find_directory(self, dataset)
        measured = []
        for stored in read_runs(layout, tasks=several(task), models=several(model)):
            known = find_task(stored.task, tasks_directory(self.lab.path))
            task_input = scored_input(layout, known, stored.record.data_hash, rows)
            thirds = score_by_length(
                known,
                stored.predictions(),
                input_lengths(task_input),
                seed=stored.seed,
                files=task_input.files,
            )
            measured.append((stored, thirds))
        return LengthScores(tuple(measured))

    def models(self) -> ModelList:
        """List the models that `goldpan evaluate run` knows."""
        from goldpan.evaluation.listed import ModelList
        from goldpan.evaluation.models.catalogue import catalogue

        return ModelList(tuple(catalogue().values()))

    def protocols(self) -> ProtocolList:
        """List the evaluation protocols, with the known defects of those from papers."""
        from goldpan.evaluation.listed import ProtocolList
        from goldpan.evaluation.protocol import protocols

        return ProtocolList(tuple(protocols().values()))

    def labels(
        self,
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
        from goldpan.evaluation.listed import LabelScores

        data = find_dataset(self.lab, dataset)
        return LabelScores(tuple(data.score_labels(path, half) for path in file_paths(gold)))

    def compare(
        self,
        *,
        task: Names = (),
        suite: str | None = None,
        model: Names = (),
        protocol: str | None = None,
        approach: Literal[
            "calibrated", "bayesian", "frequentist", "wilcoxon", "nemenyi", "tukey"
        ] = "calibrated",
        alpha: float = 0.05,
        rope: float | None = None,
        seed: Count = 0,
        scores: Path | str | None = None,
        metric: str = "",
        output: Path | str | None = None,
        markdown: Path | str | None = None,
        latex: Path | str | None = None,
    ) -> Result:
        """Say which models differ, from stored runs, and write a report; no model is run.

        Args:
            task (NAME): A task; may be given several times. (default: all)
            suite (NAME): All tasks of a suite, such as selu.
            model (NAME): A model; may be given several times. (default: all)
            protocol (NAME): Only runs under this protocol. (default: all)
            approach: calibrated asks whether a difference would hold on new rows and on new tasks.
                The others are for five tasks or more.
            alpha: Significance level, which is how often a decision may be wrong.
            rope: Region of practical equivalence: points of the score (calibrated, 0.01), or a
                share of the models' spread (bayesian, 0.1).
            seed: Seed of the tests' random draws.
            scores: A CSV or JSON file of scores, confusion counts or predictions from elsewhere, in
                place of stored runs. (see Comparing runs)
            metric (NAME): With --scores, f1, precision, recall, specificity or accuracy.
            output: An HTML file for the whole report.
            markdown: A Markdown file for the report's tables.
            latex: A LaTeX file for the tables of a paper.
        """
        from goldpan.datasets.registry import load_tasks, tasks_directory
        from goldpan.evaluation.comparing import compare_stored
        from goldpan.evaluation.comparison_result import Question
        from goldpan.report.compared import report_comparison
        from goldpan.report.evaluation import EvaluationFiles

        files = EvaluationFiles(
            _checked("output", output), _checked("markdown", markdown), _checked("latex", latex)
        )
        question = Question(approach, alpha, rope, seed)
        named, models = several(task), several(model)
        if scores is not None:
            if suite or protocol:
                raise UsageError(
                    "--scores reads a file, which has no suites and protocols",
                    "Leave out --suite and --protocol; --task and --model choose its rows",
                )
            return _compare_file(Path(scores), question, metric, named, models, files)
        if metric:
            raise UsageError(
                "--metric is for --scores; stored runs rank by the metric of their task",
                "Leave it out",
            )
        layout = self.lab.layout
        tasks = load_tasks(tasks_directory(layout.root))
        members = [known.name for known in suite_members(tasks, suite)] if suite else []
        compared = compare_stored(
            layout,
            tasks,
            [*named, *members],
            question,
            required=named,
            models=models,
            protocol=protocol or "",
        )
        return report_comparison(layout, compared, tasks, files, suite or "")

    def finetune(
        self,
        *,
        task: Names,
        weights: Names,
        download: bool = False,
        seed: Seed | Sequence[Seed] = (),
        protocol: str = "default",
        epochs: int | None = None,
        deepspeed: str | None = None,
        workers: Positive = 1,
        launcher: str = "torchrun",
        lora: bool = False,
        settings: Mapping[str, Any] | None = None,
        dataset: str | Path | Dataset | None = None,
    ) -> Evaluation:
        """Fine-tune language models on tasks and test them; interrupted runs resume.

        Args:
            task (NAME): A task; may be given several times.
            weights: A folder, OWNER/NAME@COMMIT on the Hugging Face Hub, or minilm; may be given
                several times.
            download: Fetch weights from the Hub that are not on this machine.
            seed: A seed; may be given several times. (default: the protocol's, 0)
            protocol (NAME): See goldpan evaluate protocols; selu-paper brings its own recipe.
            epochs: The maximum number of passes over the data. (default: the recipe's)
            deepspeed: none, zero2, or zero2-offload to keep the optimizer off the GPU. (default:
                the protocol's, none)
            workers: Processes, one per GPU.
            launcher: torchrun or deepspeed.
            lora: Train low-rank adapters instead of the whole model.
            settings: Another setting; docs/models.md lists them all.
            dataset (DATASET): The rows: a dataset by its name or directory.
                (default: WORKSPACE/datasets)
        """
        from goldpan.evaluation.models.finetuned import NAME
        from goldpan.operations.runs import Evaluation, plan_runs

        self.lab.settings.trust.require("plugins")
        chosen: dict[str, Any] = {
            **({} if deepspeed is None else {"deepspeed": deepspeed}),
            "processes": workers,
            "launcher": launcher,
            "lora": lora,
            "download": download,
            **({} if epochs is None else {"epochs": epochs, "word_epochs": epochs}),
            **(settings or {}),
        }
        runs: list[RunResult] = []
        for weight in several(weights):
            plan = plan_runs(
                self.lab,
                several(task),
                None if dataset is None else find_directory(self, dataset),
                models=(NAME,),
                seeds=(seed,) if isinstance(seed, int) else tuple(seed),
                settings={**chosen, "weights": weight},
                protocol=protocol,
            )
            runs += [planned.run() for planned in plan]
        return Evaluation(runs)

    def label_errors(
        self,
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
        from goldpan.datasets.registry import find_task, tasks_directory
        from goldpan.datasets.row_files import check_form
        from goldpan.datasets.task_data import task_directory
        from goldpan.evaluation.label_errors import find_label_errors, write_ranked
        from goldpan.evaluation.listed import SuspectLabels
        from goldpan.evaluation.task_input import read_task_input

        known = find_task(task, tasks_directory(self.lab.path))
        rows = (
            task_directory(self.lab.layout, known)
            if dataset is None
            else find_directory(self, dataset)
        )
        if output is not None:
            check_form(Path(output))
        found = find_label_errors(read_task_input(rows, known).data, folds=folds, seed=seed)
        if output is not None:
            write_ranked(found, Path(output))
        return SuspectLabels(replace(found, ranked=found.ranked[:limit]))

    def _data(
        self,
        task: tuple[str, ...],
        suite: str | None,
        dataset: str | Path | Dataset | Sequence[str | Path | Dataset],
    ) -> tuple[list[str | Dataset], Path | None]:
        """Return what to run on, and the directory of the rows where one holds those of a task."""
        from goldpan.operations.dataset import Dataset

        given = (dataset,) if isinstance(dataset, (str, Path, Dataset)) else tuple(dataset)
        tasks = list(dict.fromkeys([*task, *(self._members(suite) if suite else ())]))
        if tasks and len(given) == 1:
            return [*tasks], find_directory(self, given[0])
        data: list[str | Dataset] = [find_dataset(self.lab, name) for name in given]
        if not data and not tasks:
            raise UsageError("No task is named", "Give --task NAME, --suite NAME or --dataset NAME")
        return [*data, *tasks], None

    def _members(self, suite: str) -> list[str]:
        """Return the tasks of a suite whose rows are in the workspace."""
        from goldpan.datasets.registry import load_tasks, tasks_directory
        from goldpan.datasets.task_data import task_directory

        layout = self.lab.layout
        members = suite_members(load_tasks(tasks_directory(layout.root)), suite)
        present = [task.name for task in members if task_directory(layout, task).exists()]
        if not present:
            raise UsageError(
                f"{layout.root} holds no task of {suite}",
                f"Run goldpan tasks import for {', '.join(task.name for task in members)}",
            )
        return present


def suite_members(tasks: Mapping[str, Task], suite: str) -> list[Task]:
    """Return the tasks of a suite; raises `UsageError` for a name of none."""
    members = [task for task in tasks.values() if suite in task.suites]
    if not members:
        suites = sorted({name for task in tasks.values() for name in task.suites})
        raise UsageError(f"There is no suite {suite!r}", f"Choose {', '.join(suites)}")
    return members


def find_directory(group: Group, dataset: str | Path | Dataset) -> Path:
    """Return the directory of rows that a name in the workspace or a path means."""
    from goldpan.operations.dataset import Dataset

    if isinstance(dataset, Dataset):
        return dataset.path
    named = group.lab.layout.dataset(str(dataset))
    is_name = not Path(dataset).is_dir() and named.is_dir()
    return named if is_name else Path(dataset)


def _compare_file(
    path: Path,
    question: Any,
    metric: str,
    tasks: tuple[str, ...],
    models: tuple[str, ...],
    files: Any,
) -> Result:
    from goldpan.evaluation.comparing_files import compare_file
    from goldpan.evaluation.score_files import read_scores
    from goldpan.report.compared import report_file_comparison

    file = read_scores(path)
    for noun, chosen, available in (
        ("task", tasks, {key.task for key in file.keys}),
        ("model", models, {key.model for key in file.keys}),
    ):
        for name in chosen:
            if name not in available:
                raise UsageError(
                    f"{path} has no row for the {noun} {name!r}",
                    f"It has {', '.join(sorted(available)[:_MOST_NAMED])}",
                )
    compared = compare_file(file, question, metric=metric, tasks=tasks, models=models)
    return report_file_comparison(compared, files)


def _checked(name: str, path: Path | str | None) -> Path | None:
    """Return an output's path; raises `UsageError` for another ending or a missing folder."""
    from goldpan.core.resources import check_folder

    if path is None:
        return None
    file = Path(path)
    if file.suffix != _ENDINGS[name]:
        raise UsageError(
            f"--{name} {file} does not end in {_ENDINGS[name]}", f"End it in {_ENDINGS[name]}"
        )
    check_folder(file)
    return file
