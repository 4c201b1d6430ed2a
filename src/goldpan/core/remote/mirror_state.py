"""What a mirror knows of the store, kept beside its files."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from goldpan.core.errors import WorkspaceError
from goldpan.core.remote.manifest import FILES, STATE, Manifest, Stamp, as_json, from_json
from goldpan.core.resources import write_file


@dataclass(frozen=True, slots=True)
class MirrorState:
    """The generation that a mirror holds, and how its files lay when they were the store's."""

    etag: str | None = None
    manifest: Manifest = field(default_factory=Manifest)
    stamps: Mapping[str, Stamp] = field(default_factory=dict)


def mirror_directory(address: str) -> Path:
    """Return the folder of this machine for the mirror of an address.

    It holds what is not pushed yet, and so lies where no cleaner of caches looks.
    """
    data = os.environ.get("XDG_DATA_HOME") or "~/.local/share"
    mirrors = os.environ.get("GOLDPAN_MIRRORS") or f"{data}/goldpan/mirrors"
    name = re.sub(r"\W+", "-", address)[:60].strip("-")
    digest = hashlib.sha256(address.encode()).hexdigest()[:12]
    return Path(mirrors).expanduser().absolute() / f"{name}-{digest}"


def load_state(home: Path) -> MirrorState:
    """Return what a mirror knows; nothing where it is new, or its files were deleted."""
    if not (home / FILES).is_dir() or not (home / STATE).exists():
        return MirrorState()
    value = _read(home)
    try:
        stamps = {path: Stamp(*stamp) for path, stamp in value["stamps"].items()}
        return MirrorState(value["etag"], from_json(value["manifest"]), stamps)
    except (AttributeError, KeyError, TypeError, ValueError):
        raise _damaged(home) from None


def save_state(home: Path, address: str, state: MirrorState) -> MirrorState:
    """Keep what a mirror knows, and return it."""
    value = {
        "address": address,
        "etag": state.etag,
        "manifest": as_json(state.manifest),
        "stamps": {
            path: [stamp.size, stamp.changed, stamp.inode] for path, stamp in state.stamps.items()
        },
    }
    draft = home / f"{STATE}.new"
    write_file(draft, orjson.dumps(value))
    draft.replace(home / STATE)
    return state


def address_of(home: Path) -> str:
    """Return the address that a folder mirrors."""
    try:
        return str(_read(home)["address"])
    except (KeyError, TypeError):
        raise _damaged(home) from None


def _read(home: Path) -> Any:
    try:
        return orjson.loads((home / STATE).read_bytes())
    except (OSError, orjson.JSONDecodeError):
        raise _damaged(home) from None


def _damaged(home: Path) -> WorkspaceError:
    return WorkspaceError(
        f"{home / STATE} is damaged",
        f"Move {home} away, and run the command again: it is fetched anew",
    )
