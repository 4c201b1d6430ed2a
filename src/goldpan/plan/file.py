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
from goldpan.plan.section import (
    EXECUTION,
    DatasetSection,
    Plan,
    PlanFile,
    PlanSection,
    StageSection,
    derive,
    subject_of,
)
from goldpan.plan.stages import STAGES
from goldpan.plan.step import Stage, method_of
from goldpan.workspace.building import families
from goldpan.workspace.mining import Asking
from goldpan.workspace.options import options_of, options_of_group, summary_of

_INIT = "Run goldpan init, which writes a plan to edit"
_PLACEHOLDER = "OWNER/NAME"
"""What the plan of `goldpan init` lists."""
_ADD_RULES = "Add it to pair.rules"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")
ALWAYS = ("[mine]", "[pair]", "[clone]", "[filter]")
"""The tables whose stages have steps without them, too."""
Find = Callable[[Any], object]
"""Raises `UsageError` for a name that is none."""


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
    left = ("output", *(builder.fixed if builder else ()))
    about = str(DatasetSection.__doc__)
    made = derive(DatasetSection, options_of(method), about, without=left)
    publish: Any = section_of(next(one for one in STAGES if one.name == "publish"))
    return create_model("Dataset", __base__=made, __doc__=about, publish=(publish | None, None))


@cache
def plan_of(built: tuple[str, ...]) -> type[Plan]:
    """Return the keys of a whole file that builds datasets of some families."""
    fields: dict[str, Any] = {}
    for stage in STAGES:
        key, _, inner = stage.heading.strip("[]").partition(".")
        kind: Any = None if key == "dataset" else section_of(stage)
        if key == "dataset":
            kinds: Any = tuple(map(dataset_of, built))
            fields[key] = (GenericAlias(tuple, kinds), ... if kinds else ())
        elif stage.heading.startswith("[["):
            fields[key] = (GenericAlias(tuple, (kind, ...)), ())
        elif inner == "NAME":
            fields[key] = (dict[str, kind], {})
        elif inner:
            held: dict[str, Any] = {inner: (kind | None, None)}
            outer: Any = create_model(key, __base__=PlanSection, **held)
            fields[key] = (outer, outer())
        else:
            fields[key] = (kind, kind()) if stage.heading in ALWAYS else (kind | None, None)
    base = derive(Plan, options_of_group(Execution, EXECUTION), str(Plan.__doc__))
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
    headings = {stage.name: tuple(stage.heading.strip("[]").split(".")) for stage in STAGES}
    by_stage = {name: dict(_sections(head, keys)) for name, keys in headings.items()}
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
    problems = list(_misfits(file))
    for place, find, value in _named(file, own):
        try:
            find(value)
        except UsageError as error:
            problems.append(Problem.at(place, error.problem, error.remedy))
    if problems:
        raise file.source.refusal(list(dict.fromkeys(problems)))


def _misfits(file: PlanFile) -> Iterator[Problem]:
    """Yield sections of one name, and reviews of what no dataset is built from."""
    planned = file.head.repositories
    of_tasks = file.by_stage["tasks"] and not file.by_stage["dataset"]
    if not (planned.listed or planned.select or of_tasks):
        remedy = 'Write listed = ["OWNER/NAME"], or a [[repositories.select]]'
        yield Problem.at(("repositories",), "it names no repository", remedy)
    if _PLACEHOLDER in planned.listed:
        at = ("repositories", "listed")
        yield Problem.at(at, f"{_PLACEHOLDER} is no repository", "Write the name of yours")
    for places in file.by_stage.values():
        seen = set()
        for place, section in places.items():
            name = subject_of(section)
            if isinstance(place[-1], int) and name.lower() in seen:
                cause = f"two of {place[0]} have the name {name!r}"
                yield Problem.at(place, cause, "Give one another name")
            seen.add(name.lower())
    datasets = file.by_stage["dataset"].items()
    required = {place: str(one.get("profile")) for place, one in datasets if reviews_of(one)}
    for review in file.sections("review"):
        reviewed = review.get("profile")
        if required and reviewed not in required.values():
            place, profile = next(iter(required.items()))
            cause = f"the review is of what the profile {reviewed} keeps, and this dataset is of"
            remedy = f'Write profile = "{profile}" in [review]'
            yield Problem.at((*place, "require"), f"{cause} {profile}", remedy)


def _named(file: PlanFile, own: Path | None) -> Iterator[tuple[Location, Find, Any]]:
    """Yield places, what finds the things of a kind, and values there that name one."""
    for section in file.sections("review"):
        yield ("review",), _load_review, file.given(section)
    for stage, places in file.by_stage.items():
        for place, section in places.items():
            finders = _finders(file, section, own)
            if stage == "tasks":
                yield place, finders["task"], place[-1]
            if (builder := find_builder(section.get("family") or "")) is not None:
                finders |= {name: imported(target) for name, target in builder.finders.items()}
            for name in sorted(section.model_fields_set):
                find = finders.get(f"{stage} {name}") or finders.get(name)
                value = section.get(name)
                value = tuple(value.items()) if isinstance(value, Mapping) else value
                for item in value if isinstance(value, tuple) else [value]:
                    if find is not None:
                        yield (*place, name), find, item


def _finders(file: PlanFile, section: StageSection, own: Path | None) -> dict[str, Find]:
    """Return by parameter, or by stage and parameter, what finds a value that exists."""
    from goldpan.audit.finding import chosen_findings
    from goldpan.builders.recipes import find_recipe
    from goldpan.datasets.licenses import stated_license
    from goldpan.datasets.splits import SplitPlan
    from goldpan.datasets.tasks.registry import find_task
    from goldpan.evaluation.model import find_model
    from goldpan.evaluation.protocol import find_protocol
    from goldpan.filters.profile import load_profile
    from goldpan.miners.pairing import find_rules

    planned = file.head.repositories
    built = [one.get("name") for one in file.sections("dataset")]
    others = names_of("builder")
    builds = f"It builds {', '.join(built) or 'none'}"
    find_built = _of(built, "the plan builds no {name!r}", builds)

    def find_listed(name: str) -> None:
        listed = [*map(str.lower, planned.listed)]
        if not planned.select:
            _of(listed, "{name} is not listed", "Add it to repositories.listed")(name.lower())

    def find_licensed(item: tuple[str, str]) -> None:
        find_listed(item[0])
        stated_license(item[1])

    return {
        "mine licenses": find_licensed,
        "pair rules": find_rules,
        "profile": lambda value: load_profile(file.profile(value)),
        "split": lambda value: SplitPlan.parse(value, section.get("seed") or 0),
        "task": lambda value: find_task(value, own),
        "protocol": find_protocol,
        "require": lambda value: (
            chosen_findings([value.removeprefix(NOT)]) if value.startswith(NOT) else None
        ),
        "dataset family": lambda value: value in others or find_recipe(value, others=others),
        "dataset repositories": find_listed,
        "dataset rules": _of(file.rules, "the plan does not pair by {name!r}", _ADD_RULES),
        "publish tag": partial(filled_tag, values={"content": "", **dict.fromkeys(DATES, "")}),
        "audit finding": lambda value: chosen_findings([value]),
        "evaluate model": lambda value: find_model(value, section.get("settings")),
        **{f"{stage} dataset": find_built for stage in ("verify", "evaluate", "audit", "export")},
    }


def _of(known: Iterable[str], cause: str, remedy: str) -> Find:
    """Return what raises `UsageError` for a name that is none of those known."""
    names = [*known]

    def find(name: str) -> None:
        if name not in names:
            raise UsageError(cause.format(name=name), question(name, names) or remedy)

    return find


def _load_review(given: Mapping[str, Any]) -> None:
    from goldpan.annotation.review.request import load_review_settings

    stated = {"models": given.get("model"), **given.get("settings", {})}
    load_review_settings(given.get("settings_file"), stated)
