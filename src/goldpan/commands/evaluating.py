"""Commands that score what datasets and tasks are worth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import orjson
import typer

from goldpan.commands import comparing, finetuning, label_errors
from goldpan.commands.evaluating_screen import (
    print_all_ran,
    print_estimate,
    print_lengths,
    print_models,
    print_protocols,
    print_scores,
)
from goldpan.commands.runs_screen import print_ran
from goldpan.commands.shared import (
    PARTIAL,
    Directory,
    Json,
    OwnTasks,
    complain,
    layout_of,
    opened,
    print_result,
)
from goldpan.core.errors import EvaluationError, UsageError
from goldpan.core.workspace import Workspace

if TYPE_CHECKING:  # these take long to import
    pass

app = typer.Typer(
    help="Score models on tasks; predictions are stored, and metrics are computed from them alone.",
    no_args_is_help=True,
)

app.command()(comparing.compare)
app.command()(finetuning.finetune)
app.command("label-errors")(label_errors.label_errors)

Tasks = Annotated[
    list[str] | None, typer.Option("--task", help="A task; may be given several times.")
]
Models = Annotated[
    list[str] | None, typer.Option("--model", help="A model; may be given several times.")
]
By = Annotated[
    list[str] | None,
    typer.Option(
        "--by",
        help="Score by a column, such as document; may be given several times. Scores by repo "
        "are always included.",
    ),
]
Stored = Annotated[
    Path | None,
    typer.Option(
        "--dataset", help="The directory of the runs' rows. (default: WORKSPACE/datasets)"
    ),
]


@app.command("labels")
def labels(
    dataset: Annotated[Path, typer.Argument(help="The directory of a dataset.")],
    gold: Annotated[
        list[Path], typer.Option(help="A gold set, a CSV file; may be given several times.")
    ],
    half: Annotated[
        str | None, typer.Option(help="Only this half of a gold set: dev or test.")
    ] = None,
    json: Json = False,
) -> None:
    """Score the labels of a dataset against a gold set, labelled by hand.

    A gold set has the columns repo, issue, label and comment_id, for answers, or pull, for fix
    pairs. Rows that it does not label are ignored.
    """
    from goldpan.operations.dataset import Dataset

    data = Dataset(dataset)
    scores = [data.score_labels(path, half) for path in gold]
    print_result(json, [asdict(score) for score in scores], lambda: print_scores(scores))


@app.command("run")
def run_models(
    task: Tasks = None,
    suite: Annotated[
        str | None,
        typer.Option(help="All tasks of a suite, such as selu, that are in the workspace."),
    ] = None,
    model: Models = None,
    seed: Annotated[
        list[int] | None,
        typer.Option(
            min=0,
            max=2**32 - 1,
            help="A seed; may be given several times. (default: the protocol's, 0)",
        ),
    ] = None,
    protocol: Annotated[str, typer.Option(help="See goldpan evaluate protocols.")] = "default",
    setting: Annotated[
        list[str] | None, typer.Option("--set", help="A setting of the model, as name=value.")
    ] = None,
    dataset: Annotated[
        Path | None,
        typer.Option(help="The directory of the task's rows. (default: WORKSPACE/datasets)"),
    ] = None,
    ablate: Annotated[
        list[str] | None,
        typer.Option(
            help="Leave a part out of the input: title, body, pull_title or pull_body; may be "
            "given several times."
        ),
    ] = None,
    held_out: Annotated[
        str | None,
        typer.Option(
            "--hold-out",
            help="Test on groups that are not in train. COLUMN, such as document, holds out a "
            "fifth of its values; COLUMN:1 to COLUMN:4 hold out the other fifths, "
            "COLUMN=VALUE one value, and COLUMN:each, such as repo:each, every value in turn.",
        ),
    ] = None,
    by: By = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only estimate what paid models would cost.")
    ] = False,
    tasks: OwnTasks = None,
    workspace: Directory = None,
    json: Json = False,
) -> None:
    """Run models on tasks, once per seed; finished runs are not repeated.

    Runs that fail are reported, and the others continue. Exits with 1 if one failed, with 3 if a
    model behind an endpoint has not answered everything yet.
    """
    from goldpan.evaluation.prompting.errors import UnansweredError

    results: list[Mapping[str, Any]] = []
    answered, failed = True, 0
    with opened(json, workspace=workspace, tasks=tasks) as lab:
        plan = lab.plan(
            _named(lab.layout, task, suite),
            model=model or "majority",
            seeds=seed,
            settings=dict(_pair(text) for text in setting or ()),
            protocol=protocol,
            directory=dataset,
            ablate=ablate or (),
            hold_out=held_out,
            by=by or (),
        )
        for planned in plan:
            if dry_run:
                estimate = planned.estimate()
                facts = {"task": planned.task, "model": planned.model.name, "seed": planned.seed}
                results.append({**facts, "estimate": estimate and asdict(estimate)})
                if not json:
                    print_estimate(planned.task, planned.model.name, planned.seed, estimate)
                continue
            try:
                finished = planned.run()
            except UnansweredError as error:
                answered = False
                complain(error)
                continue
            except EvaluationError as error:
                if len(plan) == 1:
                    raise
                failed += 1
                complain(error)
                continue
            results.append(finished.result)
            if not json:
                print_ran(finished)
    if json:
        print_result(json, results, lambda: None)
    if failed or not answered:
        raise typer.Exit(1 if failed else PARTIAL)


@app.command()
def score(
    task: Tasks = None,
    model: Models = None,
    dataset: Stored = None,
    by: By = None,
    tasks: OwnTasks = None,
    workspace: Directory = None,
    json: Json = False,
) -> None:
    """Recompute the scores of finished runs from their predictions; no model is run."""
    from goldpan.datasets.registry import find_task, tasks_directory
    from goldpan.datasets.task_data import task_directory
    from goldpan.evaluation.columns import with_columns
    from goldpan.evaluation.run import RunResult
    from goldpan.evaluation.runs import read_runs
    from goldpan.evaluation.stored import rescore
    from goldpan.evaluation.task_input import files_to_score, scored_input

    lab = layout_of(workspace, tasks)
    results = []
    for run in read_runs(lab, tasks=task or (), models=model or ()):
        stored_task = find_task(run.task, tasks_directory(lab.root))
        files = files_to_score(lab, stored_task, run.record.data_hash, dataset)
        data = None
        if missing := [name for name in by or () if name not in run.predictions().column_names]:
            stored = scored_input(lab, stored_task, run.record.data_hash, dataset).data
            data = with_columns(stored, dataset or task_directory(lab, stored_task), missing)
        result = rescore(run.directory, stored_task, files, by=by or (), data=data)
        results.append(RunResult(run.directory, result, again=False))
    print_result(json, [result.result for result in results], lambda: print_all_ran(results))


@app.command()
def lengths(
    task: Tasks = None,
    model: Models = None,
    dataset: Stored = None,
    tasks: OwnTasks = None,
    workspace: Directory = None,
    json: Json = False,
) -> None:
    """Score short, medium and long inputs of finished runs separately (FAUN-Eval, RQ3)."""
    from goldpan.datasets.registry import find_task, tasks_directory
    from goldpan.evaluation.lengths import score_by_length
    from goldpan.evaluation.runs import read_runs
    from goldpan.evaluation.task_input import input_lengths, scored_input

    lab = layout_of(workspace, tasks)
    measured = []
    for stored in read_runs(lab, tasks=task or (), models=model or ()):
        stored_task = find_task(stored.task, tasks_directory(lab.root))
        task_input = scored_input(lab, stored_task, stored.record.data_hash, dataset)
        thirds = score_by_length(
            stored_task,
            stored.predictions(),
            input_lengths(task_input),
            seed=stored.seed,
            files=task_input.files,
        )
        measured.append((stored, thirds))
    lines = [
        {"directory": str(run.directory), "thirds": [asdict(third) for third in thirds]}
        for run, thirds in measured
    ]
    print_result(json, lines, lambda: print_lengths(measured))


@app.command()
def models(workspace: Directory = None, json: Json = False) -> None:
    """List the models that `goldpan evaluate run` knows."""
    from goldpan.core.config import use_plugins
    from goldpan.evaluation.models.catalogue import catalogue

    use_plugins(workspace)
    entries = catalogue()
    print_result(
        json,
        [{"name": entry.name, "about": entry.about} for entry in entries.values()],
        lambda: print_models(entries.values()),
    )


@app.command()
def protocols(json: Json = False) -> None:
    """List the evaluation protocols, with the known defects of those from papers."""
    from goldpan.evaluation.protocol import protocols as known

    recipes = known()
    print_result(
        json,
        [asdict(protocol) for protocol in recipes.values()],
        lambda: print_protocols(recipes.values()),
    )


def _pair(text: str) -> tuple[str, Any]:
    name, sign, value = text.partition("=")
    if not sign:
        raise UsageError(f"--set {text!r} has no value", "Write name=value")
    try:
        return name, orjson.loads(value)
    except orjson.JSONDecodeError:
        return name, value


def _named(workspace: Workspace, task: list[str] | None, suite: str | None) -> list[str]:
    """Return the tasks to run, in the order given; those of a suite that are there."""
    from goldpan.datasets.registry import load_tasks, tasks_directory
    from goldpan.datasets.task_data import task_directory

    names = list(task or ())
    if suite is not None:
        every = load_tasks(tasks_directory(workspace.root)).values()
        members = {
            known_task.name: known_task for known_task in every if suite in known_task.suites
        }
        if not members:
            suites = sorted({name for known_task in every for name in known_task.suites})
            raise UsageError(f"There is no suite {suite!r}", f"Choose {', '.join(suites)}")
        present = [
            name
            for name, known_task in members.items()
            if task_directory(workspace, known_task).exists()
        ]
        if not present:
            raise UsageError(
                f"{workspace.root} holds no task of {suite}",
                f"Run goldpan tasks import for {', '.join(members)}",
            )
        names += present
    if not names:
        raise UsageError("No task is named", "Give --task NAME or --suite NAME")
    return list(dict.fromkeys(names))
