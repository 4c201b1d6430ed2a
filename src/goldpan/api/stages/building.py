"""Datasets of a workspace: built, found and published."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from goldpan.operations.repositories import known_repositories

if TYPE_CHECKING:
    from goldpan.api.dataset import Dataset
    from goldpan.core.engine import EngineName
    from goldpan.datasets.hub import PublishResult
    from goldpan.operations.workspace import Workspace


def build(
    self: Workspace,
    family: str,
    *repos: str,
    profile: str | Path = "default",
    rules: str = "default",
    split: str = "none",
    seed: int = 0,
    require: Sequence[str] = (),
    answer: Literal["best", "first", "all", "reviewed"] | None = None,
    gold: Sequence[str | Path] = (),
    output: str | Path | None = None,
    since: str | Path | Dataset | None = None,
    verified: bool = False,
    limit: int | None = None,
    engine: EngineName = "local",
    address: str = "",
) -> Dataset:
    """Build a dataset from what a profile keeps: ``qa``, ``fault-localization``, ``code-edit``.

    `require` names reviews that must keep every row; `answer` says which replies of ``qa``
    are answers where the profile's choice shall not count (``reviewed``: the one that the
    required review question-answer names); card and provenance tell how the rows fare against
    each `gold` set. The dataset is written to `output`, by default in the workspace; its `built`
    says what became of what was considered. Its card tells what changed since the older version
    `since`, which it may replace. Of ``issue-resolution``, `verified` takes only fixes that
    `verify` proved. Of more rows than `limit`, so many are drawn by `seed`. The
    engine ``ray`` works on a repository a processor of the cluster at `address`
    (docs/clusters.md).
    """
    from goldpan.api.dataset import Dataset, load
    from goldpan.builders.build import build
    from goldpan.builders.recipes import find_recipe
    from goldpan.datasets.gold import read_gold
    from goldpan.datasets.splits import SplitPlan
    from goldpan.filters.stored import find_profile

    self.settings.trust.require("plugins")
    recipe, plan = find_recipe(family), SplitPlan.parse(split, seed)
    older = load(since) if isinstance(since, (str, Path)) else since
    names = known_repositories(self.layout, repos, "tables")
    layout = self.layout.by_rules(rules)
    chosen = find_profile(layout, names, str(profile))
    directory = Path(output) if output else self.layout.dataset(family)
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
            processes=self.settings.processes,
            engine=engine,
            address=address,
        )
    return Dataset(directory, built=built, workspace=self)


def datasets(self: Workspace) -> list[Dataset]:
    """Return the finished datasets of the workspace, sorted by name."""
    from goldpan.api.dataset import Dataset
    from goldpan.datasets.provenance import finished_datasets

    return [Dataset(path, workspace=self) for path in finished_datasets(self.layout)]


def dataset(self: Workspace, name: str) -> Dataset:
    """Return a finished dataset by the name of its directory, such as ``qa``."""
    from goldpan.api.dataset import Dataset

    return Dataset(self.layout.dataset(name), workspace=self)


def publish(
    self: Workspace,
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
        dataset = self.layout.dataset(dataset)
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
