"""Runs models on datasets and tasks; each run is a part that a cluster may do by itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from goldpan.core.errors import EvaluationError, GoldpanError
from goldpan.plan.sections import EvaluationPlan
from goldpan.plan.step import OperationStep
from goldpan.plan.unit import Cost, Outcome

_REMEDY = "remedy"
"""The fact of a run that failed: what to do about it."""
_RUN = ("dataset", "task", "model", "seed")
"""The parameters of which a run has one value."""


@dataclass(frozen=True, kw_only=True)
class EvaluateStep(OperationStep):
    """Runs models, as goldpan evaluate run does, and goes on where one fails."""

    section: EvaluationPlan

    @property
    def stays(self) -> bool:
        """Tell whether a model is behind an endpoint, which takes a key."""
        from goldpan.evaluation.model import find_model
        from goldpan.evaluation.protocol import find_protocol, settings_for

        protocol = find_protocol(self.section.get("protocol"))
        settings = self.section.get("settings")
        return any(
            find_model(name, settings_for(protocol, name, settings)).estimate
            for name in self.section.get("model")
        )

    @property
    def gpus(self) -> float:
        """Return what the plan says that each run needs."""
        return self.section.gpus

    @property
    def parts(self) -> int:
        """Count the runs."""
        return len(self._runs())

    def inputs(self) -> Mapping[str, str]:
        """Return the digests of the datasets."""
        return self.context.data_digests(self.section)

    def run(self) -> Outcome:
        """Run them."""
        return self.join([self.run_part(number) for number in range(self.parts)])

    def run_part(self, number: int) -> Outcome:
        """Do one run, or return what it lacks."""
        values = self._runs()[number]
        try:
            (result,) = self.call({**self._common(), **values})
        except EvaluationError as error:
            name = values.get("dataset") or values["task"]
            seed = f", seed {values['seed']}" if "seed" in values else ""
            lack = f"{name} by {values['model']}{seed}: {error}"
            return Outcome("", lacks=(lack,), facts={_REMEDY: error.remedy})
        return Outcome("", (result.directory / "result.json",), results=(result,))

    def join(self, parts: Sequence[Outcome]) -> Outcome:
        """Return the outcome of all runs; raises `EvaluationError` where none finished."""
        outputs = [path for part in parts for path in part.made]
        lacks = [lack for part in parts for lack in part.lacks]
        if lacks and not outputs:
            raise EvaluationError(f"No run finished: {lacks[0]}", parts[0].facts[_REMEDY])
        return Outcome(
            f"{len(outputs):,} runs",
            tuple(outputs),
            lacks=tuple(lacks),
            again=bool(lacks),
            results=tuple(result for part in parts for result in part.results),
        )

    def price(self) -> Cost:
        """Add up what models behind endpoints would cost, where the datasets are built."""
        try:
            planned = self.call({**self.values(), "dry_run": True})
        except GoldpanError:
            return Cost(note="model calls and money, as the datasets are not built yet")
        remote = [run.estimate for run in planned if run.estimate is not None]
        if not remote:
            return Cost()
        costs = [estimate.cost for estimate in remote if estimate.cost is not None]
        money = sum(costs) if len(costs) == len(remote) else None
        return Cost(money=money, calls=sum(estimate.requests for estimate in remote))

    def _common(self) -> dict[str, Any]:
        return {name: value for name, value in self.values().items() if name not in _RUN}

    def _runs(self) -> list[dict[str, Any]]:
        """Return what each run has of its own; without a seed it is the protocol's."""
        section = self.section
        data = [("dataset", name) for name in section.get("dataset")]
        data += [("task", name) for name in section.get("task")]
        seeds = [{"seed": seed} for seed in section.get("seed")] or [{}]
        return [
            {kind: name, "model": model, **seed}
            for (kind, name), model, seed in product(data, section.get("model"), seeds)
        ]
