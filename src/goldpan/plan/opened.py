"""A plan as it was read, and an opened one: its workspace, its repositories and its records."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from goldpan.core.plugins.loading import find_builder
from goldpan.core.plugins.parts import Reads
from goldpan.core.remote import is_address
from goldpan.core.settings.file import Location, Source
from goldpan.core.storage.workspace import tasks_directory
from goldpan.core.values import LOCAL, Execution
from goldpan.datasets.card import FINDINGS_PAGE
from goldpan.datasets.provenance import PROVENANCE
from goldpan.lineage import stages as lineage
from goldpan.plan.record import StepResult, digest_of, read_record, write_record
from goldpan.plan.section import MineSection, Plan, StageSection, is_path
from goldpan.workspace.workspace import Workspace

if TYPE_CHECKING:
    from goldpan.core.storage.workspace import WorkspaceLayout
    from goldpan.datasets.tasks.task import Task
    from goldpan.filters.profile import Profile

LAST = "last"
"""The value of a dataset's `since` for the version that the plan built before."""
ISSUES = "issues of all repositories"
"""The input of what looks for duplicates among them."""


@dataclass(frozen=True, slots=True)
class PlanFile:
    """A plan and where it lies."""

    path: Path
    source: Source
    head: Plan
    by_stage: Mapping[str, Mapping[Location, StageSection]]
    """The sections of each stage, by their places in the file."""

    @property
    def name(self) -> str:
        """The name of the plan: that of its file."""
        return self.path.stem

    def sections(self, stage: str) -> list[StageSection]:
        """Return the sections of a stage, in their order."""
        return list(self.by_stage[stage].values())

    def without(self, stage: str) -> PlanFile:
        """Return the plan without a stage."""
        return replace(self, by_stage={**self.by_stage, stage: {}})

    @property
    def rules(self) -> tuple[str, ...]:
        """The sets of pairing rules, the first for what names none."""
        return self.sections("pair")[0].names("rules")

    @property
    def profiles(self) -> tuple[str, ...]:
        """The profiles of filters that anything asks for, in their order, once each."""
        takers = [*self.sections("review")]
        takers += [one for one in self.sections("dataset") if reads_of(one) == "filtered"]
        named = self.sections("filter")[0].given().get("profile", ())
        wanted = [*named, *filter(None, (one.get("profile") for one in takers))]
        return tuple(dict.fromkeys(map(self.profile, wanted or ["default"])))

    def profile(self, name: str) -> str:
        """Return a profile's name, or where its file lies."""
        return str(self.resolve(name)) if name.endswith(".toml") else name

    def resolve(self, name: str) -> Path:
        """Return a path of the file, which is relative to the file's folder."""
        return self.path.parent / name

    def found(self, name: str) -> str:
        """Return a path of the file where it is there, else the name of something elsewhere."""
        path = self.resolve(name)
        return str(path) if path.exists() else name

    def given(self, section: StageSection) -> dict[str, Any]:
        """Return what a section gives a method, with the paths of files."""
        return self.resolved(section, section.given())

    def resolved(self, section: StageSection, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return values of a section with the paths of files."""
        values = dict(values)
        for name, value in values.items():
            if is_path(section.parameters[name]) and isinstance(value, tuple):
                values[name] = tuple(map(self.resolve, value))
            elif is_path(section.parameters[name]) and value is not None:
                values[name] = self.resolve(value)
            elif name == "profile" and isinstance(value, str):
                values[name] = self.profile(value)
        return values


def reads_of(dataset: StageSection) -> Reads:
    """Return what the rows of a dataset are made of, which its family tells."""
    builder = find_builder(dataset.get("family"))
    return builder.reads if builder else "filtered"


class OpenPlan:
    """A plan with its workspace and its repositories, and what is known of its steps."""

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

    def cluster(self) -> AbstractContextManager[object]:
        """Return what holds one cluster open for all stages, where the plan works on one."""
        from goldpan.core.parallel.engine import open_engine

        where = Execution(**self.execution)
        if where.engine == "local":
            return nullcontext()
        return open_engine(where, where.workers or os.cpu_count())

    def forget(self) -> None:
        """Read records again: others may have run the plan."""
        self._records.clear()

    def record(self, step: str) -> StepResult | None:
        """Return what is kept of a step's last run."""
        if step not in self._records:
            self._records[step] = read_record(self._record_file(step))
        return self._records[step]

    def keep(self, record: StepResult) -> None:
        """Store a record."""
        write_record(self._record_file(record.unit), record)
        self._records[record.unit] = record
        self._issues = ""

    def _record_file(self, step: str) -> Path:
        return self.folder / "units" / f"{step.lower()}.json"

    def is_finished(self, step: str) -> bool:
        """Tell whether a step was run, if in part."""
        record = self.record(step)
        return record is not None and record.state in ("done", "partial")

    def kept(self, repo: str) -> str:
        """Return the name under which a repository is kept: GitHub may have renamed it."""
        record = self.record(f"mine/{repo}")
        return (record.repo if record else "") or repo

    @cached_property
    def profiles(self) -> Mapping[str, Profile]:
        """The profiles of filters, by the names that the file gives them."""
        from goldpan.filters.profile import load_profile

        return {name: load_profile(name) for name in self.file.profiles}

    def profile(self, section: StageSection) -> Profile:
        """Return the profile of filters that a section names."""
        return self.profiles[self.file.profile(section.get("profile"))]

    def layout(self, rules: str | None = None) -> WorkspaceLayout:
        """Return where everything lies, with the pairs by some rules, by default the first."""
        return self.lab.layout.by_rules(rules or self.file.rules[0])

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
        layout, name = self.layout(rules), self.profile(section).name
        for repo in repos:
            yield from self.tables("normalize", "history", repo=repo)
            yield from (layout.pairs(repo, rules), layout.verdicts(repo, name))

    def decisions(self, projects: Iterable[str]) -> list[Path]:
        """Return the files of what people decided in annotation projects."""
        root = self.lab.path
        return [root / "annotations" / name / "decisions.parquet" for name in projects]

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
    assert isinstance(mine, MineSection)
    return Workspace(workspace, progress=progress, **mine.opening)


def files_below(*directories: Path) -> list[Path]:
    """Return all files below directories, but for what an audit writes beside a card."""
    return [
        path
        for directory in directories
        for path in directory.rglob("*")
        if path.is_file() and path.name != FINDINGS_PAGE
    ]
