"""Commands that send rows to annotators in Label Studio and collect their answers."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from goldpan.commands.annotation_export import export
from goldpan.commands.annotation_push import ProjectName, Url, print_pushed, push
from goldpan.commands.shared import (
    PARTIAL,
    Directory,
    Json,
    print_result,
    reporting,
    settings_of,
)
from goldpan.core.terminal import Terminal, clean, titled
from goldpan.core.workspace import Workspace

if TYPE_CHECKING:  # these take long to import
    from goldpan.annotation.agreement import Agreement
    from goldpan.annotation.studio.collect import Collected
    from goldpan.annotation.studio.progress import AnnotatorProgress, Progress
    from goldpan.annotation.studio.pull import PullResult
    from goldpan.annotation.studio.serve import Running
    from goldpan.core.proportions import Estimate

app = typer.Typer(
    help="Send rows to annotators in Label Studio, and collect their answers.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)

_MOST = 20


app.command()(push)


@app.command()
def pull(
    project: ProjectName,
    names: Annotated[
        bool, typer.Option("--names", help="Keep annotators' addresses instead of pseudonyms.")
    ] = False,
    accept_configuration: Annotated[
        bool,
        typer.Option(
            "--accept-configuration",
            help="Accept answers to a form that was changed on the server.",
        ),
    ] = False,
    url: Url = None,
    workspace: Directory = None,
    json: Json = False,
) -> None:
    """Fetch new answers, check them, and decide where people agree.

    A project and its adjudication are fetched together, whichever you name.
    """
    from goldpan.annotation.studio.collect import collect
    from goldpan.annotation.studio.server_address import choose_server

    lab = Workspace(settings_of(workspace=workspace).workspace)
    server = choose_server(lab, url, os.environ)
    with reporting(json) as reporter:
        collected = collect(
            lab, server, project, reporter, named=names, accept_configuration=accept_configuration
        )
    value = {
        **asdict(collected.original),
        "adjudications": [asdict(adjudication) for adjudication in collected.adjudications],
        "decisions": collected.counts,
    }
    print_result(json, value, lambda: print_collected(collected, project))
    raise typer.Exit(PARTIAL if collected.unreadable else 0)


@app.command()
def status(project: ProjectName, workspace: Directory = None, json: Json = False) -> None:
    """Show a project's progress by annotator, and when it is likely to end."""
    from goldpan.annotation.studio.progress import progress

    lab = Workspace(settings_of(workspace=workspace).workspace)
    shown = progress(lab, project)
    print_result(json, asdict(shown), lambda: print_progress(shown))


@app.command()
def agreement(project: ProjectName, workspace: Directory = None, json: Json = False) -> None:
    """Show how well annotators agree: raw agreement, kappa and alpha with intervals, and conflicts.

    If the dataset has labels, they are compared with the decisions.
    """
    from goldpan.annotation.agreement import agree
    from goldpan.annotation.studio.agreement_input import ratings_beside_dataset, read_ratings
    from goldpan.annotation.studio.progress import progress

    lab = Workspace(settings_of(workspace=workspace).workspace)
    agreements = [agree(field, ratings) for field, ratings in read_ratings(lab, project).items()]
    both = ratings_beside_dataset(lab, project)
    with_dataset = agree("the dataset's labels", both) if both else None
    annotators = progress(lab, project).annotators
    value = {
        "fields": [asdict(agreement) for agreement in agreements],
        "dataset": asdict(with_dataset) if with_dataset else None,
        "filled_in": sum(annotator.filled_in for annotator in annotators),
        "accepted": sum(annotator.accepted for annotator in annotators),
    }
    print_result(json, value, lambda: print_agreements(agreements, with_dataset, annotators))


@app.command()
def adjudicate(
    project: ProjectName,
    doubts: Annotated[
        bool,
        typer.Option("--doubts", help="Also send subjects that people agreed on while in doubt."),
    ] = False,
    url: Url = None,
    workspace: Directory = None,
    json: Json = False,
) -> None:
    """Send conflicts, with both answers, to a third person."""
    from goldpan.annotation.studio.adjudicate import adjudicate as adjudicate_project
    from goldpan.annotation.studio.server_address import choose_server

    lab = Workspace(settings_of(workspace=workspace).workspace)
    server = choose_server(lab, url, os.environ)
    with reporting(json) as reporter:
        pushed = adjudicate_project(lab, server, project, reporter, doubts=doubts)
    print_result(json, asdict(pushed), lambda: print_pushed(pushed))


app.command()(export)


@app.command()
def serve(
    annotator: Annotated[
        list[str] | None,
        typer.Option(help="An annotator's e-mail address; may be given several times."),
    ] = None,
    port: Annotated[int, typer.Option(help="A port on this machine.")] = 8080,
    install: Annotated[
        bool, typer.Option("--install", help="Install Label Studio first (about 1 GB).")
    ] = False,
    dataset: Annotated[
        Path | None, typer.Option(help="Also open a project with the rows of this dataset.")
    ] = None,
    form: Annotated[str, typer.Option(help="The form of that project.")] = "fix-pair",
    workspace: Directory = None,
) -> None:
    """Run a local Label Studio until Ctrl-C, with accounts for annotators."""
    from goldpan.annotation.studio.forms import find_form, read_tasks
    from goldpan.annotation.studio.push import push as push_tasks
    from goldpan.annotation.studio.serve import serve as serve_studio
    from goldpan.annotation.studio.server_address import handed_over, server_directory

    lab = Workspace(settings_of(workspace=workspace).workspace)
    addresses: Sequence[str] = annotator or ("one@example.org", "two@example.org")
    directory = server_directory(lab)
    with (
        reporting(False) as reporter,
        serve_studio(directory, port, addresses, reporter, installing=install) as running,
        handed_over(directory, running.server),
    ):
        if dataset is not None:
            asked_form = find_form(form)
            tasks = read_tasks(dataset, asked_form)
            print_pushed(push_tasks(lab, running.server, form, asked_form, tasks, reporter))
        print_running(running)
        running.process.wait()


def print_collected(collected: Collected, project: str) -> None:
    """Show what was fetched of a project and its adjudications, and what people decided."""
    console = Terminal()
    if project != collected.original.project:
        console.print(f"{project} adjudicates {collected.original.project}: both are pulled")
    for pulled in (collected.original, *collected.adjudications):
        print_pulled(pulled)
    for how, count in collected.counts.items():
        console.print(f"{how}: {count:,}")


def print_pulled(result: PullResult) -> None:
    """Show what a pull of one project brought."""
    console = Terminal()
    console.print(
        f"{result.project}: {result.fetched:,} tasks fetched, {result.answers:,} answers count, "
        f"{result.done:,} of {result.tasks:,} subjects are done, {result.seconds:.1f} s"
    )
    for problem, count in sorted(result.problems.items()):
        console.print(clean(f"  {count:,} do not count: ") + clean(problem))
    for name in result.renamed:
        console.print(clean("  renamed: ") + clean(name))
    if result.configuration_changed:
        console.print("  The form was changed on the server")
    if result.gone or result.foreign:
        console.print(
            f"  {result.gone:,} tasks were deleted there, {result.foreign:,} are not Goldpan's"
        )
    for task in result.unreadable[:_MOST]:
        console.print(f"  The server cannot export task {task}: check it there")


def print_progress(progress: Progress) -> None:
    """Show how far a project is."""
    console = Terminal()
    console.print(
        f"{progress.project} ({progress.form}): {progress.finished:,} of {progress.subjects:,} "
        f"subjects finished, {progress.begun:,} begun, "
        f"{progress.answers:,} of {progress.wanted:,} answers"
    )
    if progress.deleted:
        console.print(f"{progress.deleted:,} more were deleted on the server")
    if progress.passed_over:
        console.print(
            f"{progress.passed_over:,} were skipped and have no answers: somebody else has to "
            "answer them"
        )
    table = Table("annotator", box=None, header_style="dim")
    for name in ("answers", "skipped", "other", "doubts", "seconds per task"):
        table.add_column(name, justify="right")
    for annotator in progress.annotators:
        pace = "-" if annotator.seconds is None else f"{annotator.seconds:.0f}"
        counts = (annotator.answers, annotator.skipped, annotator.other, annotator.doubts)
        table.add_row(clean(annotator.annotator), *(f"{count:,}" for count in counts), pace)
    console.print(table)
    _filled_in(console, progress.annotators)
    if progress.work_left is not None:
        console.print(f"Left: {progress.work_left} of one person's work")
    if progress.ends_at is not None:
        console.print(f"At this pace it will be finished on {progress.ends_at:%Y-%m-%d}")
    console.print(clean(f"Annotators start at {progress.page}"))


def print_agreements(
    agreements: Sequence[Agreement],
    with_dataset: Agreement | None,
    annotators: Sequence[AnnotatorProgress],
) -> None:
    """Show how far people agree on each field, and what they decided with the dataset."""
    console = Terminal()
    _filled_in(console, annotators)
    for field in (*agreements, with_dataset) if with_dataset else agreements:
        console.print(titled(field.field, ""))
        if field is not with_dataset:
            console.print(f"  {field.items:,} rated by two or more, {field.single:,} by one alone")
        console.print(f"  raw agreement {_estimate(field.raw)}")
        for pair in field.pairs:
            console.print(
                clean("  Cohen's kappa ")
                + clean(" and ".join(pair.raters))
                + clean(f": {_estimate(pair.kappa)} on {pair.items:,}")
            )
        console.print(f"  Fleiss' kappa {_estimate(field.fleiss)} on {field.fleiss_items:,}")
        console.print(f"  Krippendorff's alpha {_estimate(field.alpha)}")
        for category in field.categories:
            console.print(
                clean("    ")
                + clean(category.category)
                + clean(f": chosen {category.chosen:,}, alpha {_estimate(category.alpha)}")
            )
        for item in field.disagreements[:_MOST]:
            answers = "; ".join(
                f"{who}: {', '.join(values)}" for who, values in item.labels.items()
            )
            console.print(clean("  differ on ") + clean(f"{item.item} ({answers})"))
        if len(field.disagreements) > _MOST:
            console.print(f"  and {len(field.disagreements) - _MOST:,} more: see --json")


def _filled_in(console: Terminal, annotators: Sequence[AnnotatorProgress]) -> None:
    """Say how often people left what was filled in: agreement of such answers is no proof."""
    if not any(annotator.filled_in for annotator in annotators):
        return
    console.print("Not blind: people who see the same suggestion agree more than they would")
    for annotator in annotators:
        if annotator.filled_in:
            share = annotator.accepted / annotator.filled_in
            text = (
                f" left {annotator.accepted:,} of {annotator.filled_in:,} suggestions as they were"
            )
            console.print(clean("  ") + clean(annotator.annotator) + clean(f"{text} ({share:.0%})"))


def print_running(running: Running) -> None:
    """Show where a server runs and who may log in."""
    console = Terminal()
    console.print(titled("Label Studio", f" runs at {running.server.url} until Ctrl-C"))
    for account in running.accounts:
        console.print(clean(f"  {account.address}  password {account.password}"))
    console.print("goldpan annotate push and pull find it automatically, with the same --workspace")


def _estimate(value: Estimate) -> str:
    if value.value is None:
        return "not defined"
    if value.low is None or value.high is None:
        return f"{value.value:.3f}"
    return f"{value.value:.3f} [{value.low:.3f}, {value.high:.3f}]"
