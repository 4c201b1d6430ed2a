"""Examines what Goldpan finds around it, before a long run does: `goldpan doctor`."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import httpx

from goldpan._version import __version__
from goldpan.annotation.studio.serve import SERVER
from goldpan.core.errors import GoldpanError, UsageError
from goldpan.core.http import shared_context
from goldpan.core.imports import EXTRAS, install_remedy
from goldpan.core.result import Block, Line, Result, Style
from goldpan.core.sanitize import line
from goldpan.core.secrets import mask
from goldpan.core.settings.config import PUBLIC_API, Settings
from goldpan.execution.python_env import find_uv

Level = Literal["ok", "note", "fail"]
_MARKS: Mapping[Level, str] = {"ok": "ok  ", "note": "note", "fail": "FAIL"}
_LEAST_GIT = (2, 38)
_LEAST_FREE = 5 << 30
_TIMEOUT = 10.0


@dataclass(frozen=True, slots=True)
class Diagnosis(Result):
    """One thing that was examined."""

    name: str
    level: Level
    """``fail`` where mining or building cannot work as it is."""
    message: str
    remedy: str = ""

    def blocks(self) -> Iterator[Block]:
        """Yield one line."""
        remedy = f". {self.remedy}" if self.remedy else ""
        style: Style = "bold" if self.level == "fail" else ""
        yield Line(f"{_MARKS[self.level]}  {self.name}: {self.message}{remedy}", style)

    @property
    def exit_code(self) -> int:
        """1 where something will not work."""
        return 1 if self.level == "fail" else 0


def examine(settings: Settings, environment: Mapping[str, str] | None = None) -> list[Diagnosis]:
    """Examine Python, git, disk, tokens with their limits, extras, and servers that are set."""
    environment = os.environ if environment is None else environment
    return [
        Diagnosis("Goldpan", "ok", f"{__version__} on Python {platform.python_version()}"),
        _git(),
        _disk(settings.workspace),
        *_trust(settings),
        *_github(settings),
        *_extras(),
        _uv(),
        _label_studio(environment),
        _models(environment),
    ]


def _trust(settings: Settings) -> Iterator[Diagnosis]:
    if not settings.trust.given:
        yield Diagnosis("Settings file", "note", settings.trust.problem(), settings.trust.remedy)


def _git() -> Diagnosis:
    program = shutil.which("git")
    if program is None:
        return Diagnosis("git", "fail", "not installed", "Install git: cloning needs it")
    remedy = "Install git: cloning needs it"
    try:
        output = subprocess.run(  # noqa: S603 - the program found above
            [program, "--version"], capture_output=True, text=True, check=False, timeout=_TIMEOUT
        ).stdout.strip()
    except (OSError, subprocess.TimeoutExpired):
        return Diagnosis("git", "fail", f"{program} does not run", remedy)
    version = re.search(r"(\d{1,4})\.(\d{1,4})", output)
    if version is None:
        return Diagnosis("git", "fail", "it does not tell its version", remedy)
    if (int(version[1]), int(version[2])) < _LEAST_GIT:
        least = ".".join(map(str, _LEAST_GIT))
        return Diagnosis("git", "note", output, f"Goldpan is tried with git {least} and later")
    return Diagnosis("git", "ok", output)


def _disk(workspace: Path) -> Diagnosis:
    folder = workspace.absolute()
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    text = f"{workspace}, {free / 1e9:,.0f} GB free"
    if not os.access(folder, os.W_OK):
        return Diagnosis("Workspace", "fail", f"{folder} cannot be written", "Give --workspace")
    if free < _LEAST_FREE:
        return Diagnosis(
            "Workspace", "note", text, "Free some space: a large repository takes gigabytes"
        )
    return Diagnosis("Workspace", "ok", text)


def _github(settings: Settings) -> Iterator[Diagnosis]:
    """Ask for each token's limits, which costs nothing of them."""
    try:
        settings.trust.require("api_url")
    except UsageError as error:
        yield Diagnosis("GitHub", "fail", error.problem, error.remedy)
        return
    if not settings.tokens:
        yield Diagnosis(
            "GitHub token",
            "note",
            "none: 60 requests an hour, and REST alone",
            settings.withheld or "Set GITHUB_TOKEN, or log in with gh auth login",
        )
    tokens: tuple[str | None, ...] = settings.tokens or (None,)
    with httpx.Client(timeout=_TIMEOUT, follow_redirects=False, verify=shared_context()) as client:
        for number, token in enumerate(tokens, 1):
            name = f"GitHub token {number}" if token and len(tokens) > 1 else "GitHub"
            yield _limits(client, settings, name, token)


def _limits(client: httpx.Client, settings: Settings, name: str, token: str | None) -> Diagnosis:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    url = settings.api_url.rstrip("/")
    try:
        reply = client.get(f"{url}/rate_limit", headers=headers)
        resources = reply.json().get("resources", {}) if reply.is_success else {}
    except (httpx.HTTPError, ValueError, AttributeError) as error:
        reason = line(mask(str(error)) or type(error).__name__)
        remedy = "Check the network and a proxy"
        if settings.api_url != PUBLIC_API:
            remedy += ", and --api-url"
        return Diagnosis(name, "fail", f"{url} does not answer ({reason})", remedy)
    if reply.status_code == httpx.codes.UNAUTHORIZED:
        return Diagnosis(
            name,
            "fail",
            f"{url} does not accept the token",
            "Make a new one, or unset GITHUB_TOKEN",
        )
    if reply.status_code == httpx.codes.NOT_FOUND:  # an Enterprise server without limits
        return Diagnosis(name, "ok", f"{url} answers, and knows no limits")
    limits = [_limits_left(kind, resources.get(kind)) for kind in ("core", "graphql")]
    if not reply.is_success or not any(limits):
        return Diagnosis(name, "fail", f"{url} answers {reply.status_code}", "Try again later")
    scopes = reply.headers.get("X-OAuth-Scopes")
    rights = f"; scopes: {line(scopes)}" if scopes else ""
    return Diagnosis(name, "ok", f"{', '.join(filter(None, limits))}{rights}")


def _limits_left(kind: str, limit: Any) -> str:
    try:
        reset = datetime.fromtimestamp(int(limit["reset"]), UTC)
        return (
            f"{int(limit['remaining']):,} of {int(limit['limit']):,} left for "
            f"{'GraphQL' if kind == 'graphql' else 'REST'} until {reset:%H:%M} UTC"
        )
    except (KeyError, TypeError, ValueError, OverflowError, OSError):
        return ""


def _extras() -> Iterator[Diagnosis]:
    for extra in sorted(set(EXTRAS.values()) - {"verify"}):  # a program, of which `_uv` tells
        packages = [
            name
            for name, needed in EXTRAS.items()
            if needed == extra and (name != "deepspeed" or sys.platform == "linux")
        ]
        missing = [name for name in packages if find_spec(name) is None]
        if missing:
            text = f"without {', '.join(missing)}"
            yield Diagnosis(f"Extra {extra}", "note", text, install_remedy(missing[0]))
        else:
            yield Diagnosis(f"Extra {extra}", "ok", "installed")


def _uv() -> Diagnosis:
    """Tell whether the program is there that builds environments for `goldpan verify`."""
    try:
        return Diagnosis("uv", "ok", f"{find_uv()}, for goldpan verify")
    except GoldpanError as error:
        return Diagnosis("uv", "note", "not installed: goldpan verify needs it", error.remedy)


def _label_studio(environment: Mapping[str, str]) -> Diagnosis:
    url = environment.get("LABEL_STUDIO_URL")
    if not url:
        if SERVER.is_installed(SERVER.default_place(environment)):
            return Diagnosis("Label Studio", "ok", "installed; goldpan annotate serve starts it")
        return Diagnosis(
            "Label Studio", "note", "not installed", "goldpan annotate serve --install brings it"
        )
    from goldpan.annotation.studio.client import Studio
    from goldpan.annotation.studio.serve import find_server

    try:
        with Studio(find_server(None, environment)) as studio:
            studio.users()
    except GoldpanError as error:
        return Diagnosis("Label Studio", "fail", error.problem, error.remedy)
    return Diagnosis("Label Studio", "ok", f"{url} answers")


def _models(environment: Mapping[str, str]) -> Diagnosis:
    if environment.get("OPENAI_API_KEY"):
        return Diagnosis("Language models", "ok", "OPENAI_API_KEY is set")
    return Diagnosis(
        "Language models",
        "note",
        "OPENAI_API_KEY is not set",
        "Set it, or give review and prompted models --base-url of a server of your own",
    )
