"""Commands that score what datasets and tasks are worth."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import orjson
import typer
from rich.table import Table

from goldpan.commands import comparing, finetuning, labelling
from goldpan.commands.comparing import print_ran
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
from goldpan.core.terminal import Terminal
from goldpan.core.workspace import Workspace

if TYPE_CHECKING:  # these take long to import
    from goldpan.evaluation.lengths import Third
    from goldpan.evaluation.models.catalogue import Entry
    from goldpan.evaluation.protocol import Protocol
    from goldpan.evaluation.run import RunResult
    from goldpan.evaluation.runs import Run
    from goldpan.llm.budget import Estimate

app = typer.Typer(
    help="Score models on tasks: every prediction is kept, and metrics come from them alone.",
    no_args_is_help=True,
)

app.command()(comparing.compare)
app.command()(finetuning.finetune)
app.command("label-errors")(labelling.label_errors)

Tasks = Annotated[
    list[str] | None, typer.Option("--task", help="A task; may be given several times.")
]
Models = Annotated[
    list[str] | None, typer.Option("--model", help="A model; may be given several times.")
]
Stored = Annotated[
    Path | None,
    typer.Option("--dataset", help="Where the rows of the runs lie. (default: WORKSPACE/datasets)"),
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
        Path | None, typer.Option(help="Where the task's rows lie. (default: WORKSPACE/datasets)")
    ] = None,
    ablate: Annotated[
        list[str] | None,
        typer.Option(
            help="Take a part out of the input: title, body, pull_title or pull_body; may be given "
            "several times."
        ),
    ] = None,
    held_out: Annotated[
        str | None,
        typer.Option(
            "--hold-out",
            help="Test on whole documents that no row of train is from: document, or document:1 "
            "to document:4 for others.",
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only estimate what paid models would cost.")
    ] = False,
    workspace: Directory = None,
    json: Json = False,
) -> None:
    """Run models on tasks, once a seed; what was run before is not run again.

    Of several runs, those that cannot be done are told and the others are done. Exits with 1 when
    one failed, with 3 when a model behind an endpoint has not answered all yet.
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
                    print_estimate(planned.task, planned.model.name, planned.seed, found)
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
                print_ran(ran)
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
    """Compute the scores of finished runs anew from their predictions; no model runs."""
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
    print_result(json, [each.result for each in results], lambda: print_all_ran(results))


@app.command()
def lengths(
    task: Tasks = None,
    model: Models = None,
    dataset: Stored = None,
    workspace: Directory = None,
    json: Json = False,
) -> None:
    """Score the short, the medium and the long inputs of finished runs apart (FAUN-Eval, RQ3)."""
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
    print_result(json, told, lambda: print_lengths(found))


@app.command()
def models(json: Json = False) -> None:
    """List the models that run takes."""
    from goldpan.evaluation.models.catalogue import catalogue

    entries = catalogue()
    print_result(
        json,
        [{"name": each.name, "about": each.about} for each in entries.values()],
        lambda: print_models(entries.values()),
    )


@app.command()
def protocols(json: Json = False) -> None:
    """List the protocols, with what is known to be wrong with those of papers."""
    from goldpan.evaluation.protocol import protocols as known

    found = known()
    print_result(
        json, [asdict(each) for each in found.values()], lambda: print_protocols(found.values())
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


def print_estimate(task: str, model: str, seed: int, found: Estimate | None) -> None:
    """Show what a run would cost."""
    console = Terminal()
    told = f"{task} by {model}, seed {seed}: "
    if found is None:
        console.print(f"{told}it costs no money")
        return
    console.print(
        f"{told}{found.requests:,} requests to send, about {found.input_tokens:,} tokens; "
        f"{found.answered:,} are answered already"
    )
    if found.cost is None:
        console.print("  What it costs is not known: give --set prices=FILE")
    else:
        most = "" if found.cost_at_most is None else f", at most {found.cost_at_most:,.2f}"
        console.print(f"  Cost: about {found.cost:,.2f}{most}; {found.cost_before:,.2f} before")


def print_lengths(found: Iterable[tuple[Run, Sequence[Third]]]) -> None:
    """Show how scores change with the length of the input."""
    console = Terminal()
    table = Table("run", "inputs", "characters", "examples", box=None, header_style="dim")
    table.add_column("score", justify="right")
    for run, thirds in found:
        name = f"{run.task} by {run.model}, seed {run.seed}: {run.scores.main}"
        for place, third in enumerate(thirds):
            value = third.scores.value(third.scores.main)
            table.add_row(
                "" if place else name,
                third.name,
                f"{third.shortest:,} to {third.longest:,}",
                f"{third.scores.examples:,}",
                "not defined" if value is None else f"{value:.4f}",
            )
    console.print(table)


def print_all_ran(done: Iterable[RunResult]) -> None:
    """Show the scores of several runs."""
    for each in done:
        print_ran(each)


def print_models(entries: Iterable[Entry]) -> None:
    """List models."""
    table = Table("model", "", box=None, header_style="dim")
    for entry in entries:
        table.add_row(entry.name, entry.about)
    Terminal(soft_wrap=False).print(table)


def print_protocols(known: Iterable[Protocol]) -> None:
    """List protocols with their defects."""
    console = Terminal()
    for protocol in known:
        console.print(f"{protocol.name}: {protocol.title}")
        console.print(f"  {protocol.source}")
        for defect in protocol.defects:
            console.print(f"  - {defect}")
