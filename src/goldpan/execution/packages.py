"""Where the packages come from that environments are built of.

An index names its files by address, and these may lie elsewhere: those of pypi.org are on
files.pythonhosted.org. So the index is asked for the pages of packages that all environments need,
and the hosts of their files are reached as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from html import unescape
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

from goldpan.core.errors import UsageError
from goldpan.core.http import shared_context

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
        f"{host} is not the address of a package index",
        "Write it as https://HOST/PATH, or as a folder",
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
