"""A plan's requests to GitHub: for repositories and for their entries, all under one limit."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import orjson

from goldpan.core.errors import DamagedError, GoldpanError, MiningError, UsageError, WorkspaceError
from goldpan.core.settings.config import Settings, repository_name
from goldpan.core.storage.sealed import read_json, sealed_json
from goldpan.core.storage.workspace import make_directory, write_whole
from goldpan.core.terminal import Reporter
from goldpan.datasets.licenses import stated_license
from goldpan.miners.github.client import GitHub, connect
from goldpan.miners.mine_many import mine_many, predict_many, summary
from goldpan.plan.due import Job
from goldpan.plan.sections import MOST_SELECTED, Repositories, Select
from goldpan.plan.step import RENAMED, Context, StageFiles, Step
from goldpan.plan.unit import Cost, Outcome, UnitRecord

if TYPE_CHECKING:
    from goldpan.miners.coverage import Coverage
    from goldpan.miners.github.cost import CostEstimate
    from goldpan.miners.mine import MineResult


_PAGE = 100


@dataclass(frozen=True, slots=True)
class Selected:
    """A repository that a search found."""

    repo: str
    stars: int
    query: str


@dataclass(frozen=True, slots=True)
class Selection:
    """The repositories that a plan's searches found, and when."""

    at: str
    queries: tuple[str, ...]
    repositories: tuple[Selected, ...]


def query_of(select: Select) -> str:
    """Return a selection in the words of GitHub's search."""
    words = [f'language:"{select.language}"' if select.language else ""]
    words += [f"stars:>={select.min_stars}" if select.min_stars else ""]
    words += [f"license:{select.license}" if select.license else ""]
    words += ["" if select.archived else "archived:false"]
    return " ".join(word for word in words if word)


def read_selection(path: Path) -> Selection | None:
    """Return what was selected before; raises `WorkspaceError` for a file that is damaged."""
    try:
        stored = read_json(path)
        repositories = tuple(Selected(**repository) for repository in stored["repositories"])
        return Selection(stored["at"], tuple(stored["queries"]), repositories)
    except FileNotFoundError:
        return None
    except (DamagedError, orjson.JSONDecodeError, KeyError, TypeError):
        raise WorkspaceError(
            f"{path} is damaged", "Restore it, or search again with goldpan run --select"
        ) from None


def write_selection(path: Path, selection: Selection) -> None:
    """Keep what was selected."""
    make_directory(path.parent)
    write_whole(path, sealed_json(asdict(selection)))


def repositories_of(repositories: Repositories, selection: Selection | None) -> tuple[str, ...]:
    """Return all repositories of a plan: those that are listed, then those that were selected."""
    selected = () if selection is None else selection.repositories
    return (*repositories.listed, *(repository.repo for repository in selected))


def summary_of(selection: Selection, repositories: Repositories) -> str:
    """Return how many repositories were selected, and which searches gave fewer than asked for."""
    count = len(selection.repositories)
    noun = "repository" if count == 1 else "repositories"
    texts = [f"GitHub's search selects {count:,} {noun}"]
    for select in repositories.select:
        query = query_of(select)
        matches = sum(repository.query == query for repository in selection.repositories)
        if matches < select.limit:
            texts.append(f"{query} gives {matches:,} of {select.limit:,}")
    return "; ".join(texts)


def is_current(selection: Selection, repositories: Repositories) -> bool:
    """Tell whether a selection is that of these searches."""
    return selection.queries == _selection_lines(repositories)


def select_repositories(settings: Settings, planned: Repositories, reporter: Reporter) -> Selection:
    """Ask GitHub's search; raises `MiningError` where it does not answer whole."""

    async def ask() -> list[Selected]:
        listed = {name.lower() for name in planned.listed}
        repositories: list[Selected] = []
        async with connect(settings, reporter) as github:
            for select in planned.select:
                for repository in await _search(github, select, listed):
                    listed.add(repository.repo.lower())
                    repositories.append(repository)
        return repositories

    at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return Selection(at, _selection_lines(planned), tuple(asyncio.run(ask())))


async def _search(github: GitHub, select: Select, listed: set[str]) -> Sequence[Selected]:
    query = query_of(select)
    repositories: dict[str, Selected] = {}
    for page in range(1, MOST_SELECTED // _PAGE + 1):
        words = {"q": query, "sort": "stars", "order": "desc", "per_page": _PAGE, "page": page}
        reply = await github.get(f"/search/repositories?{urlencode(words)}")
        if reply.status != 200 or not isinstance(reply.data, dict):
            raise MiningError(
                f"GitHub's search for {query} was not answered ({reply.problem})",
                "Check the selection's language and license, and run the same command again",
            )
        if reply.data.get("incomplete_results"):
            raise MiningError(
                f"GitHub's search for {query} ran out of time and returned only some repositories",
                "Run the same command again, or narrow the selection",
            )
        items = reply.data.get("items", [])
        for item in items:
            name = _name(item)
            if name is not None and name.lower() not in listed:
                repositories.setdefault(
                    name.lower(), Selected(name, item["stargazers_count"], query)
                )
        if len(repositories) >= select.limit or len(items) < _PAGE:
            break
    # Repositories with as many stars come in any order.
    ordered = sorted(
        repositories.values(), key=lambda repository: (-repository.stars, repository.repo.lower())
    )
    return ordered[: select.limit]


def _name(item: Any) -> str | None:
    if not isinstance(item, dict) or not isinstance(item.get("stargazers_count"), int):
        return None
    try:
        return repository_name(str(item.get("full_name")))
    except UsageError:
        return None


def _selection_lines(repositories: Repositories) -> tuple[str, ...]:
    listed = ", ".join(sorted(name.lower() for name in repositories.listed))
    searches = [f"{query_of(select)} (at most {select.limit})" for select in repositories.select]
    return (*searches, f"besides {listed}" if listed else "besides none")


_DAY = timedelta(days=1)
_WITHHELD = "withheld"
MINE = StageFiles("mine", runs_locally=lambda _: True, owns=False)
"""Mining reads GitHub and stays in one place, where the limits of tokens are counted."""


class MineStep(Step):
    """Mines a repository, or what changed since, as goldpan mine does."""

    def settings(self) -> Mapping[str, Any]:
        """Return how GitHub is asked, and what license is stated."""
        lab = self.context.lab.settings
        stated = {"via": lab.via, "since": lab.since, "license": self.license}
        included = {"include": list(lab.include)} if lab.include else {}
        return {"api_url": lab.api_url, **stated, **included}

    def due(self, record: UnitRecord, update: bool) -> str:
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
        """The repository's license as the plan states it, in SPDX's spelling."""
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
    states = Counter(f"{gap.part} {gap.state}" for gap in coverage.gaps)
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
