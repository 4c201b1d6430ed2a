"""The step of a stage that is an operation: its section's values in, its files' digests kept."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from goldpan.core.result import Line, Result, Title, blocks_of
from goldpan.core.storage.sealed import read_lineage
from goldpan.core.storage.workspace import make_directory
from goldpan.core.values import EngineName, Execution
from goldpan.datasets.card import FINDINGS_PAGE
from goldpan.datasets.provenance import PROVENANCE
from goldpan.plan.file import PlanFile
from goldpan.plan.section import StageSection
from goldpan.plan.sections import method_of
from goldpan.plan.unit import Cost, Outcome, Unit, UnitRecord, digest_of, read_record, write_record
from goldpan.workspace.options import call, options_of
from goldpan.workspace.workspace import Workspace

if TYPE_CHECKING:
    from goldpan.core.storage.workspace import WorkspaceLayout
    from goldpan.datasets.tasks.task import Task
    from goldpan.filters.profile import Profile


RENAMED = "repo"
"""The fact of a mined repository: the name under which it is kept."""
HISTORY = ("revisions", "changes")
"""The tables that clones give."""
ISSUES = "issues of all repositories"
"""The input of what looks for duplicates among them."""


@dataclass(frozen=True)
class Context:
    """A plan with its workspace, and what is known of its units."""

    file: PlanFile
    lab: Workspace
    engine: EngineName = "local"
    """Where a unit does what one process cannot hold: ``ray`` on a machine of a cluster."""
    records: dict[str, UnitRecord | None] = field(default_factory=dict)
    """The records that were read, by the names of units."""
    memory: dict[str, str] = field(default_factory=dict)
    """Cached values, valid until a unit is run."""

    @cached_property
    def folder(self) -> Path:
        """Where the plan keeps what it knows: ``WORKSPACE/plans/NAME``."""
        return self.lab.path / "plans" / self.file.name

    @property
    def selection_file(self) -> Path:
        """The file of what GitHub's search found."""
        return self.folder / "selection.json"

    def record_file(self, unit: str) -> Path:
        """Return the file of a unit's record."""
        return self.folder / "units" / f"{unit.lower()}.json"

    def record(self, unit: str) -> UnitRecord | None:
        """Return what is kept of a unit's last run."""
        if unit not in self.records:
            self.records[unit] = read_record(self.record_file(unit))
        return self.records[unit]

    def keep(self, record: UnitRecord) -> None:
        """Store a record."""
        write_record(self.record_file(record.unit), record)
        self.records[record.unit] = record

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
        record = self.record(f"mine/{repo}")
        return repo if record is None else record.facts.get(RENAMED, repo)

    def is_finished(self, unit: str) -> bool:
        """Tell whether a unit was run, if in part."""
        record = self.record(unit)
        return record is not None and record.state in ("done", "partial")

    def task(self, name: str) -> Task:
        """Return a task of the registry, or of the workspace."""
        from goldpan.core.storage.workspace import tasks_directory
        from goldpan.datasets.tasks.registry import find_task

        return find_task(name, tasks_directory(self.lab.path))

    def pairs(self, repo: str) -> list[Path]:
        """Return the files of a repository's pairs, by all rules."""
        return [self.lab.layout.pairs(repo, rules) for rules in self.file.rules]

    def tables(self, repo: str) -> list[Path]:
        """Return the mined tables of a repository."""
        directory = self.lab.layout.tables(repo)
        return [directory / name for name in read_lineage(directory, "normalize")["outputs"]]

    def filtered(self, repos: Iterable[str], profile: str, rules: str) -> Iterator[Path]:
        """Yield what datasets read of repositories: tables, pairs and verdicts."""
        layout, name = self.layout(rules), self.profile(profile).name
        for repo in map(self.repository, repos):
            tables = layout.tables(repo).glob("*.parquet")
            yield from (path for path in tables if not path.name.startswith("pairs."))
            yield from (layout.pairs(repo, rules), layout.verdicts(repo, name))

    def decisions(self, projects: Iterable[str]) -> list[Path]:
        """Return the files of what people decided in annotation projects."""
        root = self.lab.path
        return [root / "annotations" / name / "decisions.parquet" for name in projects]

    def audits(self, names: Iterable[str]) -> list[Path]:
        """Return the files of the findings in datasets, by the datasets' names."""
        return [self.lab.path / "audits" / name / "findings.parquet" for name in names]

    def data(self, section: StageSection) -> list[Path]:
        """Return the provenance of the datasets, and of the rows of tasks, that a section names."""
        from goldpan.datasets.tasks.data import task_directory

        layout = self.lab.layout
        directories = [layout.dataset(name) for name in section.names("dataset")]
        directories += [task_directory(layout, self.task(name)) for name in section.names("task")]
        return [directory / PROVENANCE for directory in directories]

    def digests(self, paths: Iterable[Path]) -> dict[str, str]:
        """Return the digests of what a unit reads, by paths below the workspace or the plan."""
        bases = (self.lab.path, self.file.path.parent)
        digests = {}
        for path in paths:
            base = next((base for base in bases if path.is_relative_to(base)), None)
            name = path if base is None else path.relative_to(base)
            digests[name.as_posix()] = digest_of(path)
        return digests

    def issues(self) -> dict[str, str]:
        """Return the digest of the issues of all repositories, among which duplicates are found."""
        if ISSUES not in self.memory:
            layout, whole = self.lab.layout, hashlib.sha256()
            for repo in layout.repositories("tables"):
                whole.update(f"{repo} {digest_of(layout.table(repo, 'entries'))}\n".encode())
            self.memory[ISSUES] = whole.hexdigest()
        return {ISSUES: self.memory[ISSUES]}


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


def dataset_files(step: Step) -> tuple[Path, ...]:
    """Return the files of the dataset that a stage works on."""
    name = step.section.get("dataset") or step.unit.subject
    return files_below(step.context.lab.layout.dataset(name))


def audited_files(step: Step) -> list[Path]:
    """Return a dataset's files, and the findings that go with them."""
    name = step.section.get("dataset") or step.unit.subject
    return [*dataset_files(step), *step.context.audits([name])]


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
    inputs: Callable[[Step], Iterable[Path]] = lambda _: ()
    """Returns the files that it reads."""
    all_issues: bool = False
    """True where it reads the issues of all repositories, too."""
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
    appends: bool = False
    """True where it may add to what it reads, as a stated license to the raw replies."""
    owns: bool = True
    """True where outputs that others changed have to be made again."""


@dataclass(frozen=True, kw_only=True)
class Step:
    """How a unit is run: a method is called with the values of a section."""

    unit: Unit
    context: Context
    files: StageFiles
    section: StageSection
    repos: tuple[str, ...] = ()
    """Repositories that it works on, by the names that the plan gives them."""
    fixed: Mapping[str, Any] = field(default_factory=dict)
    """Values that the plan gives beside the section."""

    @property
    def record(self) -> UnitRecord | None:
        """What is kept of its last run."""
        return self.context.record(self.unit.name)

    @property
    def method(self) -> Callable[..., Any]:
        """The method of the stage."""
        return method_of(self.files.words, self.context.lab)

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
        issues = self.context.issues() if self.files.all_issues else {}
        return {**self.context.digests(self.files.inputs(self)), **issues}

    def price(self) -> Cost:
        """Return what it would cost beyond what the last run tells, and GitHub for mining."""
        return Cost()

    def due(self, record: UnitRecord, update: bool) -> str:
        """Return why it has to run though nothing changed here; empty where it has not."""
        return ""

    def prepare(self) -> None:
        """Make ready for a run, once, also where it is killed: the directory of what it writes."""
        if (output := self.fixed.get("output")) is not None:
            make_directory(Path(output).parent)

    def values(self) -> dict[str, Any]:
        """Return what the operation is called with, by name."""
        values = {**self.context.file.given(self.section), **self.fixed}
        if self.repos:
            values["repos"] = tuple(map(self.context.repository, self.repos))
        if any(option.group == "execution" for option in options_of(self.method)):
            values["execution"] = Execution(self.context.engine)
        return values

    def call(self, values: Mapping[str, Any]) -> Any:
        """Call the method and return its result."""
        return call(self.context.lab, self.method, values)

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
    for block in blocks_of(result):
        if isinstance(block, Title):
            return block.rest.removeprefix(": ") or block.name
        if isinstance(block, Line):
            return block.text
    return ""
