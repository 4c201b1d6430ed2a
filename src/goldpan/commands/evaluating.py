"""Commands that score what datasets and tasks are worth."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import orjson
import typer
from rich.table import Table

from goldpan.commands import comparing, finetuning, labelling, verifying
from goldpan.commands.ran import print_ran
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
from goldpan.core.terminal import Terminal, clean, titled
from goldpan.core.workspace import Workspace

if TYPE_CHECKING:  # these take long to import
    from goldpan.core.shares import Estimate as Interval
    from goldpan.datasets.gold import GoldScore
    from goldpan.evaluation.lengths import Third
    from goldpan.evaluation.models.catalogue import Entry
    from goldpan.evaluation.protocol import Protocol
    from goldpan.evaluation.run import RunResult
    from goldpan.evaluation.runs import Run
    from goldpan.llm.budget import Estimate

app = typer.Typer(
    help="Score models on tasks; predictions are stored, and metrics come from them alone.",
    no_args_is_help=True,
)

app.command()(comparing.compare)
app.command()(finetuning.finetune)
app.command("label-errors")(labelling.label_errors)
app.command()(verifying.resolved)

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
        help="Score by a column, such as document; may be given several times. By repo is always.",
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
    """Score the labels of a dataset against a gold set, labelled by reading.

    A gold set has the columns repo, issue, label and comment_id, for answers, or pull, for fix
    pairs. Rows that it does not label are left aside.
    """
    from goldpan.api.dataset import Dataset

    data = Dataset(dataset)
    scores = [data.score_labels(path, half) for path in gold]
    print_result(json, [asdict(score) for score in scores], lambda: print_scores(scores))


def print_scores(scores: Sequence[GoldScore]) -> None:
    """Show how the rows of a dataset fare against gold sets."""
    console = Terminal()
    for score in scores:
        part = f", half {score.half}" if score.half else ""
        console.print(
            titled(score.gold, f"{part}: {score.labelled:,} of {score.rows:,} rows are labelled")
        )
        counts = ", ".join(f"{label} {count:,}" for label, count in score.labels.items())
        console.print(clean(f"  {score.kind}: {counts}"))
        console.print(f"  right: {_share(score.right)}")
        console.print(f"  right at least in part: {_share(score.at_least_partly)}")
        console.print(
            f"  of {score.there:,} issues that have one, kept: {_share(score.kept)}",
        )


def _share(estimate: Interval) -> str:
    if estimate.value is None or estimate.low is None or estimate.high is None:
        return "cannot be told"
    return f"{estimate.value:.0%} [{estimate.low:.0%}, {estimate.high:.0%}]"


@app.command("run")
def run_models(
    task: Tasks = None,
    suite: Annotated[
        str | None, typer.Option(help="All tasks of a suite that are in the workspace: selu.")
    ] = None,
    model: Models = None,
    seed: Annotated[
        list[int] | None,
        typer.Option(
            min=0, max=2**32 - 1, help="May be given several times. (default: the protocol's, 0)"
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
            help="Test on groups that are not in train: COLUMN is a fifth of its values, such as "
            "document, COLUMN:1 to COLUMN:4 the other fifths, COLUMN=VALUE one of them, and "
            "COLUMN:each all of them in turn, such as repo:each.",
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

    Runs that fail are reported, and the others go ahead. Exits with 1 if one failed, with 3 if a
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
        known = find_task(run.task, tasks_directory(lab.root))
        files = files_to_score(lab, known, run.record.data_hash, dataset)
        data = None
        if missing := [name for name in by or () if name not in run.predictions().column_names]:
            stored = scored_input(lab, known, run.record.data_hash, dataset).data
            data = with_columns(stored, dataset or task_directory(lab, known), missing)
        result = rescore(run.directory, known, files, by=by or (), data=data)
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
        known = find_task(stored.task, tasks_directory(lab.root))
        task_input = scored_input(lab, known, stored.record.data_hash, dataset)
        thirds = score_by_length(
            known,
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
            known = sorted({name for known_task in every for name in known_task.suites})
            raise UsageError(f"There is no suite {suite!r}", f"Choose {', '.join(known)}")
        there = [
            name
            for name, known_task in members.items()
            if task_directory(workspace, known_task).exists()
        ]
        if not there:
            raise UsageError(
                f"{workspace.root} holds no task of {suite}",
                f"Run goldpan tasks import for {', '.join(members)}",
            )
        names += there
    if not names:
        raise UsageError("No task is named", "Give --task NAME or --suite NAME")
    return list(dict.fromkeys(names))


def print_estimate(task: str, model: str, seed: int, estimate: Estimate | None) -> None:
    """Show what a run would cost."""
    console = Terminal()
    text = f"{task} by {model}, seed {seed}: "
    if estimate is None:
        console.print(f"{text}it costs no money")
        return
    console.print(
        f"{text}{estimate.requests:,} requests to send, about {estimate.input_tokens:,} tokens; "
        f"{estimate.answered:,} are answered already"
    )
    if estimate.cost is None:
        console.print("  The cost is unknown: give --set prices=FILE")
    else:
        most = "" if estimate.cost_at_most is None else f", at most {estimate.cost_at_most:,.2f}"
        console.print(
            f"  Cost: about {estimate.cost:,.2f}{most}; {estimate.cost_before:,.2f} before"
        )


def print_lengths(measured: Iterable[tuple[Run, Sequence[Third]]]) -> None:
    """Show how scores change with the length of the input."""
    console = Terminal()
    table = Table("run", "inputs", "characters", "examples", box=None, header_style="dim")
    table.add_column("score", justify="right")
    for run, thirds in measured:
        name = f"{run.task} by {run.model}, seed {run.seed}: {run.scores.main}"
        for index, third in enumerate(thirds):
            value = third.scores.value(third.scores.main)
            table.add_row(
                "" if index else name,
                third.name,
                f"{third.shortest:,} to {third.longest:,}",
                f"{third.scores.examples:,}",
                "not defined" if value is None else f"{value:.4f}",
            )
    console.print(table)


def print_all_ran(done: Iterable[RunResult]) -> None:
    """Show the scores of several runs."""
    for result in done:
        print_ran(result)


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
