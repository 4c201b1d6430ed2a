"""A workspace, as Python and the commands use it: a method for each stage."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from cyclopts.validators import Number

from goldpan.core.errors import GoldpanError, UsageError
from goldpan.core.remote import mirror_at
from goldpan.core.result import Result, Results, count
from goldpan.core.settings.config import CONFIG_FILE, Settings, find_trust
from goldpan.core.settings.trust import record_trust
from goldpan.core.storage.workspace import existing
from goldpan.workspace import filtering, mining, reporting
from goldpan.workspace.annotating import Annotate
from goldpan.workspace.building import Build, datasets
from goldpan.workspace.checking import checked_methods
from goldpan.workspace.dataset import find_dataset
from goldpan.workspace.evaluating import Evaluate
from goldpan.workspace.mining import Mine
from goldpan.workspace.opening import Group, OpenWorkspace, known_repositories
from goldpan.workspace.tasks import Tasks
from goldpan.workspace.tasks import import_ as import_source

if TYPE_CHECKING:
    from goldpan.core.remote.mirror import Pruned
    from goldpan.doctor import Diagnosis
    from goldpan.lineage.check import CheckResult
    from goldpan.miners.coverage import Coverage


@dataclass(frozen=True, slots=True)
class Trusted(Result):
    """The plugins and server that a workspace's settings file may use from now on."""

    workspace: Path
    trusted: tuple[str, ...]
    file: Path
    """Where that is remembered."""


@dataclass(frozen=True, slots=True)
class Setting(Result):
    """A setting with its value, and where it is from; tokens are only counted."""

    schema = 2

    name: str
    value: str
    source: str


@checked_methods
class Config(Group):
    """Show the settings in effect."""

    def show(self) -> Results[Setting]:
        """Print every setting with its value and its source; tokens are only counted.

        Example: goldpan config show
        """
        from goldpan.core.settings.config import read_settings_file

        try:
            settings = self.lab.github
            origin = settings.withheld or "the environment, GOLDPAN_TOKEN_COMMAND or gh"
        except UsageError as refused:
            settings, origin = self.lab.settings, refused.problem
        file = read_settings_file(settings.workspace).values
        names = [field.name for field in fields(Settings) if field.repr]
        found = [Setting(name, _shown(settings, name), self._source(name, file)) for name in names]
        return Results([*found, Setting("tokens", count(len(settings.tokens), "token"), origin)])

    def _source(self, name: str, file: Mapping[str, Any]) -> str:
        settings = self.lab.settings
        if name == "workspace":
            is_default = settings.workspace == Settings().workspace
            return "default" if is_default else "--workspace or GOLDPAN_WORKSPACE"
        if name in self.lab.given:
            return "argument"
        if name == "api_url" and (
            os.environ.get("GOLDPAN_API_URL") or os.environ.get("GITHUB_API_URL")
        ):
            return "environment"
        source = str(settings.workspace / CONFIG_FILE) if name in file else "default"
        is_withheld = name == "plugins" and not settings.trust.given
        return f"{source}, not trusted" if is_withheld else source


def _shown(settings: Settings, name: str) -> str:
    value = getattr(settings, name)
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    return "" if value is None else str(value)


@checked_methods
class Workspace(OpenWorkspace):
    """A directory that holds what Goldpan mined and made, with a method for each stage.

    Methods take repositories as ``OWNER/NAME``; without one they work on all that are there.
    """

    mine = cached_property(Mine)
    build = cached_property(Build)
    annotate = cached_property(Annotate)
    tasks = cached_property(Tasks)
    evaluate = cached_property(Evaluate)
    config = cached_property(Config)

    # The stages, in the order of the pipeline. Each is written in its own module.
    normalize = mining.normalize
    clone = mining.clone
    pair = mining.pair
    filter = filtering.filter
    funnel = filtering.funnel
    why = filtering.why
    trace = reporting.trace
    review = filtering.review
    import_ = import_source
    verify = filtering.verify
    audit = filtering.audit
    reproduce = reporting.reproduce
    datasets = datasets
    dataset = find_dataset
    report = reporting.report
    open = reporting.open_page

    def trust(self, path: Path | str | None = None) -> Trusted:
        """Let the plugins and the server count that a workspace's goldpan.toml names.

        Plugins are programs, and a server gets your tokens. Both count as they are now: where the
        file or a plugin beside it changes, they wait until you trust the workspace again. They take
        effect where the workspace is opened next.

        Example: goldpan trust lab

        Args:
            path (WORKSPACE): The workspace, if it is not this one.
        """
        root = self.path if path is None else Path(path)
        found, files = find_trust(root)
        if not root.is_dir():
            raise UsageError(f"There is no workspace {root}", "Give its directory")
        return Trusted(root, found.asks, record_trust(root, files, os.environ))

    def doctor(
        self, *, base_url: str | None = None, model: str | None = None
    ) -> Results[Diagnosis]:
        """Check git, disk space, tokens and their limits, extras and servers before a long run.

        Exits with 1 if something will not work. With --base-url three short requests are sent to a
        language model: for its context, schema support, thoughts and speed.

        Example: goldpan doctor --base-url http://127.0.0.1:8080/v1

        Args:
            base_url (URL): An OpenAI-compatible endpoint to check too, and how long a review of
                this workspace by the profile default would take there.
            model (NAME): A model of the endpoint, if it serves several.
        """
        from goldpan.doctor import examine

        try:
            found = examine(self.github)
        except UsageError as refused:
            found = examine(self.settings, refused=refused)
        if base_url is not None:
            found += _endpoint(self, base_url, model)
        return Results(found)

    def status(self, *repos: str) -> Results[Coverage]:
        """Compare announced with stored counts, and list what is missing and why.

        Example: goldpan status --repo numpy/numpy
        """
        from goldpan.filters.basis import stored_profiles
        from goldpan.miners.coverage import measure_coverage
        from goldpan.miners.tables.normalize import check_replies

        coverages = []
        for name in known_repositories(self.layout, repos, "raw"):
            coverages.append(
                measure_coverage(self.layout, name)
            )  # tells damage from what was cut off
            check_replies(self.layout, name)
        return Results(
            replace(coverage, stored=stored_profiles(self.layout, coverage.repo))
            for coverage in coverages
        )

    def check(self, path: Path | str | None = None, *, repair: bool = False) -> CheckResult:
        """Verify every file of a workspace, and say what to run again if one is damaged.

        Of a damaged file it also says what was made of it. Exits with 1 if something is damaged.

        Example: goldpan check lab

        Args:
            path (WORKSPACE): The workspace, if it is not this one.
            repair: Set damaged archives aside and keep the rest, without network access.
        """
        from goldpan.lineage.check import check_workspace, repair_archives

        layout = existing(self.layout if path is None else self.opened(path).layout)
        repaired = tuple(repair_archives(layout)) if repair else ()
        checked = replace(check_workspace(layout, self.reporter), repaired=repaired)
        if not checked.files and not (layout.root / CONFIG_FILE).exists():
            raise UsageError(
                f"{layout.root} holds no file of a workspace",
                "Give the directory that is named with --workspace, or mine into it first",
            )
        return checked

    def prune(
        self, *, older_than: Annotated[float, Parameter(validator=Number(gte=0))] = 7.0
    ) -> Pruned:
        """Delete from a store what its workspace no longer uses.

        See docs/workspaces.md.

        Example: goldpan prune --workspace s3://lab/data --older-than 30

        Args:
            older_than (DAYS): Keep what was stored in this many days, because somebody may still
                read it.
        """
        mirror = mirror_at(self.path.absolute())
        if mirror is None:
            raise UsageError(
                f"The workspace {self.path} is not in a store", "Give --workspace s3://BUCKET/NAME"
            )
        return mirror.prune(timedelta(days=older_than))


def _endpoint(lab: Workspace, base_url: str, model: str | None) -> list[Diagnosis]:
    """Return what is found of an endpoint, and what a review of the workspace takes there."""
    from goldpan.annotation.review.run import ReviewResult
    from goldpan.doctor import Diagnosis
    from goldpan.llm.budget import ANSWER_TOKENS
    from goldpan.llm.check import examine_endpoint
    from goldpan.llm.settings import EndpointSettings

    key = os.environ.get("OPENAI_API_KEY") or None
    settings = EndpointSettings((model,) if model else (), base_url, key)
    check = examine_endpoint(settings)
    found = [Diagnosis(*finding) for finding in check.findings]
    if not check.input_rate:
        return found
    try:
        planned = lab.review(model=check.model, base_url=base_url, dry_run=True)
    except GoldpanError as error:
        return [*found, Diagnosis("Review", "note", error.problem, error.remedy)]
    if isinstance(planned, ReviewResult):
        estimate = planned.estimate
        requests, tokens = estimate.requests, estimate.input_tokens
        hours = check.seconds(requests, tokens, ANSWER_TOKENS) / 3600
        took = f"{hours:,.1f} hours" if hours >= 1 else count(round(hours * 60), "minute")
        told = (
            f"{count(requests, 'request')}, {count(tokens, 'token')}: about {took}, one at a time"
        )
        found.append(Diagnosis("Review", "ok", told))
    return found
