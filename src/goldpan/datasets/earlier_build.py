"""By which rules and profile a directory's dataset was built, in a few words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from goldpan.core.errors import DatasetError
from goldpan.core.workspace import DEFAULT_RULES
from goldpan.datasets.provenance import PROVENANCE, read_provenance


def read_made(directory: Path) -> str | None:
    """Return how many examples a dataset has and by which rules and profile, if there is one.

    Where it cannot be read, that is for whoever replaces it to say.
    """
    provenance = _read(directory)
    if provenance is None:
        return None
    rules, profile = _chosen(provenance)
    by = [f"rules {' and '.join(rules)}"] if rules else []
    by += [f"profile {profile}"] if profile else []
    count = provenance.get("examples", 0)
    return f"{count:,} examples" + (f" by {', '.join(by)}" if by else "")


def read_choice(directory: Path) -> str:
    """Return the options by which a command takes the rules and the profile of a dataset."""
    rules, profile = _chosen(_read(directory) or {})
    options = [f" --profile {profile}"] if profile else []
    options += [f" --rules {name}" for name in rules if name != DEFAULT_RULES]
    return "".join(options)


def _read(directory: Path) -> dict[str, Any] | None:
    try:
        return read_provenance(directory) if (directory / PROVENANCE).exists() else None
    except DatasetError:
        return None


def _chosen(provenance: dict[str, Any]) -> tuple[list[str], str | None]:
    rules = {source["rules"] for source in provenance.get("sources", ()) if source.get("rules")}
    return sorted(rules), provenance.get("profile", {}).get("name")
