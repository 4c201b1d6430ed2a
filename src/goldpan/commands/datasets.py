"""Commands that look at datasets."""

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
)
from goldpan.core.errors import UsageError
from goldpan.core.show import show
from goldpan.core.terminal import Terminal, clean
from goldpan.core.workspace import Workspace
from goldpan.filters.basis import basis_blocks

if TYPE_CHECKING:  # these take long to import
    from goldpan.report.page import ReportFacts
    from goldpan.trace import Trace

Datasets = Annotated[
    list[Path] | None,
    typer.Option("--dataset", help="A dataset's directory; may be given several times."),
]
_HOLDS = {True: "", False: "does not hold: ", None: "cannot be verified: "}
_CONCLUSIONS = {
    True: "The whole chain holds.",
    False: "The chain is broken: goldpan check names damaged files and what makes them anew.",
    None: "What could be verified holds; the rest is named above.",
}


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
