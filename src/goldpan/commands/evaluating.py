"""Commands that score what datasets and tasks are worth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import orjson
import typer

from goldpan.commands import comparing, finetuning
from goldpan.commands.shared import (
    PARTIAL,
    Directory,
    Json,
    complain,
    opened,
    print_result,
    settings_of,
)
from goldpan.core.errors import EvaluationError, UsageError
from goldpan.core.workspace import Workspace
from goldpan.show import evaluating as show

app = typer.Typer(
    help="Score models on tasks; predictions are stored, and metrics come from them alone.",
    no_args_is_help=True,
)

app.command()(comparing.compare)
app.command()(finetuning.finetune)

Tasks = Annotated[
    list[str] | None, typer.Option("--task", help="A task; may be given several times.")
]
Models = Annotated[
    list[str] | None, typer.Option("--model", help="A model; may be given several times.")
]
Stored = Annotated[
    Path | None,
    typer.Option(
        "--dataset", help="The directory of the runs' rows. (default: WORKSPACE/datasets)"
    ),
]


@app.command("run")
def run_models(
    task: Tasks = None,
    suite: Annotated[
        str | None, typer.Option(help="All tasks of a suite that are in the workspace: selu.")
    ] = None,
    model: Models = None,
    seed: Annotated[
        list[int] | None,
        typer.Option(min=0, max=2**32 - 1, help="May be given several times. (default: 0)"),
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
            help="Test on whole documents that are not in train: document, or document:1 to "
            "document:4 for other folds.",
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only estimate what paid models would cost.")
    ] = False,
    workspace: Directory = None,
    json: Json = False,
) -> None:
    """Run models on tasks, once per seed; finished runs are not repeated.

    Runs that fail are reported, and the others go ahead. Exits with 1 if one failed, with 3 if a
    model behind an endpoint has not answered everything yet.
    """
    from goldpan.evaluation.prompting.errors import UnansweredError

    results: list[Mapping[str, Any]] = []
    answered, failed = True, 0
    with opened(json, workspace=workspace) as lab:
        plan = lab.plan(
            _named(lab.layout, task, suite),
            model=model or "majority",
            seeds=seed or (0,),
            settings=dict(_pair(text) for text in setting or ()),
            protocol=protocol,
            directory=dataset,
            ablate=ablate or (),
            hold_out=held_out,
        )
        for planned in plan:
            if dry_run:
                found = planned.estimate()
                facts = {"task": planned.task, "model": planned.model.name, "seed": planned.seed}
                results.append({**facts, "estimate": found and asdict(found)})
                if not json:
                    show.estimate(planned.task, planned.model.name, planned.seed, found)
                continue
            try:
                ran = planned.run()
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
            results.append(ran.result)
            if not json:
                show.ran(ran)
    if json:
        print_result(json, results, lambda: None)
    if failed or not answered:
        raise typer.Exit(1 if failed else PARTIAL)


@app.command()
def score(
    task: Tasks = None,
    model: Models = None,
    dataset: Stored = None,
    workspace: Directory = None,
    json: Json = False,
) -> None:
    """Recompute the scores of finished runs from their predictions; no model is run."""
    from goldpan.datasets.registry import find_task, tasks_directory
    from goldpan.evaluation.run import RunResult, rescore
    from goldpan.evaluation.runs import read_runs
    from goldpan.evaluation.task_input import files_to_score

    place = Workspace(settings_of(workspace=workspace).workspace)
    results = []
    for each in read_runs(place, tasks=task or (), models=model or ()):
        known = find_task(each.task, tasks_directory(place.root))
        files = files_to_score(place, known, each.record.data_hash, dataset)
        results.append(
            RunResult(each.directory, rescore(each.directory, known, files), again=False)
        )
    print_result(json, [each.result for each in results], lambda: show.all_ran(results))


@app.command()
def lengths(
    task: Tasks = None,
    model: Models = None,
    dataset: Stored = None,
    workspace: Directory = None,
    json: Json = False,
) -> None:
    """Score short, medium and long inputs of finished runs separately (FAUN-Eval, RQ3)."""
    from goldpan.datasets.registry import find_task, tasks_directory
    from goldpan.evaluation.lengths import score_by_length
    from goldpan.evaluation.runs import read_runs
    from goldpan.evaluation.task_input import input_lengths, scored_input

    place = Workspace(settings_of(workspace=workspace).workspace)
    found = []
    for each in read_runs(place, tasks=task or (), models=model or ()):
        known = find_task(each.task, tasks_directory(place.root))
        given = scored_input(place, known, each.record.data_hash, dataset)
        thirds = score_by_length(
            known, each.predictions(), input_lengths(given), seed=each.seed, files=given.files
        )
        found.append((each, thirds))
    told = [
        {"directory": str(run.directory), "thirds": [asdict(third) for third in thirds]}
        for run, thirds in found
    ]
    print_result(json, told, lambda: show.lengths(found))


@app.command()
def models(workspace: Directory = None, json: Json = False) -> None:
    """List the models that `goldpan evaluate run` knows."""
    from goldpan.core.config import use_plugins
    from goldpan.evaluation.models.catalogue import catalogue

    use_plugins(workspace)
    entries = catalogue()
    print_result(
        json,
        [{"name": each.name, "about": each.about} for each in entries.values()],
        lambda: show.models(entries.values()),
    )


@app.command()
def protocols(json: Json = False) -> None:
    """List the evaluation protocols, with the known defects of those from papers."""
    from goldpan.evaluation.protocol import protocols as known

    found = known()
    print_result(
        json, [asdict(each) for each in found.values()], lambda: show.protocols(found.values())
    )


def _pair(text: str) -> tuple[str, Any]:
    name, sign, value = text.partition("=")
    if not sign:
        raise UsageError(f"--set {text!r} has no value", "Write name=value")
    try:
        return name, orjson.loads(value)
    except orjson.JSONDecodeError:
        return name, value


def _named(place: Workspace, task: list[str] | None, suite: str | None) -> list[str]:
    """Return the tasks to run, in the order given; those of a suite that are there."""
    from goldpan.datasets.registry import load_tasks, tasks_directory
    from goldpan.datasets.task_data import task_directory

    names = list(task or ())
    if suite is not None:
        every = load_tasks(tasks_directory(place.root)).values()
        members = {each.name: each for each in every if suite in each.suites}
        if not members:
            known = sorted({name for each in every for name in each.suites})
            raise UsageError(f"There is no suite {suite!r}", f"Choose {', '.join(known)}")
        there = [name for name, each in members.items() if task_directory(place, each).exists()]
        if not there:
            raise UsageError(
                f"{place.root} holds no task of {suite}",
                f"Run goldpan tasks import for {', '.join(members)}",
            )
        names += there
    if not names:
        raise UsageError("No task is named", "Give --task NAME or --suite NAME")
    return list(dict.fromkeys(names))
