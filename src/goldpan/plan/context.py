"""What all steps of a plan work with: its file, its workspace, and digests of what they read."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from goldpan.core.errors import WorkspaceError
from goldpan.core.sealed import read_lineage
from goldpan.operations.values import EngineName, Execution
from goldpan.plan.file import PlanFile
from goldpan.plan.record import Record, digest_of, digests_of
from goldpan.plan.section import StageSection

if TYPE_CHECKING:  # these take long to import
    from goldpan.core.workspace import Workspace as Layout
    from goldpan.datasets.task import Task
    from goldpan.filters.profile import Profile
    from goldpan.operations.workspace import Workspace

RENAMED = "repo"
"""The fact of a mined repository: the name under which it is kept."""
HISTORY = ("revisions", "changes")
"""The tables that clones give."""
ISSUES = "issues of all repositories"
"""The input of what looks for duplicates among them."""


@dataclass(frozen=True)
class Context:
    """The plan, its workspace, and what is known of its units."""

    file: PlanFile
    lab: Workspace
    record_of: Callable[[str], Record | None]
    """Returns what is kept of a unit, by its name."""
    engine: EngineName = "local"
    """Where a unit does what one process cannot hold: ``ray`` on a machine of a cluster."""
    memory: dict[str, str] = field(default_factory=dict)
    """What need not be computed again until a unit is run."""

    @property
    def execution(self) -> Execution:
        """Where operations do their work."""
        return Execution(self.engine)

    @cached_property
    def profiles(self) -> Mapping[str, Profile]:
        """The profiles of filters, by the names that the file gives them."""
        from goldpan.filters.profile import load_profile

        return {name: load_profile(name) for name in self.file.profiles}

    def profile(self, name: str) -> Profile:
        """Return a profile of filters by the name that the file gives it."""
        return self.profiles[self.file.profile(name)]

    def layout(self, rules: str | None = None) -> Layout:
        """Return where everything lies, with the pairs by some rules, by default the first."""
        return self.lab.layout.by_rules(rules or self.file.rules[0])

    def repository(self, repo: str) -> str:
        """Return the name under which a repository is kept: GitHub may have renamed it."""
        record = self.record_of(f"mine/{repo}")
        return repo if record is None else record.facts.get(RENAMED, repo)

    def is_finished(self, unit: str) -> bool:
        """Tell whether a unit was run, if in part."""
        record = self.record_of(unit)
        return record is not None and record.state in ("done", "partial")

    def task(self, name: str) -> Task:
        """Return a task of the registry, or of the workspace."""
        from goldpan.core.workspace import tasks_directory
        from goldpan.datasets.registry import find_task

        return find_task(name, tasks_directory(self.lab.path))

    def pairs(self, repo: str) -> dict[str, Path]:
        """Return the files of a repository's pairs, by rules."""
        return {rules: self.lab.layout.pairs(repo, rules) for rules in self.file.rules}

    def tables(self, repo: str) -> dict[str, str]:
        """Return the digests of a repository's mined tables."""
        directory = self.lab.layout.tables(repo)
        try:
            names = read_lineage(directory, "normalize")["outputs"]
        except WorkspaceError:
            names = {}
        return {f"tables/{name}": digest_of(directory / name) for name in sorted(names)}

    def pair_digests(self, repo: str) -> dict[str, str]:
        """Return the digests of a repository's pairs."""
        return {f"pairs {rules}": digest_of(path) for rules, path in self.pairs(repo).items()}

    def issues(self) -> dict[str, str]:
        """Return the digest of the issues of all repositories, among which duplicates are found."""
        if ISSUES not in self.memory:
            layout, whole = self.lab.layout, hashlib.sha256()
            for repo in layout.repositories("tables"):
                whole.update(f"{repo} {digest_of(layout.table(repo, 'entries'))}\n".encode())
            self.memory[ISSUES] = whole.hexdigest()
        return {ISSUES: self.memory[ISSUES]}

    def filtered(self, repos: Sequence[str], profile: str, rules: str) -> dict[str, str]:
        """Return the digests of what datasets read of repositories: tables and verdicts."""
        layout = self.layout(rules)
        digests = self.issues()
        for repo in map(self.repository, repos):
            paths = list(layout.tables(repo).glob("*.parquet"))
            other = {path for path in paths if path.name.startswith("pairs.")}
            pairs = self.pairs(repo)[rules]
            digests |= digests_of(layout.root, [path for path in paths if path not in other])
            if pairs.exists():
                verdicts = layout.verdicts(repo, self.profile(profile).name)
                digests |= digests_of(layout.root, [pairs, verdicts])
        return digests

    def decisions(self, projects: Iterable[str]) -> dict[str, str]:
        """Return the digests of what people decided in annotation projects."""
        root = self.lab.path
        paths = [root / "annotations" / name / "decisions.parquet" for name in projects]
        return digests_of(root, paths)

    def audits(self, names: Iterable[str]) -> dict[str, str]:
        """Return the digests of the findings in datasets, by name."""
        root = self.lab.path
        paths = [root / "audits" / name / "findings.parquet" for name in names]
        return digests_of(root, (path for path in paths if path.exists()))

    def task_digests(self, names: Iterable[str]) -> dict[str, str]:
        """Return the digests of the datasets that hold the rows of tasks, by task."""
        from goldpan.datasets.task_data import task_directory

        directories = {name: task_directory(self.lab.layout, self.task(name)) for name in names}
        return {
            f"datasets/{name}": digest_of(directory / "provenance.json")
            for name, directory in directories.items()
        }

    def data_digests(self, section: StageSection) -> dict[str, str]:
        """Return the digests of the datasets, and the rows of tasks, that a section names."""
        return {
            **self.dataset_digests(section.names("dataset")),
            **self.task_digests(section.names("task")),
        }

    def dataset_digests(self, names: Iterable[str]) -> dict[str, str]:
        """Return the digests of datasets of the workspace, by name."""
        layout = self.lab.layout
        return {
            f"datasets/{name}": digest_of(layout.dataset(name) / "provenance.json")
            for name in names
        }


def rules_settings(names: Iterable[str]) -> dict[str, Any]:
    """Return what pairing rules ask for, and the plugins behind them."""
    from goldpan.core.plugins import digests
    from goldpan.miners.pairing import find_rules

    found = [find_rules(name) for name in names]
    signals = sorted({name for rules in found for name in rules.signals})
    plugins = digests(
        *(("rules", rules.name) for rules in found), *(("signal", name) for name in signals)
    )
    plain = {f"rules {rules.name}": rules.plain() for rules in found}
    return {"rules": ", ".join(rules.name for rules in found), **plain, "plugins": plugins}


def profile_settings(profiles: Iterable[Profile]) -> dict[str, Any]:
    """Return what verdicts depend on of profiles: settings, and digests of their criteria."""
    return {
        f"profile {profile.name}": {
            "decide": list(profile.decide),
            **profile.plain()["settings"],
            "criteria": {name: profile.digest(name) for name in profile.criteria()},
        }
        for profile in profiles
    }


def files_below(*directories: Path) -> tuple[Path, ...]:
    """Return all files below directories."""
    return tuple(
        path for directory in directories for path in directory.rglob("*") if path.is_file()
    )
