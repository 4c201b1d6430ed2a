"""Makes the steps of a plan, in the order in which they are run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from goldpan.core.engine import EngineName
from goldpan.core.own_tasks import tasks_directory
from goldpan.filters.profile import load_profile
from goldpan.operations.workspace import Workspace
from goldpan.plan.dataset_steps import DatasetStep, DuplicatesStep, ReviewStep
from goldpan.plan.family_sections import FAMILIES
from goldpan.plan.family_steps import CodeCommentsStep, CrossCodeStep, IssueTypeStep
from goldpan.plan.file import PlanFile, check_plan
from goldpan.plan.mining import MineStep
from goldpan.plan.output_steps import EvaluateStep, PublishStep
from goldpan.plan.record import Record
from goldpan.plan.repository_steps import (
    CloneStep,
    FilterStep,
    PairStep,
    Setting,
    told_profiles,
)
from goldpan.plan.sections import DatasetPlan, Review
from goldpan.plan.unit import Step, Unit


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
    workspace: Path | None = None,
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
    lab = Workspace(
        workspace or named,
        progress=progress,
        api_url=api_url or plan.mine.api_url,
        via=plan.mine.via,
        since=None if plan.mine.since is None else str(plan.mine.since),
        concurrency=plan.mine.concurrency,
        at_once=plan.mine.at_once,
        workers=workers,
    )
    check_plan(file, tasks_directory(lab.path))
    return lab


def store_of(file: PlanFile, lab: Workspace) -> Store:
    """Return where a plan keeps what it knows."""
    return Store(lab.path / "plans" / file.name)


def make_setting(
    file: PlanFile,
    lab: Workspace,
    record_of: Callable[[str], Record | None],
    engine: EngineName = "local",
) -> Setting:
    """Return what all steps work with; on a machine of a cluster with the engine of that."""
    profiles = {name: load_profile(name) for name in file.profiles}
    return Setting(file, lab, record_of, profiles, told_profiles(profiles.values()), engine)


def make_steps(setting: Setting, store: Store, repos: Sequence[str]) -> list[Step]:
    """Return all steps; one stage of all repositories comes before the next."""
    plan, cloned = setting.file.plan, setting.file.plan.clone.enabled
    steps: list[Step] = [MineStep(Unit("mine", repo), setting) for repo in repos]
    steps += [PairStep(Unit("pair", repo, (f"mine/{repo}",)), setting) for repo in repos]
    if cloned:
        steps += [CloneStep(Unit("clone", repo, (f"pair/{repo}",)), setting) for repo in repos]
    before = "clone" if cloned else "pair"
    duplicates = tuple(_duplicates(setting, repos))
    steps += duplicates
    common = tuple(step.unit.name for step in duplicates)  # without which they find their own
    steps += [
        FilterStep(Unit("filter", repo, (f"{before}/{repo}",), common), setting) for repo in repos
    ]
    filtered = tuple(f"filter/{repo}" for repo in repos)
    if plan.review is not None:
        unit = Unit("review", _review_name(setting, plan.review), filtered)
        steps.append(ReviewStep(unit, setting, plan.review, tuple(repos)))
    steps += _datasets(setting, store, repos)
    for evaluation in plan.evaluation:
        needs = tuple(f"dataset/{name}" for name in evaluation.datasets)
        steps.append(EvaluateStep(Unit("evaluate", evaluation.name, needs), setting, evaluation))
    for dataset in plan.dataset:
        if dataset.publish is not None:
            unit = Unit("publish", dataset.name, (f"dataset/{dataset.name}",))
            steps.append(PublishStep(unit, setting, dataset.publish))
    return steps


def _duplicates(setting: Setting, repos: Sequence[str]) -> Iterator[Step]:
    """Yield a step for each profile whose settings of near duplicates are its own."""
    after = tuple(f"mine/{repo}" for repo in repos)
    planned = []
    for name in setting.file.profiles:
        profile = setting.profiles[name]
        if (settings := profile.settings["near-duplicates"]) not in planned:
            planned.append(settings)
            yield DuplicatesStep(Unit("duplicates", profile.name, after=after), setting, name)


def _datasets(setting: Setting, store: Store, repos: Sequence[str]) -> Iterator[Step]:
    review = setting.file.plan.review
    datasets = setting.file.plan.dataset
    for dataset in sorted(datasets, key=lambda dataset: dataset.crosscode is not None):
        chosen = tuple(_chosen(dataset, repos))
        if dataset.family in FAMILIES:
            yield _family_step(setting, dataset, chosen)
            continue
        needs = [] if dataset.leave_out else [f"filter/{repo}" for repo in chosen]
        if review is not None and dataset.require:
            needs.append(f"review/{_review_name(setting, review)}")
        after = tuple(f"filter/{repo}" for repo in chosen) if dataset.leave_out else ()
        unit = Unit("dataset", dataset.name, tuple(needs), after)
        previous, changes = store.previous(dataset.name), store.changelog(dataset.name)
        yield DatasetStep(unit, setting, dataset, chosen, previous, changes)


def _family_step(setting: Setting, dataset: DatasetPlan, repos: tuple[str, ...]) -> Step:
    """Return the step of a dataset that is not built of issues and pairs."""
    if dataset.crosscode is not None:
        needs = tuple(_datasets_of_tasks(setting, dataset.crosscode.tasks))
        return CrossCodeStep(Unit("dataset", dataset.name, needs), setting, dataset)
    stage = {"issue-type": "mine", "code-comments": "clone"}.get(dataset.family)
    waits = () if stage is None else tuple(f"{stage}/{repo}" for repo in repos)
    unit = Unit("dataset", dataset.name, *(((), waits) if dataset.leave_out else (waits, ())))
    if dataset.family == "issue-type":
        return IssueTypeStep(unit, setting, dataset, repos)
    return CodeCommentsStep(unit, setting, dataset, repos)


def _datasets_of_tasks(setting: Setting, names: Sequence[str]) -> Iterator[str]:
    """Yield the units that build what holds the rows of tasks, of those of the plan."""
    tasks = [setting.task(name) for name in names]
    built = {task.source.builder for task in tasks if task.source.access == "built"}
    for dataset in setting.file.plan.dataset:
        if dataset.crosscode is None and (dataset.name in names or dataset.family in built):
            yield f"dataset/{dataset.name}"


def _review_name(setting: Setting, review: Review) -> str:
    return setting.profile(review.profile).name


def _chosen(dataset: DatasetPlan, repos: Sequence[str]) -> list[str]:
    names = {name.lower() for name in dataset.repositories}
    return [repo for repo in repos if not names or repo.lower() in names]
