"""Brings a project home together with what a third person decided of it.

An adjudication says nothing by itself, and the answers in dispute say who may not give it; so the
two are fetched together, the original first.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from goldpan.annotation.studio.client import Server
from goldpan.annotation.studio.decisions import Decision, write_decisions
from goldpan.annotation.studio.project import adjudications, check_server, open_project
from goldpan.annotation.studio.pull import PullResult, pull
from goldpan.core.progress import Reporter
from goldpan.core.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Collected:
    """What was fetched of a project and its adjudications, and what people decided."""

    original: PullResult
    adjudications: tuple[PullResult, ...]
    decisions: tuple[Decision, ...]

    @property
    def counts(self) -> dict[str, int]:
        """Return how many subjects were decided how."""
        return dict(sorted(Counter(decision.how for decision in self.decisions).items()))

    @property
    def unreadable(self) -> bool:
        """Tell whether the server failed to export a task."""
        return any(ratings.unreadable for ratings in (self.original, *self.adjudications))


def collect(
    workspace: Workspace,
    server: Server,
    name: str,
    reporter: Reporter,
    *,
    named: bool = False,
    accept_configuration: bool = False,
) -> Collected:
    """Pull a project with its adjudications, and write what people decided.

    An adjudication may be named in the place of its project. Raises `UsageError`, before anything
    is fetched, where one of them lives on another server; else as `pull`.
    """
    original = open_project(workspace, open_project(workspace, name).facts.of or name)
    # One that was never pushed to the end holds nothing to fetch.
    third = [
        adjudication
        for adjudication in adjudications(workspace, original.name)
        if adjudication.facts.number is not None
    ]
    for project in (original, *third):
        check_server(project, server)
    fetched = [
        pull(
            workspace,
            server,
            project.name,
            reporter,
            named=named,
            accept_configuration=accept_configuration,
        )
        for project in (original, *third)
    ]
    decisions = write_decisions(workspace, original.name)
    return Collected(fetched[0], tuple(fetched[1:]), tuple(decisions))
