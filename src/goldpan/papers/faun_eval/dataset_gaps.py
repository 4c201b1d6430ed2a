"""In what a built dataset falls short of a paper's: other filters, or no review."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from goldpan.datasets.provenance import PROVENANCE, read_provenance


def dataset_gaps(directory: Path, profile: str) -> tuple[str, ...]:
    """Return what differs, in clauses; none where it is as FAUN-Eval describes (section 3.3).

    `profile` is the paper's. Its semantic check has models review what the filters keep, and then
    people. A folder without provenance is taken as built by other hands.
    """
    if not (directory / PROVENANCE).exists():
        return ("rows of unknown making",)
    return tuple(_gaps(read_provenance(directory), profile))


def _gaps(provenance: Mapping[str, Any], profile: str) -> Iterator[str]:
    name = provenance.get("profile", {}).get("name")
    if name != profile:
        yield f"filtered by the profile {name}"
    reviewers = {kind for review in provenance.get("reviews", {}).values() for kind in review}
    if not reviewers:
        yield "not reviewed"
    elif "people" not in reviewers:
        yield "reviewed by models alone"
    elif "models" not in reviewers:
        yield "reviewed by people alone"
