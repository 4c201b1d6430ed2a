"""The packages that environments are built of, sealed while nothing is built.

WORKSPACE/verification/.packages/OWNER/NAME is the cache of a repository's packages, to which its
code may write while an environment is built; verification/.seals/OWNER/NAME.json has the digest
of each file as the last run left them. A cache that was changed since is deleted before it is used.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import orjson

from goldpan.core.errors import DamagedError
from goldpan.core.progress import Reporter
from goldpan.core.sealed import file_digest, read_json, sealed_json
from goldpan.core.workspace import Workspace, make_directory, write_whole
from goldpan.execution.checkout import make_accessible

_FORMAT = 1
_CACHES, _SEALS = ".packages", ".seals"
_SEAL_DAMAGED = "the record of its packages is not as it was written"


def package_cache(workspace: Workspace, repo: str) -> Path:
    """Return where the packages of a repository lie: no two share one."""
    return workspace.root / "verification" / _CACHES / repo.lower()


def package_caches(workspace: Workspace) -> list[Path]:
    """Return the caches of all repositories, sorted, also of those whose seal alone is there."""
    base = workspace.root / "verification"
    sealed = (path.relative_to(base / _SEALS) for path in (base / _SEALS).glob("*/*.json"))
    names = {base / _CACHES / path.with_name(path.name.removesuffix(".json")) for path in sealed}
    return sorted({*names, *(base / _CACHES).glob("*/*")})


def is_open(cache: Path) -> bool:
    """Whether a run builds of a cache now, or was stopped while it did."""
    try:
        return read_json(_seal(cache)).get("files") is None
    except (OSError, DamagedError, orjson.JSONDecodeError, AttributeError):
        return False


def package_flaws(cache: Path) -> list[tuple[Path, str]]:
    """Return the files of a cache that are not as the last run left them, and why."""
    try:
        recorded = read_json(_seal(cache))["files"]
    except FileNotFoundError:
        return [(_seal(cache), "the record of its packages is gone")] if cache.exists() else []
    except (OSError, DamagedError, orjson.JSONDecodeError, KeyError, TypeError):
        return [(_seal(cache), _SEAL_DAMAGED)]
    if recorded is None:
        return []
    lying = _digests(cache)
    return [
        (
            cache / name,
            "it is gone"
            if name not in lying
            else "it is new since the last run of tests"
            if name not in recorded
            else "its digest is another than after the last run of tests",
        )
        for name in sorted({*recorded, *lying})
        if recorded.get(name) != lying.get(name)
    ]


@contextmanager
def open_packages(workspace: Workspace, repos: Iterable[str], reporter: Reporter) -> Iterator[None]:
    """Let environments be built of these repositories' packages, and seal what is there then.

    Call it under the lock of `hold_verification`. A cache that was changed meanwhile is deleted.
    """
    caches = [package_cache(workspace, repo) for repo in sorted(set(repos))]
    for cache in caches:
        if flaws := package_flaws(cache):
            reporter.note(f"{flaws[0][0]} was changed: {flaws[0][1]}. Packages are fetched again")
            make_accessible(cache)
            shutil.rmtree(cache, ignore_errors=True)
        make_directory(_seal(cache).parent)
        write_whole(_seal(cache), sealed_json({"format": _FORMAT, "files": None}))
    try:
        yield
    finally:
        for cache in caches:
            if cache.exists():
                make_accessible(cache)
                plain = {"format": _FORMAT, "files": _digests(cache)}
                write_whole(_seal(cache), sealed_json(plain))
            else:
                _seal(cache).unlink()


def _seal(cache: Path) -> Path:
    return cache.parents[2] / _SEALS / cache.parent.name / f"{cache.name}.json"


def _digests(cache: Path) -> dict[str, str]:
    """Return the digest of each file by its path; foreign code may have left anything there."""
    digests = {}
    for folder, folders, files in os.walk(cache):
        for name in (*files, *folders):
            path = Path(folder, name)
            relative = os.fsencode(path.relative_to(cache)).decode("utf-8", "backslashreplace")
            if path.is_symlink():
                target = os.fsencode(path.readlink())
                digests[relative] = f"link {hashlib.sha256(target).hexdigest()}"
            elif path.is_file():
                digests[relative] = file_digest(path)
            elif not path.is_dir():
                digests[relative] = "no file"
    return digests
