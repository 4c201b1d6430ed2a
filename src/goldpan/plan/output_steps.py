"""What becomes of datasets: models are run on them, and they are published."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from goldpan.core.errors import (
    EvaluationError,
    GoldpanError,
    PublishError,
    TagTakenError,
)
from goldpan.plan.record import digest_of, digests_of, size_of
from goldpan.plan.repository_steps import Setting
from goldpan.plan.sections import EvaluationPlan, Publish
from goldpan.plan.tags import tag_of
from goldpan.plan.unit import Cost, Outcome, Step, Unit

if TYPE_CHECKING:  # these take long to import
    from goldpan.api.evaluation import Plan as Runs
    from goldpan.api.evaluation import PlannedRun
    from goldpan.operations.dataset import Dataset


_REMEDY = "remedy"
"""The fact of a run that failed: what to do about it."""


@dataclass(frozen=True, slots=True)
class EvaluateStep(Step):
    """Runs models on datasets, as goldpan evaluate run does."""

    unit: Unit
    setting: Setting
    section: EvaluationPlan

    @property
    def stays(self) -> bool:
        """Tell whether a model is behind an endpoint, which takes a key."""
        from goldpan.evaluation.models.catalogue import find_model
        from goldpan.evaluation.protocol import find_protocol, settings_for

        protocol = find_protocol(self.section.protocol)
        return any(
            find_model(name, settings_for(protocol, name, self.section.settings)).estimate
            for name in self.section.models
        )

    @property
    def gpus(self) -> float:
        """Return what the plan says that each run needs."""
        return self.section.gpus

    @property
    def parts(self) -> int:
        """Count the runs."""
        section = self.section
        return len(section.models) * len(section.seeds) * len((*section.datasets, *section.tasks))

    def settings(self) -> Mapping[str, Any]:
        """Return which models are run and how."""
        section = self.section
        return {
            "models": list(section.models),
            "seeds": list(section.seeds),
            "protocol": section.protocol,
            "tasks": list(section.tasks),
            "model": section.settings,
        }

    def inputs(self) -> Mapping[str, str]:
        """Return the digests of the datasets."""
        layout = self.setting.lab.layout
        datasets = {
            f"datasets/{name}": digest_of(layout.dataset(name) / "provenance.json")
            for name in self.section.datasets
        }
        return datasets | self.setting.task_digests(self.section.tasks)

    def run(self) -> Outcome:
        """Run them, and go on where one fails."""
        return self.join([_run(planned) for planned in self._runs()])

    def run_part(self, number: int) -> Outcome:
        """Do one run."""
        section = self.section
        names = (*section.datasets, *section.tasks)
        name, model, seed = list(product(names, section.models, section.seeds))[number]
        alone = {"datasets": (), "tasks": (), "models": (model,), "seeds": (seed,)}
        kind = "datasets" if name in section.datasets else "tasks"
        step = replace(self, section=section.model_copy(update={**alone, kind: (name,)}))
        (outcome,) = map(_run, step._runs())
        return outcome

    def join(self, parts: Sequence[Outcome]) -> Outcome:
        """Return what all runs gave; raises `EvaluationError` where none finished."""
        outputs = [path for part in parts for path in part.made]
        lacks = [lack for part in parts for lack in part.lacks]
        if lacks and not outputs:
            raise EvaluationError(f"No run finished: {lacks[0]}", parts[0].facts[_REMEDY])
        return Outcome(
            f"{len(outputs):,} runs", tuple(outputs), lacks=tuple(lacks), again=bool(lacks)
        )

    def price(self) -> Cost:
        """Add up what models behind endpoints would cost, where the datasets are built."""
        try:
            estimates = [planned.estimate() for planned in self._runs()]
        except GoldpanError:
            return Cost(note="model calls and money, as the datasets are not built yet")
        remote = [estimate for estimate in estimates if estimate is not None]
        if not remote:
            return Cost()
        costs = [estimate.cost for estimate in remote if estimate.cost is not None]
        money = sum(costs) if len(costs) == len(remote) else None
        return Cost(money=money, calls=sum(estimate.requests for estimate in remote))

    def _runs(self) -> Runs:
        section, lab = self.section, self.setting.lab
        data: list[str | Dataset] = [lab.dataset(name) for name in section.datasets]
        return lab.plan(
            [*data, *section.tasks],
            model=section.models,
            seeds=section.seeds,
            settings=section.settings,
            protocol=section.protocol,
        )


def _run(planned: PlannedRun) -> Outcome:
    """Do a run, or return what it lacks."""
    try:
        return Outcome("", (planned.run().directory / "result.json",))
    except EvaluationError as error:
        name = f"{planned.task} by {planned.model.name}, seed {planned.seed}"
        return Outcome("", lacks=(f"{name}: {error.problem}",), facts={_REMEDY: error.remedy})


@dataclass(frozen=True, slots=True)
class PublishStep(Step):
    """Publishes a dataset, as goldpan publish does."""

    unit: Unit
    setting: Setting
    section: Publish

    @property
    def stays(self) -> bool:
        """Tell that it needs a token of the Hub."""
        return True

    def settings(self) -> Mapping[str, Any]:
        """Return where it goes, and under which conditions."""
        from goldpan.datasets.hub_client import endpoint

        licenses = self.section.allow_license
        return {
            "hub": endpoint(),
            "repo_id": self.section.repo_id,
            "tag": self.section.tag,
            "private": self.section.private,
            "allow_license": None if licenses is None else list(licenses),
        }

    def inputs(self) -> Mapping[str, str]:
        """Return the digests of the dataset's files."""
        paths = [path for path in self._directory.rglob("*") if path.is_file()]
        return digests_of(self._directory, paths)

    def run(self) -> Outcome:
        """Publish it."""
        section = self.section
        tag = None if section.tag is None else tag_of(self._directory, section.tag)
        try:
            result = self.setting.lab.dataset(self._directory).publish(
                repo_id=section.repo_id,
                private=section.private,
                tag=tag,
                overwrite=section.overwrite,
                allow_license=section.allow_license or (),
            )
        except TagTakenError as error:
            remedy = "Write {content} into the plan's tag, which differs with the rows"
            raise PublishError(error.problem, f"{error.remedy}. {remedy}") from None
        what = f"{len(result.changes):,} files sent" if result.changes else "the same content"
        tagged = f", tag {result.tag}" if result.tag else ""
        return Outcome(f"{result.url}: {what}{tagged}", facts={"commit": result.commit or ""})

    def price(self) -> Cost:
        """Return how many bytes are there to be sent."""
        if not self._directory.is_dir():
            return Cost(note="what is sent, as the dataset is not built yet")
        return Cost(bytes=size_of([self._directory]))

    @property
    def _directory(self) -> Path:
        return self.setting.lab.layout.dataset(self.unit.subject)
