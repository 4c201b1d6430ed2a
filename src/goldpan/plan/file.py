"""Reads a plan's file, and says where it is wrong."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from goldpan.builders.requirements import NOT, VERIFIED
from goldpan.core.errors import UsageError, question
from goldpan.core.plugins import find_builder
from goldpan.core.remote import is_address
from goldpan.core.settings_file import read_toml
from goldpan.plan.section import StageSection, is_path
from goldpan.plan.sections import DatasetPlan, Plan, dataset_section, plan_section

LAST = "last"
"""What `since` of a dataset calls the version that the plan built before."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")


@dataclass(frozen=True, slots=True)
class PlanFile:
    """A plan and where it lies."""

    path: Path
    plan: Plan
    datasets: tuple[DatasetPlan, ...]

    @property
    def name(self) -> str:
        """The name of the plan: that of its file."""
        return self.path.stem

    @property
    def rules(self) -> tuple[str, ...]:
        """The sets of pairing rules, the first for what names none."""
        rules: tuple[str, ...] = self.plan.pair.get("rules")
        return rules

    @property
    def profiles(self) -> tuple[str, ...]:
        """The profiles of filters that anything asks for, in their order, once each."""
        sections = [self.plan.review, self.plan.annotate.push]
        sections += [item for item in self.datasets if _is_filtered(item.family)]
        names = self.plan.filter.given().get("profile", ())
        named = [*names, *(item.get("profile") for item in sections if item is not None)]
        return tuple(dict.fromkeys(map(self.profile, filter(None, named or ["default"]))))

    def stages(self) -> Iterator[tuple[str, str, StageSection]]:
        """Yield each section of a stage with its key, and the command or family it is of."""
        plan = self.plan
        single = {"mine": plan.mine, "pair": plan.pair, "clone": plan.clone, "filter": plan.filter}
        optional = {"review": plan.review, "annotate.push": plan.annotate.push}
        for key, section in {**single, **optional}.items():
            if section is not None:
                yield key, key.replace(".", " "), section
        for name, section in plan.tasks.items():
            yield f"tasks.{name}", "tasks import", section
        for number, dataset in enumerate(self.datasets):
            yield f"dataset[{number}]", dataset.family, dataset
            if dataset.publish is not None:
                yield f"dataset[{number}].publish", "publish", dataset.publish
        several = {
            "verify": plan.verify,
            "evaluation": plan.evaluation,
            "comparison": plan.comparison,
            "audit": plan.audit,
            "export": plan.export,
        }
        for key, sections in several.items():
            for number, section in enumerate(sections):
                yield f"{key}[{number}]", key, section

    def dataset(self, name: str) -> DatasetPlan | None:
        """Return a dataset of the plan by name."""
        return next((dataset for dataset in self.datasets if dataset.name == name), None)

    def audited(self, dataset: str) -> list[str]:
        """Return the other datasets that the plan audits."""
        return [section.dataset for section in self.plan.audit if section.dataset != dataset]

    def profile(self, name: str) -> str:
        """Return a profile's name, or where its file lies."""
        return str(self.resolve(name)) if name.endswith(".toml") else name

    def resolve(self, name: str) -> Path:
        """Return a path of the file, which is relative to the file's folder."""
        return self.path.parent / name

    def address(self, name: str) -> str | Path:
        """Return an address, or a path of the file."""
        return name if is_address(name) else self.resolve(name)

    def source(self, name: str) -> str:
        """Return a path of the file where it is there, else the name of something elsewhere."""
        path = self.resolve(name)
        return str(path) if path.exists() else name

    def given(self, section: StageSection) -> dict[str, Any]:
        """Return what a section gives an operation, with the paths of files."""
        values = section.given()
        for name, value in values.items():
            if is_path(section.parameters[name]) and isinstance(value, tuple):
                values[name] = tuple(map(self.resolve, value))
            elif is_path(section.parameters[name]) and value is not None:
                values[name] = self.resolve(value)
            elif name == "profile" and isinstance(value, str):
                values[name] = self.profile(value)
        return values


def load_plan(path: str | Path) -> PlanFile:
    """Read a plan; raises `UsageError` that names the file, the key, the cause and the remedy."""
    file = Path(path)
    source = read_toml(file, "docs/plans.md")
    if not _NAME.fullmatch(file.stem):
        raise UsageError(
            f"{file.stem!r} is not a name for a plan", "Choose a file name such as monthly.toml"
        )
    plan = source.read(plan_section())
    datasets = tuple(
        source.read(dataset_section(str(item.get("family"))), item, ("dataset", number))
        for number, item in enumerate(plan.dataset)
    )
    read = PlanFile(file, plan, datasets)
    _check_units(read)
    _check_repositories(read)
    _check_reviews(read)
    return read


def _check_units(file: PlanFile) -> None:
    """Refuse two units of one name, and datasets that the plan does not build."""
    built = [dataset.name for dataset in file.datasets]
    plan = file.plan
    named = {
        "dataset": built,
        "verify": [section.dataset for section in plan.verify],
        "evaluation": [section.name for section in plan.evaluation],
        "comparison": [section.name for section in plan.comparison],
        "audit": [section.dataset for section in plan.audit],
        "export": [section.name for section in plan.export],
    }
    for kind, names in named.items():
        if twice := [name for name in names if names.count(name) > 1]:
            raise UsageError(
                f"{file.path}: two of {kind} have the name {twice[0]!r}", "Give one another name"
            )
    for key, kind, section in file.stages():
        if kind not in ("verify", "evaluation", "audit", "export"):
            continue
        for name in section.names("dataset"):
            if name not in built:
                others = f"It builds {', '.join(built) or 'none'}"
                raise UsageError(
                    f"{file.path}: {key}.dataset: the plan builds no {name!r}",
                    question(name, built) or others,
                )


def _check_repositories(file: PlanFile) -> None:
    """Refuse names of repositories that are not the plan's, where it lists all."""
    plan = file.plan
    if plan.repositories.select:
        return
    named = [("mine.licenses", name) for name in plan.mine.licenses]
    for number, dataset in enumerate(file.datasets):
        named += [(f"dataset[{number}].repositories", name) for name in dataset.repositories]
    listed = {name.lower(): name for name in plan.repositories.listed}
    for key, name in named:
        if name.lower() not in listed:
            raise UsageError(
                f"{file.path}: {key}: {name} is not listed",
                question(name, listed.values()) or "Add it to repositories.listed",
            )


def _check_reviews(file: PlanFile) -> None:
    """Refuse rules that nothing is paired by, and reviews of what no dataset is built from."""
    plan, (first, *others) = file.plan, file.rules
    wanted: dict[str, str] = {}
    for number, dataset in enumerate(file.datasets):
        rules, key = dataset.given().get("rules"), f"dataset[{number}]"
        is_reviewed = bool(reviews_of(dataset))
        if rules is not None and rules not in file.rules:
            raise UsageError(
                f"{file.path}: {key}.rules: the plan does not pair by {rules!r}",
                "Add it to pair.rules",
            )
        if is_reviewed and rules in others:
            raise UsageError(
                f"{file.path}: {key}.rules: the review judges pairs by {first} alone",
                f"Remove it, or put it before {first}",
            )
        if is_reviewed:
            wanted[key] = str(dataset.get("profile"))
    reviewed = None if plan.review is None else plan.review.get("profile")
    if reviewed is not None and wanted and reviewed not in wanted.values():
        key, profile = next(iter(wanted.items()))
        raise UsageError(
            f"{file.path}: {key}.require: the review is of what the profile {reviewed}"
            f" keeps, and this dataset is of {profile}",
            f'Write profile = "{profile}" in [review]',
        )


def reviews_of(dataset: DatasetPlan) -> list[str]:
    """Return the reviews that a dataset requires: neither test runs nor findings of audits."""
    required = dataset.names("require")
    return [name for name in required if name != VERIFIED and not name.startswith(NOT)]


def _is_filtered(family: str) -> bool:
    """Tell whether a family is built of what filters keep."""
    builder = find_builder(family)
    return builder is None or builder.reads == "filtered"
