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
from goldpan.commands.filtering import ProfileName
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
    from goldpan.annotation.studio.push import PushResult
    from goldpan.annotation.studio.serve import Running
    from goldpan.core.shares import Estimate

app = typer.Typer(
    help="Send rows to annotators in Label Studio, and collect their answers.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)

ProjectName = Annotated[str, typer.Option("--project", help="A name for this round of annotation.")]
Url = Annotated[
    str | None,
    typer.Option(help="The Label Studio server. (default: LABEL_STUDIO_URL, else serve's)"),
]
_MOST = 20


@app.command()
def push(
    project: ProjectName,
    form: Annotated[
        str, typer.Option(help="fix-pair, question-answer, issue-type or code-comment-LANGUAGE.")
    ],
    dataset: Annotated[Path, typer.Option(help="The dataset whose rows people look at.")],
    annotators: Annotated[int, typer.Option(help="How many people judge each subject.")] = 2,
    not_blind: Annotated[
        bool,
        typer.Option(
            "--not-blind",
            help="Fill in what stored reviews, or the dataset's labels, say; not for a gold set.",
        ),
    ] = False,
    profile: ProfileName = "default",
    webhook: Annotated[
        str | None, typer.Option(help="An address that Label Studio calls after each answer.")
    ] = None,
    url: Url = None,
    workspace: Directory = None,
    json: Json = False,
) -> None:
    """Put the rows of a dataset before annotators; only what is new is added."""
    from goldpan.annotation.studio.forms import find_form, read_tasks
    from goldpan.annotation.studio.handover import choose_server
    from goldpan.annotation.studio.push import push as push_tasks
    from goldpan.annotation.studio.suggestions import find_suggestions
    from goldpan.filters.profile import load_profile

    asked = find_form(form)
    place = Workspace(settings_of(workspace=workspace).workspace)
    server = choose_server(place, url, os.environ)
    with reporting(json) as reporter:
        tasks = read_tasks(dataset, asked)
        suggest = None
        if not_blind:
            suggest = find_suggestions(place, asked, dataset, load_profile(profile).name)
        pushed = push_tasks(
            place,
            server,
            project,
            asked,
            tasks,
            reporter,
            annotators=annotators,
            suggest=suggest,
            webhook=webhook,
        )
    print_result(json, asdict(pushed), lambda: print_pushed(pushed))


@app.command()
def pull(
    project: ProjectName,
    names: Annotated[
        bool, typer.Option("--names", help="Keep annotators' addresses instead of pseudonyms.")
    ] = False,
    accept_configuration: Annotated[
        bool,
        typer.Option("--accept-configuration", help="Take answers to a form that was changed."),
    ] = False,
    url: Url = None,
    workspace: Directory = None,
    json: Json = False,
) -> None:
    """Fetch what is new of the answers, check it, and decide where people agree.

    The project comes with its adjudication, whichever of the two is named.
    """
    from goldpan.annotation.studio.collect import collect
    from goldpan.annotation.studio.handover import choose_server

    place = Workspace(settings_of(workspace=workspace).workspace)
    server = choose_server(place, url, os.environ)
    with reporting(json) as reporter:
        found = collect(
            place, server, project, reporter, named=names, accept_configuration=accept_configuration
        )
    value = {
        **asdict(found.original),
        "adjudications": [asdict(one) for one in found.adjudications],
        "decisions": found.counts,
    }
    print_result(json, value, lambda: print_collected(found, project))
    raise typer.Exit(PARTIAL if found.unreadable else 0)


@app.command()
def status(project: ProjectName, workspace: Directory = None, json: Json = False) -> None:
    """Show how far a project is, by annotator, and when it may end."""
    from goldpan.annotation.studio.progress import progress

    place = Workspace(settings_of(workspace=workspace).workspace)
    found = progress(place, project)
    print_result(json, asdict(found), lambda: print_progress(found))


@app.command()
def agreement(project: ProjectName, workspace: Directory = None, json: Json = False) -> None:
    """Show how far annotators agree: raw, kappa and alpha with intervals, and where not.

    Where the dataset gives labels, what people decided stands beside them.
    """
    from goldpan.annotation.agreement import agree
    from goldpan.annotation.studio.agreement_input import ratings_beside_dataset, read_ratings
    from goldpan.annotation.studio.progress import progress

    place = Workspace(settings_of(workspace=workspace).workspace)
    found = [agree(field, given) for field, given in read_ratings(place, project).items()]
    both = ratings_beside_dataset(place, project)
    beside = agree("the dataset's labels", both) if both else None
    annotators = progress(place, project).annotators
    value = {
        "fields": [asdict(one) for one in found],
        "dataset": asdict(beside) if beside else None,
        "filled_in": sum(one.filled_in for one in annotators),
        "accepted": sum(one.accepted for one in annotators),
    }
    print_result(json, value, lambda: print_agreements(found, beside, annotators))


@app.command()
def adjudicate(
    project: ProjectName,
    doubts: Annotated[
        bool, typer.Option("--doubts", help="Also what people agree on, but with a doubt.")
    ] = False,
    url: Url = None,
    workspace: Directory = None,
    json: Json = False,
) -> None:
    """Put the conflicts, with both answers, into a project for a third person."""
    from goldpan.annotation.studio.adjudicate import adjudicate as adjudicate_project
    from goldpan.annotation.studio.handover import choose_server

    place = Workspace(settings_of(workspace=workspace).workspace)
    server = choose_server(place, url, os.environ)
    with reporting(json) as reporter:
        pushed = adjudicate_project(place, server, project, reporter, doubts=doubts)
    print_result(json, asdict(pushed), lambda: print_pushed(pushed))


app.command()(export)


@app.command()
def serve(
    annotator: Annotated[
        list[str] | None, typer.Option(help="An annotator's e-mail address; several are usual.")
    ] = None,
    port: Annotated[int, typer.Option(help="Of this machine alone.")] = 8080,
    install: Annotated[
        bool, typer.Option("--install", help="Install Label Studio first (about 1 GB).")
    ] = False,
    dataset: Annotated[
        Path | None, typer.Option(help="Open a project with the rows of this dataset at once.")
    ] = None,
    form: Annotated[str, typer.Option(help="The form of that project.")] = "fix-pair",
    workspace: Directory = None,
) -> None:
    """Run a Label Studio of one's own until Ctrl-C, with accounts for annotators."""
    from goldpan.annotation.studio.forms import find_form, read_tasks
    from goldpan.annotation.studio.handover import handed_over, server_directory
    from goldpan.annotation.studio.push import push as push_tasks
    from goldpan.annotation.studio.serve import serve as serve_studio

    place = Workspace(settings_of(workspace=workspace).workspace)
    addresses: Sequence[str] = annotator or ("one@example.org", "two@example.org")
    directory = server_directory(place)
    with (
        reporting(False) as reporter,
        serve_studio(directory, port, addresses, reporter, installing=install) as running,
        handed_over(directory, running.server),
    ):
        if dataset is not None:
            asked = find_form(form)
            tasks = read_tasks(dataset, asked)
            print_pushed(push_tasks(place, running.server, form, asked, tasks, reporter))
        print_running(running)
        running.process.wait()


def print_pushed(found: PushResult) -> None:
    """Show what a push added."""
    console = Terminal()
    console.print(
        f"{found.project}: {found.added:,} subjects added, {found.known:,} were there, "
        f"{found.seconds:.1f} s"
    )
    if found.suggested:
        console.print(f"{found.suggested:,} of them have something filled in")
    console.print(clean(f"Annotators begin at {found.page}"))


def print_collected(found: Collected, asked: str) -> None:
    """Show what was fetched of a project and its adjudications, and what people decided."""
    console = Terminal()
    if asked != found.original.project:
        console.print(f"{asked} adjudicates {found.original.project}: both are pulled")
    for pulled in (found.original, *found.adjudications):
        print_pulled(pulled)
    for how, count in found.counts.items():
        console.print(f"{how}: {count:,}")


def print_pulled(found: PullResult) -> None:
    """Show what a pull of one project brought."""
    console = Terminal()
    console.print(
        f"{found.project}: {found.fetched:,} tasks fetched, {found.answers:,} answers count, "
        f"{found.done:,} of {found.tasks:,} subjects are done, {found.seconds:.1f} s"
    )
    for problem, count in sorted(found.problems.items()):
        console.print(clean(f"  {count:,} do not count: ") + clean(problem))
    for name in found.renamed:
        console.print(clean("  renamed: ") + clean(name))
    if found.configuration_changed:
        console.print("  The form was changed on the server")
    if found.gone or found.foreign:
        console.print(f"  {found.gone:,} tasks were deleted there, {found.foreign:,} are not ours")
    for task in found.unreadable[:_MOST]:
        console.print(f"  The server cannot export task {task}: look at it there")


def print_progress(found: Progress) -> None:
    """Show how far a project is."""
    console = Terminal()
    console.print(
        f"{found.project} ({found.form}): {found.finished:,} of {found.subjects:,} subjects "
        f"finished, {found.begun:,} begun, {found.answers:,} of {found.wanted:,} answers"
    )
    if found.deleted:
        console.print(f"{found.deleted:,} more were deleted on the server")
    if found.passed_over:
        console.print(
            f"{found.passed_over:,} lack answers and were skipped: somebody else has to answer them"
        )
    table = Table("annotator", box=None, header_style="dim")
    for name in ("answers", "skipped", "other", "doubts", "seconds a task"):
        table.add_column(name, justify="right")
    for one in found.annotators:
        pace = "-" if one.seconds is None else f"{one.seconds:.0f}"
        counts = (one.answers, one.skipped, one.other, one.doubts)
        table.add_row(clean(one.annotator), *(f"{count:,}" for count in counts), pace)
    console.print(table)
    _filled_in(console, found.annotators)
    if found.work_left is not None:
        console.print(f"Left: {found.work_left} of one person's work")
    if found.ends_at is not None:
        console.print(f"At this pace it ends on {found.ends_at:%Y-%m-%d}")
    console.print(clean(f"Annotators begin at {found.page}"))


def print_agreements(
    found: Sequence[Agreement], beside: Agreement | None, annotators: Sequence[AnnotatorProgress]
) -> None:
    """Show how far people agree on each field, and what they decided with the dataset."""
    console = Terminal()
    _filled_in(console, annotators)
    for one in (*found, beside) if beside else found:
        console.print(titled(one.field, ""))
        if one is not beside:
            console.print(f"  {one.items:,} rated by two or more, {one.single:,} by one alone")
        console.print(f"  raw agreement {_estimate(one.raw)}")
        for pair in one.pairs:
            console.print(
                clean("  Cohen's kappa ")
                + clean(" and ".join(pair.raters))
                + clean(f": {_estimate(pair.kappa)} on {pair.items:,}")
            )
        console.print(f"  Fleiss' kappa {_estimate(one.fleiss)} on {one.fleiss_items:,}")
        console.print(f"  Krippendorff's alpha {_estimate(one.alpha)}")
        for category in one.categories:
            console.print(
                clean("    ")
                + clean(category.category)
                + clean(f": chosen {category.chosen:,}, alpha {_estimate(category.alpha)}")
            )
        for item in one.disagreements[:_MOST]:
            answers = "; ".join(f"{who}: {', '.join(said)}" for who, said in item.labels.items())
            console.print(clean("  differ on ") + clean(f"{item.item} ({answers})"))
        if len(one.disagreements) > _MOST:
            console.print(f"  and {len(one.disagreements) - _MOST:,} more: see --json")


def _filled_in(console: Terminal, annotators: Sequence[AnnotatorProgress]) -> None:
    """Say how often people left what was filled in: agreement of such answers is no proof."""
    if not any(one.filled_in for one in annotators):
        return
    console.print("Not blind: people who see the same suggestion agree more than they would")
    for one in annotators:
        if one.filled_in:
            share = one.accepted / one.filled_in
            told = f" left {one.accepted:,} of {one.filled_in:,} suggestions as they were"
            console.print(clean("  ") + clean(one.annotator) + clean(f"{told} ({share:.0%})"))


def print_running(found: Running) -> None:
    """Show where a server runs and who may log in."""
    console = Terminal()
    console.print(titled("Label Studio", f" runs at {found.server.url} until Ctrl-C"))
    for account in found.accounts:
        console.print(clean(f"  {account.address}  password {account.password}"))
    console.print("goldpan annotate push and pull find it by themselves, with the same --workspace")


def _estimate(value: Estimate) -> str:
    if value.value is None:
        return "not defined"
    if value.low is None or value.high is None:
        return f"{value.value:.3f}"
    return f"{value.value:.3f} [{value.low:.3f}, {value.high:.3f}]"
