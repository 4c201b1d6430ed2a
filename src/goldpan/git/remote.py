"""Sources of a history: GitHub, another address, a folder or a bundle.

Git sends its headers, and so the token, to wherever a first redirect led.
"""

from __future__ import annotations

import base64
import os
import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal
from urllib.parse import urljoin, urlsplit

import httpx

from goldpan.core.errors import GitError, UsageError
from goldpan.core.http import shared_context
from goldpan.core.sanitize import line
from goldpan.core.secrets import mask, register
from goldpan.core.settings.trust import is_loopback
from goldpan.git.process import SCHEMES, GitSettings, failure

_MOVED = re.compile(r"returned (?:error: )?30[12378]\b")
_MOST = 5
_REFS = "/info/refs"
_QUERY = "?service=git-upload-pack"


def was_redirected(error: GitError) -> bool:
    """Tell whether git stopped at a redirect."""
    return _MOVED.search(error.problem) is not None


def follow(remote: Remote) -> Remote:
    """Return the remote at the address to which its server redirects, on the same origin alone.

    Raises `GitError` where redirects lead elsewhere, or do not end.
    """
    url = remote.url.removesuffix("/") + _REFS + _QUERY
    headers = dict([remote.header] if remote.header else [])
    with httpx.Client(headers=headers, verify=shared_context()) as client:
        for _ in range(_MOST):
            try:
                with client.stream("GET", url) as answer:
                    location = answer.headers.get("Location", "")
            except httpx.HTTPError as error:
                raise GitError(
                    f"{remote.url} could not be asked ({line(mask(str(error)))})",
                    "Run the same command again",
                ) from None
            if not answer.has_redirect_location:
                return replace(remote, url=url.partition("?")[0].removesuffix(_REFS))
            url = _checked(remote, urljoin(url, location))
    raise GitError(f"{remote.url} redirects again and again", "Give the address it has now")


def _checked(remote: Remote, url: str) -> str:
    try:
        is_home = origin(url) == origin(remote.url)
    except ValueError:  # it is no address
        is_home = False
    if not is_home or not url.partition("?")[0].endswith(_REFS):
        raise GitError(
            f"{remote.url} redirects to another place, {line(mask(url))}",
            "Give that address with --source if you trust it; the token goes nowhere else",
        )
    return url


Kind = Literal["address", "folder", "bundle"]
NAME = "origin"
_SCP = re.compile(r"[A-Za-z0-9._-]+@[A-Za-z0-9.-]+:(?![:/-])[^\s:]+")
_BUNDLE = re.compile(rb"# v[23] git bundle\n")
_HEAD = 256
"""Bytes of a bundle that hold its capabilities."""
_NO_SOURCE = "Give an https or ssh address, a folder or a bundle"


@dataclass(frozen=True, slots=True)
class Remote:
    """A source of history, as git addresses it."""

    url: str
    kind: Kind
    token: str | None = field(default=None, repr=False)

    @property
    def is_partial(self) -> bool:
        """True where files are fetched only when they are needed."""
        return self.kind == "address"

    @property
    def is_local(self) -> bool:
        """True where the source lies on this machine."""
        return self.kind != "address" or self.url.startswith("file:")

    @property
    def reach(self) -> GitSettings:
        """The settings to fetch from here; none are in the clone's own config.

        So a clone never knows where its missing objects are, and no git that reads it, of
        whichever version, fetches them one by one.
        """
        settings = [
            (f"remote.{NAME}.url", self.url),
            ("transfer.unpackLimit", "1"),  # packs, not thousands of loose files
            # Nothing is ever checked out, and real histories hold what the checks refuse.
            ("transfer.fsckObjects", "false"),
            ("http.lowSpeedLimit", "1"),
            ("http.lowSpeedTime", "120"),
        ]
        if self.is_partial:
            settings += [
                (f"remote.{NAME}.promisor", "true"),
                (f"remote.{NAME}.partialCloneFilter", "blob:none"),
            ]
        if self.header is not None:
            parts = urlsplit(self.url)
            # A redirect would take the header along, and a proxy would read what is not encrypted.
            settings.append(("http.followRedirects", "false"))
            if parts.scheme == "http":
                settings.append(("http.proxy", ""))
            name = f"http.{parts.scheme}://{parts.netloc}/.extraHeader"
            settings.append((name, ": ".join(self.header)))
        return tuple(settings)

    @property
    def header(self) -> tuple[str, str] | None:
        """The header that shows the token, if there is one."""
        if self.token is None:
            return None
        basic = base64.b64encode(f"x-access-token:{self.token}".encode()).decode()
        return "Authorization", f"Basic {basic}"


def find_remote(
    repo: str, source: str | Path | None = None, token: str | None = None, host: str = "github.com"
) -> Remote:
    """Return the source of a repository's history; without one named, its address on `host`.

    The token goes to `host` and its port alone, and only where nobody can listen. Raises
    `UsageError` for what is no source or holds a password, `GitError` for a file that is no bundle.
    """
    register(token)
    if source is None:
        return Remote(f"https://{host}/{repo}.git", "address", token)
    text = os.fspath(source)
    if isinstance(source, Path) or Path(text).exists():
        return _local(Path(text))
    if _SCP.fullmatch(text):
        return Remote(text, "address")
    try:
        parts = urlsplit(text)
        name = parts.hostname or ""
        is_secret = parts.password is not None or (parts.scheme != "ssh" and bool(parts.username))
    except ValueError:
        raise UsageError(f"{text!r} is not a web address", _NO_SOURCE) from None
    if is_secret:
        raise UsageError(
            f"The address of {repo} on {name} holds a name or a password",
            "Remove them, and put a token into GITHUB_TOKEN",
        )
    is_address = parts.scheme in SCHEMES and (name or parts.scheme == "file")
    if not is_address or text.startswith("-") or any(ord(sign) <= 32 for sign in text):
        raise UsageError(f"{text!r} is neither a git address nor an existing file", _NO_SOURCE)
    is_home = origin(text)[1:] == origin(f"{parts.scheme}://{host}")[1:]
    is_safe = parts.scheme == "https" or (parts.scheme == "http" and is_loopback(name))
    return Remote(text, "address", token if is_home and is_safe else None)


def source_of(source: str, repo: str) -> str:
    """Return a source with a repository's names in the place of ``{owner}`` and ``{name}``."""
    owner, _, name = repo.partition("/")
    return source.replace("{owner}", owner).replace("{name}", name)


def origin(url: str) -> tuple[str, str, int | None]:
    """Return scheme, host and port of an address; raises `ValueError` for what is none."""
    parts = urlsplit(url)
    port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    return parts.scheme, (parts.hostname or "").lower(), port


def _local(path: Path) -> Remote:
    path = path.absolute()
    if path.is_dir():
        return Remote(str(path), "folder")
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD)
    except OSError as error:
        raise GitError(f"{path} cannot be read: {error.strerror}", "Check the path") from None
    if not _BUNDLE.match(head):
        raise GitError(f"{path} is not a git bundle", "Make one with git bundle create FILE --all")
    if b"\n@object-format=sha256\n" in head:  # which git tells of the pack alone
        raise failure(str(path), b"fatal: unknown object format", 128)
    return Remote(str(path), "bundle")
