"""Makes the steps of a plan, in the order in which they are run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from goldpan.builders.recipes import NOT, VERIFIED
from goldpan.core.errors import UsageError
from goldpan.core.storage.workspace import tasks_directory
from goldpan.operations.workspace import Workspace
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

_WAIT_FOR_PEOPLE = ("dataset", "verify", "evaluate", "compare", "audit", "export", "publish")
"""The stages whose units wait for annotations, but for what people annotate."""
_FILES = {**FILES, "publish": PUBLISH}
_KINDS: Mapping[Stage, type[Step]] = {
    "duplicates": DuplicatesStep,
    "review": ReviewStep,
    "annotate": PushStep,
    "evaluate": EvaluateStep,
    "publish": PublishStep,
}
"""The steps of stages that are more than their operation."""


@dataclass(frozen=True, slots=True)
class Store:
    """Where a plan keeps what it knows: ``WORKSPACE/plans/NAME``."""

    root: Path

    @property
    def selection(self) -> Path:
        """The file of what GitHub's search found."""
        return self.root / "selection.json"

    def record(self, unit: str) -> Path:
        """Return the file of a unit's record."""
        return self.root / "units" / f"{unit.lower()}.json"

    def previous(self, dataset: str) -> Path:
        """Return where the version of a dataset is kept that was built before."""
        return self.root / "previous" / dataset

    def changelog(self, dataset: str) -> Path:
        """Return the file of what changed in a dataset since."""
        return self.root / "changes" / f"{dataset}.md"


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


def store_of(file: PlanFile, lab: Workspace) -> Store:
    """Return where a plan keeps what it knows."""
    return Store(lab.path / "plans" / file.name)


def make_steps(context: Context, store: Store, repos: Sequence[str]) -> list[Step]:
    """Return all steps: one stage of all repositories comes before the next."""
    steps = [*_repository_steps(context, repos), *_result_steps(context, store, repos)]
    return _ordered(_waiting_for_people(steps))


def _step(
    context: Context,
    unit: Unit,
    section: StageSection,
    fixed: Mapping[str, Any] | None = None,
    repos: Sequence[str] = (),
) -> Step:
    return _KINDS.get(unit.stage, Step)(
        unit=unit,
        context=context,
        files=_FILES[unit.stage],
        section=section,
        fixed=fixed or {},
        repos=tuple(repos),
    )


def _repository_steps(context: Context, repos: Sequence[str]) -> Iterator[Step]:
    file, plan, step = context.file, context.file.plan, partial(_step, context)
    for repo in repos:
        unit, license = Unit("mine", repo), plan.mine.licenses.get(repo.lower())
        if plan.mine.enabled:
            yield MineStep(unit=unit, context=context, files=MINE, section=plan.mine)
        else:
            stated = {} if license is None else {"license": license}
            yield step(unit, plan.mine, stated, (repo,))
    for name, section in plan.tasks.items():
        yield step(Unit("tasks", name), section, {"name": name})
    rules = {"rules": file.rules}
    for repo in repos:
        yield step(Unit("pair", repo, (f"mine/{repo}",)), plan.pair, rules, (repo,))
    if plan.clone.enabled:
        for repo in repos:
            unit = Unit("clone", repo, (f"pair/{repo}",))
            yield step(unit, plan.clone, clone_source(context, repo), (repo,))
    duplicates = tuple(_duplicates(context, repos))
    yield from duplicates
    after = tuple(found.unit.name for found in duplicates)  # without which they find their own
    before = "clone" if plan.clone.enabled else "pair"
    several = {**rules, "profile": file.profiles}
    for repo in repos:
        unit = Unit("filter", repo, (f"{before}/{repo}",), after)
        yield step(unit, plan.filter, several, (repo,))
    if (review := plan.review) is not None:
        needs = tuple(f"filter/{repo}" for repo in repos)
        unit = Unit("review", _review_name(context), needs)
        yield step(unit, review, {"rules": file.rules[0]}, repos)


def _duplicates(context: Context, repos: Sequence[str]) -> Iterator[Step]:
    """Yield a step for each profile whose settings of near duplicates are its own."""
    after = tuple(f"mine/{repo}" for repo in repos)
    planned = []
    for name, profile in context.profiles.items():
        if (settings := profile.settings["near-duplicates"]) not in planned:
            planned.append(settings)
            unit = Unit("duplicates", profile.name, after=after)
            yield _step(context, unit, StageSection(), {"profile": name})


def _result_steps(context: Context, store: Store, repos: Sequence[str]) -> Iterator[Step]:
    file, plan, step = context.file, context.file.plan, partial(_step, context)
    for dataset in file.datasets:
        yield _dataset(context, store, dataset, repos)
    if (push := plan.annotate.push) is not None:
        unit = Unit("annotate", push.get("project"), _data_units(context, push))
        yield step(unit, push, {"rules": file.rules[0]})
    for section in plan.verify:
        unit = Unit("verify", section.dataset, (f"dataset/{section.dataset}",))
        yield step(unit, section, {"dataset": section.dataset})
    for evaluation in plan.evaluation:
        yield step(Unit("evaluate", evaluation.name, _data_units(context, evaluation)), evaluation)
    for comparison in plan.comparison:
        needs = tuple(f"evaluate/{evaluation.name}" for evaluation in plan.evaluation)
        page = context.lab.path / "comparisons" / f"{comparison.name}.html"
        fixed: dict[str, Any] = {} if comparison.get("output") else {"output": page}
        yield step(Unit("compare", comparison.name, needs), comparison, fixed)
    for audit in plan.audit:
        need = f"dataset/{audit.dataset}"
        runs = [
            evaluation for evaluation in plan.evaluation if need in _data_units(context, evaluation)
        ]
        after = [f"verify/{audit.dataset}", *(f"evaluate/{evaluation.name}" for evaluation in runs)]
        unit = Unit("audit", audit.dataset, (need,), tuple(after))
        yield step(unit, audit, {"dataset": audit.dataset})
    for export in plan.export:
        fixed = {
            "dataset": context.lab.layout.dataset(export.dataset),
            "output": context.lab.path / "exports" / export.name,
        }
        needs = (f"dataset/{export.dataset}",)
        unit = Unit("export", export.name, needs, (f"audit/{export.dataset}",))
        yield step(unit, export, fixed)
    for dataset in file.datasets:
        if dataset.publish is not None:
            needs = (f"dataset/{dataset.name}",)
            unit = Unit("publish", dataset.name, needs, (f"audit/{dataset.name}",))
            yield step(unit, dataset.publish)


def _dataset(
    context: Context, store: Store, dataset: DatasetPlan, repos: Sequence[str]
) -> DatasetStep:
    names = {name.lower() for name in dataset.repositories}
    chosen = tuple(repo for repo in repos if not names or repo.lower() in names)
    needs: list[str] = []
    after: tuple[str, ...] = ()
    stage = stage_of(dataset.family)
    if stage is None:
        chosen, needs = (), [*_data_units(context, dataset)]
    else:
        waits = tuple(f"{stage}/{repo}" for repo in chosen)
        needs, after = ([], waits) if dataset.leave_out else ([*waits], ())
    if required := dataset.names("require"):
        if context.file.plan.review is not None and reviews_of(dataset):
            needs.append(f"review/{_review_name(context)}")
        if VERIFIED in required:
            needs += [f"verify/{section.dataset}" for section in context.file.plan.verify]
        if any(name.startswith(NOT) for name in required):
            after += tuple(f"audit/{name}" for name in context.file.audited(dataset.name))
    return DatasetStep(
        unit=Unit("dataset", dataset.name, tuple(needs), after),
        context=context,
        files=DATASET,
        section=dataset,
        repos=chosen,
        previous=store.previous(dataset.name),
        changelog=store.changelog(dataset.name),
    )


def _data_units(context: Context, section: StageSection) -> tuple[str, ...]:
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
    return tuple(dict.fromkeys(units))


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
