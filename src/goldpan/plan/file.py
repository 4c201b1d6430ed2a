"""Reads a plan's file, and says where it is wrong, before anything runs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from goldpan.builders.recipes import NOT, VERIFIED
from goldpan.core.errors import UsageError, question, refuse_empty
from goldpan.core.plugins.loading import find_builder, names_of
from goldpan.core.plugins.parts import imported
from goldpan.core.remote import is_address
from goldpan.core.settings.file import read_toml
from goldpan.plan.section import PlanSection, StageSection, is_path
from goldpan.plan.sections import DatasetPlan, Plan, dataset_section, plan_section, reads_of

LAST = "last"
"""The value of a dataset's `since` for the version that the plan built before."""
DATES = ("year", "month", "day")
"""The words of a tag that stand for the day of the newest mined reply."""
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
        sections += [item for item in self.datasets if reads_of(item.family) == "filtered"]
        names = self.plan.filter.given().get("profile", ())
        named = [*names, *(item.get("profile") for item in sections if item is not None)]
        return tuple(dict.fromkeys(map(self.profile, filter(None, named or ["default"]))))

    def stages(self) -> Iterator[tuple[str, str, StageSection]]:
        """Yield each section of a stage with its key, and the command or family it is of."""
        for key, section in _sections(self.plan.replaced(dataset=self.datasets)):
            yield key, section.get("family") or key.partition("[")[0], section

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


def _sections(value: Any, key: str = "") -> Iterator[tuple[str, StageSection]]:
    """Yield the sections of stages within a value, with their keys."""
    if isinstance(value, StageSection):
        yield key, value
    if isinstance(value, tuple):
        for number, item in enumerate(value):
            yield from _sections(item, f"{key}[{number}]")
    elif isinstance(value, (PlanSection, Mapping)):
        for name, item in dict(value).items():
            yield from _sections(item, f"{key}.{name}".removeprefix("."))


def load_plan(path: str | Path) -> PlanFile:
    """Read a plan; raises `UsageError` that names the file, the key, the cause and the remedy."""
    file = Path(path)
    refuse_empty(file, "Run goldpan init, which writes a plan to edit")
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
    named: dict[str, list[str]] = {}
    for key, _, section in file.stages():
        if key.endswith("]"):
            name = section.get("name") or section.get("dataset")
            named.setdefault(key.partition("[")[0], []).append(name)
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


def check_plan(file: PlanFile, own: Path | None = None) -> None:
    """Raise `UsageError` where the plan names rules, profiles, models or the like there are not.

    Plugins of the workspace have to be loaded; `own` is the directory of its own tasks.
    """
    from goldpan.builders.recipes import find_recipe
    from goldpan.datasets.licenses import stated_license
    from goldpan.datasets.tasks.registry import find_task
    from goldpan.filters.profile import load_profile

    for license in file.plan.mine.licenses.values():
        _check(file, "mine.licenses", stated_license, license)
    for name in file.plan.tasks:
        _check(file, f"tasks.{name}", find_task, name, own)
    if (review := file.plan.review) is not None:
        _check(file, "review", _review_settings, file.given(review))
    for profile in file.profiles:
        _check(file, "profile", load_profile, profile)
    for number, dataset in enumerate(file.datasets):
        others = names_of("builder")
        if dataset.family not in others:
            _check(file, f"dataset[{number}].family", find_recipe, dataset.family, others)
        if dataset.publish is not None and (tag := dataset.publish.get("tag")) is not None:
            _check(file, f"dataset[{number}].publish.tag", check_tag, tag, dataset.family)
    for key, kind, section in file.stages():
        finders = _finders(file, section, own)
        if (builder := find_builder(kind)) is not None:
            finders |= {name: imported(target) for name, target in builder.finders.items()}
        for name, value in section.values().items():
            value = file.profile(value) if name == "profile" and isinstance(value, str) else value
            find = finders.get(f"{kind} {name}") or finders.get(name)
            for item in value if isinstance(value, tuple) else [value]:
                if find is not None and item is not None:
                    _check(file, f"{key}.{name}", find, item)
    for number, evaluation in enumerate(file.plan.evaluation):
        _check_rows(file, f"evaluation[{number}].dataset", evaluation, own)


def _finders(
    file: PlanFile, section: StageSection, own: Path | None
) -> dict[str, Callable[[Any], object]]:
    """Return by parameter, or by stage and parameter, what finds a value that exists."""
    from goldpan.audit.finding import chosen_findings
    from goldpan.builders.recipes import NOT
    from goldpan.datasets.splits import SplitPlan
    from goldpan.datasets.tasks.registry import find_task
    from goldpan.evaluation.model import find_model
    from goldpan.evaluation.protocol import find_protocol
    from goldpan.miners.pairing import find_rules

    return {
        "pair rules": find_rules,
        "split": lambda value: SplitPlan.parse(value, section.get("seed") or 0),
        "task": lambda value: find_task(value, own),
        "protocol": find_protocol,
        "audit finding": lambda value: chosen_findings([value]),
        "require": lambda value: (
            chosen_findings([value.removeprefix(NOT)]) if value.startswith(NOT) else None
        ),
        "evaluation model": lambda value: find_model(value, section.get("settings")),
    }


def _review_settings(given: Mapping[str, Any]) -> object:
    from goldpan.annotation.review.request import load_review_settings

    stated = {"models": given.get("model"), **given.get("settings", {})}
    return load_review_settings(given.get("settings_file"), stated)


def _check(file: PlanFile, key: str, find: Callable[..., object], *arguments: object) -> None:
    try:
        find(*arguments)
    except UsageError as error:
        raise error.reworded(f"{file.path}: {key}: {error.problem}") from None


def _check_rows(file: PlanFile, key: str, evaluation: StageSection, own: Path | None) -> None:
    """Refuse to evaluate on a dataset whose rows are those of no task."""
    from goldpan.datasets.tasks.registry import load_tasks, tasks_of_family

    names = evaluation.get("dataset")
    known = load_tasks(own) if names else {}
    for dataset in filter(None, map(file.dataset, names)):
        builder = find_builder(dataset.family)
        has_own = builder is not None and builder.own_task
        if not has_own and not tasks_of_family(dataset.family, known):
            raise UsageError(
                f"{file.path}: {key}: no task has the rows of {dataset.name}, of the family "
                f"{dataset.family}",
                (builder and builder.unscored)
                or "Remove it, or write a task for it (docs/tasks.md)",
            )


def check_tag(pattern: str, family: str) -> None:
    """Raise `UsageError` for a pattern that no dataset of the family can fill."""
    filled_tag(pattern, {"content": "0" * 8, **dict.fromkeys(DATES, "00")})
    if reads_of(family) not in ("cloned", "tasks"):  # which are made of replies
        return
    try:
        filled_tag(pattern, {"content": ""})
    except UsageError:
        raise UsageError(
            f"{pattern!r} has a date, which datasets of the family {family} do not tell",
            "Write {content} in its place, which differs with the rows",
        ) from None


def filled_tag(pattern: str, values: Mapping[str, str]) -> str:
    """Return a tag with its words in braces filled in; raises `UsageError` for another word."""
    try:
        return pattern.format_map(values)
    except (LookupError, ValueError, AttributeError):
        raise UsageError(
            f"The tag {pattern!r} has an unknown word in braces",
            "Use {year}, {month}, {day} or {content}",
        ) from None
