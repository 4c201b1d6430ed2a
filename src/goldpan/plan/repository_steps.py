"""The stages that work on one repository after it is mined: pair, clone, filter."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from goldpan.core.engine import EngineName
from goldpan.core.errors import WorkspaceError
from goldpan.core.lineage import read_lineage
from goldpan.core.workspace import Workspace as Layout
from goldpan.plan.file import PlanFile
from goldpan.plan.record import Record, digest_of, digests_of, flat
from goldpan.plan.unit import Outcome, Step, Unit

if TYPE_CHECKING:  # these take long to import
    from goldpan.datasets.task import Task
    from goldpan.filters.profile import Profile
    from goldpan.operations.workspace import Workspace

RENAMED = "repo"
"""The fact of a mined repository: the name under which it is kept."""
_CLONED = ("revisions", "changes")
ISSUES = "issues of all repositories"
"""The input of what looks for duplicates among them."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What all steps of a plan work with."""

    file: PlanFile
    lab: Workspace
    record_of: Callable[[str], Record | None]
    """Returns what is kept of a unit, by its name."""
    profiles: Mapping[str, Profile]
    """By the names that the plan gives them."""
    told_profiles: Mapping[str, Any]
    """What verdicts depend on of the profiles: settings, and digests of the criteria."""
    engine: EngineName = "local"
    """Where a unit does what one process cannot hold: ``ray`` on a machine of a cluster."""
    memory: dict[str, str] = field(default_factory=dict)
    """What need not be computed again until a unit is run."""

    @property
    def rules(self) -> tuple[str, ...]:
        """The sets of pairing rules, the first for what names none."""
        return self.file.plan.pair.rules

    @property
    def layout(self) -> Layout:
        """Where everything lies, with the pairs by the first rules."""
        return self.layout_by(self.rules[0])

    def layout_by(self, rules: str) -> Layout:
        """Return where everything lies, with the pairs by these rules."""
        return Layout(self.lab.path, rules)

    def repository(self, repo: str) -> str:
        """Return the name under which a repository is kept: GitHub may have renamed it."""
        record = self.record_of(f"mine/{repo}")
        return repo if record is None else record.facts.get(RENAMED, repo)

    def is_finished(self, unit: str) -> bool:
        """Tell whether a unit was run, if in part."""
        record = self.record_of(unit)
        return record is not None and record.state in ("done", "partial")

    def tables(self, repo: str) -> dict[str, str]:
        """Return the digests of a repository's mined tables."""
        directory = self.lab.layout.tables(repo)
        try:
            names = read_lineage(directory, "normalize")["outputs"]
        except WorkspaceError:
            names = {}
        return {f"tables/{name}": digest_of(directory / name) for name in sorted(names)}

    def profile(self, name: str) -> Profile:
        """Return a profile by the name that the plan gives it."""
        return self.profiles[self.file.profile(name)]

    def issues(self) -> str:
        """Return the digest of the issues of all repositories, among which duplicates are found."""
        if ISSUES not in self.memory:
            layout, whole = self.lab.layout, hashlib.sha256()
            for repo in layout.repositories("tables"):
                whole.update(f"{repo} {digest_of(layout.table(repo, 'entries'))}\n".encode())
            self.memory[ISSUES] = whole.hexdigest()
        return self.memory[ISSUES]

    def task(self, name: str) -> Task:
        """Return a task of the registry, or of the workspace."""
        from goldpan.datasets.registry import find_task, tasks_directory

        return find_task(name, tasks_directory(self.lab.path))

    def task_digests(self, names: Iterable[str]) -> dict[str, str]:
        """Return the digests of the datasets that hold the rows of tasks, by task."""
        from goldpan.datasets.task_data import task_directory

        directories = {name: task_directory(self.lab.layout, self.task(name)) for name in names}
        return {
            f"datasets/{name}": digest_of(directory / "provenance.json")
            for name, directory in directories.items()
        }

    def pairs(self, repo: str) -> dict[str, Path]:
        """Return the files of a repository's pairs, by rules."""
        return {rules: self.lab.layout.pairs(repo, rules) for rules in self.rules}

    def pair_digests(self, repo: str) -> dict[str, str]:
        """Return the digests of a repository's pairs."""
        return {f"pairs {rules}": digest_of(path) for rules, path in self.pairs(repo).items()}


@dataclass(frozen=True, slots=True)
class PairStep(Step):
    """Pairs issues with their fixes, as goldpan pair does."""

    unit: Unit
    setting: Setting

    def settings(self) -> Mapping[str, Any]:
        """Return the rules with what they ask for, and the plugins behind them."""
        from goldpan.core.plugins import digests
        from goldpan.miners.pairing import find_rules

        found_rules = [find_rules(name) for name in self.setting.rules]
        signals = sorted({name for rules in found_rules for name in rules.signals})
        plugins = digests(
            *(("rules", rules.name) for rules in found_rules),
            *(("signal", name) for name in signals),
        )
        values = {f"rules {rules.name}": rules.plain() for rules in found_rules}
        return {"rules": ", ".join(self.setting.rules), **values, "plugins": plugins}

    def inputs(self) -> Mapping[str, str]:
        """Return the digests of the mined tables."""
        return self.setting.tables(self.setting.repository(self.unit.subject))

    def run(self) -> Outcome:
        """Pair them."""
        repo = self.setting.repository(self.unit.subject)
        summary: list[str] = []
        for rules in self.setting.rules:
            (result,) = self.setting.lab.pair(repo, rules=rules)
            summary.append(f"{result.pairs:,} fix pairs by {rules}")
        return Outcome("; ".join(summary), made=tuple(self.setting.pairs(repo).values()))


@dataclass(frozen=True, slots=True)
class CloneStep(Step):
    """Fetches the history of the code and reads it, as goldpan clone does."""

    unit: Unit
    setting: Setting

    @property
    def stays(self) -> bool:
        """Tell whether GitHub is asked for what git does not tell, which takes tokens."""
        from goldpan.git.remote import find_remote

        section = self.setting.file.plan.clone
        if section.network is not None:
            return section.network
        host = self.setting.lab.settings.git_host
        return not find_remote(self.unit.subject, self._source(), None, host).is_local

    def settings(self) -> Mapping[str, Any]:
        """Return where the history comes from."""
        section = self.setting.file.plan.clone
        return {"source": section.source, "network": section.network}

    def inputs(self) -> Mapping[str, str]:
        """Return the digests of the tables that say which pull requests are wanted."""
        repo = self.setting.repository(self.unit.subject)
        return {**self.setting.tables(repo), **self.setting.pair_digests(repo)}

    def run(self) -> Outcome:
        """Clone it, and read its pull requests."""
        repo = self.setting.repository(self.unit.subject)
        lab, section = self.setting.lab, self.setting.file.plan.clone
        (fetched,) = lab.clone(repo, source=self._source(), network=section.network)
        history = fetched.history
        outputs = tuple(lab.layout.table(repo, name) for name in _CLONED)
        lacks = (f"{history.unasked:,} diffs",) if history.unasked else ()
        summary = f"{history.pulls:,} pull requests read, {history.changes:,} changed files"
        return Outcome(summary, outputs, (lab.layout.clone(repo), *outputs), lacks=lacks)

    def _source(self) -> str | None:
        source = self.setting.file.plan.clone.source
        if source is None:
            return None
        from goldpan.git.remote import source_of

        return self.setting.file.source(
            source_of(source, self.setting.repository(self.unit.subject))
        )


@dataclass(frozen=True, slots=True)
class FilterStep(Step):
    """Judges a repository's issues and pairs by each profile, as goldpan filter does."""

    unit: Unit
    setting: Setting

    def settings(self) -> Mapping[str, Any]:
        """Return the profiles with their settings, and the digests of the criteria."""
        return {"rules": list(self.setting.rules), **self.setting.told_profiles}

    def inputs(self) -> Mapping[str, str]:
        """Return the digests of all tables that criteria read.

        Near duplicates are found over all repositories of the workspace, so that their issues
        count, too.
        """
        repo, layout = self.setting.repository(self.unit.subject), self.setting.lab.layout
        digests = {**self.setting.tables(repo), **self.setting.pair_digests(repo)}
        digests |= {name: digest_of(layout.table(repo, name)) for name in _CLONED}
        return {**digests, ISSUES: self.setting.issues()}

    def run(self) -> Outcome:
        """Judge them."""
        repo, lab = self.setting.repository(self.unit.subject), self.setting.lab
        summary, outputs = [], []
        for name, rules in product(self.setting.file.profiles, self.setting.rules):
            (result,) = lab.filter(repo, profile=name, rules=rules)
            summary.append(
                f"{result.profile} keeps {result.issues.kept:,} of {result.issues.rows:,} issues, "
                f"{result.pairs.kept:,} of {result.pairs.rows:,} pairs by {rules}"
            )
            outputs.append(self.setting.layout_by(rules).verdicts(repo, result.profile))
        return Outcome("; ".join(summary), made=tuple(outputs))


def told_profiles(profiles: Iterable[Profile]) -> dict[str, Any]:
    """Return what verdicts depend on of profiles, by dotted key."""
    described = {
        f"profile {profile.name}": {
            "decide": list(profile.decide),
            **profile.plain()["settings"],
            "criteria": {name: profile.digest(name) for name in profile.criteria()},
        }
        for profile in profiles
    }
    return flat(described)


def table_digests(
    setting: Setting, repos: tuple[str, ...], profile: str, rules: str
) -> dict[str, str]:
    """Return the digests of what datasets read of repositories: tables and verdicts."""
    layout = setting.layout_by(rules)
    digests = {ISSUES: setting.issues()}
    for repo in map(setting.repository, repos):
        paths = list(layout.tables(repo).glob("*.parquet"))
        other = {path for path in paths if path.name.startswith("pairs.")}
        pairs = setting.pairs(repo)[rules]
        digests |= digests_of(layout.root, [path for path in paths if path not in other])
        if pairs.exists():
            digests |= digests_of(layout.root, [pairs])
            digests |= digests_of(layout.root, [layout.verdicts(repo, profile)])
    return digests
