"""Commands that send rows to annotators in Label Studio and collect their answers."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from goldpan.commands.filtering import ProfileName
from goldpan.commands.shared import (
    PARTIAL,
    Directory,
    Json,
    print_result,
    reporting,
    settings_of,
)
from goldpan.core.workspace import Workspace
from goldpan.show import annotating as show

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


@app.command()
def push(
    project: ProjectName,
    form: Annotated[
        str, typer.Option(help="fix-pair, question-answer, issue-type or code-comment-LANGUAGE.")
    ],
    dataset: Annotated[Path, typer.Option(help="The dataset to annotate.")],
    annotators: Annotated[int, typer.Option(help="How many people annotate each subject.")] = 2,
    not_blind: Annotated[
        bool,
        typer.Option(
            "--not-blind",
            help="Pre-fill forms from stored reviews or the dataset's labels; not for a gold set.",
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
    """Send the rows of a dataset to annotators; only new rows are added."""
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
    print_result(json, asdict(pushed), lambda: show.pushed(pushed))


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
    """Fetch new answers, check them, and record a decision where annotators agree."""
    from goldpan.annotation.studio.decisions import write_decisions
    from goldpan.annotation.studio.handover import choose_server
    from goldpan.annotation.studio.pull import pull as pull_answers

    place = Workspace(settings_of(workspace=workspace).workspace)
    server = choose_server(place, url, os.environ)
    with reporting(json) as reporter:
        pulled = pull_answers(
            place, server, project, reporter, named=names, accept_configuration=accept_configuration
        )
        decisions = write_decisions(place, project)
    print_result(json, asdict(pulled), lambda: show.pulled(pulled, decisions))
    raise typer.Exit(PARTIAL if pulled.unreadable else 0)


@app.command()
def status(project: ProjectName, workspace: Directory = None, json: Json = False) -> None:
    """Show a project's progress by annotator, and when it may be finished."""
    from goldpan.annotation.studio.progress import progress

    place = Workspace(settings_of(workspace=workspace).workspace)
    found = progress(place, project)
    print_result(json, asdict(found), lambda: show.progress(found))


@app.command()
def agreement(project: ProjectName, workspace: Directory = None, json: Json = False) -> None:
    """Show how well annotators agree: raw agreement, kappa and alpha with intervals, and conflicts.

    If the dataset has labels, they are compared with the decisions.
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
    print_result(json, value, lambda: show.agreements(found, beside, annotators))


@app.command()
def adjudicate(
    project: ProjectName,
    doubts: Annotated[
        bool, typer.Option("--doubts", help="Include subjects that people agreed on with a doubt.")
    ] = False,
    url: Url = None,
    workspace: Directory = None,
    json: Json = False,
) -> None:
    """Send conflicts, with both answers, to a third person."""
    from goldpan.annotation.studio.adjudicate import adjudicate as adjudicate_project
    from goldpan.annotation.studio.handover import choose_server

    place = Workspace(settings_of(workspace=workspace).workspace)
    server = choose_server(place, url, os.environ)
    with reporting(json) as reporter:
        pushed = adjudicate_project(place, server, project, reporter, doubts=doubts)
    print_result(json, asdict(pushed), lambda: show.pushed(pushed))


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
            show.pushed(push_tasks(place, running.server, form, asked, tasks, reporter))
        show.running(running)
        running.process.wait()
