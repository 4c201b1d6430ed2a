"""Datasets of a workspace: built, found and published."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from goldpan.datasets.hub import PublishResult
    from goldpan.operations.dataset import Dataset
    from goldpan.operations.workspace import Workspace


def datasets(self: Workspace) -> list[Dataset]:
    """Return the finished datasets of the workspace, sorted by name."""
    from goldpan.datasets.provenance import finished_datasets
    from goldpan.operations.dataset import Dataset

    return [Dataset(path, workspace=self) for path in finished_datasets(self.layout)]


def dataset(self: Workspace, name: str) -> Dataset:
    """Return a finished dataset by the name of its directory, such as ``qa``."""
    from goldpan.operations.dataset import Dataset

    return Dataset(self.layout.dataset(name), workspace=self)


def publish(
    self: Workspace,
    dataset: str | Path | Dataset,
    repo_id: str,
    *,
    private: bool = False,
    tag: str | None = None,
    overwrite: bool = False,
    allowed_licenses: Sequence[str] | None = None,
    dry_run: bool = False,
) -> PublishResult:
    """Publish a dataset, by its name here or its directory, on the Hub in one commit."""
    from goldpan.datasets.hub import publish
    from goldpan.operations.dataset import Dataset

    if isinstance(dataset, str) and not Path(dataset).is_dir():
        dataset = self.layout.dataset(dataset)
    directory = dataset.path if isinstance(dataset, Dataset) else Path(dataset)
    with self.reporting() as reporter:
        return publish(
            directory,
            repo_id,
            private=private,
            tag=tag,
            overwrite=overwrite,
            dry_run=dry_run,
            reporter=reporter,
            allowed_licenses=allowed_licenses,
        )
