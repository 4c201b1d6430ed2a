"""Says which pairing rules and which profile stand behind what is shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from goldpan.core.terminal import Terminal, clean

if TYPE_CHECKING:
    from goldpan.filters.basis import Basis


def print_basis(found: Sequence[Basis]) -> None:
    """Show what stands behind repositories, a line for those of which the same is true."""
    repos: dict[Basis, list[str]] = {}
    for one in found:
        repos.setdefault(replace(one, repo=""), []).append(one.repo)
    console = Terminal()
    for one, names in repos.items():
        line = _line(one)
        console.print(clean(f"{', '.join(names)}: {line}" if len(repos) > 1 else line))


def _line(one: Basis) -> str:
    told = "Not paired" if one.rules is None else f"Pairs by rules {one.rules}"
    if one.newest:
        told += ", the newest"
    told += _others(one.other_rules, "--rules")
    if one.profile is not None:
        told += f"; profile {one.profile}{_others(one.other_profiles, '--profile')}"
    return told


def _others(names: Sequence[str], option: str) -> str:
    return f" (there, too: {', '.join(f'{option} {name}' for name in names)})" if names else ""
