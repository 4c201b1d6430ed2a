"""Workspaces in an object store: `s3://`, `gs://`, `az://`.

    open_address   an address → a folder of this machine, its mirror, where all works as on any
    pull           brings what changed in the store; one manifest names all files by their pieces
    push           stores the pieces of what changed here, then the next manifest, if it is the next
    lease_for      makes locks of a mirror hold on all machines

A reader has one generation of all files, that of the manifest which it read. Nothing needs a rename
or a listing of the store: only that an object is written if it is not there, or is still the one
that was read (`If-None-Match`, `If-Match`), which is proved before the first write.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from goldpan.core.errors import GoldpanError, UsageError
from goldpan.core.remote.places import FILES, STATE

if TYPE_CHECKING:
    from goldpan.core.remote.mirror import Mirror

SCHEMES = ("s3", "gs", "az")
_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/+(.*)", re.S)
_NAMES = re.compile(r"[\w.-]+(/[\w.=-]+)*", re.A)
_opened: dict[Path, Mirror] = {}


def is_address(text: str | Path) -> bool:
    """Tell whether a workspace is named by an address; `Path` makes one slash of its two."""
    return _ADDRESS.fullmatch(str(text)) is not None


def open_address(text: str | Path) -> Path:
    """Return the folder of this machine that mirrors a workspace, with what the store holds now.

    Raises `UsageError` for an address of no known kind, `WorkspaceError` where the store fails.
    """
    match = _ADDRESS.fullmatch(str(text))
    scheme, rest = (match[1].lower(), match[2].rstrip("/")) if match else ("", "")
    address = f"{scheme}://{rest}"
    if scheme == "file":
        return Path("/", rest)
    if scheme not in SCHEMES or not _NAMES.fullmatch(rest) or ".." in rest.split("/"):
        shown = f"{scheme}://{rest.rpartition('@')[2]}"  # without a key and its secret
        forms = " or ".join(f"{name}://BUCKET/NAME" for name in SCHEMES)
        raise UsageError(
            f"The workspace {shown} is not at an address that several machines can write to safely",
            f"Write {forms}, or the path of a folder",
        )
    from goldpan.core.remote.mirror import Mirror, mirror_directory

    root = mirror_directory(address) / FILES
    if root not in _opened:
        mirror = Mirror(address, root.parent)
        mirror.pull()
        _opened[root] = mirror
    return root


def with_addresses(text: str) -> str:
    """Return a text that names opened workspaces by their addresses, though not files in them."""
    for root, mirror in _opened.items():
        text = re.sub(rf"{re.escape(str(root))}(?![\w/])", mirror.address, text)
    return text


def push_opened() -> None:
    """Push what changed in the mirrors that this process opened."""
    for mirror in _opened.values():
        mirror.push()


def mirror_at(root: Path) -> Mirror | None:
    """Return the mirror whose files lie in a folder, opened by whomever; None where it is none."""
    if root not in _opened and root.name == FILES and (root.parent / STATE).is_file():
        from goldpan.core.remote.mirror import Mirror, read_state

        _opened[root] = Mirror(read_state(root.parent).address, root.parent)
    return _opened.get(root)


@contextmanager
def lease_for(path: Path, busy: GoldpanError | None) -> Iterator[None]:
    """Hold a lock on all machines where it lies in a mirror; see `Mirror.leased`."""
    path = path.absolute()
    for parent in path.parents:
        if mirror := mirror_at(parent):
            with mirror.leased(path.relative_to(parent).as_posix(), busy):
                yield
            return
    yield
