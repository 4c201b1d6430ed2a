"""A workspace, as Python and the commands use it: its operations are its methods."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from goldpan.core.remote import mirror_at
from goldpan.core.settings.config import Included, Settings, Via, load_settings
from goldpan.core.storage.workspace import WorkspaceLayout, use_tasks
from goldpan.operations.repositories import find_dataset
from goldpan.operations.signature import Kind, Operation, Parameter, read_operation
from goldpan.operations.stages import checking, filtering, mining, reproducing, starting, verifying
from goldpan.operations.stages import reporting as reporting_operations
from goldpan.operations.stages.annotating import Annotate
from goldpan.operations.stages.building import Build, datasets
from goldpan.operations.stages.evaluating import Evaluate
from goldpan.operations.stages.mining import Mine
from goldpan.operations.stages.starting import Config
from goldpan.operations.stages.tasks import Tasks
from goldpan.operations.stages.tasks import import_ as import_source
from goldpan.operations.table import added_method

if TYPE_CHECKING:  # these take long to import
    from goldpan.core.terminal import Reporter

COMMON, SETTINGS = "Workspace and output", "Settings for this run (goldpan.toml)"
"""Panels of help."""
OPEN = "path"
"""The parameter of `Workspace` that is ``--workspace`` on the command line."""


class Workspace:
    """A directory that holds what Goldpan mined and made, with a method for each stage.

    Methods take repositories as ``OWNER/NAME``; without one they work on all that are there.
    """

    def __init__(
        self,
        path: Path | str | None = None,
        *,
        progress: bool = False,
        api_url: str | None = None,
        via: Via | None = None,
        since: str | datetime | None = None,
        include: Included | Sequence[Included] = (),
        concurrency: int | None = None,
        at_once: int | None = None,
        patience: str | float | None = None,
        workers: int | None = None,
        tasks: Path | str | None = None,
    ) -> None:
        """Open a workspace.

        Settings come from ``goldpan.toml`` in the workspace, then from the environment, then from
        these arguments.

        Args:
            path: A directory or s3://BUCKET/NAME. (default: goldpan-workspace)
            progress: Show progress on standard error.
            api_url (URL): GitHub Enterprise Server: https://HOST/api/v3.
            via: Which API to mine through; auto is GraphQL with a token and REST without.
            since (DATE): Only entries updated since this date, such as 2024-08-01.
            include: What to mine beside issues and pull requests.
            concurrency: How many requests to send at once. (default: 4)
            at_once: How many repositories to mine at once; they share the rate limit. (default: 8,
                fewer if memory is short)
            patience (TIME): How long to wait while GitHub is down, such as 30m. (default: 1h)
            workers: Processes that turn raw replies into tables. (default: one per core)
            tasks: A directory with your own tasks. (default: WORKSPACE/tasks)
        """
        arguments = {
            "workspace": path,
            "api_url": api_url,
            "via": via,
            "since": since,
            "include": include or None,
            "concurrency": concurrency,
            "at_once": at_once,
            "patience": patience,
            "workers": workers,
        }
        self.given = frozenset(name for name, value in arguments.items() if value is not None)
        self.settings: Settings = load_settings(arguments)
        self._layout = WorkspaceLayout(self.settings.workspace)
        use_tasks(self.path, None if tasks is None else Path(tasks))
        self.shows_progress = progress

    def __repr__(self) -> str:
        return f"Workspace({str(self.path)!r})"

    def __getattr__(self, name: str) -> Any:
        return added_method(self, name, self)

    @property
    def path(self) -> Path:
        """The directory."""
        return self._layout.root

    @property
    def layout(self) -> WorkspaceLayout:
        """The paths of the workspace's files."""
        return self._layout

    def push(self) -> int:
        """Store what changed in a workspace at an address; return the number of files.

        Stages under a lock, such as `mine`, do so when they end, and a ``with`` block at its end.
        """
        mirror = mirror_at(self.path.absolute())
        return 0 if mirror is None else mirror.push()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.push()

    def repositories(self) -> list[str]:
        """Return the repositories that have tables, sorted."""
        return self._layout.repositories("tables")

    def reporting(self) -> Reporter:
        """Return what tells how far the work is, silent without `progress`; use it by `with`."""
        from goldpan.core.terminal import Reporter

        return Reporter(quiet=not self.shows_progress)

    @cached_property
    def evaluate(self) -> Evaluate:
        """Score models on tasks and datasets."""
        return Evaluate(self)

    @cached_property
    def annotate(self) -> Annotate:
        """Send rows to annotators in Label Studio, and collect their answers."""
        return Annotate(self)

    @cached_property
    def tasks(self) -> Tasks:
        """The tasks that models are evaluated on."""
        return Tasks(self)

    @cached_property
    def config(self) -> Config:
        """Show the settings in effect."""
        return Config(self)

    @cached_property
    def mine(self) -> Mine:
        """Mine repositories, or the events of all public ones from GH Archive."""
        return Mine(self)

    @cached_property
    def build(self) -> Build:
        """Build datasets, a method a family."""
        return Build(self)

    # The stages, in the order of the pipeline. Each is written in its own module.
    demo = starting.demo
    init = starting.init
    trust = starting.trust
    doctor = starting.doctor
    normalize = mining.normalize
    clone = mining.clone
    pair = mining.pair
    status = checking.status
    near_duplicates = filtering.near_duplicates
    filter = filtering.filter
    funnel = filtering.funnel
    why = filtering.why
    trace = reporting_operations.trace
    review = filtering.review
    import_ = import_source
    verify = verifying.verify
    audit = verifying.audit
    reproduce = reproducing.reproduce
    datasets = datasets
    dataset = find_dataset
    report = reporting_operations.report
    open = reporting_operations.open_page
    check = checking.check
    prune = checking.prune


def opening_parameters(operation: Operation) -> Iterator[tuple[Parameter, str]]:
    """Yield the parameters that open an operation's workspace, each with its panel of help."""
    if not operation.owner:
        return
    opening = {item.name: item for item in read_operation(Workspace.__init__).parameters}
    kind: Kind = "argument" if OPEN in operation.opening else "option"
    yield replace(opening[OPEN], name="workspace", kind=kind), COMMON
    yield opening["tasks"], COMMON
    for name in operation.opening:
        if name != OPEN:
            yield opening[name], SETTINGS
