"""An opened workspace and the repositories that a stage works on, without the stages' methods."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from goldpan.core.errors import UsageError, WorkspaceError, question
from goldpan.core.remote import mirror_at
from goldpan.core.settings.config import Included, Settings, Via, load_settings, repository_name
from goldpan.core.storage.workspace import WorkspaceLayout, existing, tasks_directory, use_tasks

if TYPE_CHECKING:  # it takes long to import
    from goldpan.core.terminal import Reporter
    from goldpan.datasets.tasks.task import Task
    from goldpan.filters.profile import Profile

MOST_OFFERED = 3
"""Names that a message offers."""


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
        """Take a workspace, which is opened when it is first worked in: that costs nothing.

        The other settings are those of ``goldpan.toml`` in the workspace, which come first, then
        those of the environment, then these.

        Args:
            path: A directory or s3://BUCKET/NAME. (default: goldpan-workspace)
            progress: Show progress on standard error.
            tasks: A directory with your own tasks. (default: WORKSPACE/tasks)
        """
        self._opening: dict[str, Any] = {
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
        self._tasks, self.shows_progress = tasks, progress
        self.given = {name for name, value in self._opening.items() if value is not None}
        """The names of the settings that are given here."""

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
        use_tasks(layout.root, None if self._tasks is None else Path(self._tasks))
        return layout

    @property
    def path(self) -> Path:
        """The directory."""
        return self.layout.root

    def opened(self, path: Path | str | None = None, **settings: Any) -> Self:
        """Return the workspace with other settings, or another one at a path, opened as this is."""
        given = {name: value for name, value in settings.items() if value not in (None, ())}
        opening = self._opening | given
        opening["include"] = opening["include"] or ()
        named = opening.pop("workspace")
        return type(self)(path or named, progress=self.shows_progress, tasks=self._tasks, **opening)

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

    @property
    def own_tasks(self) -> Path:
        """The directory of tasks of one's own."""
        return tasks_directory(self.path)

    def find_task(self, name: str) -> Task:
        """Return a task by its name; raises `UsageError` that offers the nearest."""
        from goldpan.datasets.tasks.registry import find_task

        return find_task(name, self.own_tasks)

    def repositories(self) -> list[str]:
        """Return the repositories that have tables, sorted."""
        return self.layout.repositories("tables")

    @cached_property
    def reporter(self) -> Reporter:
        """What tells how far the work is, silent without `progress`."""
        from goldpan.core.terminal import Reporter

        return Reporter(quiet=not self.shows_progress)


class Group:
    """Methods of one workspace that belong together, such as those that build datasets."""

    def __init__(self, lab: OpenWorkspace) -> None:
        self.lab = lab


def known_repositories(
    layout: WorkspaceLayout, repos: Iterable[str] | None, below: str
) -> list[str]:
    """Return the named repositories, else all of the workspace; `below` is raw or tables.

    Each comes once, in lower case and in order, however they are named. Raises `UsageError` for
    a name that is none and a workspace that is missing, `WorkspaceError` for a repository that is
    not there.
    """
    held = existing(layout).repositories(below)
    names = sorted({_name_of(repo, held) for repo in repos or ()}) or held
    if not names:
        if below == "tables" and layout.repositories("raw"):
            remedy = "Run goldpan normalize, which makes them of the raw replies"
            raise WorkspaceError(f"{layout.root} holds no tables", remedy)
        raise WorkspaceError(
            f"{layout.root} holds no repository", "Run goldpan mine --repo OWNER/NAME"
        )
    for name in names:
        if name not in held:
            remedy = question(name, held, MOST_OFFERED) or f"Run goldpan mine --repo {name}"
            raise WorkspaceError(f"{layout.root} does not hold {name}", remedy)
    return names


def paired_layout(layout: WorkspaceLayout, repos: Iterable[str], rules: str) -> WorkspaceLayout:
    """Return where the pairs of repositories by some rules lie; raises `UsageError` for no rules.

    Those of a plugin that is not loaded are known where a repository was paired by them.
    """
    if rules != layout.rules and not any(rules in layout.paired_by(repo) for repo in repos):
        from goldpan.miners.pairing import find_rules

        find_rules(rules)
    return layout.by_rules(rules)


def _name_of(text: str, held: Iterable[str]) -> str:
    """Return the name of a repository; one without its owner is told of those that are there."""
    try:
        return repository_name(text).lower()
    except UsageError as error:
        asked = question(text, held, MOST_OFFERED, cutoff=0.4)
        raise UsageError(error.problem, asked or error.remedy) from None


def choose_profile(
    self: OpenWorkspace,
    repos: Sequence[str],
    profile: str | Path,
    rules: str,
    settings: Mapping[str, Any] | None = None,
) -> tuple[WorkspaceLayout, list[str], Profile]:
    """Return the paths by pairing rules, the repositories, and the profile that judges them.

    Raises as `known_repositories` and `find_profile` do.
    """
    from goldpan.filters.stored import find_profile

    names = known_repositories(self.layout, repos, "tables")
    layout = paired_layout(self.layout, names, rules)
    return layout, names, find_profile(layout, names, str(profile), settings)
