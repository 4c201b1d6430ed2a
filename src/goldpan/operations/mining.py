"""Mining: GitHub, backups and GH Archive in, tables, histories and pairs out."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from goldpan.core.errors import UsageError
from goldpan.core.result import Results
from goldpan.operations.repositories import absolute_layout, known_repositories, map_repositories
from goldpan.operations.values import LOCAL, Execution

if TYPE_CHECKING:
    from goldpan.core.workspace import Workspace as Layout
    from goldpan.miners.pairing import PairResult
    from goldpan.miners.tables.normalize_all import TableCounts
    from goldpan.operations.workspace import Workspace


def normalize(
    self: Workspace, *repos: str, license: str | None = None, execution: Execution = LOCAL
) -> TableCounts:
    """Rebuild the tables from the raw replies, without any network access.

    Args:
        license (SPDX): States the license of one repository, such as MIT; `mined` takes that back.
        execution: Where repositories are worked on, one a processor.
    """
    from goldpan.datasets.licenses import stated_license
    from goldpan.miners.tables.normalize_all import normalize_all

    names = known_repositories(self.layout, repos, "raw")
    stated = stated_license(license)
    if stated is not None and len(names) != 1:
        raise UsageError("--license applies to one repository", "Give exactly one --repo")
    workers = execution.workers or self.settings.workers
    with self.reporting() as reporter:
        return normalize_all(
            self.layout, names, reporter, workers, stated, execution.engine, execution.address
        )


def pair(
    self: Workspace, *repos: str, rules: str = "default", execution: Execution = LOCAL
) -> Results[PairResult]:
    """Find the pull requests that fix issues, with the evidence for each pair.

    Pairs by other rules stay beside these: later commands take those that their own `--rules`
    names, and say which others are stored.

    Args:
        rules (NAME): default, unconfirmed, faun-eval, with-branches, or a plugin's.
        execution: Where repositories are worked on, one a processor.
    """
    from goldpan.filters.basis import find_basis
    from goldpan.miners.pairing import find_rules

    self.settings.trust.require("plugins")
    find_rules(rules)  # an unknown name is refused before anything is begun
    names = known_repositories(self.layout, repos, "tables")
    work = partial(_pair, absolute_layout(self.layout), rules)
    paired = map_repositories(work, names, execution.engine, execution.address)
    bases = find_basis(self.layout.by_rules(rules), names, None)
    return Results(
        replace(result, other_rules=basis.other_rules)
        for result, basis in zip(paired, bases, strict=True)
    )


def _pair(layout: Layout, rules: str, repo: str) -> PairResult:
    from goldpan.miners.pairing import find_rules, pair

    return pair(layout, repo, find_rules(rules))
