"""What is made of all repositories together: reviews and datasets."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from goldpan.core.errors import DatasetError, GoldpanError
from goldpan.core.workspace import make_directory
from goldpan.operations.differences import diff
from goldpan.operations.values import Execution
from goldpan.plan.file import LAST
from goldpan.plan.record import Record, digest_of, digests_of
from goldpan.plan.repository_steps import ISSUES, Setting, table_digests
from goldpan.plan.sections import DatasetPlan, Review
from goldpan.plan.unit import Cost, Outcome, Step, Unit

if TYPE_CHECKING:  # it takes long to import
    from goldpan.operations.dataset import Dataset

_SECRETS = ("api_key",)


@dataclass(frozen=True, slots=True)
class DuplicatesStep(Step):
    """Finds near duplicates among the issues of all repositories, which filters and builds use."""

    unit: Unit
    setting: Setting
    profile: str
    """One of `Setting.profiles`."""

    def settings(self) -> Mapping[str, Any]:
        """Return what counts as a near duplicate."""
        from dataclasses import asdict

        return asdict(self.setting.profiles[self.profile].settings["near-duplicates"])

    def inputs(self) -> Mapping[str, str]:
        """Return the digest of all issues of the workspace."""
        return {ISSUES: self.setting.issues()}

    def run(self) -> Outcome:
        """Find them; on a cluster with all its machines, which this task hands its portions."""
        from goldpan.filters.clusters import duplicates_path

        setting = self.setting
        count = len(setting.lab.near_duplicates(self.profile, engine=setting.engine))
        settings = setting.profiles[self.profile].settings["near-duplicates"]
        outputs = (duplicates_path(setting.lab.layout, settings),)
        return Outcome(f"{count:,} issues have duplicates", outputs)


@dataclass(frozen=True, slots=True)
class ReviewStep(Step):
    """Has models judge what is kept of all repositories, as goldpan review does."""

    unit: Unit
    setting: Setting
    section: Review
    repos: tuple[str, ...]

    @property
    def stays(self) -> bool:
        """Tell that it needs a key, and that what it costs is counted in one place."""
        return True

    def settings(self) -> Mapping[str, Any]:
        """Return all settings of the review but the key."""
        from dataclasses import asdict

        from goldpan.annotation.review.settings import load_review_settings

        path = self._settings_file()
        described = asdict(
            load_review_settings(None if path is None else path, self.section.options)
        )
        return {name: value for name, value in described.items() if name not in _SECRETS}

    def inputs(self) -> Mapping[str, str]:
        """Return the digests of tables and verdicts."""
        first = self.setting.rules[0]
        return table_digests(self.setting, self.repos, self._profile_name(), first)

    def run(self) -> Outcome:
        """Ask them; nothing is asked twice."""
        result = self.setting.lab.review(*self._names(), **self._options())
        outputs = []
        for repo in self._names():
            path = self.setting.layout.verdicts(repo, f"{self._profile_name()}.llm")
            outputs += [path] if path.exists() else []
        return Outcome(
            f"{sum(result.keep.values()):,} kept, {sum(result.drop.values()):,} dropped, "
            f"{result.sent:,} requests",
            made=tuple(outputs),
            spent={"calls": result.sent, "money": result.cost},
            lacks=() if result.complete else ("requests remain",),
            again=not result.complete,
        )

    def price(self) -> Cost:
        """Count what would be sent, where the filters ran."""
        try:
            predicted = self.setting.lab.predict_review(*self._names(), **self._options())
        except GoldpanError:
            return Cost(note="model calls and money, as the filters have not run yet")
        return Cost(money=predicted.cost, calls=predicted.requests)

    def _names(self) -> list[str]:
        return list(map(self.setting.repository, self.repos))

    def _settings_file(self) -> Path | None:
        name = self.section.settings
        return None if name is None else self.setting.file.resolve(name)

    def _profile_name(self) -> str:
        return self.setting.profile(self.section.profile).name

    def _options(self) -> dict[str, Any]:
        options = dict(self.section.options)
        return {
            "models": options.pop("models", ()),
            "profile": self.setting.file.profile(self.section.profile),
            "rules": self.setting.rules[0],
            "settings": self._settings_file(),
            **options,
        }


@dataclass(frozen=True, slots=True)
class DatasetStep(Step):
    """Builds a dataset, as goldpan build does, and tells what changed since an older version."""

    unit: Unit
    setting: Setting
    section: DatasetPlan
    repos: tuple[str, ...]
    previous: Path
    """Where the version that the plan built before is kept."""
    changelog: Path
    """Where the changes since then are written."""

    def settings(self) -> Mapping[str, Any]:
        """Return how it is built, with its profile."""
        from goldpan.core.plugins import digests

        section, profile = self.section, self.setting.profile(self.section.profile)
        return {
            "family": section.family,
            "repositories": sorted(map(str.lower, self._present())),
            "rules": self._rules,
            "profile": profile.plain(),
            "criteria": {name: profile.digest(name) for name in profile.criteria()},
            "split": section.split,
            "seed": section.seed,
            **({} if section.limit is None else {"limit": section.limit}),
            "require": list(section.require),
            "answer": section.answer,
            "since": section.since,
            "plugins": digests(("dataset", section.family)),
        }

    def inputs(self) -> Mapping[str, str]:
        """Return the digests of tables, verdicts, reviews, people's decisions and gold sets."""
        digests = table_digests(self.setting, self._present(), self._profile_name(), self._rules)
        layout = self.setting.layout_by(self._rules)
        if self.section.require:
            paths = [
                layout.verdicts(repo, f"{self._profile_name()}.llm")
                for repo in map(self.setting.repository, self._present())
                if self.setting.pairs(repo)[self._rules].exists()
            ]
            digests |= digests_of(layout.root, [path for path in paths if path.exists()])
            decided = (layout.root / "annotations").glob("*/decisions.parquet")
            digests |= digests_of(layout.root, decided)
        if self.section.since not in (None, LAST):
            older = self.setting.file.source(str(self.section.since))
            digests["since"] = digest_of(Path(older) / "provenance.json")
        for name in self.section.gold:
            digests[f"gold {name}"] = digest_of(self.setting.file.resolve(name))
        return digests

    def prepare(self, record: Record | None) -> None:
        """Keep the version that the plan built before, unless a killed run has done so."""
        current = self.setting.lab.layout.dataset(self.section.name)
        finished = record is not None and record.state in ("done", "partial")
        if self.section.since != LAST or not finished or not current.is_dir():
            return
        with self.setting.lab.layout.replacing(self.previous) as building:
            shutil.copytree(current, building, dirs_exist_ok=True)

    def run(self) -> Outcome:
        """Build it."""
        section, lab = self.section, self.setting.lab
        if not self._present():  # of which all of the workspace would be built
            raise DatasetError(
                f"No repository of {section.name} was filtered",
                "See why with goldpan status --plan",
            )
        older = self._older()
        options = {} if section.answer is None else {"answer": section.answer}
        data = lab.build(
            section.family,
            *map(self.setting.repository, self._present()),
            profile=self.setting.file.profile(section.profile),
            rules=self._rules,
            split=section.split,
            seed=section.seed,
            limit=section.limit,
            require=section.require,
            gold=[self.setting.file.resolve(name) for name in section.gold],
            output=lab.layout.dataset(section.name),
            since=older,
            execution=Execution(self.setting.engine),
            **options,
        )
        few = section.limit is not None and len(data) < section.limit
        summary = f"{len(data):,}{f' of {section.limit:,}' if few else ''} examples"
        if older is not None:
            make_directory(self.changelog.parent)
            difference = diff(older, data, changelog=self.changelog)
            summary += (
                f", {difference.added:,} added, {difference.gone:,} gone, "
                f"{difference.changed:,} changed"
                + (f", {difference.moved:,} in another split" if difference.moved else "")
            )
        left_out = [repo for repo in self.repos if repo not in self._present()]
        return Outcome(
            summary,
            made=tuple(path for path in data.path.rglob("*") if path.is_file()),
            lacks=tuple(f"{repo} is left out" for repo in left_out),
            spent={"examples": len(data)},
        )

    def _older(self) -> Dataset | None:
        from goldpan.operations.dataset import load

        since = self.section.since
        if since is None:
            return None
        if since == LAST:
            return load(self.previous) if self.previous.is_dir() else None
        return load(self.setting.file.source(since))

    def _present(self) -> tuple[str, ...]:
        """Return the repositories that it is built of."""
        if not self.section.leave_out:
            return self.repos
        return tuple(repo for repo in self.repos if self._is_filtered(repo))

    def _is_filtered(self, repo: str) -> bool:
        record = self.setting.record_of(f"filter/{repo}")
        return record is not None and record.state in ("done", "partial")

    def _profile_name(self) -> str:
        return self.setting.profile(self.section.profile).name

    @property
    def _rules(self) -> str:
        """The pairing rules whose pairs and verdicts it is built of."""
        return self.section.rules or self.setting.rules[0]
