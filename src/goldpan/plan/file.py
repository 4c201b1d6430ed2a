"""Reads a plan's file, and says what is wrong with it before anything is run."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from goldpan.core.errors import UsageError
from goldpan.core.remote import is_address
from goldpan.core.suggest import question
from goldpan.plan.family_sections import FAMILIES
from goldpan.plan.sections import DatasetPlan, Plan
from goldpan.plan.tags import check_tag

LAST = "last"
"""What `since` of a dataset calls the version that the plan built before."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")
_HELP = "docs/plans.md describes every key"


@dataclass(frozen=True, slots=True)
class PlanFile:
    """A plan and where it lies."""

    path: Path
    plan: Plan

    @property
    def name(self) -> str:
        """The name of the plan: that of its file."""
        return self.path.stem

    @property
    def profiles(self) -> tuple[str, ...]:
        """The profiles that anything asks for, in their order, once each."""
        datasets = [
            dataset.profile for dataset in self.plan.dataset if dataset.family not in FAMILIES
        ]
        review = [self.plan.review.profile] if self.plan.review else []
        names = [*self.plan.filter.profiles, *datasets, *review] or ["default"]
        return tuple(dict.fromkeys(map(self.profile, names)))

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


def load_plan(path: str | Path) -> PlanFile:
    """Read a plan; raises `UsageError` that names the file, the key, the cause and the remedy."""
    file = Path(path)
    try:
        values = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(
            f"The plan {file} cannot be read: {error.strerror}", "Give a TOML file"
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"The plan {file} is not valid TOML: {error}", "Correct it") from None
    if not _NAME.fullmatch(file.stem):
        raise UsageError(
            f"{file.stem!r} is not a name for a plan", "Choose a file name such as monthly.toml"
        )
    try:
        plan = Plan.model_validate(values)
    except ValidationError as error:
        raise _refused(file, error) from None
    _check_names(file, plan)
    return PlanFile(file, plan)


def check_plan(file: PlanFile, tasks: Path | None = None) -> None:
    """Raise `UsageError` where the plan names rules, profiles, models or the like there are not.

    Plugins of the workspace have to be loaded; `tasks` is the directory of its own tasks.
    """
    from goldpan.annotation.review.settings import load_review_settings
    from goldpan.builders.recipes import find_recipe
    from goldpan.datasets.licenses import stated_license
    from goldpan.datasets.registry import find_task
    from goldpan.datasets.splits import SplitPlan
    from goldpan.evaluation.models.catalogue import find_model
    from goldpan.evaluation.protocol import find_protocol
    from goldpan.filters.profile import load_profile
    from goldpan.miners.pairing import find_rules

    plan = file.plan
    for license in plan.mine.licenses.values():
        _check_key(file, "mine.licenses", stated_license, license)
    for rules in plan.pair.rules:
        _check_key(file, "pair.rules", find_rules, rules)
    for profile in file.profiles:
        _check_key(file, "profile", load_profile, profile)
    if plan.review is not None:
        named = plan.review.settings
        settings = None if named is None else file.resolve(named)
        _check_key(file, "review", load_review_settings, settings, plan.review.options)
    for number, dataset in enumerate(plan.dataset):
        if dataset.publish is not None and dataset.publish.tag is not None:
            key = f"dataset[{number}].publish.tag"
            _check_key(file, key, check_tag, dataset.publish.tag, dataset.family)
        if dataset.family in FAMILIES:
            _check_family(file, f"dataset[{number}]", dataset, tasks)
            continue
        _check_key(file, f"dataset[{number}].family", find_recipe, dataset.family, FAMILIES)
        _check_key(file, f"dataset[{number}].split", SplitPlan.parse, dataset.split, dataset.seed)
    for number, evaluation in enumerate(plan.evaluation):
        _check_tasks(file, f"evaluation[{number}].datasets", evaluation.datasets, tasks)
        for name in evaluation.tasks:
            _check_key(file, f"evaluation[{number}].tasks", find_task, name, tasks)
        _check_key(file, f"evaluation[{number}].protocol", find_protocol, evaluation.protocol)
        for model in evaluation.models:
            key = f"evaluation[{number}].models"
            _check_key(file, key, find_model, model, evaluation.settings)


def _check_family(file: PlanFile, key: str, dataset: DatasetPlan, own: Path | None) -> None:
    """Check what a dataset names that is not built of issues and pairs."""
    from goldpan.builders.code_comments.files import find_languages
    from goldpan.builders.crosscode.splits import find_split, load_splits
    from goldpan.builders.issue_type.balance import Balance
    from goldpan.builders.issue_type.profile import load_profile
    from goldpan.datasets.prompt_methods import find_method
    from goldpan.datasets.registry import find_task
    from goldpan.datasets.splits import SplitPlan

    if dataset.family == "issue-type":
        _check_key(file, f"{key}.profile", load_profile, file.profile(dataset.profile))
        if balance := dataset.issue_type.balance:
            _check_key(file, f"{key}.issue_type.balance", Balance.parse, balance)
    if dataset.family == "code-comments":
        languages = dataset.code_comments.languages
        _check_key(file, f"{key}.code_comments.languages", find_languages, languages)
    if dataset.crosscode is not None:
        known = load_splits(None)
        _check_key(file, f"{key}.crosscode.split", find_split, dataset.crosscode.split, known)
        _check_key(file, f"{key}.crosscode.method", find_method, dataset.crosscode.method)
        for name in dataset.crosscode.tasks:
            _check_key(file, f"{key}.crosscode.tasks", find_task, name, own)
    else:
        _check_key(file, f"{key}.split", SplitPlan.parse, dataset.split, dataset.seed)


def _check_tasks(file: PlanFile, key: str, names: Sequence[str], own: Path | None) -> None:
    """Refuse to evaluate on a dataset whose rows are those of no task."""
    from goldpan.datasets.registry import load_tasks, tasks_of_family

    families = {dataset.name: dataset.family for dataset in file.plan.dataset}
    known = load_tasks(own) if names else {}
    for name in names:
        family = families[name]
        # The rows of issue types are those of the task that their profile names.
        if family != "issue-type" and not tasks_of_family(family, known):
            raise UsageError(
                f"{file.path}: {key}: no task has the rows of {name}, of the family {family}",
                "Import prompts with goldpan build crosscode import, and name their task in tasks"
                if family == "crosscode"
                else "Remove it, or write a task for it (docs/tasks.md)",
            )


def _check_key(file: PlanFile, key: str, find: Any, *arguments: object) -> None:
    try:
        find(*arguments)
    except UsageError as error:
        raise type(error)(f"{file.path}: {key}: {error.problem}", error.remedy) from None


def _refused(file: Path, error: ValidationError) -> UsageError:
    first = error.errors(include_url=False)[0]
    key = _path(first["loc"])
    remedy = str(first.get("ctx", {}).get("remedy") or f"Correct it. {_HELP}")
    if first["type"] == "missing":
        return UsageError(f"{file}: {key} is missing", f"Add it. {_HELP}")
    where = f"{file}: {key}" if key else str(file)
    return UsageError(f"{where}: {first['msg'].removesuffix('.')}", remedy)


def _path(location: Iterable[int | str]) -> str:
    parts = [f"[{part}]" if isinstance(part, int) else f".{part}" for part in location]
    return "".join(parts).removeprefix(".")


def _check_names(file: Path, plan: Plan) -> None:
    names = [dataset.name for dataset in plan.dataset]
    for kind, names_given in (
        ("dataset", names),
        ("evaluation", [evaluation.name for evaluation in plan.evaluation]),
    ):
        if twice := [name for name in names_given if names_given.count(name) > 1]:
            raise UsageError(
                f"{file}: two of {kind} have the name {twice[0]!r}", "Give one another name"
            )
    for number, evaluation in enumerate(plan.evaluation):
        for name in evaluation.datasets:
            if name not in names:
                others = f"It builds {', '.join(names) or 'none'}"
                raise UsageError(
                    f"{file}: evaluation[{number}].datasets: the plan builds no {name!r}",
                    question(name, names) or others,
                )
    _check_rules(file, plan)
    _check_review(file, plan)
    _check_repositories(file, plan)


def _check_repositories(file: Path, plan: Plan) -> None:
    """Refuse names of repositories that are not the plan's, where it lists all."""
    if plan.repositories.select:
        return
    named = [("mine.licenses", name) for name in plan.mine.licenses]
    for number, dataset in enumerate(plan.dataset):
        named += [(f"dataset[{number}].repositories", name) for name in dataset.repositories]
    listed = {name.lower(): name for name in plan.repositories.listed}
    for key, name in named:
        if name.lower() not in listed:
            raise UsageError(
                f"{file}: {key}: {name} is not listed",
                question(name, listed.values()) or "Add it to repositories.listed",
            )


def _check_review(file: Path, plan: Plan) -> None:
    """Refuse a review, which costs money, of what no dataset that requires one is built from."""
    if plan.review is None:
        return
    reviewed = plan.review.profile
    wanted = {
        number: dataset.profile for number, dataset in enumerate(plan.dataset) if dataset.require
    }
    if wanted and reviewed not in wanted.values():
        number, profile = next(iter(wanted.items()))
        raise UsageError(
            f"{file}: dataset[{number}].require: the review is of what the profile {reviewed}"
            f" keeps, and this dataset is of {profile}",
            f'Write profile = "{profile}" in [review]',
        )


def _check_rules(file: Path, plan: Plan) -> None:
    first, *others = plan.pair.rules
    for number, dataset in enumerate(plan.dataset):
        key = f"{file}: dataset[{number}].rules"
        if dataset.rules is not None and dataset.rules not in plan.pair.rules:
            raise UsageError(
                f"{key}: the plan does not pair by {dataset.rules!r}", "Add it to pair.rules"
            )
        if dataset.require and dataset.rules in others:
            raise UsageError(
                f"{key}: the review judges pairs by {first} alone",
                f"Remove it, or put it before {first}",
            )
