"""The step of a stage that is an operation: its section's values in, its files' digests kept."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from goldpan.core.errors import WorkspaceError
from goldpan.core.result import Line, Result, Title
from goldpan.core.storage.sealed import read_lineage
from goldpan.core.storage.workspace import make_directory
from goldpan.datasets.card import FINDINGS_PAGE
from goldpan.operations.command import typed_values
from goldpan.operations.signature import Operation
from goldpan.operations.table import owner_of
from goldpan.operations.values import EngineName, Execution
from goldpan.plan.file import PlanFile
from goldpan.plan.section import StageSection
from goldpan.plan.sections import operation_of
from goldpan.plan.unit import Cost, Outcome, Unit, UnitRecord, digest_of, digests_of

if TYPE_CHECKING:
    from goldpan.core.storage.workspace import WorkspaceLayout
    from goldpan.datasets.tasks.task import Task
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
    record_of: Callable[[str], UnitRecord | None]
    """Returns what is kept of a unit, by its name."""
    engine: EngineName = "local"
    """Where a unit does what one process cannot hold: ``ray`` on a machine of a cluster."""
    memory: dict[str, str] = field(default_factory=dict)
    """Cached values, valid until a unit is run."""

    @cached_property
    def profiles(self) -> Mapping[str, Profile]:
        """The profiles of filters, by the names that the file gives them."""
        from goldpan.filters.profile import load_profile

        return {name: load_profile(name) for name in self.file.profiles}

    def profile(self, name: str) -> Profile:
        """Return a profile of filters by the name that the file gives it."""
        return self.profiles[self.file.profile(name)]

    def layout(self, rules: str | None = None) -> WorkspaceLayout:
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
        from goldpan.core.storage.workspace import tasks_directory
        from goldpan.datasets.tasks.registry import find_task

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

    def data_digests(self, section: StageSection) -> dict[str, str]:
        """Return the digests of the datasets, and the rows of tasks, that a section names."""
        from goldpan.datasets.tasks.data import task_directory

        layout = self.lab.layout
        held = {name: layout.dataset(name) for name in section.names("dataset")}
        held |= {name: task_directory(layout, self.task(name)) for name in section.names("task")}
        return {
            f"datasets/{name}": digest_of(directory / "provenance.json")
            for name, directory in held.items()
        }


def rules_settings(names: Iterable[str]) -> dict[str, Any]:
    """Return what pairing rules ask for, and the plugins behind them."""
    from goldpan.core.plugins.loading import digests
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


def dataset_files(step: Step) -> dict[str, str]:
    """Return the digests of the files of the dataset that a stage works on."""
    name = step.section.get("dataset") or step.unit.subject
    directory = step.context.lab.layout.dataset(name)
    return digests_of(directory, files_below(directory))


def audited_files(step: Step) -> dict[str, str]:
    """Return the digests of a dataset's files, and of the findings that go with them."""
    name = step.section.get("dataset") or step.unit.subject
    return {**dataset_files(step), **step.context.audits([name])}


def files_below(*directories: Path) -> tuple[Path, ...]:
    """Return all files below directories, but for what an audit writes beside a card."""
    return tuple(
        path
        for directory in directories
        for path in directory.rglob("*")
        if path.is_file() and path.name != FINDINGS_PAGE
    )


@dataclass(frozen=True, slots=True)
class StageFiles:
    """The command, inputs and outputs of a stage, by which its units become due."""

    words: str
    """The command whose operation it calls."""
    inputs: Callable[[Step], Mapping[str, str]] = lambda _: {}
    """Returns the digests of the files that it reads."""
    outputs: Callable[[Step, Sequence[Any]], Iterable[Path]] = lambda *_: ()
    """Returns what it wrote, of what the calls returned."""
    kept: Callable[[Step], Iterable[Path]] = lambda _: ()
    """Returns what counts for the size beside the outputs."""
    settings: Callable[[Step], Mapping[str, Any]] = lambda _: {}
    """Returns what the names in a section stand for, such as pairing rules."""
    runs_locally: Callable[[Step], bool] = lambda _: False
    """Tells whether a unit runs where the plan is, though others go to a cluster: what needs tokens
    or keys stays with them."""
    line: Callable[[Any, Mapping[str, Any]], str] = lambda result, _: headline(result)
    """Returns the result of a call with some values in one line."""
    each: tuple[str, ...] = ()
    """The parameters of which there are several values: each has a call of its own."""
    owns: bool = True
    """True where outputs that others changed have to be made again."""


@dataclass(frozen=True, kw_only=True)
class Step:
    """How a unit is run: an operation is called with the values of a section."""

    unit: Unit
    context: Context
    files: StageFiles
    section: StageSection
    repos: tuple[str, ...] = ()
    """Repositories that it works on, by the names that the plan gives them."""
    fixed: Mapping[str, Any] = field(default_factory=dict)
    """Values that the plan gives beside the section."""

    @property
    def operation(self) -> Operation:
        """The operation of the stage."""
        return operation_of(self.files.words)

    @property
    def repo(self) -> str:
        """The repository of a unit that has one, by the name under which it is kept."""
        return self.context.repository(self.unit.subject)

    @property
    def gpus(self) -> float:
        """How many GPUs of one machine it asks a cluster for, each part for itself."""
        return 0.0

    @property
    def parts(self) -> int:
        """How many parts it has that a cluster may run at once; 0 where it is one."""
        return 0

    def run_part(self, number: int) -> Outcome:
        """Do one part, from 0 on; raises `GoldpanError` where the unit is to fail for it."""
        raise NotImplementedError

    def join(self, parts: Sequence[Outcome]) -> Outcome:
        """Return the outcome of the unit, of those of all its parts."""
        raise NotImplementedError

    def settings(self) -> Mapping[str, Any]:
        """Return what the result depends on beside files: values, and what they stand for."""
        return {**self.section.values(), **self.files.settings(self)}

    def inputs(self) -> Mapping[str, str]:
        """Return the digests of the files that the result depends on."""
        return self.files.inputs(self)

    def price(self) -> Cost:
        """Return what it would cost beyond what the last run tells, and GitHub for mining."""
        return Cost()

    def due(self, record: UnitRecord, update: bool) -> str:
        """Return why it has to run though nothing changed here; empty where it has not."""
        return ""

    def prepare(self, record: UnitRecord | None) -> None:
        """Make ready for a run, once, also where it is killed: the directory of what it writes."""
        if (output := self.fixed.get("output")) is not None:
            make_directory(Path(output).parent)

    def values(self) -> dict[str, Any]:
        """Return what the operation is called with, by name."""
        values = {**self.context.file.given(self.section), **self.fixed}
        if self.repos:
            values["repos"] = tuple(map(self.context.repository, self.repos))
        if any(parameter.name == "execution" for parameter in self.operation.parameters):
            values["execution"] = Execution(self.context.engine)
        return values

    def call(self, values: Mapping[str, Any]) -> Any:
        """Call the operation and return its result."""
        owner = owner_of(self.operation, self.context.lab)
        return self.operation.call(owner, typed_values(self.operation, values))

    def run(self) -> Outcome:
        """Call it as often as there are values; raises what a result says that failed."""
        results, lines, values = [], [], self.values()
        for combination in product(*(values[name] for name in self.files.each)):
            given = {**values, **dict(zip(self.files.each, combination, strict=True))}
            result = self.call(given)
            for error in result.errors:
                raise error
            results.append(result)
            lines.append(self.files.line(result, given))
        return self.outcome(results, lines)

    def outcome(self, results: Sequence[Any], lines: Sequence[str]) -> Outcome:
        """Return what is kept and reported of results, each of which has a line."""
        lacks = [line for line, result in zip(lines, results, strict=True) if result.exit_code]
        return Outcome(
            "; ".join(lines),
            tuple(self.files.outputs(self, results)),
            tuple(self.files.kept(self)),
            lacks=tuple(lacks),
            results=tuple(results),
        )


def headline(result: Result) -> str:
    """Return a result in one line: the first that people see of it."""
    for block in result.blocks():
        if isinstance(block, Title):
            return block.rest.removeprefix(": ") or block.name
        if isinstance(block, Line):
            return block.text
    return ""
