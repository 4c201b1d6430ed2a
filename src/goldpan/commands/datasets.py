"""Commands that build datasets, look at them, and publish them."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from goldpan.commands.filtering import ProfileName
from goldpan.commands.shared import (
    PARTIAL,
    Directory,
    Json,
    Repos,
    known_repositories,
    print_result,
    reporting,
    settings_of,
)
from goldpan.errors import UsageError
from goldpan.filters.profile import load_profile
from goldpan.show import datasets as show
from goldpan.workspace import Workspace

Datasets = Annotated[
    list[Path] | None,
    typer.Option("--dataset", help="A dataset's directory; may be given several times."),
]


def build(
    family: Annotated[str, typer.Argument(help="qa, fault-localization or code-edit.")],
    repo: Repos = None,
    profile: ProfileName = "default",
    split: Annotated[
        str,
        typer.Option(
            help="none, random:0.8,0.1,0.1, repository:0.8,0.2 or time:2023-01-01[,2024-01-01]."
        ),
    ] = "none",
    seed: Annotated[int, typer.Option(help="Of random splits.")] = 0,
    require: Annotated[
        list[str] | None,
        typer.Option(help="A review that has to keep every row: question-answer or the like."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option(help="The dataset's directory. (default: WORKSPACE/datasets/...)")
    ] = None,
    workspace: Directory = None,
    json: Json = False,
) -> None:
    """Build a dataset from what a filter profile keeps.

    The directory holds Parquet files, a card, Croissant metadata and the provenance; building
    twice gives the same bytes.
    """
    from goldpan.builders.build import build as build_dataset
    from goldpan.builders.build import find_recipe
    from goldpan.datasets.splits import SplitPlan

    recipe, plan, chosen = find_recipe(family), SplitPlan.parse(split, seed), load_profile(profile)
    place = Workspace(settings_of(workspace=workspace).workspace)
    repos = known_repositories(place, repo, "tables")
    directory = output or place.dataset(family)
    with reporting(json) as reporter:
        built = build_dataset(
            place, recipe, repos, chosen, plan, directory, reporter, reviews=require or ()
        )
    print_result(json, show.built_json(built), lambda: show.built(built))


def apply_edit(
    patch: Annotated[Path, typer.Argument(help="A file with SEARCH/REPLACE blocks.")],
    root: Annotated[Path, typer.Option(help="Where the files lie.")] = Path(),
    check: Annotated[bool, typer.Option("--check", help="Change nothing, only try.")] = False,
    json: Json = False,
) -> None:
    """Apply SEARCH/REPLACE blocks to files: all of them, or none."""
    from goldpan.builders.edits.files import apply_patch

    applied = apply_patch(patch, root, write=not check)
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
    from goldpan.trace import trace as trace_example

    place = Workspace(settings_of(workspace=workspace).workspace)
    found = trace_example(place, example_id, dataset or ())
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
    dataset: Datasets = None,
    output: Annotated[Path, typer.Option(help="The HTML file.")] = Path("goldpan-report.html"),
    workspace: Directory = None,
    json: Json = False,
) -> None:
    """Write an HTML page with the funnel, distributions, and examples with their evidence."""
    from goldpan.datasets.provenance import finished_datasets
    from goldpan.report.page import write_report

    place = Workspace(settings_of(workspace=workspace).workspace)
    repos = known_repositories(place, repo, "tables")
    datasets = dataset if dataset is not None else finished_datasets(place)
    if output.suffix != ".html":
        raise UsageError(f"--output {output} is no HTML file", "End it in .html")
    facts = write_report(place, repos, load_profile(profile), datasets, output)
    print_result(json, asdict(facts), lambda: show.reported(facts))
