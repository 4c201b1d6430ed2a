"""Commands that look at datasets and publish them, and one that applies edits."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from goldpan.commands.filtering import ProfileName, RulesName
from goldpan.commands.shared import (
    PARTIAL,
    Directory,
    Json,
    Repos,
    opened,
    print_result,
    reporting,
)
from goldpan.core.errors import UsageError
from goldpan.core.workspace import Workspace
from goldpan.show import datasets as show

Datasets = Annotated[
    list[Path] | None,
    typer.Option("--dataset", help="A dataset's directory; may be given several times."),
]


def apply_edit(
    patch: Annotated[
        Path, typer.Argument(help="A file with SEARCH/REPLACE blocks, or a unified diff.")
    ],
    root: Annotated[Path, typer.Option(help="Where the files lie.")] = Path(),
    check: Annotated[bool, typer.Option("--check", help="Change nothing, only try.")] = False,
    lenient: Annotated[
        bool,
        typer.Option("--lenient", help="White space at the ends of lines may differ, too."),
    ] = False,
    json: Json = False,
) -> None:
    """Apply SEARCH/REPLACE blocks or a unified diff to files: all of them, or none.

    Line ends of the patch may be others than the file's, which stay. Whatever was forgiven is
    told, block by block.
    """
    from goldpan.code.edits.files import apply_patch

    applied = apply_patch(patch, root, write=not check, lenient=lenient)
    print_result(json, asdict(applied), lambda: show.applied(applied))


def trace(
    example_id: Annotated[str, typer.Argument(help="As in the dataset: qa:OWNER/NAME#NUMBER.")],
    dataset: Datasets = None,
    workspace: Directory = None,
    json: Json = False,
) -> None:
    """Walk from a published example back to raw replies and git objects.

    Exits with 3 where a source is no longer in the workspace.
    """
    with opened(json, workspace=workspace) as lab:
        found = lab.trace(example_id, dataset or ())
    print_result(json, asdict(found), lambda: show.traced(found))
    raise typer.Exit(0 if found.complete else PARTIAL)


def publish(
    directory: Annotated[Path, typer.Argument(help="A dataset that goldpan build wrote.")],
    repo_id: Annotated[str, typer.Option(help="Where on the Hub: OWNER/NAME.")],
    private: Annotated[bool, typer.Option("--private", help="Make a new one private.")] = False,
    tag: Annotated[str | None, typer.Option(help="Tag this version, as v1.")] = None,
    allow_license: Annotated[
        list[str] | None,
        typer.Option(help="Publish only under these SPDX licences; may be given several times."),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace what the Hub has under that name.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check, and say what would be sent.")
    ] = False,
    json: Json = False,
) -> None:
    """Publish a dataset on the Hugging Face Hub in one commit.

    The token comes from HF_TOKEN or `hf auth login`. Nothing leaves the machine when the card,
    the licences or a search for secrets finds a problem.
    """
    from goldpan.datasets.hub import publish as publish_dataset

    with reporting(json) as reporter:
        published = publish_dataset(
            directory,
            repo_id,
            private=private,
            tag=tag,
            dry_run=dry_run,
            overwrite=overwrite,
            reporter=reporter,
            allowed_licenses=allow_license,
        )
    print_result(json, asdict(published), lambda: show.published(published))


def report(
    repo: Repos = None,
    profile: ProfileName = "default",
    rules: RulesName = None,
    dataset: Datasets = None,
    runs: Annotated[
        bool,
        typer.Option("--runs", help="Report on stored evaluation runs instead: see compare."),
    ] = False,
    output: Annotated[Path, typer.Option(help="The HTML file.")] = Path("goldpan-report.html"),
    workspace: Directory = None,
    json: Json = False,
) -> None:
    """Write an HTML page with the funnel, distributions, and examples with their evidence.

    With --runs, or where the workspace holds nothing but evaluation runs, the page says which
    models differ.
    """
    if output.suffix != ".html":
        raise UsageError(f"--output {output} is no HTML file", "End it in .html")
    if runs and (repo or dataset):
        raise UsageError(
            "--runs reports on all stored runs, not on repositories and datasets",
            "Leave out --repo and --dataset, or use goldpan evaluate compare --task",
        )
    with opened(json, workspace=workspace) as lab:
        held = any(lab.path.glob("runs/*/*/*/result.json"))
        if runs or (held and not repo and not lab.repositories()):
            _report_runs(lab.layout, output, json)
            return
        facts = lab.report(output, *(repo or ()), profile=profile, rules=rules, datasets=dataset)
    print_result(json, asdict(facts), lambda: show.reported(facts))


def _report_runs(place: Workspace, output: Path, json: bool) -> None:
    from goldpan.commands.comparing import compare_stored, known_tasks, write_files
    from goldpan.evaluation.comparing import Question
    from goldpan.show import comparing as show_runs

    tasks = known_tasks(place)
    compared = compare_stored(place, tasks, (), Question())
    written = write_files(place, compared, tasks, page=output)
    print_result(
        json,
        show_runs.as_json(compared, written),
        lambda: show_runs.compared(compared, written),
    )
