"""Commands that look at datasets and publish them, and one that applies edits."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from goldpan.commands.filtering import ProfileName, RulesName
from goldpan.commands.shared import (
    PARTIAL,
    Directory,
    Json,
    OwnTasks,
    Repos,
    opened,
    print_result,
    reporting,
)
from goldpan.core.errors import UsageError
from goldpan.core.show import show
from goldpan.core.terminal import Terminal, clean
from goldpan.core.workspace import Workspace
from goldpan.filters.basis import basis_blocks

if TYPE_CHECKING:  # these take long to import
    from goldpan.code.edits.files import Applied
    from goldpan.datasets.hub import PublishResult
    from goldpan.report.page import ReportFacts
    from goldpan.trace import Trace

Datasets = Annotated[
    list[Path] | None,
    typer.Option("--dataset", help="A dataset's directory; may be given several times."),
]
_MOST_CHANGES = 30
_HOLDS = {True: "", False: "does not hold: ", None: "cannot be verified: "}
_CONCLUSIONS = {
    True: "The whole chain holds.",
    False: "The chain is broken: goldpan check names damaged files and what makes them anew.",
    None: "What could be verified holds; the rest is named above.",
}


def apply_edit(
    patch: Annotated[
        Path, typer.Argument(help="A file with SEARCH/REPLACE blocks, or a unified diff.")
    ],
    root: Annotated[Path, typer.Option(help="The directory of the files.")] = Path(),
    check: Annotated[bool, typer.Option("--check", help="Only check; change nothing.")] = False,
    lenient: Annotated[
        bool,
        typer.Option("--lenient", help="Accept different white space at the ends of lines."),
    ] = False,
    json: Json = False,
) -> None:
    """Apply SEARCH/REPLACE blocks or a unified diff to files: all changes or none.

    The patch may use other line endings than the file; the file's are kept. The output says for
    each block which differences were ignored.
    """
    from goldpan.code.edits.files import apply_patch

    applied = apply_patch(patch, root, write=not check, lenient=lenient)
    print_result(json, asdict(applied), lambda: print_applied(applied))


def trace(
    example_id: Annotated[
        str, typer.Argument(help="An id from the dataset, such as qa:OWNER/NAME#NUMBER.")
    ],
    dataset: Datasets = None,
    verify: Annotated[
        bool,
        typer.Option(
            "--verify",
            help="Recompute everything from the raw replies and git objects to the example.",
        ),
    ] = False,
    workspace: Directory = None,
    json: Json = False,
) -> None:
    """Trace a published example back to raw replies and git objects.

    Exits with 3 if a source is no longer in the workspace, and with 1 if --verify finds that
    something is not what it was made of.
    """
    with opened(json, workspace=workspace) as lab:
        traced = lab.trace(example_id, dataset or (), verify=verify)
    print_result(json, {**asdict(traced), "holds": traced.holds}, lambda: print_traced(traced))
    if traced.holds is False:
        raise typer.Exit(1)
    raise typer.Exit(0 if traced.complete and traced.holds else PARTIAL)


def publish(
    directory: Annotated[Path, typer.Argument(help="A dataset that goldpan build wrote.")],
    repo_id: Annotated[str, typer.Option(help="The repository on the Hub: OWNER/NAME.")],
    private: Annotated[
        bool, typer.Option("--private", help="Make a new repository private.")
    ] = False,
    tag: Annotated[str | None, typer.Option(help="Tag this version, for example v1.")] = None,
    allow_license: Annotated[
        list[str] | None,
        typer.Option(help="Publish only under these SPDX licenses; may be given several times."),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace what the Hub has under that name.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only check, and say what would be sent.")
    ] = False,
    json: Json = False,
) -> None:
    """Publish a dataset on the Hugging Face Hub in one commit.

    The token comes from HF_TOKEN or `hf auth login`. Nothing leaves the machine if a
    check of the card, the licenses or secrets fails.
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
    print_result(json, asdict(published), lambda: print_published(published))


def report(
    repo: Repos = None,
    profile: ProfileName = "default",
    rules: RulesName = "default",
    dataset: Datasets = None,
    runs: Annotated[
        bool,
        typer.Option(
            "--runs", help="Report on stored evaluation runs instead; see goldpan evaluate compare."
        ),
    ] = False,
    output: Annotated[Path, typer.Option(help="The HTML file.")] = Path("goldpan-report.html"),
    tasks: OwnTasks = None,
    workspace: Directory = None,
    json: Json = False,
) -> None:
    """Write an HTML page with the funnel, distributions, and examples with their evidence.

    With --runs, or if the workspace holds only evaluation runs, the page says which models differ.
    """
    if output.suffix != ".html":
        raise UsageError(f"--output {output} is not an HTML file", "End it in .html")
    if runs and (repo or dataset):
        raise UsageError(
            "--runs reports on all stored runs, not on repositories and datasets",
            "Leave out --repo and --dataset, or use goldpan evaluate compare --task",
        )
    with opened(json, workspace=workspace, tasks=tasks) as lab:
        has_runs = any(lab.path.glob("runs/*/*/*/result.json"))
        if runs or (has_runs and not repo and not lab.repositories()):
            _report_runs(lab.layout, output, json)
            return
        facts = lab.report(output, *(repo or ()), profile=profile, rules=rules, datasets=dataset)
    print_result(json, asdict(facts), lambda: print_reported(facts))


def _report_runs(workspace: Workspace, output: Path, json: bool) -> None:
    from goldpan.commands.comparing import compare_stored, known_tasks, write_files
    from goldpan.commands.comparing_screen import comparison_json, print_compared
    from goldpan.evaluation.comparison_result import Question

    tasks = known_tasks(workspace)
    compared = compare_stored(workspace, tasks, (), Question())
    written = write_files(workspace, compared, tasks, page=output)
    print_result(
        json,
        comparison_json(compared, written),
        lambda: print_compared(compared, written),
    )


def print_applied(applied: Applied) -> None:
    """Show which files blocks changed."""
    console = Terminal()
    verb = "changed" if applied.written else "would change"
    for file in applied.files:
        line = clean(f"{file.action} ") + clean(file.path)
        console.print(line + clean(f" ({_count(file.blocks, 'block')})"))
        for forgiven in file.forgiven:
            console.print(clean(f"  ignored: {forgiven}"))
    console.print(f"{_count(len(applied.files), 'file')} {verb}")


def print_published(result: PublishResult) -> None:
    """Show what was sent, or would be."""
    console = Terminal()
    for change in result.changes[:_MOST_CHANGES]:
        console.print(clean(f"  {change.action} ") + clean(change.path) + f" {change.size:,} bytes")
    if len(result.changes) > _MOST_CHANGES:
        console.print(f"  and {len(result.changes) - _MOST_CHANGES:,} more")
    if result.dry_run:
        console.print(f"Nothing was sent. All checks passed; it would go to {result.url}")
        if not result.compared:
            console.print("Without a token, the Hub's present content was not checked.")
        return
    if not result.changes:
        console.print(f"{result.url} already has the same content")
    else:
        console.print(f"Published as {result.url} in commit {result.commit}")
    if result.tag:
        console.print(f"Tagged {result.tag}")


def print_traced(traced: Trace) -> None:
    """Show where an example comes from."""
    console = Terminal()
    console.print(clean(traced.id))
    console.print(clean(f"split {traced.split} of {traced.dataset}"))
    for name, value in traced.place.items():
        console.print(clean(f"  {name}: ") + clean(str(value)))
    if traced.entries:
        console.print("\nEntries", style="bold")
    for entry in traced.entries:
        if entry.entry:
            console.print(
                clean(f"  {entry.repo}#{entry.number} {entry.entry['kind']}: ")
                + clean(entry.entry["title"])
            )
    numbers = {entry.number for entry in traced.entries}
    pairs = [
        pair for entry in traced.entries[:1] for pair in entry.pairs if pair["pull"] in numbers
    ]
    for pair in pairs:
        console.print(f"\nEvidence: {', '.join(pair['signals'])}", style="bold")
        for evidence in pair["evidence"]:
            if evidence["excerpt"]:
                console.print(clean(f"  {evidence['where']}: ") + clean(evidence["excerpt"]))
    if traced.objects:
        console.print("\nGit objects", style="bold")
    for git_object in traced.objects:
        state = (
            f"{git_object.kind}, {git_object.size:,} bytes"
            if git_object.size is not None
            else "not there"
        )
        console.print(f"  {git_object.column} {git_object.sha}  {state}")
    if traced.replies:
        console.print("\nRaw replies", style="bold")
    for reply in traced.replies:
        state = f"{reply.size:,} bytes, sha256 {reply.sha256}" if reply.sha256 else "not there"
        console.print(f"  {reply.name}  {reply.part}, {reply.fetched_at}, {state}")
    if traced.chain:
        console.print("\nVerified, from the sources to the example", style="bold")
    for link in traced.chain:
        console.print(clean(f"  {link.step}: {_HOLDS[link.holds]}{link.found}"))
    if traced.chain:
        console.print(_CONCLUSIONS[traced.holds])


def print_reported(report: ReportFacts) -> None:
    """Show where a report lies and what it holds."""
    console = Terminal()
    console.print(
        f"{_count(report.examples, 'example')} and {_count(report.dropped, 'dropped subject')} of "
        f"{_count(len(report.repos), 'repository')}, {report.size / 1e6:.1f} MB"
    )
    show(basis_blocks(report.basis))
    console.print(clean(f"Open {report.output} in a browser"))


def _count(count: int, noun: str) -> str:
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{count:,} {noun if count == 1 else plural}"
