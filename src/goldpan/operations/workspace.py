"""A workspace, as Python and the commands use it: opened here, worked on by `api.stages`."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Self

from goldpan.api.stages import (
    building,
    evaluation,
    inspection,
    mining,
    verification,
)
from goldpan.core.config import Settings, Via, load_settings
from goldpan.core.errors import UsageError
from goldpan.core.own_tasks import use_tasks
from goldpan.core.progress import Reporter
from goldpan.core.remote import mirror_at
from goldpan.core.workspace import Workspace as Layout
from goldpan.operations import filtering, reviewing
from goldpan.operations import mining as operations_mining
from goldpan.operations import reporting as reporting_operations

if TYPE_CHECKING:
    from goldpan.core.remote.mirror import Pruned


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
            concurrency: How many requests to send at once. (default: 4)
            at_once: How many repositories to mine at once; they share the rate limit. (default: 8,
                fewer if memory is short)
            patience (TIME): How long to wait while GitHub is down, such as 30m. (default: 1h)
            workers: Processes that turn raw replies into tables. (default: one per core)
            tasks: A directory with your own tasks. (default: WORKSPACE/tasks)

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
                f"The workspace {self.path} is not in a store", "Give --workspace s3://BUCKET/NAME"
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

    # The stages, in the order of the pipeline. Each is written in its own module.
    mine = mining.mine
    mine_many = mining.mine_many
    predict = mining.predict
    predict_many = mining.predict_many
    from_backup = mining.from_backup
    normalize = operations_mining.normalize
    clone = mining.clone
    pair = operations_mining.pair
    near_duplicates = filtering.near_duplicates
    filter = filtering.filter
    funnel = filtering.funnel
    why = filtering.why
    trace = reporting_operations.trace
    review = reviewing.review
    build = building.build
    verify = verification.verify
    resolved = verification.resolved
    datasets = building.datasets
    dataset = building.dataset
    publish = building.publish
    evaluate = evaluation.evaluate
    plan = evaluation.plan
    label_errors = evaluation.label_errors
    status = mining.status
    check = inspection.check
    repair = inspection.repair
    report = reporting_operations.report
