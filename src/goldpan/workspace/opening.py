"""An opened workspace: its settings and its paths, without the methods of its stages."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from goldpan.core.errors import UsageError
from goldpan.core.remote import mirror_at
from goldpan.core.settings.config import Included, Settings, Via, load_settings
from goldpan.core.storage.workspace import WorkspaceLayout, use_tasks

if TYPE_CHECKING:  # it takes long to import
    from goldpan.core.terminal import Reporter


class OpenWorkspace:
    """A directory that holds what Goldpan mined and made."""

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
        opening = {
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
        self._keep(opening, progress, None if tasks is None else Path(tasks))
        _ = self.layout

    def _keep(self, opening: dict[str, Any], progress: bool, tasks: Path | None) -> None:
        self._opening, self._tasks, self.shows_progress = opening, tasks, progress
        self.given = frozenset(name for name, value in opening.items() if value is not None)

    @classmethod
    def lazily(
        cls, path: Path | None = None, *, progress: bool = False, tasks: Path | None = None
    ) -> Self:
        """Return a workspace that is opened when it is first worked in, which costs nothing."""
        lab = cls.__new__(cls)
        lab._keep({"workspace": path}, progress, tasks)
        return lab

    def __repr__(self) -> str:
        return f"Workspace({str(self.path)!r})"

    @cached_property
    def settings(self) -> Settings:
        """The settings in effect, read when they are first asked for, without tokens."""
        return self._load(with_tokens=False)

    @cached_property
    def github(self) -> Settings:
        """The settings with the tokens for GitHub, which no work without GitHub looks for."""
        return self._load(with_tokens=True)

    def _load(self, *, with_tokens: bool) -> Settings:
        settings = load_settings(self._opening, with_tokens=with_tokens)
        if settings.workspace.is_file():
            raise UsageError(f"{settings.workspace} is a file, not a workspace", "Give a directory")
        return settings

    @cached_property
    def layout(self) -> WorkspaceLayout:
        """The paths of the workspace's files."""
        layout = WorkspaceLayout(self.settings.workspace)
        use_tasks(layout.root, self._tasks)
        return layout

    @property
    def path(self) -> Path:
        """The directory."""
        return self.layout.root

    def opened(self, path: Path | str | None = None, **settings: Any) -> Self:
        """Return the workspace with other settings, or another one at a path, opened as this is."""
        given = {name: value for name, value in settings.items() if value not in (None, ())}
        named = self._opening | given | ({} if path is None else {"workspace": path})
        opening = {name: value for name, value in named.items() if value is not None}
        return type(self)(
            opening.pop("workspace", None),
            progress=self.shows_progress,
            tasks=self._tasks,
            **opening,
        )

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
        return self.layout.repositories("tables")

    def reporting(self) -> Reporter:
        """Return what tells how far the work is, silent without `progress`; use it by `with`."""
        from goldpan.core.terminal import Reporter

        return Reporter(quiet=not self.shows_progress)


class Group:
    """Methods of one workspace that belong together, such as those that build datasets."""

    def __init__(self, lab: OpenWorkspace) -> None:
        self.lab = lab
