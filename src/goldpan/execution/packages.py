"""Packages that environments are built of: where they come from, and the sealed caches of them.

An index names its files by address, and these may lie elsewhere: those of pypi.org are on
files.pythonhosted.org. So the index is asked for the pages of packages that all environments need,
and the hosts of their files are reached as well.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from html import unescape
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

from goldpan.core.errors import UsageError
from goldpan.core.http import shared_context
from goldpan.core.storage.sealed import file_digest, sealed_json, stored_json
from goldpan.core.storage.workspace import WorkspaceLayout, make_directory, write_whole
from goldpan.core.terminal import Reporter
from goldpan.execution.checkout import make_accessible

Place = tuple[str, int]
"""A host's name in lower case, and a port."""
PUBLIC_INDEX = "https://pypi.org/simple"
_PORTS = {"http": 80, "https": 443}
_PROBES = ("pytest", "setuptools")
_SECONDS = 20
_VARIABLES = {
    "UV_DEFAULT_INDEX": (None, "PIP_INDEX_URL"),
    "UV_INDEX_URL": (None, "PIP_INDEX_URL"),
    "UV_INDEX": (" ", "PIP_EXTRA_INDEX_URL"),
    "UV_EXTRA_INDEX_URL": (" ", "PIP_EXTRA_INDEX_URL"),
    "UV_FIND_LINKS": (",", "PIP_FIND_LINKS"),
}
"""Variables that name indexes, each with what separates several, and with that of pip, which some
projects call while they are built."""
_NAMED = re.compile(r"(?:([A-Za-z0-9._-]+)=)?(.+)")
_LINK = re.compile(r"""<a\s[^>]*?href\s*=\s*["']([^"'#]+)""", re.I)


@dataclass(frozen=True, slots=True)
class PackageIndex:
    """The configured sources of Python packages."""

    variables: Mapping[str, str]
    """The settings of uv and pip that name them, with absolute paths; they may hold passwords."""
    addresses: tuple[str, ...]
    """Sources on the web."""
    folders: tuple[Path, ...]
    """Sources that are folders of this machine."""


def configured_index(environment: Mapping[str, str]) -> PackageIndex:
    """Return what the variables of uv name, pypi.org where they name no index in its place."""
    variables: dict[str, str] = {}
    addresses: list[str] = []
    folders: list[Path] = []
    if not environment.get("UV_DEFAULT_INDEX") and not environment.get("UV_INDEX_URL"):
        addresses.append(PUBLIC_INDEX)
    for variable, (separator, variable_of_pip) in _VARIABLES.items():
        entries, plain = [], []
        for entry in environment.get(variable, "").split(separator):
            match = _NAMED.fullmatch(entry.strip())
            if match is None:
                continue
            name, source = match[1], match[2]
            if (folder := _local(source)) is None:
                addresses.append(source)
            else:
                folders += (folder,) if folder.exists() else ()
                source = source if "://" in source else str(folder)
            entries.append(f"{name}={source}" if name else source)
            plain.append(source)
        if entries:
            variables[variable] = (separator or " ").join(entries)
            variables.setdefault(variable_of_pip, " ".join(plain))
    return PackageIndex(variables, tuple(addresses), tuple(dict.fromkeys(folders)))


def place_of(address: str) -> Place:
    """Return the host and port of an address; raises `UsageError` for one that is none."""
    with suppress(ValueError):  # a port or an IPv6 address that is none
        url = urlsplit(address)
        if url.scheme in _PORTS and url.hostname:
            return url.hostname.rstrip("."), url.port or _PORTS[url.scheme]
    host = address.rpartition("@")[2]
    raise UsageError(
        f"{host} is no address of a package index", "Write it as https://HOST/PATH, or as a folder"
    )


def file_places(addresses: Iterable[str]) -> frozenset[Place]:
    """Return where indexes of Python packages have their files, and where they redirect to.

    An index that does not answer has none; that it is out of reach, building says.
    """
    import httpx  # takes a tenth of a second, which most who read rows need not spend

    found: set[Place] = set()
    for address in addresses:
        with suppress(httpx.HTTPError, httpx.InvalidURL):
            found |= _file_places(address)
    return frozenset(found)


@lru_cache(maxsize=64)
def _file_places(address: str) -> frozenset[Place]:
    import httpx

    found: set[Place] = set()
    own = place_of(address)[0]
    with httpx.Client(timeout=_SECONDS, follow_redirects=True, verify=shared_context()) as client:
        for name in _PROBES:
            reply = client.get(f"{address.rstrip('/')}/{name}/", headers={"Accept": "text/html"})
            urls = [str(past.url) for past in (*reply.history, reply)]
            if reply.is_success:
                links = (unescape(link[1]) for link in _LINK.finditer(reply.text))
                urls += (urljoin(urls[-1], link) for link in links)
            for url in urls:
                with suppress(UsageError):
                    place = place_of(url)
                    if place[0] == own or not _is_number(place[0]):
                        found.add(place)
    return frozenset(found)


def _is_number(host: str) -> bool:
    with suppress(ValueError):
        ip_address(host)
        return True
    return False


def _local(source: str) -> Path | None:
    """Return the folder that an index is, None for one of the web."""
    if source.lower().startswith("file:"):
        return Path(unquote(urlsplit(source).path))
    return None if "://" in source else Path(source).expanduser().absolute()


# Caches of packages, sealed while nothing is built.
#
# WORKSPACE/verification/.packages/OWNER/NAME is the cache of a repository's packages, to which its
# code may write while an environment is built; verification/.seals/OWNER/NAME.json has the digest
# of each file as the last run left them. A cache that was changed since is deleted before use.
#


_FORMAT = 1
_CACHES, _SEALS = ".packages", ".seals"


def package_cache(workspace: WorkspaceLayout, repo: str) -> Path:
    """Return where the packages of a repository lie: no two share one."""
    return workspace.root / "verification" / _CACHES / repo.lower()


def package_caches(workspace: WorkspaceLayout) -> list[Path]:
    """Return the caches of all repositories, sorted, also of those whose seal alone is there."""
    base = workspace.root / "verification"
    sealed = (path.relative_to(base / _SEALS) for path in (base / _SEALS).glob("*/*.json"))
    names = {base / _CACHES / path.with_name(path.name.removesuffix(".json")) for path in sealed}
    return sorted({*names, *(base / _CACHES).glob("*/*")})


def package_flaws(cache: Path) -> list[tuple[Path, str]]:
    """Return the files of a cache that are not as the last run left them, and why."""
    seal = _seal(cache)
    if not seal.exists():
        return [(seal, "the record of its packages is gone")] if cache.exists() else []
    stored = stored_json(seal)
    if "files" not in stored:
        return [(seal, "the record of its packages is not as it was written")]
    recorded = stored["files"]
    if recorded is None:
        return []
    present = _digests(cache)
    return [
        (
            cache / name,
            "it is gone"
            if name not in present
            else "it is new since the last run of tests"
            if name not in recorded
            else "its digest is another than after the last run of tests",
        )
        for name in sorted({*recorded, *present})
        if recorded.get(name) != present.get(name)
    ]


@contextmanager
def open_packages(
    workspace: WorkspaceLayout, repos: Iterable[str], reporter: Reporter
) -> Iterator[None]:
    """Let environments be built of these repositories' packages, and seal the caches afterwards.

    Call it under the lock of `hold_verification`. A cache that was changed since is deleted.
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
