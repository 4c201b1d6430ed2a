"""Examines what Goldpan finds around it, before a long run does: `goldpan doctor`."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import httpx

from goldpan._version import __version__
from goldpan.annotation.studio.serve import SERVER
from goldpan.core.errors import GoldpanError
from goldpan.core.http import shared_context
from goldpan.core.imports import EXTRAS, install_remedy
from goldpan.core.result import Result
from goldpan.core.sanitize import line
from goldpan.core.secrets import mask
from goldpan.core.settings.config import PUBLIC_API, Settings
from goldpan.execution.python_env import find_uv

_LEAST_GIT = (2, 38)
_LEAST_FREE = 5 << 30
_TIMEOUT = 10.0


@dataclass(frozen=True, slots=True)
class Diagnosis(Result):
    """One thing that was examined."""

    name: str
    level: Literal["ok", "note", "fail"]
    """``fail`` where mining or building cannot work as it is."""
    message: str
    remedy: str = ""

    @property
    def exit_code(self) -> int:
        """1 where something will not work."""
        return 1 if self.level == "fail" else 0


class _Note(GoldpanError):  # noqa: N818 - it stops nothing
    """Something that is not as it could be, though mining and building work."""


def examine(
    settings: Settings,
    environment: Mapping[str, str] | None = None,
    refused: GoldpanError | None = None,
) -> list[Diagnosis]:
    """Examine Python, git, disk, tokens with their limits, extras, and servers that are set.

    `refused` is why no token could be had, where that is so.
    """
    environment = os.environ if environment is None else environment
    return [
        Diagnosis("Goldpan", "ok", f"{__version__} on Python {platform.python_version()}"),
        _diagnosis("git", _git),
        _diagnosis("Workspace", partial(_disk, settings.workspace)),
        *_github(settings, refused),
        *_extras(),
        _diagnosis("uv", _uv),
        _diagnosis("Label Studio", partial(_label_studio, environment)),
        _diagnosis("Language models", partial(_models, environment)),
    ]


def _diagnosis(name: str, check: Callable[[], str]) -> Diagnosis:
    try:
        return Diagnosis(name, "ok", check())
    except GoldpanError as error:
        level: Literal["note", "fail"] = "note" if isinstance(error, _Note) else "fail"
        return Diagnosis(name, level, error.problem, error.remedy)


def _git() -> str:
    remedy = "Install git: cloning needs it"
    program = shutil.which("git")
    if program is None:
        raise GoldpanError("not installed", remedy)
    try:
        output = subprocess.run(  # noqa: S603 - the program found above
            [program, "--version"], capture_output=True, text=True, check=False, timeout=_TIMEOUT
        ).stdout.strip()
    except (OSError, subprocess.TimeoutExpired):
        raise GoldpanError(f"{program} does not run", remedy) from None
    version = re.search(r"(\d{1,4})\.(\d{1,4})", output)
    if version is None:
        raise GoldpanError("it does not report its version", remedy)
    if (int(version[1]), int(version[2])) < _LEAST_GIT:
        least = ".".join(map(str, _LEAST_GIT))
        raise _Note(output, f"Goldpan is tested with git {least} and later")
    return output


def _disk(workspace: Path) -> str:
    folder = workspace.absolute()
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    text = f"{workspace}, {free / 1e9:,.0f} GB free"
    if not os.access(folder, os.W_OK):
        raise GoldpanError(f"{folder} cannot be written", "Give --workspace")
    if free < _LEAST_FREE:
        raise _Note(text, "Free some space: a large repository takes gigabytes")
    return text


def _github(settings: Settings, refused: GoldpanError | None) -> Iterator[Diagnosis]:
    """Ask for each token's limits, which costs nothing of them."""
    if refused is not None:
        yield Diagnosis("GitHub token", "fail", refused.problem, refused.remedy)
        return
    trust = settings.trust
    if not trust.given:
        yield Diagnosis("Settings file", "note", trust.problem(), trust.remedy)
    try:
        trust.require("api_url")
    except GoldpanError as error:
        yield Diagnosis("GitHub", "fail", error.problem, error.remedy)
        return
    if not settings.tokens:
        remedy = settings.withheld or "Set GITHUB_TOKEN, or log in with gh auth login"
        yield Diagnosis("GitHub token", "note", "none: 60 requests an hour, and REST alone", remedy)
    tokens: tuple[str | None, ...] = settings.tokens or (None,)
    with httpx.Client(timeout=_TIMEOUT, follow_redirects=False, verify=shared_context()) as client:
        for number, token in enumerate(tokens, 1):
            name = f"GitHub token {number}" if len(tokens) > 1 else "GitHub"
            yield _diagnosis(name, partial(_limits, client, settings.api_url.rstrip("/"), token))


def _limits(client: httpx.Client, url: str, token: str | None) -> str:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    try:
        reply = client.get(f"{url}/rate_limit", headers=headers)
        resources = reply.json().get("resources", {}) if reply.is_success else {}
    except (httpx.HTTPError, ValueError, AttributeError) as error:
        reason = line(mask(str(error)) or type(error).__name__)
        also = "" if url == PUBLIC_API else ", and --api-url"
        remedy = f"Check the network and a proxy{also}"
        raise GoldpanError(f"{url} does not answer ({reason})", remedy) from None
    if reply.status_code == httpx.codes.UNAUTHORIZED:
        remedy = "Make a new one, or unset GITHUB_TOKEN"
        raise GoldpanError(f"{url} does not accept the token", remedy)
    if reply.status_code == httpx.codes.NOT_FOUND:  # an Enterprise server without limits
        return f"{url} answers, and reports no rate limits"
    kinds = {"core": "REST", "graphql": "GraphQL"}
    limits = [_left(name, resources.get(kind)) for kind, name in kinds.items()]
    if not any(limits):
        raise GoldpanError(f"{url} answers {reply.status_code}", "Try again later")
    scopes = reply.headers.get("X-OAuth-Scopes")
    return ", ".join(filter(None, limits)) + (f"; scopes: {line(scopes)}" if scopes else "")


def _left(name: str, limit: Any) -> str:
    try:
        reset = datetime.fromtimestamp(int(limit["reset"]), UTC)
        remaining, most = int(limit["remaining"]), int(limit["limit"])
    except (KeyError, TypeError, ValueError, OverflowError, OSError):
        return ""
    return f"{remaining:,} of {most:,} left for {name} until {reset:%H:%M} UTC"


def _extras() -> Iterator[Diagnosis]:
    for extra in sorted(set(EXTRAS.values()) - {"verify"}):  # a program, of which `_uv` tells
        packages = [name for name, needed in EXTRAS.items() if needed == extra]
        missing = [
            name
            for name in packages
            if find_spec(name) is None and (name != "deepspeed" or sys.platform == "linux")
        ]
        if missing:
            text = f"without {', '.join(missing)}"
            yield Diagnosis(f"Extra {extra}", "note", text, install_remedy(missing[0]))
        else:
            yield Diagnosis(f"Extra {extra}", "ok", "installed")


def _uv() -> str:
    """Return where the program is that builds environments for `goldpan verify`."""
    try:
        return f"{find_uv()}, for goldpan verify"
    except GoldpanError as error:
        raise _Note("not installed: goldpan verify needs it", error.remedy) from None


def _label_studio(environment: Mapping[str, str]) -> str:
    url = environment.get("LABEL_STUDIO_URL")
    if not url:
        if SERVER.is_installed(SERVER.default_place(environment)):
            return "installed; goldpan annotate serve starts it"
        raise _Note("not installed", "goldpan annotate serve --install installs it")
    from goldpan.annotation.studio.client import Studio
    from goldpan.annotation.studio.serve import find_server

    with Studio(find_server(None, environment)) as studio:
        studio.users()
    return f"{url} answers"


def _models(environment: Mapping[str, str]) -> str:
    if environment.get("OPENAI_API_KEY"):
        return "OPENAI_API_KEY is set"
    server = "give review and prompted models --base-url of a server of your own"
    raise _Note("OPENAI_API_KEY is not set", f"Set it, or {server}")
