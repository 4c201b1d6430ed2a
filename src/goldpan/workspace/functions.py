"""Functions of the package, which need no workspace."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from goldpan.core.errors import DatasetError
from goldpan.core.values import Count, several
from goldpan.workspace.dataset import Dataset
from goldpan.workspace.opening import OpenWorkspace
from goldpan.workspace.options import DatasetName, DatasetNames
from goldpan.workspace.repositories import find_dataset, table_path

if TYPE_CHECKING:
    from goldpan.code.edits.files import Applied
    from goldpan.datasets.compare.contamination import ContaminationResult
    from goldpan.datasets.compare.diff import DiffResult


def diff(
    old: DatasetName,
    new: DatasetName,
    *,
    limit: Count = 20,
    output: Path | str | None = None,
    changelog: Path | str | None = None,
    workspace: Path | str | None = None,
) -> DiffResult:
    """Compare two versions of a dataset: rows added, removed and changed, and why.

    Rows are compared by id and column. The provenance of both versions shows which settings, rules
    and dates differ; `goldpan why` says which criterion drops an entry.

    Example: goldpan diff published/qa qa

    Args:
        old (DATASET): The older version: a name in the workspace, a directory, or one on the Hub.
        new (DATASET): The newer version.
        limit: How many rows of each kind to name.
        output: Write every row that differs to this .parquet, .jsonl or .csv file.
        changelog: Write to this file the section that build --since adds to the card.
        workspace: A directory or s3://BUCKET/NAME. (default: goldpan-workspace)
    """
    from goldpan.datasets.compare.diff import compare_versions

    lab = _opened(workspace, new)
    result = compare_versions(
        find_dataset(lab, old).path,
        find_dataset(lab, new).path,
        most=limit,
        output=None if output is None else Path(output),
    )
    if changelog is not None:
        _write_changelog(Path(changelog), result)
    return result


def contamination(
    dataset: DatasetName,
    *,
    against: DatasetNames,
    column: str | Sequence[str] = (),
    ngram: int = 13,
    common: int = 10,
    limit: Count = 20,
    output: Path | str | None = None,
    workspace: Path | str | None = None,
) -> ContaminationResult:
    """Find the rows of a dataset that also occur in other data, such as a benchmark.

    Example: goldpan contamination code-edit --against swe-bench.parquet

    Args:
        dataset (DATASET): A name in the workspace, a directory, one on the Hub, or a table's file.
        against (DATASET): A table (Parquet, JSON lines, CSV) or a dataset, such as SWE-bench's.
        column (NAME): A text column of the dataset to compare.
            (default: the columns that people wrote)
        ngram: How many words an n-gram has.
        common: Ignore n-grams that occur in more rows or items than this.
        limit: Show the evidence for at most this many rows.
        output: Write the evidence for all rows to this .parquet, .jsonl or .csv file.
        workspace: A directory or s3://BUCKET/NAME. (default: goldpan-workspace)
    """
    from goldpan.datasets.compare.contamination import find_contamination

    lab = _opened(workspace, dataset)
    others = [against] if isinstance(against, (str, Path, Dataset)) else against
    return find_contamination(
        table_path(lab, dataset),
        [table_path(lab, other) for other in others],
        columns=several(column),
        ngram=ngram,
        common=common,
        most=limit,
        output=None if output is None else Path(output),
    )


def apply_edit(
    patch: Path | str, *, root: Path | str = Path(), check: bool = False, lenient: bool = False
) -> Applied:
    """Apply SEARCH/REPLACE blocks or a unified diff to files: all changes or none.

    The patch may use other line endings than the file; the file's are kept. The output says for
    each block which differences were ignored.

    Example: goldpan apply-edit answer.md --root checkout

    Args:
        patch (FILE): A file with SEARCH/REPLACE blocks, or a unified diff.
        root: The directory of the files.
        check: Only check; change nothing.
        lenient: Accept different white space at the ends of lines.
    """
    from goldpan.code.edits.files import apply_patch

    return apply_patch(Path(patch), Path(root), write=not check, lenient=lenient)


def _opened(workspace: Path | str | None, dataset: str | Path | Dataset) -> OpenWorkspace:
    """Return the workspace that is named, else the dataset's own."""
    if workspace is None and isinstance(dataset, Dataset):
        return dataset.workspace
    return OpenWorkspace(workspace)


def _write_changelog(path: Path, result: DiffResult) -> None:
    from goldpan.core.storage.workspace import write_whole
    from goldpan.datasets.compare.diff import changelog

    try:
        write_whole(path, f"## Changes\n\n{changelog(result)}\n")
    except OSError as error:
        raise DatasetError(f"{path} cannot be written: {error}", "Choose another file") from None
