"""Datasets compared, looked for elsewhere, exported and published; edits applied to files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from goldpan.core.errors import DatasetError
from goldpan.operations.repositories import find_dataset
from goldpan.operations.values import Count

if TYPE_CHECKING:
    from goldpan.code.edits.files import Applied
    from goldpan.datasets.contamination.result import ContaminationResult
    from goldpan.datasets.diff.result import DiffResult
    from goldpan.datasets.export.result import ExportResult
    from goldpan.datasets.hub import PublishResult
    from goldpan.operations.dataset import Dataset
    from goldpan.operations.workspace import Workspace

_COMMIT = re.compile(r"[0-9a-f]{40}")
"""The name of a folder in the Hub's cache."""


def export(
    dataset: Path | str | Dataset,
    *,
    to: Literal["swe-bench", "harbor", "inspect", "lm-eval", "alpaca", "chat"],
    output: Path | str | None = None,
    unverified: bool = False,
) -> ExportResult:
    """Write a dataset in the format that SWE-bench, Inspect, lm-eval or fine-tuning programs read.

    Each split becomes a JSON Lines file; harnesses also get a task file with a scorer. Harbor gets
    a folder of tasks. SWE-bench and Harbor take only rows that goldpan verify proved; others are
    left out and counted.

    Args:
        dataset (DATASET): A dataset: its directory, or one on the Hub.
        to: The format to write.
        output: The directory to write; an earlier export there is replaced. (default:
            DATASET-FORMAT)
        unverified: With swe-bench, also rows that no test run proved.
    """
    from goldpan.core.own_tasks import tasks_directory
    from goldpan.datasets.export.export import export_dataset

    data = _loaded(dataset)
    path = data.path.absolute()
    name = data.family if _COMMIT.fullmatch(path.name) else path.name
    return export_dataset(
        data.path,
        data.family,
        list(data.splits),
        to,
        Path(output or f"{name}-{to}"),
        name=name,
        tasks=tasks_directory(path.parent.parent),
        unverified=unverified,
    )


def diff(
    self: Workspace,
    old: Path | str | Dataset,
    new: Path | str | Dataset,
    *,
    limit: Count = 20,
    output: Path | str | None = None,
    changelog: Path | str | None = None,
) -> DiffResult:
    """Compare two versions of a dataset: rows added, removed and changed, and why.

    Rows are compared by id and column. The provenance of both versions shows which settings, rules
    and dates differ. If the workspace still has the verdicts of a version, they show which
    criterion drops or keeps a row.

    Args:
        old (DATASET): The older version: a directory, or one on the Hub.
        new (DATASET): The newer version.
        limit: At most this many rows of each kind are named.
        output: Write every row that differs to this .parquet, .jsonl or .csv file.
        changelog: Write to this file the section that build --since adds to the card.
    """
    from goldpan.datasets.diff.changelog import changelog as section
    from goldpan.datasets.diff.compare import compare_versions

    difference = compare_versions(
        _loaded(old).path,
        _loaded(new).path,
        self.layout,
        most=limit,
        output=None if output is None else Path(output),
    )
    if changelog is not None:
        text = f"## Changes\n\n{section(difference)}\n"
        try:
            Path(changelog).write_text(text, encoding="utf-8", newline="\n")
        except OSError as error:
            raise DatasetError(
                f"{changelog} cannot be written: {error}", "Choose another file"
            ) from None
    return difference


def contamination(
    dataset: Path | str | Dataset,
    *,
    against: Sequence[Path | str | Dataset],
    column: Sequence[str] = (),
    ngram: int = 13,
    common: int = 10,
    limit: Count = 20,
    output: Path | str | None = None,
) -> ContaminationResult:
    """Find the rows of a dataset that also occur in other data, such as a benchmark.

    Evidence is an equal or nearly equal text, a shared n-gram of words, or the same pull request,
    issue or commit. The result says what this cannot detect.

    Args:
        dataset (DATASET): A dataset: its directory, one on the Hub, or a table's file.
        against (DATASET): A table (Parquet, JSON lines, CSV) or a dataset, such as SWE-bench's; may
            be given several times.
        column: A text column of DATASET to compare; may be given several times. (default: the
            columns that people wrote)
        ngram: How many words an n-gram has.
        common: Ignore n-grams that occur in more rows or items than this.
        limit: Show the evidence for at most this many rows.
        output: Write the evidence for all rows to this .parquet, .jsonl or .csv file.
    """
    from goldpan.datasets.contamination.find import find_contamination

    return find_contamination(
        _table(dataset),
        [_table(other) for other in against],
        columns=column,
        ngram=ngram,
        common=common,
        most=limit,
        output=None if output is None else Path(output),
    )


def publish(
    self: Workspace,
    dataset: Path | str | Dataset,
    *,
    repo_id: str,
    private: bool = False,
    tag: str | None = None,
    allow_license: Sequence[str] = (),
    overwrite: bool = False,
    dry_run: bool = False,
) -> PublishResult:
    """Publish a dataset on the Hugging Face Hub in one commit.

    The token comes from HF_TOKEN or `hf auth login`. Nothing leaves the machine if a check of the
    card, the licenses or secrets fails.

    Args:
        dataset (DATASET): A dataset that goldpan build wrote, by its name or directory.
        repo_id (OWNER/NAME): The repository on the Hub.
        private: Make a new repository private.
        tag: Tag this version, for example v1.
        allow_license (SPDX): Publish only under these licenses; may be given several times.
            (default: any that permits it)
        overwrite: Replace what the Hub has under that name.
        dry_run: Only check, and say what would be sent.
    """
    from goldpan.datasets.hub import publish

    directory = find_dataset(self, dataset).path
    with self.reporting() as reporter:
        return publish(
            directory,
            repo_id,
            private=private,
            tag=tag,
            overwrite=overwrite,
            dry_run=dry_run,
            reporter=reporter,
            allowed_licenses=allow_license or None,
        )


def apply_edit(
    patch: Path | str, *, root: Path | str = Path(), check: bool = False, lenient: bool = False
) -> Applied:
    """Apply SEARCH/REPLACE blocks or a unified diff to files: all changes or none.

    The patch may use other line endings than the file; the file's are kept. The output says for
    each block which differences were ignored.

    Args:
        patch: A file with SEARCH/REPLACE blocks, or a unified diff.
        root: The directory of the files.
        check: Only check; change nothing.
        lenient: Accept different white space at the ends of lines.
    """
    from goldpan.code.edits.files import apply_patch

    return apply_patch(Path(patch), Path(root), write=not check, lenient=lenient)


def _loaded(dataset: Path | str | Dataset) -> Dataset:
    from goldpan.operations.dataset import Dataset, load

    return dataset if isinstance(dataset, Dataset) else load(dataset)


def _table(dataset: Path | str | Dataset) -> Path:
    from goldpan.operations.dataset import Dataset, find_table

    return dataset.path if isinstance(dataset, Dataset) else find_table(dataset)
