"""A workspace and its stages, as Python and the commands use them.

Each stage is imported when it is called, so that a program pays only for what it uses.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from goldpan.api.repositories import known_repositories
from goldpan.core.config import Settings, Via, load_settings, repository_name
from goldpan.core.errors import UsageError
from goldpan.core.own_tasks import use_tasks
from goldpan.core.progress import Reporter
from goldpan.core.remote import mirror_at
from goldpan.core.workspace import Workspace as Layout

if TYPE_CHECKING:
    import pyarrow as pa

    from goldpan.annotation.review.planner import ReviewEstimate
    from goldpan.annotation.review.reviewer import ReviewResult
    from goldpan.annotation.review.settings import ReviewSettings
    from goldpan.api.dataset import Dataset
    from goldpan.api.evaluation import Evaluation, Plan
    from goldpan.check import CheckResult
    from goldpan.core.engine import EngineName
    from goldpan.core.errors import GoldpanError
    from goldpan.core.remote.mirror import Pruned
    from goldpan.datasets.hub import PublishResult
    from goldpan.evaluation.label_errors import LabelErrors
    from goldpan.evaluation.resolved import ResolvedResult
    from goldpan.execution.isolation import IsolationName
    from goldpan.execution.verify_all import Verification
    from goldpan.explain import Explanation
    from goldpan.filters.basis import Basis
    from goldpan.filters.funnel import Funnel
    from goldpan.filters.pipeline import FilterResult
    from goldpan.git.clone import CloneResult
    from goldpan.miners.coverage import Coverage
    from goldpan.miners.estimate import Estimate
    from goldpan.miners.history.revisions import History
    from goldpan.miners.mine import MineResult
    from goldpan.miners.pairing import PairResult
    from goldpan.miners.repair import Repair
    from goldpan.report.page import ReportFacts
    from goldpan.trace import Trace


class Workspace:
    """A directory that holds what Goldpan mined and made, with a method for each stage.

    Methods take repositories as ``OWNER/NAME``; without one they work on all that are there.
    """

    def __init__(
        self,
        path: str | Path | None = None,
        *,
        progress: bool = False,
        api_url: str | None = None,
        via: Via | None = None,
        since: str | datetime | None = None,
        concurrency: int | None = None,
        at_once: int | None = None,
        patience: float | str | None = None,
        workers: int | None = None,
        tasks: str | Path | None = None,
    ) -> None:
        """Open the workspace at `path`, by default ``goldpan-workspace``.

        At an address, ``s3://BUCKET/NAME``, it is fetched to this machine (docs/workspaces.md).

        Settings come from ``goldpan.toml`` in the workspace, then from the environment, then from
        these arguments. With `progress`, progress is shown on standard error. `tasks` is a
        directory of tasks of your own, in place of ``tasks`` in the workspace.
        """
        self.settings: Settings = load_settings(
            {
                "workspace": path,
                "api_url": api_url,
                "via": via,
                "since": since,
                "concurrency": concurrency,
                "at_once": at_once,
                "patience": patience,
                "workers": workers,
            }
        )
        self._layout = Layout(self.settings.workspace)
        use_tasks(self.path, None if tasks is None else Path(tasks))
        self._progress = progress

    def __repr__(self) -> str:
        return f"Workspace({str(self.path)!r})"

    @property
    def path(self) -> Path:
        """The directory."""
        return self._layout.root

    @property
    def layout(self) -> Layout:
        """The paths of the workspace's files."""
        return self._layout

    def push(self) -> int:
        """Store what changed in a workspace at an address; return the number of files.

        Stages under a lock, such as `mine`, do so when they end, and a ``with`` block at its end.
        """
        mirror = mirror_at(self.path.absolute())
        return 0 if mirror is None else mirror.push()

    def prune(self, older_than: float = 7.0) -> Pruned:
        """Delete from the store of an address what no file is made of, and is so many days old.

        Raises `UsageError` for a directory, of which nothing is kept twice.
        """
        mirror = mirror_at(self.path.absolute())
        if mirror is None:
            raise UsageError(
                f"The workspace {self.path} lies in no store", "Give --workspace s3://BUCKET/NAME"
            )
        return mirror.prune(timedelta(days=older_than))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.push()

    def repositories(self) -> list[str]:
        """Return the repositories that have tables, sorted."""
        return self._layout.repositories("tables")

    def reporting(self) -> Reporter:
        """Return what tells how far the work is, silent without `progress`; use it by `with`."""
        return Reporter(quiet=not self._progress)

    def mine(self, repo: str, *, license: str | None = None) -> MineResult:
        """Fetch a repository's issues and pull requests, or what changed since the last run.

        `license` states the repository's licence where GitHub or a backup do not or are wrong.
        """
        from goldpan.datasets.licenses import stated_license
        from goldpan.miners.mine import mine

        with self.reporting() as reporter:
            return mine(self.settings, repo, reporter, license=stated_license(license))

    def mine_many(
        self, *repos: str, licenses: Mapping[str, str] | None = None
    ) -> dict[str, MineResult | GoldpanError]:
        """Mine repositories at once under one limit, each as `mine` does; none stops the others.

        Returns by name, in the order given, what each gave or what it failed with. The setting
        `at_once` says how many are mined at once; `licenses` states licences by repository.
        """
        from goldpan.datasets.licenses import stated_license
        from goldpan.miners.mine_many import Results, mine_many

        named = {repo: repository_name(repo) for repo in repos}
        known = {name.lower(): license for name, license in (licenses or {}).items()}
        stated = {name: stated_license(known.get(name.lower())) for name in named.values()}
        with self.reporting() as reporter, reporter.task("Repositories", len(stated)) as task:
            results = Results(reporter, task)
            mine_many(self.settings, stated, reporter, results)
        return {repo: results.by_name[name.lower()] for repo, name in named.items()}

    def predict(self, repo: str) -> Estimate:
        """Return what `mine` would cost; nothing is written."""
        from goldpan.miners.mine import predict

        with self.reporting() as reporter:
            return predict(self.settings, repo, reporter)

    def from_backup(self, repo: str, source: str | Path, *, license: str | None = None) -> Coverage:
        """Import a repository from a metadata backup: a folder, or .jsonl[.xz|.gz]."""
        from goldpan.datasets.licenses import stated_license
        from goldpan.miners.backup import mine_backup

        stated = stated_license(license)
        with self.reporting() as reporter:
            return mine_backup(self.settings, Path(source), repo, reporter, license=stated)

    def normalize(
        self,
        *repos: str,
        license: str | None = None,
        engine: EngineName = "local",
        address: str = "",
    ) -> dict[str, dict[str, int]]:
        """Rebuild the tables from the raw replies; return each table's rows by repository.

        `license` states the licence of one repository; ``mined`` takes that back. The engine
        ``ray`` does a repository a processor of the cluster at `address` (docs/clusters.md).
        """
        from goldpan.datasets.licenses import stated_license
        from goldpan.miners.tables.again import normalize_all

        names = known_repositories(self._layout, repos, "raw")
        stated = stated_license(license)
        if stated is not None and len(names) != 1:
            raise UsageError("--license is that of one repository", "Give exactly one --repo")
        with self.reporting() as reporter:
            return normalize_all(
                self._layout, names, reporter, self.settings.workers, stated, engine, address
            )

    def clone(
        self, *repos: str, source: str | None = None, network: bool | None = None
    ) -> list[tuple[CloneResult, History]]:
        """Fetch the code's history, and find the states before and after each pull request.

        `source` is a git address, a local mirror or a bundle of one repository, instead of GitHub.
        GitHub is then asked for what git cannot tell of only with `network`, or a remote source.
        """
        from goldpan.miners.history.bring import bring_history

        names = known_repositories(self._layout, repos, "tables")
        if source is not None and len(names) != 1:
            raise UsageError("--source holds one repository", "Give exactly one --repo")
        with self.reporting() as reporter:
            return [
                bring_history(
                    self.settings, self._layout, name, reporter, source=source, network=network
                )
                for name in names
            ]

    def pair(self, *repos: str, rules: str = "default") -> list[PairResult]:
        """Find the pull requests that fix issues, with the evidence for each pair.

        Pairs by other rules stay beside these. The methods below take those by `rules`, by default
        the newest, and `basis` tells which these are.
        """
        from goldpan.miners.pairing import find_rules, pair

        chosen = find_rules(rules)
        names = known_repositories(self._layout, repos, "tables")
        return [pair(self._layout, name, chosen) for name in names]

    def basis(
        self, *repos: str, profile: str | Path | None = None, rules: str | None = None
    ) -> list[Basis]:
        """Return which rules and which profile stand behind what the methods below take."""
        from goldpan.filters.basis import find_basis
        from goldpan.filters.profile import load_profile

        names = known_repositories(self._layout, repos, "tables")
        chosen = None if profile is None else load_profile(str(profile)).name
        return find_basis(self._by(rules), names, chosen)

    def near_duplicates(self, profile: str | Path = "default") -> pa.Table:
        """Find the near duplicates among all issues of the workspace, as `filter` uses them.

        A row each issue that has one (docs/filtering.md). They are found anew when an issue
        changed.
        """
        from goldpan.filters.clusters import workspace_duplicates
        from goldpan.filters.profile import load_profile

        settings = load_profile(str(profile)).settings["near-duplicates"]
        with self.reporting() as reporter:
            return workspace_duplicates(
                self._existing(), settings, reporter, workers=self.settings.processes
            )

    def filter(
        self, *repos: str, profile: str | Path = "default", rules: str | None = None
    ) -> list[FilterResult]:
        """Judge every issue and fix pair by every criterion; each verdict has a reason.

        `profile` is ``default``, ``faun-eval``, or the path of a ``.toml`` of your own.
        """
        from goldpan.filters.pipeline import run_filters
        from goldpan.filters.profile import load_profile

        chosen = load_profile(str(profile))
        names = known_repositories(self._layout, repos, "tables")
        with self.reporting() as reporter:
            workers = self.settings.processes
            return run_filters(self._by(rules), names, chosen, reporter, workers=workers)

    def rejects(
        self,
        output: str | Path,
        *repos: str,
        profile: str | Path = "default",
        rules: str | None = None,
    ) -> int:
        """Write what a profile drops as .parquet, .jsonl or .csv; return the number of subjects."""
        from goldpan.filters.profile import load_profile
        from goldpan.filters.rejects import write_rejects

        names = known_repositories(self._layout, repos, "tables")
        return write_rejects(self._by(rules), names, load_profile(str(profile)).name, Path(output))

    def funnel(
        self, *repos: str, profile: str | Path = "default", rules: str | None = None
    ) -> tuple[Funnel, Funnel]:
        """Count the issues and the fix pairs that each criterion drops."""
        from goldpan.filters.funnel import read_funnels
        from goldpan.filters.profile import load_profile

        chosen = load_profile(str(profile))
        names = known_repositories(self._layout, repos, "tables")
        return read_funnels(self._by(rules), names, chosen)

    def why(self, subject: str, rules: str | None = None) -> Explanation:
        """Explain one entry, ``OWNER/NAME#NUMBER``: references, pairs, verdicts, raw replies."""
        from goldpan.explain import explain

        return explain(self._by(rules), subject)

    def trace(self, example_id: str, datasets: Sequence[str | Path] = ()) -> Trace:
        """Trace an example, such as ``qa:OWNER/NAME#NUMBER``, to replies and git objects."""
        from goldpan.trace import trace

        return trace(self._layout, example_id, [Path(dataset) for dataset in datasets])

    def review(
        self,
        *repos: str,
        models: Sequence[str] = (),
        profile: str | Path = "default",
        rules: str | None = None,
        settings: str | Path | None = None,
        **options: Any,
    ) -> ReviewResult:
        """Ask language models to judge what a profile keeps; no request is sent twice.

        `options` are settings of ``docs/review.md``, such as `base_url` and `max_cost`; a file
        with all of them is `settings`.
        """
        from goldpan.annotation.review.run import run_review
        from goldpan.filters.profile import load_profile

        wanted = _review_settings(models, settings, options)
        chosen = load_profile(str(profile))
        names = known_repositories(self._layout, repos, "tables")
        with self.reporting() as reporter:
            return run_review(self._by(rules), names, chosen, wanted, reporter)

    def predict_review(
        self,
        *repos: str,
        models: Sequence[str] = (),
        profile: str | Path = "default",
        rules: str | None = None,
        settings: str | Path | None = None,
        **options: Any,
    ) -> ReviewEstimate:
        """Return what `review` would send and cost; nothing is sent and nothing is written."""
        from goldpan.annotation.review.run import estimate_review
        from goldpan.filters.profile import load_profile

        wanted = _review_settings(models, settings, options)
        chosen = load_profile(str(profile))
        names = known_repositories(self._layout, repos, "tables")
        with self.reporting() as reporter:
            return estimate_review(self._by(rules), names, chosen, wanted, reporter)

    def build(
        self,
        family: str,
        *repos: str,
        profile: str | Path = "default",
        rules: str | None = None,
        split: str = "none",
        seed: int = 0,
        require: Sequence[str] = (),
        answer: Literal["best", "first", "all"] | None = None,
        gold: Sequence[str | Path] = (),
        output: str | Path | None = None,
        since: str | Path | Dataset | None = None,
        verified: bool = False,
        limit: int | None = None,
    ) -> Dataset:
        """Build a dataset from what a profile keeps: ``qa``, ``fault-localization``, ``code-edit``.

        `require` names reviews that must keep every row; `answer` says which replies of ``qa``
        are answers where the profile's choice shall not count; card and provenance tell how the
        rows fare against each `gold` set. The dataset is written to `output`, by
        default in the workspace; its `built` says what became of what was considered. Its
        card tells what changed since the older version `since`, which it may replace. Of
        ``issue-resolution``, `verified` takes only fixes that `verify` proved. Of more rows than
        `limit`, so many are drawn by `seed`.
        """
        from goldpan.api.dataset import Dataset, load
        from goldpan.builders.build import build, find_recipe
        from goldpan.datasets.gold import read_gold
        from goldpan.datasets.splits import SplitPlan
        from goldpan.filters.profile import load_profile

        recipe, plan = find_recipe(family), SplitPlan.parse(split, seed)
        older = load(since) if isinstance(since, (str, Path)) else since
        chosen = load_profile(str(profile))
        names = known_repositories(self._layout, repos, "tables")
        directory = Path(output) if output else self._layout.dataset(family)
        layout = self._by(rules)
        with self.reporting() as reporter:
            built = build(
                layout,
                recipe,
                names,
                chosen,
                plan,
                directory,
                reporter,
                reviews=require,
                answer=answer,
                golds=[read_gold(Path(path)) for path in gold],
                since=older.path if older else None,
                verified=verified,
                limit=limit,
            )
        return Dataset(directory, built=built, workspace=self)

    def verify(
        self,
        data: str | Path | Dataset,
        *,
        isolation: IsolationName = "auto",
        image: str = "",
        recipes: Sequence[str | Path] = (),
        repeats: int = 3,
        seconds: float = 1_800,
        memory: int = 8 << 30,
        disk: int = 16 << 30,
        workers: int = 1,
        engine: EngineName = "local",
        address: str = "",
        again: bool = False,
    ) -> Verification:
        """Run the tests of a dataset's rows before and after each fix, and keep what that proves.

        `data` is a dataset of the family ``issue-resolution``; histories come from the workspace.
        Each state runs `repeats` times, a run at most `seconds` with `memory` bytes a process
        and `disk` bytes written.
        `build` with ``verified=True`` then takes the proved rows.
        """
        from goldpan.api.verification import verify
        from goldpan.execution.records import Settings

        settings = Settings(repeats, seconds, memory, disk=disk, isolation=isolation, image=image)
        layout = self._existing()
        with self.reporting() as reporter:
            return verify(
                layout, data, settings, reporter, recipes, workers, engine, address, again
            )

    def resolved(
        self,
        data: str | Path | Dataset,
        predictions: str | Path,
        *,
        isolation: IsolationName = "auto",
        image: str = "",
        recipes: Sequence[str | Path] = (),
        seconds: float = 1_800,
        memory: int = 8 << 30,
        disk: int = 16 << 30,
        workers: int = 1,
        engine: EngineName = "local",
        address: str = "",
    ) -> ResolvedResult:
        """Score a model's patches by running the tests of a dataset whose rows are verified.

        `predictions` is a file of JSON lines with ``instance_id`` and ``model_patch`` (a git diff
        or SEARCH/REPLACE blocks), or a run's ``predictions.parquet``. A row without one scores 0.
        """
        from goldpan.api.verification import resolved
        from goldpan.execution.records import Settings

        settings = Settings(1, seconds, memory, disk=disk, isolation=isolation, image=image)
        layout, file = self._existing(), Path(predictions)
        with self.reporting() as reporter:
            return resolved(
                layout, data, file, settings, reporter, recipes, workers, engine, address
            )

    def datasets(self) -> list[Dataset]:
        """Return the finished datasets of the workspace, sorted by name."""
        from goldpan.api.dataset import Dataset
        from goldpan.datasets.provenance import finished_datasets

        return [Dataset(path, workspace=self) for path in finished_datasets(self._layout)]

    def dataset(self, name: str) -> Dataset:
        """Return a finished dataset by the name of its directory, such as ``qa``."""
        from goldpan.api.dataset import Dataset

        return Dataset(self._layout.dataset(name), workspace=self)

    def publish(
        self,
        dataset: str | Path | Dataset,
        repo_id: str,
        *,
        private: bool = False,
        tag: str | None = None,
        overwrite: bool = False,
        allowed_licenses: Sequence[str] | None = None,
        dry_run: bool = False,
    ) -> PublishResult:
        """Publish a dataset, by its name here or its directory, on the Hub in one commit."""
        from goldpan.api.dataset import Dataset
        from goldpan.datasets.hub import publish

        if isinstance(dataset, str) and not Path(dataset).is_dir():
            dataset = self._layout.dataset(dataset)
        directory = dataset.path if isinstance(dataset, Dataset) else Path(dataset)
        with self.reporting() as reporter:
            return publish(
                directory,
                repo_id,
                private=private,
                tag=tag,
                overwrite=overwrite,
                dry_run=dry_run,
                reporter=reporter,
                allowed_licenses=allowed_licenses,
            )

    def evaluate(
        self,
        data: str | Dataset | Iterable[str | Dataset],
        *,
        model: str | Iterable[str] = "majority",
        seeds: Iterable[int] | None = None,
        settings: Mapping[str, Any] | None = None,
        protocol: str = "default",
        ablate: Sequence[str] = (),
        hold_out: str | None = None,
        by: Sequence[str] = (),
    ) -> Evaluation:
        """Run models on tasks or datasets, once per seed; finished runs are not repeated.

        Without `seeds` it is the protocol's, 0 in most. `settings` are those of the model, in
        place of the protocol's. `hold_out` tests on groups that are not in train, such
        as ``document`` or ``repo:each``; `by` names columns to score by, beside the project. Raises
        what the first run that fails raises; those before it are kept, so that the next call
        resumes there.
        """
        from goldpan.api.evaluation import Evaluation

        plan = self.plan(
            data,
            model=model,
            seeds=seeds,
            settings=settings,
            protocol=protocol,
            ablate=ablate,
            hold_out=hold_out,
            by=by,
        )
        return Evaluation(tuple(planned.run() for planned in plan))

    def plan(
        self,
        data: str | Dataset | Iterable[str | Dataset],
        *,
        model: str | Iterable[str] = "majority",
        seeds: Iterable[int] | None = None,
        settings: Mapping[str, Any] | None = None,
        protocol: str = "default",
        directory: str | Path | None = None,
        ablate: Sequence[str] = (),
        hold_out: str | None = None,
        by: Sequence[str] = (),
    ) -> Plan:
        """Return the runs that `evaluate` would do, to run or price one by one.

        `directory` has the rows of the tasks, if they are outside the workspace.
        """
        from goldpan.api.evaluation import make_plan

        return make_plan(
            self,
            data,
            model=model,
            seeds=seeds,
            settings=settings or {},
            protocol=protocol,
            directory=None if directory is None else Path(directory),
            ablate=ablate,
            hold_out=hold_out,
            by=by,
        )

    def label_errors(
        self,
        task: str,
        *,
        dataset: str | Path | None = None,
        folds: int = 5,
        seed: int = 0,
        output: str | Path | None = None,
    ) -> LabelErrors:
        """Rank the labels of a classification task by how likely they are wrong.

        Each row is judged by a model that has not learned from it (confident learning).
        `dataset` holds the rows, where they lie outside the workspace; the file `output` takes
        all of them, the most suspect first.
        """
        from goldpan.datasets.registry import find_task, tasks_directory
        from goldpan.datasets.row_files import check_form
        from goldpan.datasets.task_data import task_directory
        from goldpan.evaluation.label_errors import find_label_errors, write_ranked
        from goldpan.evaluation.task_input import read_task_input

        known = find_task(task, tasks_directory(self.path))
        directory = task_directory(self._layout, known) if dataset is None else Path(dataset)
        if output is not None:
            check_form(Path(output))
        data = read_task_input(directory, known).data
        suspects = find_label_errors(data, folds=folds, seed=seed)
        if output is not None:
            write_ranked(suspects, Path(output))
        return suspects

    def status(self, *repos: str) -> list[Coverage]:
        """Compare what GitHub announced with what is stored, and list what is missing."""
        from goldpan.miners.coverage import measure_coverage
        from goldpan.miners.tables.inputs import check_replies

        coverages = []
        for name in known_repositories(self._layout, repos, "raw"):
            coverage = measure_coverage(self._layout, name)  # tells damage from what was cut off
            check_replies(self._layout, name)
            coverages.append(coverage)
        return coverages

    def check(self) -> CheckResult:
        """Verify every file of the workspace against its digest."""
        from goldpan.check import check_workspace

        with self.reporting() as reporter:
            return check_workspace(self._existing(), reporter)

    def repair(self, *repos: str) -> dict[str, Repair]:
        """Set damaged raw replies aside and keep the rest, without network access.

        Without repositories, all archives of the workspace that are damaged are mended.
        """
        from goldpan.check import repair_archives
        from goldpan.miners.repair import repair

        if not repos:
            return repair_archives(self._existing())
        done = {}
        for name in repos:
            with self._layout.lock(name):
                done[name] = repair(self._layout.raw(name))
        return done

    def report(
        self,
        output: str | Path,
        *repos: str,
        profile: str | Path = "default",
        rules: str | None = None,
        datasets: Sequence[str | Path | Dataset] | None = None,
    ) -> ReportFacts:
        """Write an HTML page with the funnel, distributions, and examples with their evidence.

        By default it draws examples from all datasets that `build` wrote into the workspace.
        """
        from goldpan.api.dataset import Dataset
        from goldpan.datasets.examples import FAMILIES
        from goldpan.datasets.provenance import finished_datasets, read_provenance
        from goldpan.filters.profile import load_profile
        from goldpan.report.page import write_report

        names = known_repositories(self._layout, repos, "tables")
        if datasets is None:  # imported tasks, which tell of no repository, lie there too
            directories = finished_datasets(self._layout)
            paths = [
                path for path in directories if read_provenance(path).get("family") in FAMILIES
            ]
        else:
            paths = [
                dataset.path if isinstance(dataset, Dataset) else Path(dataset)
                for dataset in datasets
            ]
        layout = self._by(rules)
        return write_report(layout, names, load_profile(str(profile)), paths, Path(output))

    def _by(self, rules: str | None) -> Layout:
        """Return where the pairs by these rules lie, and the verdicts on them."""
        return replace(self._layout, rules=rules)

    def _existing(self) -> Layout:
        if not self.path.is_dir():
            raise UsageError(f"There is no workspace {self.path}", "Give its directory")
        return self._layout


def _review_settings(
    models: Sequence[str], settings: str | Path | None, options: Mapping[str, Any]
) -> ReviewSettings:
    from goldpan.annotation.review.settings import load_review_settings

    flags = {**options, "models": list(models) or None}
    return load_review_settings(None if settings is None else Path(settings), flags)
