"""Says before anything runs what a plan names that there is not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from goldpan.core.errors import UsageError
from goldpan.core.plugin_parts import imported
from goldpan.core.plugins import find_builder, names_of
from goldpan.plan.file import PlanFile
from goldpan.plan.publishing import check_tag
from goldpan.plan.section import StageSection


def check_plan(file: PlanFile, own: Path | None = None) -> None:
    """Raise `UsageError` where the plan names rules, profiles, models or the like there are not.

    Plugins of the workspace have to be loaded; `own` is the directory of its own tasks.
    """
    from goldpan.builders.recipes import find_recipe
    from goldpan.datasets.licenses import stated_license
    from goldpan.datasets.registry import find_task

    for license in file.plan.mine.licenses.values():
        _check(file, "mine.licenses", stated_license, license)
    for name in file.plan.tasks:
        _check(file, f"tasks.{name}", find_task, name, own)
    if (review := file.plan.review) is not None:
        _check(file, "review", _review_settings, file.given(review))
    for profile in file.profiles:
        _check(file, "profile", _filters_profile, profile)
    for number, dataset in enumerate(file.datasets):
        others = names_of("builder")
        if dataset.family not in others:
            _check(file, f"dataset[{number}].family", find_recipe, dataset.family, others)
        if dataset.publish is not None and (tag := dataset.publish.get("tag")) is not None:
            _check(file, f"dataset[{number}].publish.tag", check_tag, tag, dataset.family)
    for key, kind, section in file.stages():
        finders = _finders(file, section, own)
        if (builder := find_builder(kind)) is not None:
            finders |= {name: partial(_found, target) for name, target in builder.finders.items()}
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
    from goldpan.builders.requirements import NOT
    from goldpan.datasets.registry import find_task
    from goldpan.datasets.splits import SplitPlan
    from goldpan.evaluation.models.catalogue import find_model
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


def _found(target: str, value: Any) -> object:
    return imported(target)(value)


def _review_settings(given: Mapping[str, Any]) -> object:
    from goldpan.annotation.review.settings import load_review_settings

    stated = {"models": given.get("model"), **given.get("settings", {})}
    return load_review_settings(given.get("settings_file"), stated)


def _filters_profile(name: str) -> object:
    from goldpan.filters.profile import load_profile

    return load_profile(name)


def _check(file: PlanFile, key: str, find: Callable[..., object], *arguments: object) -> None:
    try:
        find(*arguments)
    except UsageError as error:
        raise type(error)(f"{file.path}: {key}: {error.problem}", error.remedy) from None


def _check_rows(file: PlanFile, key: str, evaluation: StageSection, own: Path | None) -> None:
    """Refuse to evaluate on a dataset whose rows are those of no task."""
    from goldpan.datasets.registry import load_tasks, tasks_of_family

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
