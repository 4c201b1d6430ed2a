"""Reads a plan's file, and says where it is wrong, before anything runs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from types import GenericAlias
from typing import Any

from pydantic import create_model

from goldpan.builders.request import NOT
from goldpan.core.errors import UsageError, question, refuse_empty
from goldpan.core.plugins.loading import find_builder, names_of
from goldpan.core.plugins.parts import imported
from goldpan.core.settings.file import Location, Problem, read_toml
from goldpan.core.values import Execution
from goldpan.plan.datasets import DATES, filled_tag, reviews_of
from goldpan.plan.opened import PlanFile
from goldpan.plan.section import EXECUTION, DatasetSection, Plan, PlanSection, StageSection, derive
from goldpan.plan.stages import STAGES
from goldpan.plan.step import Stage, method_of, subject_of
from goldpan.workspace.building import families
from goldpan.workspace.mining import Asking
from goldpan.workspace.options import options_of, options_of_group, summary_of

_INIT = "Run goldpan init, which writes a plan to edit"
_PLACEHOLDER = "OWNER/NAME"
"""What the plan of `goldpan init` lists."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")
ALWAYS = ("[mine]", "[pair]", "[clone]", "[filter]")
"""The tables whose stages have steps without them, too."""
_BUILT = ("verify", "evaluate", "audit", "export")
"""The stages that work on datasets of the plan alone."""


@cache
def section_of(stage: Stage) -> type[StageSection]:
    """Return the keys that the table of a stage may have."""
    if stage.name == "mine":
        return derive(stage.keys, options_of_group(Asking), str(stage.keys.__doc__))
    method = method_of(stage.command)
    choices = {"without": stage.without, "several": stage.several}
    return derive(stage.keys, options_of(method), summary_of(method), **choices)


@cache
def dataset_of(family: str) -> type[StageSection]:
    """Return the keys of a dataset of a family; a plugin's has those of code-edit."""
    builder = find_builder(family)
    method = method_of("build", family=family if family in families() else "code-edit")
    made = derive(
        DatasetSection,
        options_of(method),
        str(DatasetSection.__doc__),
        without=("output", *(builder.fixed if builder else ())),
    )
    publish: Any = section_of(next(one for one in STAGES if one.name == "publish"))
    return create_model(
        "Dataset", __base__=made, __doc__=made.__doc__, publish=(publish | None, None)
    )


@cache
def plan_of(built: tuple[str, ...]) -> type[Plan]:
    """Return the keys of a whole file that builds datasets of some families."""
    base = derive(Plan, options_of_group(Execution, EXECUTION), str(Plan.__doc__))
    fields: dict[str, Any] = {}
    for stage in STAGES:
        key, _, inner = stage.heading.strip("[]").partition(".")
        if key == "dataset":
            kinds: Any = tuple(map(dataset_of, built))
            fields["dataset"] = (GenericAlias(tuple, kinds), () if not kinds else ...)
            continue
        kind: Any = section_of(stage) if key else None
        if stage.heading.startswith("[["):
            fields[key] = (GenericAlias(tuple, (kind, ...)), ())
        elif inner == "NAME":
            fields[key] = (dict[str, kind], {})
        elif inner:
            held: dict[str, Any] = {inner: (kind | None, None)}
            outer: Any = create_model(key, __base__=PlanSection, **held)
            fields[key] = (outer, outer())
        elif key:
            fields[key] = (kind, kind()) if stage.heading in ALWAYS else (kind | None, None)
    return create_model("Plan", __base__=base, **fields)


def load_plan(path: str | Path) -> PlanFile:
    """Read a plan; raises `UsageError` that names all faults with line, key, cause and remedy."""
    file = Path(path)
    if not file.is_file():
        inside = file / "plan.toml"
        problem = f"{file} is a directory" if file.is_dir() else f"There is no plan {file}"
        raise UsageError(problem, f"Give {inside}" if inside.exists() else _INIT)
    refuse_empty(file, _INIT)
    source = read_toml(file, "docs/plans.md")
    if not _NAME.fullmatch(file.stem):
        raise UsageError(
            f"{file.stem!r} is not a name for a plan", "Choose a file name such as monthly.toml"
        )
    built = source.values.get("dataset", [])
    datasets = built if isinstance(built, list) else [built]
    named = [one.get("family") if isinstance(one, Mapping) else "" for one in datasets]
    head = source.read(plan_of(tuple(map(str, named))))
    by_stage: dict[str, dict[Location, StageSection]] = {}
    for stage in STAGES:
        keys = tuple(stage.heading.strip("[]").split(".")) if stage.heading else ()
        by_stage.setdefault(stage.name, {}).update(_sections(head, keys) if keys else ())
    return PlanFile(file, source, head, by_stage)


def _sections(
    value: Any, keys: tuple[str, ...], place: Location = ()
) -> Iterator[tuple[Location, StageSection]]:
    """Yield the sections under a heading, with their places in the file."""
    if isinstance(value, tuple):
        for number, one in enumerate(value):
            yield from _sections(one, keys, (*place, number))
    elif isinstance(value, Mapping):
        for name, one in value.items():
            yield from _sections(one, keys[1:], (*place, name))
    elif keys and value is not None:
        yield from _sections(getattr(value, keys[0]), keys[1:], (*place, keys[0]))
    elif value is not None:
        yield place, value


def check_plan(file: PlanFile, own: Path | None = None) -> None:
    """Raise `UsageError` that names all that does not fit, and the names of what there is not.

    Plugins of the workspace have to be loaded; `own` is the directory of its own tasks.
    """
    problems = [*_named_twice(file), *_not_built(file), *_not_listed(file), *_not_reviewed(file)]
    for place, find, value in _named(file, own):
        try:
            find(value)
        except UsageError as error:
            problems.append(Problem.at(place, error.problem, error.remedy))
    if problems:
        raise file.source.refusal(list(dict.fromkeys(problems)))


def _named_twice(file: PlanFile) -> Iterator[Problem]:
    for places in file.by_stage.values():
        seen = set()
        for place, section in places.items():
            name = subject_of(section)
            if isinstance(place[-1], int) and name in seen:
                cause = f"two of {place[0]} have the name {name!r}"
                yield Problem.at(place, cause, "Give one another name")
            seen.add(name)


def _not_built(file: PlanFile) -> Iterator[Problem]:
    built = [one.get("name") for one in file.sections("dataset")]
    for stage in _BUILT:
        for place, section in file.by_stage[stage].items():
            for name in section.names("dataset"):
                if name not in built:
                    others = f"It builds {', '.join(built) or 'none'}"
                    remedy = question(name, built) or others
                    yield Problem.at((*place, "dataset"), f"the plan builds no {name!r}", remedy)


def _not_listed(file: PlanFile) -> Iterator[Problem]:
    """Yield the repositories that are not the plan's, where it lists all."""
    planned = file.head.repositories
    if _PLACEHOLDER in planned.listed:
        at = ("repositories", "listed")
        yield Problem.at(at, f"{_PLACEHOLDER} is no repository", "Write the name of yours")
    named: dict[Location, Iterable[str]] = {
        (*place, "repositories"): dataset.names("repositories")
        for place, dataset in file.by_stage["dataset"].items()
    }
    named["mine", "licenses"] = file.sections("mine")[0].get("licenses")
    listed = {name.lower() for name in planned.listed}
    for place, names in named.items() if not planned.select else ():
        for name in names:
            if name.lower() not in listed:
                remedy = question(name, planned.listed) or "Add it to repositories.listed"
                yield Problem.at(place, f"{name} is not listed", remedy)


def _not_reviewed(file: PlanFile) -> Iterator[Problem]:
    """Yield the rules that nothing is paired by, and reviews of what no dataset is built from."""
    wanted: dict[Location, str] = {}
    for place, dataset in file.by_stage["dataset"].items():
        rules = dataset.given().get("rules")
        if rules is not None and rules not in file.rules:
            cause = f"the plan does not pair by {rules!r}"
            yield Problem.at((*place, "rules"), cause, "Add it to pair.rules")
        if reviews_of(dataset):
            wanted[*place, "require"] = str(dataset.get("profile"))
    for review in file.sections("review"):
        reviewed = review.get("profile")
        if wanted and reviewed not in wanted.values():
            place, profile = next(iter(wanted.items()))
            cause = (
                f"the review is of what the profile {reviewed} keeps, and this dataset is of "
                f"{profile}"
            )
            yield Problem.at(place, cause, f'Write profile = "{profile}" in [review]')


Named = tuple[Location, Callable[[Any], object], Any]
"""A place, and a value there that names something with what raises `UsageError` if it is not."""


def _named(file: PlanFile, own: Path | None) -> Iterator[Named]:
    """Yield what names something: licenses, tasks, families, tags, and values of options."""
    from goldpan.builders.recipes import find_recipe
    from goldpan.datasets.licenses import stated_license
    from goldpan.datasets.tasks.registry import find_task

    for license in file.sections("mine")[0].get("licenses").values():
        yield ("mine", "licenses"), stated_license, license
    for place in file.by_stage["tasks"]:
        yield place, partial(find_task, own=own), place[-1]
    for section in file.sections("review"):
        yield ("review",), _load_review, file.given(section)
    others = names_of("builder")
    for place, dataset in file.by_stage["dataset"].items():
        if dataset.get("family") not in others:
            yield (*place, "family"), partial(find_recipe, others=others), dataset.get("family")
        if (publish := dataset.get("publish")) is not None and publish.get("tag") is not None:
            words = {"content": "", **dict.fromkeys(DATES, "")}
            yield (*place, "publish", "tag"), partial(filled_tag, values=words), publish.get("tag")
    for stage, places in file.by_stage.items():
        for place, section in places.items():
            finders = _finders(file, section, own)
            if (builder := find_builder(section.get("family") or "")) is not None:
                finders |= {name: imported(target) for name, target in builder.finders.items()}
            for name, value in section.values().items():
                find = finders.get(f"{stage} {name}") or finders.get(name)
                for item in value if isinstance(value, tuple) else [value]:
                    if find is not None and item is not None:
                        yield (*place, name), find, item


def _load_review(given: Mapping[str, Any]) -> None:
    from goldpan.annotation.review.request import load_review_settings

    stated = {"models": given.get("model"), **given.get("settings", {})}
    load_review_settings(given.get("settings_file"), stated)


def _finders(
    file: PlanFile, section: StageSection, own: Path | None
) -> dict[str, Callable[[Any], object]]:
    """Return by parameter, or by stage and parameter, what finds a value that exists."""
    from goldpan.audit.finding import chosen_findings
    from goldpan.datasets.splits import SplitPlan
    from goldpan.datasets.tasks.registry import find_task
    from goldpan.evaluation.model import find_model
    from goldpan.evaluation.protocol import find_protocol
    from goldpan.filters.profile import load_profile
    from goldpan.miners.pairing import find_rules

    return {
        "pair rules": find_rules,
        "profile": lambda value: load_profile(file.profile(value)),
        "split": lambda value: SplitPlan.parse(value, section.get("seed") or 0),
        "task": lambda value: find_task(value, own),
        "protocol": find_protocol,
        "audit finding": lambda value: chosen_findings([value]),
        "require": lambda value: (
            chosen_findings([value.removeprefix(NOT)]) if value.startswith(NOT) else None
        ),
        "evaluate model": lambda value: find_model(value, section.get("settings")),
    }
