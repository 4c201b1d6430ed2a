"""What a directory holds of an earlier build, in a few words."""

from __future__ import annotations

from pathlib import Path

from goldpan.core.errors import DatasetError
from goldpan.datasets.provenance import PROVENANCE, read_provenance


def read_made(directory: Path) -> str | None:
    """Return how many examples a dataset has and by which rules and profile, if there is one.

    Where it cannot be read, that is for whoever replaces it to say.
    """
    if not (directory / PROVENANCE).exists():
        return None
    try:
        provenance = read_provenance(directory)
    except DatasetError:
        return None
    rules = sorted(
        {source["rules"] for source in provenance.get("sources", ()) if source.get("rules")}
    )
    profile = provenance.get("profile", {}).get("name")
    by = [f"rules {' and '.join(rules)}"] if rules else []
    by += [f"profile {profile}"] if profile else []
    count = provenance.get("examples", 0)
    return f"{count:,} examples" + (f" by {', '.join(by)}" if by else "")
