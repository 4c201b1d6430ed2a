"""Commands that look at datasets and publish them, and one that applies edits."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from goldpan.commands.shared import (
    Json,
    print_result,
    reporting,
)
from goldpan.core.terminal import Terminal, clean

if TYPE_CHECKING:  # these take long to import
    from goldpan.code.edits.files import Applied
    from goldpan.datasets.hub import PublishResult

_MOST_CHANGES = 30


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


def _count(count: int, noun: str) -> str:
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{count:,} {noun if count == 1 else plural}"
