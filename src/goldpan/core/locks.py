"""Locks that hold on all machines which share a workspace, and go with their process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from goldpan.core.errors import GoldpanError, WorkspaceError
from goldpan.core.remote import lease_for
from goldpan.core.storage.workspace import WorkspaceLayout, make_directory


@contextmanager
def hold_lock(path: Path, busy: GoldpanError | None = None) -> Iterator[None]:
    """Hold a lock file meanwhile; where another process holds it, raise `busy` or else wait."""
    from filelock import FileLock, Timeout  # it takes long to import

    # A soft lock, by the mere presence of a file, would outlive a process that is killed.
    lock = FileLock(path, blocking=busy is None, fallback_to_soft=False)
    try:
        lock.acquire()
    except Timeout as error:
        raise busy or error from None
    try:
        with lease_for(path, busy):
            yield
    finally:
        lock.release()


@contextmanager
def lock_repository(workspace: WorkspaceLayout, repo: str) -> Iterator[None]:
    """Keep other processes from writing a repository meanwhile.

    Raises `WorkspaceError` if one does.
    """
    path = workspace.raw(repo)
    make_directory(path)
    busy = WorkspaceError(
        f"Another goldpan is working on {repo} in {workspace.root}",
        "Wait for it, or use another --workspace",
    )
    with hold_lock(path / "lock", busy):
        yield
