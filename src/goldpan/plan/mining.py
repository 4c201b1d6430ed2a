"""The stage that asks GitHub: repositories are mined at once, under one limit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from goldpan.core.errors import GoldpanError, MiningError
from goldpan.core.terminal import Reporter
from goldpan.datasets.licenses import stated_license
from goldpan.miners.mine_many import mine_many, predict_many, summary
from goldpan.plan.due import Job
from goldpan.plan.step import RENAMED, Context, Files, Step
from goldpan.plan.unit import Cost, Outcome, Record

if TYPE_CHECKING:
    from goldpan.miners.coverage import Coverage
    from goldpan.miners.github.cost import CostEstimate
    from goldpan.miners.mine import MineResult

_DAY = timedelta(days=1)
_WITHHELD = "withheld"
MINE = Files("mine", stays=lambda _: True, owns=False)
"""What is read lies at GitHub, whose tokens' limits are counted in one place."""


class MineStep(Step):
    """Mines a repository, or what changed since, as goldpan mine does."""

    def settings(self) -> Mapping[str, Any]:
        """Return how GitHub is asked, and what license is stated."""
        lab = self.context.lab.settings
        stated = {"via": lab.via, "since": lab.since, "license": self.license}
        included = {"include": list(lab.include)} if lab.include else {}
        return {"api_url": lab.api_url, **stated, **included}

    def due(self, record: Record, update: bool) -> str:
        """Return why GitHub has to be asked for what changed."""
        refresh = self.context.file.plan.refresh
        if update:
            return "an update is asked for"
        if refresh == "always":
            return 'refresh = "always"'
        age = datetime.now(UTC) - datetime.fromisoformat(record.at)
        is_old = refresh == "daily" and age >= _DAY
        return 'refresh = "daily", and a day has passed' if is_old else ""

    def run(self) -> Outcome:
        """Mine it; raises `MiningError` where GitHub stopped answering on the way."""
        (result,) = self.context.lab.mine(self.unit.subject, license=self.license)
        return self.outcome([result])

    @property
    def license(self) -> str | None:
        """What the plan states of the repository's license, in SPDX's spelling."""
        return stated_license(self.context.file.plan.mine.licenses.get(self.unit.subject.lower()))

    def outcome(self, results: Sequence[MineResult], lines: Sequence[str] = ()) -> Outcome:
        """Return what mining gave; raises `MiningError` where GitHub stopped answering."""
        (result,) = results
        if result.failure is not None:
            raise result.failure
        coverage, lab = result.coverage, self.context.lab
        if coverage is None:
            raise MiningError(f"{self.unit.subject} was not mined", "Run the same command again")
        tables = lab.layout.tables(result.repo)
        return Outcome(
            summary(result),
            made=(tables / "entries.parquet",),
            kept=(lab.layout.raw(result.repo), tables),
            spent={"requests": result.requests, "points": result.points},
            lacks=_gaps(coverage),
            again=not coverage.finished or any(gap.state != _WITHHELD for gap in coverage.gaps),
            facts={RENAMED: result.repo},
        )


def _gaps(coverage: Coverage) -> tuple[str, ...]:
    if coverage.complete:
        return ()
    if not coverage.finished:
        return ("the run did not finish",)
    states: dict[str, int] = {}
    for gap in coverage.gaps:
        states[f"{gap.part} {gap.state}"] = states.get(f"{gap.part} {gap.state}", 0) + 1
    return tuple(f"{count:,} {what}" for what, count in sorted(states.items()))


def price_together(steps: Sequence[Step], context: Context, reporter: Reporter) -> dict[str, Cost]:
    """Ask GitHub what there is of all repositories, and predict what mining each takes, by unit."""
    names = {step.unit.name: step.unit.subject for step in steps if isinstance(step, MineStep)}
    if not names:
        return {}
    try:
        predicted = predict_many(context.lab.settings, list(names.values()), reporter)
    except GoldpanError as error:
        return dict.fromkeys(names, Cost(note=error.problem))
    return {unit: _cost(predicted[repo]) for unit, repo in names.items()}


def _cost(predicted: CostEstimate | GoldpanError) -> Cost:
    if isinstance(predicted, GoldpanError):
        return Cost(note=predicted.problem)
    return Cost(requests=predicted.requests, points=predicted.points, seconds=predicted.seconds)


def mine_together(jobs: Sequence[Job], context: Context, reporter: Reporter) -> None:
    """Mine repositories at once, each of which ends or fails for itself."""
    by_repo = {job.step.unit.subject: job for job in jobs}
    licenses = {
        repo: job.step.license for repo, job in by_repo.items() if isinstance(job.step, MineStep)
    }
    mine_many(context.lab.settings, licenses, reporter, _Jobs(by_repo))


@dataclass(frozen=True, slots=True)
class _Jobs:
    """Has jobs begin and end as their repositories do."""

    by_repo: Mapping[str, Job]

    def on_begin(self, repo: str) -> None:
        """Begin a repository's job."""
        self.by_repo[repo].begin()

    def on_end(self, repo: str, result: MineResult | Exception) -> None:
        """End a repository's job."""
        job = self.by_repo[repo]
        assert isinstance(job.step, MineStep)
        if isinstance(result, Exception):
            job.fail(result)
        elif result.failure is not None:
            job.fail(result.failure)
        else:
            job.end(job.step.outcome([result]))
