"""Datasets of a plan, built and published: of what, under which tag, and what changed since."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from goldpan.core.errors import DatasetError, PublishError, TagTakenError
from goldpan.core.plugins.loading import find_builder
from goldpan.core.plugins.parts import Builder, Reads, imported
from goldpan.core.result import json_data
from goldpan.core.storage.workspace import make_directory, size_of
from goldpan.datasets.provenance import PROVENANCE
from goldpan.plan.file import DATES, LAST, filled_tag
from goldpan.plan.sections import DatasetPlan, method_of, reads_of
from goldpan.plan.step import StageFiles, Step, audited_files, files_below
from goldpan.plan.unit import Cost, Outcome, Stage

if TYPE_CHECKING:
    from goldpan.core.storage.workspace import WorkspaceLayout
    from goldpan.workspace.dataset import Dataset


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
class DatasetStep(Step):
    """Builds a dataset, as goldpan build does, and tells what changed since an older version."""

    section: DatasetPlan

    @property
    def previous(self) -> Path:
        """Where the version that the plan built before is kept."""
        return self.context.folder / "previous" / self.section.name

    @property
    def method(self) -> Callable[..., Any]:
        """The method that builds the family, which may be a plugin's."""
        return method_of(f"build {self.section.family}", self.context.lab)

    def settings(self) -> Mapping[str, Any]:
        """Return how it is built, with its profile and what a plugin adds."""
        from goldpan.core.plugins.loading import digests

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
            described["profile"] = json_data(profile)
            described["criteria"] = {name: profile.digest(name) for name in profile.criteria()}
        elif self._builder is not None and self._builder.settings:
            described |= imported(self._builder.settings)(self._given())
        return described

    def inputs(self) -> Mapping[str, str]:
        """Return the digests of tables, verdicts, reviews, people's decisions and gold sets."""
        section, context = self.section, self.context
        projects = [name for key in _PROJECTS for name in section.names(key)]
        paths = [*context.decisions(projects), *map(context.file.resolve, section.names("gold"))]
        if section.since not in (None, LAST):
            paths.append(Path(context.file.source(str(section.since))) / PROVENANCE)
        return {**self._sources(), **context.digests(paths)}

    def prepare(self) -> None:
        """Keep the version that the plan built before, unless a killed run has done so."""
        current = self.context.lab.layout.dataset(self.section.name)
        finished = self.context.is_finished(self.unit.name)
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
        from goldpan.workspace.dataset import Dataset
        from goldpan.workspace.functions import diff

        outcome = super().outcome(results, lines)
        lab = self.context.lab
        data = Dataset(lab.layout.dataset(self.section.name), workspace=lab)
        said, older = outcome.said, self._older()
        if older is not None:
            changelog = self.context.folder / "changes" / f"{self.section.name}.md"
            make_directory(changelog.parent)
            changes = diff(older, data, changelog=changelog)
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
        context = self.context
        if self._stage is None:
            return context.digests(context.data(self.section))
        repos = list(map(context.repository, self._present()))
        if self._stage == "mine":
            return context.digests(path for repo in repos for path in context.tables(repo))
        if self._stage == "clone":
            return _commits(context.lab.layout, repos)
        profile = self.section.get("profile")
        paths = [*context.filtered(self._present(), profile, self._rules)]
        if self.section.get("require"):
            paths += self._judged(repos, context.profile(profile).name)
            paths += context.audits(context.file.audited(self.section.name))
        return {**context.digests(paths), **context.issues()}

    def _judged(self, repos: Sequence[str], profile: str) -> Iterator[Path]:
        """Yield what models, people and test runs say of subjects."""
        root, layout = self.context.lab.path, self.context.layout(self._rules)
        for repo in repos:
            yield layout.verdicts(repo, f"{profile}.llm")
            yield from (root / "verification" / repo.lower()).glob("*/record.json")
        yield from (root / "annotations").glob("*/decisions.parquet")

    def _older(self) -> Dataset | None:
        from goldpan.workspace.dataset import load

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
            raise DatasetError(
                f"No repository of {self.section.name} was {reads_of(self.section.family)}",
                "See why with goldpan status --plan",
            )
        return repos

    @property
    def _stage(self) -> Stage | None:
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


def _commits(layout: WorkspaceLayout, repos: Sequence[str]) -> dict[str, str]:
    """Return the commits of clones, with what was mined of licenses."""
    from goldpan.git.refs import find_commits

    commits = find_commits(layout, repos, None)
    licenses = {f"{commit.repo} license": commit.license or "" for commit in commits}
    return {**licenses, **{f"{commit.repo} commit": commit.id for commit in commits}}


def stage_of(family: str) -> Stage | None:
    """Return the stage whose tables a family is built of; None for one of the rows of tasks."""
    return _STAGES[reads_of(family)]


def _fetches(step: Step) -> bool:
    """Tell whether what a partial clone lacks is fetched with a token."""
    builder = find_builder(step.section.get("family"))
    return builder is not None and builder.fetches


DATASET = StageFiles("build", runs_locally=_fetches)
PUBLISH = StageFiles(
    "publish", inputs=audited_files, runs_locally=lambda _: True
)  # a token of the Hub


class PublishStep(Step):
    """Publishes a dataset, as goldpan publish does."""

    def settings(self) -> Mapping[str, Any]:
        """Return where it goes, and under which conditions."""
        from goldpan.datasets.hub.publish import endpoint

        values = {name: v for name, v in self.section.values().items() if name != "overwrite"}
        return {"hub": endpoint(), **values}

    def values(self) -> dict[str, Any]:
        """Return where it goes, with the tag filled in."""
        values = {**super().values(), "dataset": self._directory}
        if (tag := self.section.get("tag")) is not None:
            values["tag"] = tag_of(self._directory, tag)
        return values

    def run(self) -> Outcome:
        """Publish it."""
        try:
            return super().run()
        except TagTakenError as error:
            remedy = "Write {content} into the plan's tag, which differs with the rows"
            raise PublishError(error.problem, f"{error.remedy}. {remedy}") from None

    def outcome(self, results: Sequence[Any], lines: Sequence[str]) -> Outcome:
        """Return where it is, and what was sent."""
        (result,) = results
        what = f"{len(result.changes):,} files sent" if result.changes else "the same content"
        tagged = f", tag {result.tag}" if result.tag else ""
        return replace(
            super().outcome(results, lines),
            said=f"{result.url}: {what}{tagged}",
            facts={"commit": result.commit or ""},
        )

    def price(self) -> Cost:
        """Return how many bytes are there to be sent."""
        if not self._directory.is_dir():
            return Cost(note="what is sent, as the dataset is not built yet")
        return Cost(bytes=size_of([self._directory]))

    @property
    def _directory(self) -> Path:
        return self.context.lab.layout.dataset(self.unit.subject)


def tag_of(directory: Path, pattern: str) -> str:
    """Return a tag in which {year}, {month} and {day} are those of the newest mined reply.

    {content} is the digest of the rows, which tells versions of one day apart. Raises
    `DatasetError` where the dataset does not tell when it was mined, `UsageError` for another
    word in braces.
    """
    from goldpan.datasets.provenance import content_digest, read_provenance

    if "{" not in pattern:
        return pattern
    provenance = read_provenance(directory)
    moments = [source.get("mined_until") for source in provenance["sources"]]
    newest = max((moment for moment in moments if moment), default=None)
    values = {"content": content_digest(provenance)[:8]}
    if newest is None and any(f"{{{word}}}" in pattern for word in DATES):
        raise DatasetError(
            f"{directory} does not say when it was mined",
            "Write {content} into the plan's tag in place of the date",
        )
    if newest is not None:
        values |= zip(DATES, newest[:10].split("-"), strict=True)
    return filled_tag(pattern, values)
