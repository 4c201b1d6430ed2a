"""Follows a renamed repository to its new address, on its own host: git itself follows nowhere.

Git sends its headers, and so the token, to wherever a first redirect led.
"""

from __future__ import annotations

import re
from dataclasses import replace
from urllib.parse import urljoin

import httpx

from goldpan.core.errors import GitError
from goldpan.core.sanitize import line
from goldpan.core.secrets import mask
from goldpan.core.tls import shared_context
from goldpan.git.remote import Remote, origin

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
    except ValueError:  # whatever it is, it is no address
        is_home = False
    if not is_home or not url.partition("?")[0].endswith(_REFS):
        raise GitError(
            f"{remote.url} redirects to another place, {line(mask(url))}",
            "Give that address with --source if you trust it; the token goes nowhere else",
        )
    return url
