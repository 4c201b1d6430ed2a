"""Datasets of a plan: of which repositories, from which files, and what changed since the last."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from goldpan.core.errors import DatasetError
from goldpan.core.plugin_parts import Builder, Reads, imported
from goldpan.core.plugins import find_builder
from goldpan.core.workspace import make_directory
from goldpan.plan.context import files_below
from goldpan.plan.file import LAST
from goldpan.plan.record import Record, digest_of, digests_of
from goldpan.plan.sections import DatasetPlan
from goldpan.plan.step import OperationStep
from goldpan.plan.unit import Outcome, Stage

if TYPE_CHECKING:  # it takes long to import
    from goldpan.core.workspace import Workspace as Layout
    from goldpan.operations.dataset import Dataset

_STAGES: Mapping[Reads, Stage | None] = {
    "filtered": "filter",
    "mined": "mine",
    "cloned": "clone",
    "tasks": None,
}
"""The stage whose tables a family is built of; the rows of tasks come from none."""
_PROJECTS = ("corrections", "annotations", "required")
"""Parameters that name annotation projects."""


@dataclass(frozen=True, kw_only=True)
class DatasetStep(OperationStep):
    """Builds a dataset, as goldpan build does, and tells what changed since an older version."""

    section: DatasetPlan
    previous: Path
    """Where the version that the plan built before is kept."""
    changelog: Path
    """Where the changes since then are written."""

    @property
    def stays(self) -> bool:
        """Tell whether what a partial clone lacks is fetched with a token."""
        return self._builder is not None and self._builder.fetches

    def settings(self) -> Mapping[str, Any]:
        """Return how it is built, with its profile and what a plugin adds."""
        from goldpan.core.plugins import digests

        family = self.section.family
        described = {
            **self.section.values(),
            "family": family,
            "repositories": sorted(map(str.lower, self._present())),
            "since": self.section.since,
            "plugins": digests(("dataset", family), ("builder", family)),
        }
        if self._stage == "filter":
            profile = self.context.profile(self.section.get("profile"))
            described["rules"] = self._rules
            described["profile"] = profile.plain()
            described["criteria"] = {name: profile.digest(name) for name in profile.criteria()}
        elif self._builder is not None and self._builder.settings:
            described |= imported(self._builder.settings)(self._given())
        return described

    def inputs(self) -> Mapping[str, str]:
        """Return the digests of tables, verdicts, reviews, people's decisions and gold sets."""
        section, context = self.section, self.context
        projects = [name for key in _PROJECTS for name in section.names(key)]
        digests = {**self._sources(), **context.decisions(projects)}
        if section.since not in (None, LAST):
            older = Path(context.file.source(str(section.since)))
            digests["since"] = digest_of(older / "provenance.json")
        for name in section.names("gold"):
            digests[f"gold {name}"] = digest_of(context.file.resolve(name))
        return digests

    def prepare(self, record: Record | None) -> None:
        """Keep the version that the plan built before, unless a killed run has done so."""
        current = self.context.lab.layout.dataset(self.section.name)
        finished = record is not None and record.state in ("done", "partial")
        if self.section.since != LAST or not finished or not current.is_dir():
            return
        with self.context.lab.layout.replacing(self.previous) as building:
            shutil.copytree(current, building, dirs_exist_ok=True)

    def values(self) -> dict[str, Any]:
        """Return what it is built of, and where it is written."""
        values = super().values()
        if self._builder is not None:
            values |= self._builder.fixed
        values["output"] = self.context.lab.layout.dataset(self.section.name)
        if self._stage is not None:
            values["repos"] = tuple(map(self.context.repository, self._present()))
        if self._stage == "filter":
            older = self._older()
            values |= {"rules": self._rules, "since": None if older is None else older.path}
        return values

    def outcome(self, results: Sequence[Any], lines: Sequence[str]) -> Outcome:
        """Return what was built, and write what changed since an older version."""
        from goldpan.operations.dataset import Dataset
        from goldpan.operations.functions import diff

        outcome = super().outcome(results, lines)
        lab = self.context.lab
        data = Dataset(lab.layout.dataset(self.section.name), workspace=lab)
        said, older = outcome.said, self._older()
        if older is not None:
            make_directory(self.changelog.parent)
            changes = diff(older, data, changelog=self.changelog)
            said += (
                f", {changes.added:,} added, {changes.gone:,} gone, {changes.changed:,} changed"
                + (f", {changes.moved:,} in another split" if changes.moved else "")
            )
        present = self._present() if self._stage is not None else self.repos
        left_out = [f"{repo} is left out" for repo in self.repos if repo not in present]
        return replace(
            outcome,
            said=said,
            made=files_below(data.path),
            lacks=(*left_out, *outcome.lacks),
            spent={"examples": len(data)},
        )

    def _sources(self) -> dict[str, str]:
        """Return the digests of what the rows are made of."""
        context, layout = self.context, self.context.lab.layout
        if self._stage is None:
            return context.task_digests(self.section.get("task"))
        repos = self._present()
        if self._stage == "mine":
            tables = {repo: context.tables(context.repository(repo)) for repo in repos}
            return {f"{repo} {name}": tables[repo][name] for repo in repos for name in tables[repo]}
        if self._stage == "clone":
            return _commits(layout, [*map(context.repository, repos)])
        profile, rules = self.section.get("profile"), self._rules
        digests = context.filtered(repos, profile, rules)
        if self.section.get("require"):
            digests |= self._judged(repos, context.profile(profile).name)
            digests |= context.audits(context.file.audited(self.section.name))
        return digests

    def _judged(self, repos: Sequence[str], profile: str) -> dict[str, str]:
        """Return the digests of what models, people and test runs say of subjects."""
        context, root = self.context, self.context.lab.path
        layout = context.layout(self._rules)
        names = [
            name
            for repo in repos
            if context.pairs(name := context.repository(repo))[self._rules].exists()
        ]
        reviews = [layout.verdicts(name, f"{profile}.llm") for name in names]
        proofs = [path for name in names for path in _proofs(root, name)]
        decided = (root / "annotations").glob("*/decisions.parquet")
        return digests_of(root, [*(path for path in reviews if path.exists()), *proofs, *decided])

    def _older(self) -> Dataset | None:
        from goldpan.operations.dataset import load

        since = self.section.since
        if since is None:
            return None
        if since == LAST:
            return load(self.previous) if self.previous.is_dir() else None
        return load(self.context.file.source(since))

    def _present(self) -> tuple[str, ...]:
        """Return the repositories that it is built of."""
        repos = self.repos
        if self.section.leave_out:
            finished = self.context.is_finished
            repos = tuple(repo for repo in repos if finished(f"{self._stage}/{repo}"))
        if not repos and self._stage is not None:  # of which all of the workspace would be taken
            done = {"filter": "filtered", "mine": "mined", "clone": "cloned"}[self._stage]
            raise DatasetError(
                f"No repository of {self.section.name} was {done}",
                "See why with goldpan status --plan",
            )
        return repos

    @property
    def _stage(self) -> Stage | None:
        """The stage whose tables it is built of."""
        return stage_of(self.section.family)

    @property
    def _builder(self) -> Builder | None:
        return find_builder(self.section.family)

    def _given(self) -> dict[str, Any]:
        """Return the options as the file gives them, with the path of an own profile."""
        values = self.section.values()
        if "profile" in values:
            values["profile"] = self.context.file.profile(values["profile"])
        return values

    @property
    def _rules(self) -> str:
        """The pairing rules whose pairs and verdicts it is built of."""
        rules: str = self.section.given().get("rules") or self.context.file.rules[0]
        return rules


def _commits(layout: Layout, repos: Sequence[str]) -> dict[str, str]:
    """Return the commits of clones, with what was mined of licenses."""
    from goldpan.git.refs import find_commits

    commits = find_commits(layout, repos, None)
    licenses = {f"{commit.repo} license": commit.license or "" for commit in commits}
    return {**licenses, **{f"{commit.repo} commit": commit.id for commit in commits}}


def stage_of(family: str) -> Stage | None:
    """Return the stage whose tables a family is built of; None for one of the rows of tasks."""
    builder = find_builder(family)
    return _STAGES[builder.reads if builder else "filtered"]


def _proofs(root: Path, repo: str) -> list[Path]:
    return sorted((root / "verification" / repo.lower()).glob("*/record.json"))
