"""A finished directory, written whole or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from goldpan.core.errors import DatasetError
from goldpan.core.resources import unwritable
from goldpan.core.workspace import Workspace
from goldpan.datasets.provenance import PROVENANCE, digest, read_provenance


@contextmanager
def replacing(workspace: Workspace, directory: Path, family: str) -> Iterator[Path]:
    """Give an empty directory that takes the place of `directory` when the block ends well.

    Raises `DatasetError` where `directory` holds anything but an earlier one of that family.
    """
    stored_provenance(directory, family)
    try:
        with workspace.replacing(directory) as building:
            yield building
    except OSError as error:
        raise unwritable(directory, error, DatasetError) from None


def stored_provenance(directory: Path, family: str) -> dict[str, Any]:
    """Return the provenance of an earlier directory of that family; empty where there is none.

    Raises `DatasetError` where the directory holds something else.
    """
    remedy = "Choose another --output, or empty this one"
    try:
        if not directory.exists() or not any(directory.iterdir()):
            return {}
    except OSError as error:
        raise DatasetError(f"{directory} cannot be read: {error.strerror}", remedy) from None
    try:
        provenance = read_provenance(directory)
    except DatasetError as error:
        raise DatasetError(f"{directory} is not replaced: {error.problem}", remedy) from None
    if provenance.get("family") != family:
        raise DatasetError(f"{directory} is not replaced: it holds something else", remedy)
    return provenance


def files_of(building: Path) -> dict[str, Any]:
    """Return what the provenance says of the files of a directory, itself left out."""
    paths = sorted(path for path in building.rglob("*") if path.is_file())
    return {
        path.relative_to(building).as_posix(): {
            "sha256": digest(path),
            "bytes": path.stat().st_size,
        }
        for path in paths
        if path.name != PROVENANCE
    }
