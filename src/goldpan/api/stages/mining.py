"""Mining in a workspace: GitHub and backups in, tables, histories and pairs out."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from goldpan.core.config import repository_name
from goldpan.core.errors import UsageError
from goldpan.operations.repositories import absolute_layout, known_repositories, map_repositories

if TYPE_CHECKING:
    from goldpan.core.engine import EngineName
    from goldpan.core.errors import GoldpanError
    from goldpan.core.workspace import Workspace as Layout
    from goldpan.git.clone import CloneResult
    from goldpan.miners.coverage import Coverage
    from goldpan.miners.estimate import Estimate
    from goldpan.miners.history.revisions import History
    from goldpan.miners.mine import MineResult
    from goldpan.operations.workspace import Workspace


def mine(self: Workspace, repo: str, *, license: str | None = None) -> MineResult:
    """Fetch a repository's issues and pull requests, or what changed since the last run.

    `license` states the repository's license where GitHub or a backup do not or are wrong.
    """
    from goldpan.datasets.licenses import stated_license
    from goldpan.miners.mine import mine

    with self.reporting() as reporter:
        return mine(self.settings, repo, reporter, license=stated_license(license))


def mine_many(
    self: Workspace, *repos: str, licenses: Mapping[str, str] | None = None
) -> dict[str, MineResult | GoldpanError]:
    """Mine repositories at once under one limit, each as `mine` does; none stops the others.

    Returns by name, in the order given, what each gave or what it failed with. The setting
    `at_once` says how many are mined at once; `licenses` states licenses by repository.
    """
    from goldpan.datasets.licenses import stated_license
    from goldpan.miners.mine_many import Results, mine_many

    named = {repo: repository_name(repo) for repo in repos}
    license_of = {name.lower(): license for name, license in (licenses or {}).items()}
    stated = {name: stated_license(license_of.get(name.lower())) for name in named.values()}
    with self.reporting() as reporter, reporter.task("Repositories", len(stated)) as task:
        results = Results(reporter, task)
        mine_many(self.settings, stated, reporter, results)
    return {repo: results.by_name[name.lower()] for repo, name in named.items()}


def predict(self: Workspace, repo: str) -> Estimate:
    """Return what `mine` would cost; nothing is written."""
    from goldpan.miners.mine import predict

    with self.reporting() as reporter:
        return predict(self.settings, repo, reporter)


def predict_many(self: Workspace, *repos: str) -> dict[str, Estimate | GoldpanError]:
    """Return by name what mining each repository would cost, or why that cannot be told.

    GitHub is asked of several at once, as `mine_many` asks; nothing is written.
    """
    from goldpan.miners.mine_many import predict_many

    with self.reporting() as reporter:
        return predict_many(self.settings, repos, reporter)


def from_backup(
    self: Workspace, repo: str, source: str | Path, *, license: str | None = None
) -> Coverage:
    """Import a repository from a metadata backup: a folder, or .jsonl[.xz|.gz]."""
    from goldpan.datasets.licenses import stated_license
    from goldpan.miners.backup import mine_backup

    stated = stated_license(license)
    with self.reporting() as reporter:
        return mine_backup(self.settings, Path(source), repo, reporter, license=stated)


def clone(
    self: Workspace,
    *repos: str,
    source: str | None = None,
    network: bool | None = None,
    engine: EngineName = "local",
    address: str = "",
) -> list[tuple[CloneResult, History]]:
    """Fetch the code's history, and find the states before and after each pull request.

    `source` is a git address, a local mirror or a bundle, instead of GitHub; of several
    repositories, with ``{owner}`` and ``{name}`` in it. GitHub is then asked for what git cannot
    tell of only with `network`, or a remote source. The engine ``ray`` reads local sources on the
    cluster at `address`; whatever GitHub is asked for stays here, where the tokens are.
    """
    from goldpan.git.remote import find_remote, source_of
    from goldpan.miners.history.fetch_history import fetch_histories

    names = known_repositories(self.layout, repos, "tables")
    if source is not None and len({source_of(source, name) for name in names}) < len(names):
        raise UsageError(
            f"--source {source} holds one repository",
            "Write {owner} and {name} where their names stand, or give exactly one --repo",
        )
    histories: dict[str, tuple[CloneResult, History]] = {}
    if source is not None and (engine != "local" or address) and not network:
        host = self.settings.git_host
        sent = [
            name
            for name in names
            if network is False or find_remote(name, source_of(source, name), None, host).is_local
        ]
        shared = source if "://" in source else str(Path(source).absolute())
        clone_local = partial(_clone_there, absolute_layout(self.layout), shared)
        histories |= zip(sent, map_repositories(clone_local, sent, engine, address), strict=True)
    remaining = [name for name in names if name not in histories]
    with self.reporting() as reporter:
        brought = fetch_histories(
            self.settings, self.layout, remaining, reporter, source=source, network=network
        )
    histories |= zip(remaining, brought, strict=True)
    return [histories[name] for name in names]


def _clone_there(layout: Layout, source: str, repo: str) -> tuple[CloneResult, History]:
    """Read a local source on a machine that needs no token, with the settings of the workspace."""
    from goldpan.core.config import load_settings
    from goldpan.core.progress import Reporter
    from goldpan.git.remote import source_of
    from goldpan.miners.history.fetch_history import fetch_history

    settings = load_settings({"workspace": layout.root})
    quiet = Reporter(quiet=True)
    return fetch_history(
        settings, layout, repo, quiet, source=source_of(source, repo), network=False
    )


def status(self: Workspace, *repos: str) -> list[Coverage]:
    """Compare what GitHub announced with what is stored, and list what is missing."""
    from goldpan.miners.coverage import measure_coverage
    from goldpan.miners.tables.inputs import check_replies

    coverages = []
    for name in known_repositories(self.layout, repos, "raw"):
        coverage = measure_coverage(self.layout, name)  # tells damage from what was cut off
        check_replies(self.layout, name)
        coverages.append(coverage)
    return coverages
