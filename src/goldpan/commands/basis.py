"""Says which pairing rules and which profile stand behind what is shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from goldpan.core.terminal import Terminal, clean
from goldpan.core.workspace import UNPAIRED

if TYPE_CHECKING:
    from goldpan.filters.basis import Basis


def print_basis(bases: Sequence[Basis]) -> None:
    """Show what stands behind repositories, a line for those of which the same is true."""
    repos: dict[Basis, list[str]] = {}
    for basis in bases:
        repos.setdefault(replace(basis, repo=""), []).append(basis.repo)
    console = Terminal()
    for basis, names in repos.items():
        line = _line(basis)
        console.print(clean(f"{', '.join(names)}: {line}" if len(repos) > 1 else line))


def print_stored(stored: Mapping[str, Sequence[str]]) -> None:
    """Show by which rules and profiles a repository was paired and filtered."""
    parts = []
    for rules, profiles in stored.items():
        pairs = "without pairs" if rules == UNPAIRED else f"--rules {rules}"
        by = ", ".join(f"--profile {name}" for name in profiles)
        parts.append(f"{pairs} ({by or 'not filtered'})")
    if parts:
        Terminal().print(clean(f"Stored: {', '.join(parts)}"))


def _line(basis: Basis) -> str:
    text = "Not paired" if basis.rules is None else f"Pairs by rules {basis.rules}"
    text += _other_names(basis.other_rules, "--rules")
    if basis.profile is not None:
        text += f"; profile {basis.profile}{_other_names(basis.other_profiles, '--profile')}"
    return text


def _other_names(names: Sequence[str], option: str) -> str:
    return f" (also stored: {', '.join(f'{option} {name}' for name in names)})" if names else ""
