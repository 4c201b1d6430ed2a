"""Mining: GitHub, backups and GH Archive in, tables, histories and pairs out."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import cyclopts
from cyclopts import Parameter

from goldpan.core.errors import GoldpanError, UsageError, cause_of, refuse_empty
from goldpan.core.result import Results
from goldpan.core.settings.config import Included, Via, repository_name
from goldpan.core.values import LOCAL, Count, Execution, Positive
from goldpan.workspace.checking import checked_methods
from goldpan.workspace.opening import Group, OpenWorkspace, known_repositories
from goldpan.workspace.options import Switch

if TYPE_CHECKING:
    from goldpan.core.storage.workspace import WorkspaceLayout
    from goldpan.miners.gharchive.mine import ArchiveResult
    from goldpan.miners.github.cost import CostEstimate
    from goldpan.miners.history.revisions import FetchedHistory
    from goldpan.miners.mine import MineResult
    from goldpan.miners.pairing import PairResult
    from goldpan.miners.tables.normalize import TableCounts


@Parameter(name="*", group=cyclopts.Group("Settings for this run (goldpan.toml)", sort_key=2))
@dataclass(frozen=True, slots=True)
class Asking:
    """Settings for this run (goldpan.toml).

    Args:
        api_url: GitHub Enterprise Server: https://HOST/api/v3.
        via: Which API to mine through; auto is GraphQL with a token and REST without.
        since: Only entries updated since this date, such as 2024-08-01.
        include: What to mine beside issues and pull requests.
        concurrency: How many requests to send at once. (default: 4)
        at_once: How many repositories to mine at once; they share the rate limit. (default: 8)
        patience: How long to wait while GitHub is down, such as 30m. (default: 1h)
    """

    api_url: Annotated[str | None, Parameter(metavar="URL")] = None
    via: Via | None = None
    since: Annotated[str | None, Parameter(metavar="DATE")] = None
    include: Included | Sequence[Included] = ()
    concurrency: Positive | None = None
    at_once: Count | None = None
    patience: Annotated[str | float | None, Parameter(metavar="TIME")] = None


_AS_SET = Asking()


@checked_methods
class Mine(Group):
    """Mine repositories, or the events of all public ones from GH Archive."""

    def __call__(
        self,
        *repos: str,
        repo_file: Path | str | None = None,
        from_backup: Path | str | None = None,
        license: str | None = None,
        dry_run: bool = False,
        asking: Asking = _AS_SET,
    ) -> Results[MineResult]:
        """Mine the issues and pull requests of repositories, and say what is missing.

        The token comes from GITHUB_TOKEN or GH_TOKEN (several separated by commas are used as a
        pool) or from `gh auth token`. Run the same command again to resume after a stop, or to
        fetch what changed since. Exits with 3 when something is missing. A repository that fails
        stops no other: its result says why.

        Example: goldpan mine --repo numpy/numpy

        Args:
            repos: A repository.
            repo_file: A file with one OWNER/NAME per line; # starts a comment.
            from_backup: Read a metadata backup instead: a folder, or .jsonl[.gz|.xz|.zst].
            license (SPDX): The license of the one repository where GitHub is wrong or silent, such
                as MIT.
            dry_run: Only predict the cost.
        """
        from goldpan.datasets.licenses import stated_license
        from goldpan.miners.backup import mine_backup
        from goldpan.miners.mine import MineResult

        if asking != _AS_SET:
            self = Mine(self.lab.opened(**asdict(asking)))
        names = named_repositories(repos, repo_file)
        if not names:
            raise UsageError(
                "No repository was named", "Give --repo OWNER/NAME or --repo-file FILE"
            )
        if license is not None and len(names) != 1:
            raise UsageError("--license applies to one repository", "Give exactly one --repo")
        stated = stated_license(license)
        if from_backup is None:
            return self._asked(names, stated, dry_run)
        if len(names) != 1:
            raise UsageError("A backup holds one repository", "Give exactly one --repo")
        if dry_run:
            raise UsageError("--from-backup sends no requests to predict", "Leave out --dry-run")
        backup, name = Path(from_backup), names[0]
        coverage = mine_backup(self.lab.settings, backup, name, self.lab.reporter, license=stated)
        return Results([MineResult(name, "backup", coverage=coverage)])

    def _asked(
        self, names: Sequence[str], license: str | None, dry_run: bool
    ) -> Results[MineResult]:
        """Ask GitHub; the progress of one repository alone does not begin with its name."""
        from goldpan.miners.github.announced import chosen_path
        from goldpan.miners.mine import MineResult, mine, predict_many

        settings = self.lab.github
        outcomes: Mapping[str, MineResult | CostEstimate | GoldpanError]
        if dry_run:
            outcomes = predict_many(settings, names, self.lab.reporter)
        else:
            mined = mine(settings, names, self.lab.reporter, license=license)
            outcomes = {name: mined[name.lower()] for name in names}
            if len(names) == 1 and isinstance(refused := outcomes[names[0]], UsageError):
                raise refused
        via = chosen_path(settings)
        found = []
        for name, outcome in outcomes.items():
            if isinstance(outcome, GoldpanError):
                outcome = MineResult(name, via, failure=outcome)
            elif not isinstance(outcome, MineResult):
                outcome = MineResult(name, via, predicted=outcome)
            found.append(outcome)
        return Results(found)

    def gharchive(
        self,
        *,
        from_: str,
        to: str,
        source: str | Path | None = None,
        event: str | Sequence[str] = "IssuesEvent",
        execution: Execution = LOCAL,
        keep_downloads: bool = False,
        concurrency: Positive | None = None,
    ) -> ArchiveResult:
        """Mine the events of all public repositories from GH Archive, hour by hour.

        Run the same command again to resume, and to retry hours that are missing. Exits with 3
        when an hour is missing or damaged.

        Example: goldpan mine gharchive --from 2022-01-01 --to 2022-01-02

        Args:
            from_ (DAY): The first day, such as 2022-01-01.
            to (DAY): The last day, such as 2022-09-30.
            source (PATH): A folder with YYYY-MM-DD-H.json.gz files, or a web address. (default: GH
                Archive)
            event (TYPE): An event type to keep.
            keep_downloads: Keep downloaded files.
            concurrency: How many requests to send at once. (default: 4)
        """
        from goldpan.miners.gharchive.events import event_types
        from goldpan.miners.gharchive.mine import GH_ARCHIVE, ArchiveRequest, mine_archive
        from goldpan.miners.gharchive.store import hours_between

        request = ArchiveRequest(
            tuple(hours_between(from_, to)),
            event_types([event] if isinstance(event, str) else event),
            GH_ARCHIVE if source is None else str(source),
            execution.with_workers(self.lab.settings.processes),
            keep_downloads,
        )
        settings = self.lab.opened(concurrency=concurrency).settings
        return mine_archive(settings, request, self.lab.reporter)


def normalize(
    self: OpenWorkspace, *repos: str, license: str | None = None, execution: Execution = LOCAL
) -> TableCounts:
    """Rebuild the tables from the raw replies, without any network access.

    Example: goldpan normalize --repo numpy/numpy

    Args:
        license (SPDX): States the license of one repository, such as MIT; `mined` takes that back.
    """
    from goldpan.datasets.licenses import stated_license
    from goldpan.miners.tables.normalize import normalize_all

    names = known_repositories(self.layout, repos, "raw")
    stated = stated_license(license)
    if stated is not None and len(names) != 1:
        raise UsageError("--license applies to one repository", "Give exactly one --repo")
    where = execution.with_workers(self.settings.workers)
    return normalize_all(self.layout, names, self.reporter, stated, where)


def clone(
    self: OpenWorkspace,
    *repos: str,
    source: str | Path | None = None,
    network: Switch | None = None,
) -> Results[FetchedHistory]:
    """Fetch the code's history, and find the states before and after each pull request.

    Only the files that merged or paired pull requests change are fetched, in large batches. Run
    it again after goldpan mine and goldpan pair. With --source, a repository that was not mined is
    cloned alone: a submodule of another, say, for goldpan verify.

    Example: goldpan clone --repo numpy/numpy

    Args:
        source (PATH): A git address, a local mirror or a bundle, instead of GitHub; for several
            repositories, put {owner} and {name} in it.
        network: Fetch files missing from a partial clone. (default: unless --source is local)
    """
    from goldpan.git.remote import find_remote, source_of
    from goldpan.miners.history.revisions import fetch_histories

    if source is None or not repos:
        names = known_repositories(self.layout, repos, "tables")
    else:
        names = list(dict.fromkeys(map(repository_name, repos)))
    settings, origin = self.settings, None if source is None else str(source)
    sources = [origin and source_of(origin, name) for name in names]
    remotes = [
        find_remote(name, one, None, settings.git_host)
        for name, one in zip(names, sources, strict=True)
    ]
    if origin is not None and len(set(sources)) < len(names):
        raise UsageError(
            f"--source {origin} holds one repository",
            "Write {owner} and {name} where their names stand, or give exactly one --repo",
        )
    if network or not all(remote.is_local for remote in remotes):
        settings = self.github
    return Results(
        fetch_histories(settings, self.layout, names, self.reporter, source=origin, network=network)
    )


def pair(
    self: OpenWorkspace, *repos: str, rules: str = "default", execution: Execution = LOCAL
) -> Results[PairResult]:
    """Find the pull requests that fix issues, with the evidence for each pair.

    Pairs by other rules stay beside these: later commands take those that their own `--rules`
    names, and say which others are stored.

    Example: goldpan pair --repo numpy/numpy --rules unconfirmed

    Args:
        rules (NAME): default, unconfirmed, landed, or a plugin's.
    """
    from goldpan.core.parallel.engine import open_engine
    from goldpan.filters.basis import find_basis
    from goldpan.miners.pairing import find_rules

    self.settings.trust.require("plugins")
    find_rules(rules)  # an unknown name is refused before anything is begun
    names = known_repositories(self.layout, repos, "tables")
    work = partial(_pair, replace(self.layout, root=self.layout.root.absolute()), rules)
    processes = 1 if execution.engine == "local" else os.cpu_count() or 1
    with open_engine(execution, processes) as engine:
        paired = list(engine.map(work, names))
    bases = find_basis(self.layout.by_rules(rules), names, None)
    return Results(
        replace(result, other_rules=basis.other_rules)
        for result, basis in zip(paired, bases, strict=True)
    )


def _pair(layout: WorkspaceLayout, rules: str, repo: str) -> PairResult:
    from goldpan.miners.pairing import find_rules, pair

    return pair(layout, repo, find_rules(rules))


def named_repositories(repos: Iterable[str], file: Path | str | None) -> list[str]:
    """Return the repositories that are named here and in the lines of a file, each once."""
    names = [repository_name(repo) for repo in repos]
    if file is not None:
        refuse_empty(Path(file), "Write one OWNER/NAME per line into it")
        try:
            lines = Path(file).read_text(encoding="utf-8-sig").split("\n")
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(
                f"{file} cannot be read: {cause_of(error)}",
                "Give a text file with one OWNER/NAME per line",
            ) from None
        for number, line in enumerate(lines, 1):
            if text := line.partition("#")[0].strip():
                try:
                    names.append(repository_name(text))
                except UsageError as error:
                    raise UsageError(f"{file}:{number}: {error.problem}", error.remedy) from None
    first: dict[str, str] = {}
    for name in names:
        first.setdefault(name.lower(), name)
    return list(first.values())
