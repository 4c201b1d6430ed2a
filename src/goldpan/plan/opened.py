"""An opened plan: its workspace, its repositories, its records, and what its units read."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

from goldpan.core.remote import is_address
from goldpan.core.storage.workspace import tasks_directory
from goldpan.core.values import LOCAL, Execution
from goldpan.datasets.card import FINDINGS_PAGE
from goldpan.datasets.provenance import PROVENANCE
from goldpan.lineage import stages as lineage
from goldpan.plan.record import StepResult, digest_of, read_record, write_record
from goldpan.plan.section import PlanFile, StageSection
from goldpan.workspace.workspace import Workspace

if TYPE_CHECKING:
    from goldpan.datasets.tasks.task import Task
    from goldpan.filters.profile import Profile

ISSUES = "issues of all repositories"
"""The input of what looks for duplicates among them."""


class OpenPlan:
    """A plan with its workspace and its repositories, and what is known of its units."""

    def __init__(
        self,
        file: PlanFile,
        lab: Workspace,
        repos: Sequence[str] = (),
        execution: Execution = LOCAL,
    ) -> None:
        """Open it; `execution` overrides what its file says of where work is done."""
        self.file = file
        self.lab = lab
        self.repos = repos
        asked = asdict(execution)
        self.execution = file.head.given() | {
            name: value for name, value in asked.items() if value != getattr(LOCAL, name)
        }
        self.folder = lab.path / "plans" / file.name
        """Where the plan keeps what it knows: ``WORKSPACE/plans/NAME``."""
        self._records: dict[str, StepResult | None] = {}
        self._issues = ""

    def record(self, unit: str) -> StepResult | None:
        """Return what is kept of a unit's last run."""
        if unit not in self._records:
            self._records[unit] = read_record(self._record_file(unit))
        return self._records[unit]

    def keep(self, record: StepResult) -> None:
        """Store a record."""
        write_record(self._record_file(record.unit), record)
        self._records[record.unit] = record
        self._issues = ""

    def _record_file(self, unit: str) -> Path:
        return self.folder / "units" / f"{unit.lower()}.json"

    def kept(self, repo: str) -> str:
        """Return the name under which a repository is kept: GitHub may have renamed it."""
        record = self.record(f"mine/{repo}")
        return (record.repo if record else "") or repo

    @cached_property
    def profiles(self) -> Mapping[str, Profile]:
        """The profiles of filters, by the names that the file gives them."""
        from goldpan.filters.profile import load_profile

        return {name: load_profile(name) for name in self.file.profiles}

    def profile(self, section: StageSection) -> str:
        """Return the name of the profile of filters that a section names."""
        return self.profiles[self.file.profile(section.get("profile"))].name

    def task(self, name: str) -> Task:
        """Return a task of the registry, or of the workspace."""
        from goldpan.datasets.tasks.registry import find_task

        return find_task(name, tasks_directory(self.lab.path))

    def tables(self, *stages: str, **fields: str) -> set[Path]:
        """Return what stages wrote, by the table of stages and by the plan's rules and profiles.

        Of what they keep about themselves only the provenance of datasets counts.
        """
        root, profiles = self.lab.path, [profile.name for profile in self.profiles.values()]
        return {
            path
            for name in stages
            for rules, profile in product(self.file.rules, profiles)
            for path in lineage.STAGES[name].files(root, rules=rules, profile=profile, **fields)
            if path.suffix in (".parquet", ".zst")
            or (name == "build" and path.name != FINDINGS_PAGE)
        }

    def filtered(self, repos: Iterable[str], section: StageSection, rules: str) -> Iterator[Path]:
        """Yield what datasets read of repositories: tables, pairs and verdicts."""
        layout, name = self.lab.layout.by_rules(rules), self.profile(section)
        for repo in repos:
            yield from self.tables("normalize", "history", repo=repo)
            yield from (layout.pairs(repo, rules), layout.verdicts(repo, name))

    def decisions(self, projects: Iterable[str]) -> list[Path]:
        """Return the files of what people decided in annotation projects."""
        root = self.lab.path / "annotations"
        return [root / name / "decisions.parquet" for name in projects]

    def data(self, section: StageSection) -> list[Path]:
        """Return the provenance of the datasets, and of the rows of tasks, that a section names."""
        from goldpan.datasets.tasks.data import task_directory

        layout = self.lab.layout
        directories = [layout.dataset(name) for name in section.names("dataset")]
        directories += [task_directory(layout, self.task(name)) for name in section.names("task")]
        return [directory / PROVENANCE for directory in directories]

    def named_files(self, section: StageSection, *keys: str) -> list[Path]:
        """Return the files that keys of a section name."""
        return [self.file.resolve(name) for key in keys for name in section.names(key)]

    def issues(self) -> dict[str, str]:
        """Return the digest of the issues of all repositories, among which duplicates are found."""
        if not self._issues:
            layout, whole = self.lab.layout, hashlib.sha256()
            for repo in layout.repositories("tables"):
                whole.update(f"{repo} {digest_of(layout.table(repo, 'entries'))}\n".encode())
            self._issues = whole.hexdigest()
        return {ISSUES: self._issues}


def open_workspace(
    file: PlanFile, workspace: str | Path | None = None, *, progress: bool = False
) -> Workspace:
    """Open the workspace that a plan works in, with its settings of mining.

    `workspace` overrides the plan's.
    """
    named = file.head.workspace
    if workspace is None and named is not None:
        workspace = named if is_address(named) else file.resolve(named)
    (mine,) = file.sections("mine")
    return Workspace(workspace, progress=progress, **mine.given())


def files_below(*directories: Path) -> list[Path]:
    """Return all files below directories but hidden ones and what an audit writes beside a card."""
    return [
        path
        for directory in directories
        for path in directory.rglob("*")
        if path.is_file() and path.name != FINDINGS_PAGE and path.name[0] != "."
    ]
