"""The pairing rules and the profile behind a repository's results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from goldpan.core.storage.workspace import UNPAIRED, WorkspaceLayout


@dataclass(frozen=True, slots=True)
class Basis:
    """The pairs and verdicts that a stage takes, and those that lie beside them."""

    repo: str
    rules: str | None
    """The pairs' rules; None where the repository was not paired."""
    other_rules: tuple[str, ...]
    profile: str | None
    """The verdicts' profile; None where no verdicts are taken."""
    other_profiles: tuple[str, ...]


def find_basis(
    workspace: WorkspaceLayout, repos: Sequence[str], profile: str | None
) -> list[Basis]:
    """Return the rules and the profile behind each repository's results.

    Raises `WorkspaceError` where one was not paired by the workspace's rules.
    """
    return [_find(workspace, repo, profile) for repo in repos]


def filtered_by(workspace: WorkspaceLayout, repo: str) -> list[str]:
    """Return the profiles that filtered a repository's pairs, sorted."""
    folder = workspace.verdicts(repo, "any").parent
    return sorted(path.stem for path in folder.glob("*.parquet") if "." not in path.stem)


def stored_profiles(workspace: WorkspaceLayout, repo: str) -> dict[str, list[str]]:
    """Return the profiles that filtered a repository, by the rules of its pairs.

    `UNPAIRED` stands for verdicts without pairs.
    """
    stored = {
        rules: filtered_by(workspace.by_rules(rules), repo)
        for rules in (*workspace.paired_by(repo), UNPAIRED)
    }
    return {rules: profiles for rules, profiles in stored.items() if rules != UNPAIRED or profiles}


def basis_sentences(bases: Sequence[Basis]) -> Iterator[str]:
    """Yield a sentence for each basis, with the repositories that share it."""
    repos: dict[Basis, list[str]] = {}
    for basis in bases:
        repos.setdefault(replace(basis, repo=""), []).append(basis.repo)
    for basis, names in repos.items():
        line = _line(basis)
        yield f"{', '.join(names)}: {line}" if len(repos) > 1 else line


def _find(workspace: WorkspaceLayout, repo: str, profile: str | None) -> Basis:
    rules = workspace.rules_of(repo)
    others = tuple(name for name in workspace.paired_by(repo) if name != rules)
    profiles = () if profile is None else filtered_by(workspace, repo)
    return Basis(repo, rules, others, profile, tuple(name for name in profiles if name != profile))


def _line(basis: Basis) -> str:
    text = "Not paired" if basis.rules is None else f"Pairs by rules {basis.rules}"
    text += _other_names(basis.other_rules, "--rules")
    if basis.profile is not None:
        text += f"; profile {basis.profile}{_other_names(basis.other_profiles, '--profile')}"
    return text


def _other_names(names: Sequence[str], option: str) -> str:
    return f" (also stored: {', '.join(f'{option} {name}' for name in names)})" if names else ""
