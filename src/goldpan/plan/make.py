"""Makes the steps of a plan, in the order in which they are run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from goldpan.builders.recipes import NOT, VERIFIED
from goldpan.core.errors import UsageError
from goldpan.core.storage.workspace import tasks_directory
from goldpan.plan.datasets import DATASET, PUBLISH, DatasetStep, PublishStep, stage_of
from goldpan.plan.file import PlanFile, check_plan, reviews_of
from goldpan.plan.mining import MINE, MineStep
from goldpan.plan.section import StageSection
from goldpan.plan.sections import DatasetPlan
from goldpan.plan.stages import (
    FILES,
    DuplicatesStep,
    EvaluateStep,
    PushStep,
    ReviewStep,
    clone_source,
)
from goldpan.plan.step import Context, Step
from goldpan.plan.unit import Stage, Unit
from goldpan.workspace.workspace import Workspace

_WAIT_FOR_PEOPLE = ("dataset", "verify", "evaluate", "compare", "audit", "export", "publish")
"""The stages whose units wait for annotations, but for what people annotate."""
_FILES = {**FILES, "dataset": DATASET, "publish": PUBLISH}
_KINDS: Mapping[Stage, type[Step]] = {
    "dataset": DatasetStep,
    "duplicates": DuplicatesStep,
    "review": ReviewStep,
    "annotate": PushStep,
    "evaluate": EvaluateStep,
    "publish": PublishStep,
}
"""The steps of stages that are more than their operation."""


def open_workspace(
    file: PlanFile,
    workspace: str | Path | None = None,
    *,
    api_url: str | None = None,
    workers: int | None = None,
    progress: bool = False,
) -> Workspace:
    """Open the workspace that a plan works in, with its settings of mining, and check the plan.

    `workspace` and `api_url` override the plan's, `workers` the workspace's. Raises `UsageError`
    for a plan that names what there is not.
    """
    plan = file.plan
    named = None if plan.workspace is None else file.address(plan.workspace)
    opening = {**plan.mine.given(), **({} if api_url is None else {"api_url": api_url})}
    if workers is not None:
        opening["workers"] = workers
    lab = Workspace(workspace or named, progress=progress, **opening)
    check_plan(file, tasks_directory(lab.path))
    return lab


def make_steps(context: Context, repos: Sequence[str]) -> list[Step]:
    """Return all steps: one stage of all repositories comes before the next."""
    steps = [*_repository_steps(context, repos), *_result_steps(context, repos)]
    return _ordered(_waiting_for_people(steps))


def _step(
    context: Context,
    stage: Stage,
    subject: str,
    section: StageSection,
    *,
    needs: Iterable[str] = (),
    after: Iterable[str] = (),
    repos: Sequence[str] = (),
    **fixed: Any,
) -> Step:
    """Return the step of a unit; `fixed` are values that the plan gives beside the section."""
    kind, files = _KINDS.get(stage, Step), _FILES[stage]
    if stage == "mine" and context.file.plan.mine.enabled:
        kind, files = MineStep, MINE
    return kind(
        unit=Unit(stage, subject, tuple(needs), tuple(after)),
        context=context,
        files=files,
        section=section,
        repos=tuple(repos),
        fixed=fixed,
    )


def _repository_steps(context: Context, repos: Sequence[str]) -> Iterator[Step]:
    file, plan, step = context.file, context.file.plan, partial(_step, context)
    for repo in repos:
        license = plan.mine.licenses.get(repo.lower())
        stated = {} if license is None else {"license": license}
        yield step("mine", repo, plan.mine, repos=[repo], **stated)
    for name, section in plan.tasks.items():
        yield step("tasks", name, section, name=name)
    for repo in repos:
        needs = [f"mine/{repo}"]
        yield step("pair", repo, plan.pair, needs=needs, repos=[repo], rules=file.rules)
    if plan.clone.enabled:
        for repo in repos:
            source = clone_source(context, repo)
            yield step("clone", repo, plan.clone, needs=[f"pair/{repo}"], repos=[repo], **source)
    duplicates = list(_duplicates(context, repos))
    yield from duplicates
    after = [found.unit.name for found in duplicates]  # without which they find their own
    before = "clone" if plan.clone.enabled else "pair"
    several = {"rules": file.rules, "profile": file.profiles}
    for repo in repos:
        needs = [f"{before}/{repo}"]
        yield step("filter", repo, plan.filter, needs=needs, after=after, repos=[repo], **several)
    if (review := plan.review) is not None:
        needs = [f"filter/{repo}" for repo in repos]
        name, rules = _review_name(context), file.rules[0]
        yield step("review", name, review, needs=needs, repos=repos, rules=rules)


def _duplicates(context: Context, repos: Sequence[str]) -> Iterator[Step]:
    """Yield a step for each profile whose settings of near duplicates are its own."""
    after = [f"mine/{repo}" for repo in repos]
    planned = []
    for name, profile in context.profiles.items():
        if (settings := profile.settings["near-duplicates"]) not in planned:
            planned.append(settings)
            section = StageSection()
            yield _step(context, "duplicates", profile.name, section, after=after, profile=name)


def _result_steps(context: Context, repos: Sequence[str]) -> Iterator[Step]:
    file, plan, step = context.file, context.file.plan, partial(_step, context)
    root = context.lab.path
    for dataset in file.datasets:
        yield _dataset(context, dataset, repos)
    if (push := plan.annotate.push) is not None:
        needs = _data_units(context, push)
        yield step("annotate", push.get("project"), push, needs=needs, rules=file.rules[0])
    for section in plan.verify:
        name = section.dataset
        yield step("verify", name, section, needs=[f"dataset/{name}"], dataset=name)
    evaluated = {item.name: _data_units(context, item) for item in plan.evaluation}
    for evaluation in plan.evaluation:
        yield step("evaluate", evaluation.name, evaluation, needs=evaluated[evaluation.name])
    for comparison in plan.comparison:
        needs = [f"evaluate/{name}" for name in evaluated]
        page = root / "comparisons" / f"{comparison.name}.html"
        output = context.file.given(comparison).get("output") or page
        yield step("compare", comparison.name, comparison, needs=needs, output=output)
    for audit in plan.audit:
        name, need = audit.dataset, f"dataset/{audit.dataset}"
        after = [f"evaluate/{name}" for name, needs in evaluated.items() if need in needs]
        after.insert(0, f"verify/{name}")
        yield step("audit", name, audit, needs=[need], after=after, dataset=name)
    for export in plan.export:
        yield step(
            "export",
            export.name,
            export,
            needs=[f"dataset/{export.dataset}"],
            after=[f"audit/{export.dataset}"],
            dataset=context.lab.layout.dataset(export.dataset),
            output=root / "exports" / export.name,
        )
    for dataset in file.datasets:
        if (publish := dataset.publish) is not None:
            needs, after = [f"dataset/{dataset.name}"], [f"audit/{dataset.name}"]
            yield step("publish", dataset.name, publish, needs=needs, after=after)


def _dataset(context: Context, dataset: DatasetPlan, repos: Sequence[str]) -> Step:
    names = {name.lower() for name in dataset.repositories}
    chosen = [repo for repo in repos if not names or repo.lower() in names]
    needs: list[str] = []
    after: list[str] = []
    stage = stage_of(dataset.family)
    if stage is None:
        chosen, needs = [], [*_data_units(context, dataset)]
    else:
        (after if dataset.leave_out else needs).extend(f"{stage}/{repo}" for repo in chosen)
    if required := dataset.names("require"):
        if context.file.plan.review is not None and reviews_of(dataset):
            needs.append(f"review/{_review_name(context)}")
        if VERIFIED in required:
            needs += [f"verify/{section.dataset}" for section in context.file.plan.verify]
        if any(name.startswith(NOT) for name in required):
            after += [f"audit/{name}" for name in context.file.audited(dataset.name)]
    return _step(context, "dataset", dataset.name, dataset, needs=needs, after=after, repos=chosen)


def _data_units(context: Context, section: StageSection) -> list[str]:
    """Return the units that make the datasets and the rows of tasks that a section names."""
    file = context.file
    datasets, tasks = section.names("dataset"), section.names("task")
    units = [f"dataset/{name}" for name in datasets if file.dataset(name) is not None]
    units += [f"tasks/{name}" for name in tasks if name in file.plan.tasks]
    sources = [context.task(name).source for name in tasks]
    built = {source.builder for source in sources if source.access == "built"}
    for dataset in file.datasets:
        if dataset is not section and (dataset.name in tasks or dataset.family in built):
            units.append(f"dataset/{dataset.name}")
    return list(dict.fromkeys(units))


def _review_name(context: Context) -> str:
    review = context.file.plan.review
    assert review is not None
    return context.profile(review.get("profile")).name


def _waiting_for_people(steps: list[Step]) -> list[Step]:
    """Return steps of which those after annotations need them."""
    pushed = next((step.unit for step in steps if step.unit.stage == "annotate"), None)
    if pushed is None:
        return steps
    units = {step.unit.name: step.unit for step in steps}
    before, found = {pushed.name}, [pushed]
    while found:
        unit = found.pop()
        new = {*unit.needs, *unit.after} - before
        before |= new
        found += [units[name] for name in new if name in units]
    return [
        replace(step, unit=replace(step.unit, needs=(*step.unit.needs, pushed.name)))
        if step.unit.stage in _WAIT_FOR_PEOPLE and step.unit.name not in before
        else step
        for step in steps
    ]


def _ordered(steps: list[Step]) -> list[Step]:
    """Return steps after all that they need, else as they stand; raises `UsageError` for a circle.

    Units that need others of their own stage come after these.
    """
    there = {step.unit.name for step in steps}
    ordered: list[Step] = []
    done: set[str] = set()
    while steps:
        later: list[Step] = []
        for step in steps:
            if {*step.unit.needs, *step.unit.after} & there <= done:
                ordered.append(step)
                done.add(step.unit.name)
            else:
                later.append(step)
        if len(later) == len(steps):
            names = ", ".join(step.unit.name for step in later[:3])
            raise UsageError(f"{names} wait for one another", "Correct the plan")
        steps = later
    return ordered
