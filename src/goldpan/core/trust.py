"""Workspaces that the user trusts, whose settings files may name programs and servers.

What stands on the command line or in the environment is the user's own word. What lies in a folder
may be anybody's: it counts once `goldpan trust` has recorded the folder, as it was then.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from goldpan.core.errors import UsageError
from goldpan.core.workspace import write_whole

VARIABLE = "GOLDPAN_TRUST"
"""The environment variable that names trusted workspaces, separated by commas, for jobs."""

HOME = "GOLDPAN_CONFIG_HOME"
"""The environment variable that names the folder of what Goldpan remembers of its user."""


@dataclass(frozen=True, slots=True)
class Trust:
    """What a workspace's settings file asks for that takes the user's consent."""

    workspace: Path
    asks: tuple[str, ...]
    """In words, such as ``plugins = label_words.py``; empty where nothing takes consent."""
    given: bool
    changed: bool = False
    """Whether it was trusted as it was before."""

    def require(self, *names: str) -> None:
        """Raise `UsageError` where one of these settings counts for nothing, as yet."""
        if self.given:
            return
        refused = [text for text in self.asks if text.partition(" ")[0] in names]
        if refused:
            raise UsageError(self.problem(refused), self.remedy)

    def problem(self, asks: Iterable[str] = ()) -> str:
        """Return what is not trusted, in words."""
        state = "changed since you trusted it" if self.changed else "is not trusted"
        return f"{self.workspace} {state}, and its goldpan.toml says {', '.join(asks or self.asks)}"

    @property
    def remedy(self) -> str:
        """What makes it count."""
        return f"Read the file, then run goldpan trust {self.workspace}"


def trust_of(
    root: Path,
    named: str,
    asks: Sequence[str],
    files: Sequence[Path],
    environment: Mapping[str, str],
) -> Trust:
    """Return whether what a settings file asks for counts.

    `named` is the workspace as the user wrote it; `files` are those that decide about it.
    """
    by_job = [name.strip() for name in environment.get(VARIABLE, "").split(",") if name.strip()]
    if not asks or named in by_job or root.resolve() in (Path(name).resolve() for name in by_job):
        return Trust(root, tuple(asks), given=True)
    recorded = _recorded(environment).get(str(root.resolve()))
    given = recorded == digest_of(root, files)
    return Trust(root, tuple(asks), given, changed=recorded is not None and not given)


def record_trust(root: Path, files: Sequence[Path], environment: Mapping[str, str]) -> Path:
    """Trust a workspace as it is now; return the file that says so."""
    path = _path(environment)
    known = {**_recorded(environment), str(root.resolve()): digest_of(root, files)}
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_whole(
            path, (json.dumps(known, indent=1, sort_keys=True) + "\n").encode(), private=True
        )
    except OSError as error:
        raise UsageError(
            f"{path} cannot be written: {error.strerror}", f"Set {VARIABLE} to the workspace"
        ) from None
    return path


def digest_of(root: Path, files: Sequence[Path]) -> str:
    """Return the SHA-256 of a workspace's settings file and of the plugins that lie with it."""
    digest = sha256()
    for file in files:
        if file.resolve().is_relative_to(root.resolve()) and file.is_file():
            content = file.read_bytes()
            digest.update(f"{file.name}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()


def _path(environment: Mapping[str, str]) -> Path:
    if own := environment.get(HOME):
        return Path(own) / "trusted.json"
    base = environment.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(base) / "goldpan" / "trusted.json"


def _recorded(environment: Mapping[str, str]) -> dict[str, str]:
    try:
        known = json.loads(_path(environment).read_text(encoding="utf-8"))
    except (OSError, ValueError):  # nothing is trusted where nothing can be read
        return {}
    return known if isinstance(known, dict) else {}
