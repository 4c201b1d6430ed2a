"""The commands for code comments: building a dataset of them."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from goldpan.commands.shared import (
    PARTIAL,
    Corrected,
    Directory,
    Json,
    OwnTasks,
    Repos,
    layout_of,
    names_of,
    print_result,
    reporting,
    settings_of,
)
from goldpan.core.terminal import Terminal, clean, titled
from goldpan.datasets.splits import SPLIT_FORMS

if TYPE_CHECKING:  # these take long to import
    from goldpan.builders.code_comments.build import CommentsResult


class Kind(StrEnum):
    """What docstrings are taken of."""

    CLASS = "class"
    MODULE = "module"
    FUNCTION = "function"


class Lines(StrEnum):
    """What the end of a line does to a sentence."""

    CUT = "cut"
    JOIN = "join"


def build(
    repo: Repos = None,
    revision: Annotated[
        str | None,
        typer.Option(help="A commit, branch or tag. (default: the default branch as cloned)"),
    ] = None,
    language: Annotated[
        list[str] | None,
        typer.Option(help="Java, Python, Smalltalk and so on; may be given several times."),
    ] = None,
    kind: Annotated[
        list[Kind] | None,
        typer.Option(help="Which Python docstrings; may be given several times."),
    ] = None,
    lines: Annotated[
        Lines,
        typer.Option(
            help="cut ends a sentence at the end of a line, as in the paper; join does not."
        ),
    ] = Lines.CUT,
    annotations: Annotated[
        list[str] | None,
        typer.Option(help="An annotation project whose decisions become labels."),
    ] = None,
    require: Annotated[
        list[str] | None,
        typer.Option(help="Like --annotations, but only sentences with a decision are used."),
    ] = None,
    task: Annotated[
        str | None,
        typer.Option(
            help="With --require, write the rows of this task, such as comment_type_java."
        ),
    ] = None,
    corrections: Corrected = None,
    split: Annotated[
        str,
        typer.Option(help=f"{SPLIT_FORMS}; stratified needs --require."),
    ] = "none",
    seed: Annotated[int, typer.Option(help="Seed of random and stratified splits.")] = 0,
    timeout: Annotated[
        float, typer.Option(min=0.1, help="The limit for one file, in seconds of processor time.")
    ] = 20.0,
    output: Annotated[
        Path | None, typer.Option(help="The dataset's directory. (default: WORKSPACE/datasets/...)")
    ] = None,
    own: OwnTasks = None,
    workspace: Directory = None,
    json: Json = False,
) -> None:
    """Build a dataset of the sentences in class comments, from cloned repositories.

    Each row is a sentence with its class, file and position in the file. Files that break parsers
    are skipped and counted. Exits with 3 if the clone lacks files, or a file took too long.
    """
    from goldpan.builders.code_comments.build import Annotations, build_code_comments
    from goldpan.builders.code_comments.commit import cloned_repositories, find_commits
    from goldpan.builders.code_comments.family import CODE_COMMENTS
    from goldpan.builders.code_comments.files import find_languages
    from goldpan.builders.code_comments.reading import Access, Reading
    from goldpan.datasets.registry import find_task, tasks_directory
    from goldpan.datasets.splits import SplitPlan

    plan = SplitPlan.parse(split, seed)
    settings = settings_of(workspace=workspace)
    settings.trust.require("plugins")
    lab = layout_of(workspace, own)
    reading = Reading(
        find_languages(language or ()),
        lines.value,
        frozenset(choice.value for choice in kind or [Kind.CLASS]),
        settings.processes,
        timeout,
    )
    labels = Annotations(tuple(annotations or ()), tuple(require or ()), tuple(corrections or ()))
    commits = find_commits(lab, cloned_repositories(lab, names_of(repo, None)), revision)
    access = Access(settings.tokens[0] if settings.tokens else None, settings.git_host)
    chosen_task = find_task(task, tasks_directory(lab.root)) if task else None
    directory = output or lab.dataset(f"{task}-fresh" if task else CODE_COMMENTS.name)
    with reporting(json) as reporter:
        built = build_code_comments(
            lab,
            commits,
            reading,
            labels,
            plan,
            directory,
            reporter,
            access=access,
            task=chosen_task,
        )
    print_result(json, built_json(built), lambda: print_built(built))
    raise typer.Exit(PARTIAL if built.incomplete else 0)


def built_json(result: CommentsResult) -> dict[str, Any]:
    """Return what was built as plain data."""
    written, tally = result.written, result.tally
    return {
        "directory": str(written.directory),
        "family": written.family.name,
        "commits": {commit.repo: commit.id for commit in result.commits},
        "files": tally.files,
        "files_read": tally.read,
        "comments": tally.comments,
        "sentences": written.rows,
        "languages": dict(sorted(tally.languages.items())),
        "labelled": tally.labelled,
        "splits": {split.name: split.rows for split in written.splits},
        "left_out": dict(sorted(tally.left_out.items())),
        "redacted": dict(sorted(tally.redacted.items())),
        "straddling_groups": written.report.straddling,
        "dropped_by_split": written.report.dropped,
        "seconds": round(result.seconds, 3),
    }


def print_built(result: CommentsResult) -> None:
    """Show what a dataset of class comments holds, and what became of the rest."""
    from goldpan.builders.code_comments.build import EXPLAINED

    console = Terminal()
    written, tally = result.written, result.tally
    console.print(
        titled(
            written.family.name,
            f": {written.rows:,} sentences of {tally.comments:,} comments "
            f"in {result.seconds:.1f} s",
        )
    )
    for commit in result.commits:
        console.print(clean(commit.repo) + clean(f" at {commit.id} of {commit.at:%Y-%m-%d}"))
    table = Table("split", "sentences", "bytes", box=None, header_style="dim")
    for split in written.splits:
        size = sum(file.size for file in split.files)
        table.add_row(split.name, f"{split.rows:,}", f"{size:,}")
    console.print(table)
    spoken = ", ".join(f"{name} {count:,}" for name, count in sorted(tally.languages.items()))
    console.print(f"{tally.read:,} of {tally.files:,} files read; sentences: {spoken}")
    if tally.labelled:
        console.print(f"{tally.labelled:,} sentences have labels")
    for reason, count in sorted(tally.left_out.items()):
        console.print(clean(f"  {count:,} ") + clean(EXPLAINED.get(reason, reason)))
    if written.report.dropped:
        console.print(
            f"  {written.report.dropped:,} dropped: their comment is a near duplicate of one "
            "in another split"
        )
    for kind, count in sorted(tally.redacted.items()):
        console.print(clean(f"  {count:,} redacted in comments and code: ") + clean(kind))
    console.print(clean(f"Written to {written.directory}"))
