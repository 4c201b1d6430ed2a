"""Where a workspace keeps tasks of one's own, which a command may say."""

from __future__ import annotations

from pathlib import Path

from goldpan.core.errors import UsageError

_ELSEWHERE: dict[Path, Path] = {}


def use_tasks(workspace: Path, directory: Path | None) -> None:
    """Read a workspace's own tasks from `directory` in this process, None from the workspace.

    Raises `UsageError` where it is no directory.
    """
    if directory is None:
        _ELSEWHERE.pop(workspace.absolute(), None)
        return
    if not directory.is_dir():
        raise UsageError(
            f"--tasks {directory} is not a directory", "Give one that holds TOML files"
        )
    _ELSEWHERE[workspace.absolute()] = directory


def tasks_directory(workspace: Path) -> Path:
    """Return where a workspace keeps tasks of one's own."""
    return _ELSEWHERE.get(workspace.absolute(), workspace / "tasks")
