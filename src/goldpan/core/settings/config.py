"""Settings: `goldpan.toml` in the workspace, overridden by the environment, then by flags."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal, cast
from urllib.parse import urlsplit

from goldpan.core.errors import UsageError
from goldpan.core.plugins.loading import leave_out, use
from goldpan.core.remote import is_address, open_address
from goldpan.core.secrets import register_environment
from goldpan.core.settings.file import Least, Source, check_address, read_toml
from goldpan.core.settings.trust import Trust, tokens_for, trust_of

Via = Literal["auto", "graphql", "rest"]
Included = Literal["discussions"]

CONFIG_FILE = "goldpan.toml"
DEFAULT_WORKSPACE = Path("goldpan-workspace")
PUBLIC_API = "https://api.github.com"
_OWNER = r"[A-Za-z0-9](?:[A-Za-z0-9_-]){0,99}"
_OTHER_HOST = re.compile(
    r"(?:https?://(?:www\.)?|git@)(gitlab\.com|bitbucket\.org|codeberg\.org)\b"
)
"""Addresses of repositories elsewhere; any other host may be a GitHub Enterprise Server."""
_REPO = re.compile(rf"{_OWNER}/(?!\.{{1,2}}$)[A-Za-z0-9._-]{{1,100}}")


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSettings:
    """Settings that `goldpan.toml` may say, as may the environment and arguments."""

    api_url: str = PUBLIC_API
    """The REST root; GitHub Enterprise Server: ``https://HOST/api/v3``."""
    via: Via = "auto"
    """Which API to mine through; ``auto`` is GraphQL with a token and REST without."""
    since: datetime | None = None
    """Only entries updated at or after this time."""
    include: tuple[Included, ...] = ()
    """Kinds mined beside issues and pull requests: ``discussions``, which GraphQL alone offers."""
    concurrency: Annotated[int, Least(1)] = 4
    """The most concurrent requests; a run starts with one and adapts to GitHub's answers."""
    at_once: Annotated[int, Least(0)] = 0
    """The most repositories to mine at once; 0 is 8."""
    retries: Annotated[int, Least(1)] = 3
    patience: Annotated[float, Least(0)] = 3_600.0
    """Seconds to wait while GitHub does not answer at all."""
    timeout: Annotated[float, Least(0)] = 60.0
    workers: Annotated[int, Least(0)] = 0
    plugins: tuple[Path, ...] = ()


FILE_SETTINGS = tuple(item.name for item in fields(FileSettings))


@dataclass(frozen=True, slots=True)
class Settings(FileSettings):
    """Everything that a run can be told.

    Args:
        retries: How often a request is tried before the run continues without it.
        timeout: Seconds without a byte before a request is given up.
        workers: Processes that turn raw replies into tables. (default: one per core)
        plugins: Python files that add criteria, models and the like; in goldpan.toml, relative to
            that file.
    """

    workspace: Path = DEFAULT_WORKSPACE
    """Where raw replies and tables lie."""
    tokens: tuple[str, ...] = field(default=(), repr=False)
    """Access tokens, used as one pool."""
    token_command: str = field(default="", repr=False)
    """A command that prints a token, asked at the start and when GitHub refuses the old one."""
    trust: Trust = field(default=Trust(DEFAULT_WORKSPACE, (), given=True), repr=False)
    """Settings of `goldpan.toml` that need the user's trust, and whether it was given."""
    withheld: str = field(default="", repr=False)
    """Why a token that is there is not for this server; empty where none is withheld."""
    api_url_from: str = field(default="", repr=False)
    """Where `api_url` was given, such as ``GOLDPAN_API_URL``; empty for GitHub's own."""

    @property
    def processes(self) -> int:
        """How many processes `workers` stands for."""
        return self.workers or os.cpu_count() or 1

    @property
    def graphql_url(self) -> str:
        """The GraphQL endpoint that belongs to `api_url`."""
        root = self.api_url.rstrip("/")
        return root.removesuffix("/v3") + "/graphql"

    @property
    def git_host(self) -> str:
        """The host that serves histories, with its port if that is not the usual one."""
        return urlsplit(self.api_url).netloc.removeprefix("api.")

    @property
    def web_host(self) -> str:
        """The host that stands in links to issues, such as ``github.com``."""
        host = urlsplit(self.api_url).hostname or ""
        return host.removeprefix("api.")


_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(s|m|min|h|d)?")
_SECONDS = {None: 1, "s": 1, "m": 60, "min": 60, "h": 3_600, "d": 86_400}


def load_settings(
    flags: Mapping[str, object],
    environment: Mapping[str, str] | None = None,
    *,
    with_tokens: bool = True,
) -> Settings:
    """Merge `goldpan.toml`, the environment and the flags that are not None.

    Plugins that the file names are loaded. Raises `UsageError` for an unreadable file, an unknown
    key or a bad value, `PluginError` for a plugin that fails.
    """
    environment = os.environ if environment is None else environment
    register_environment(environment)
    chosen = {key: value for key, value in flags.items() if value is not None}
    named = chosen.pop("workspace", None)
    workspace = _workspace(named, environment)
    source = read_settings_file(workspace)
    values = _read(source, source.values)
    trust = _trust(workspace, str(named or ""), source.values, environment)
    values["plugins"] = _use_plugins(workspace, source.values, trust)
    variables = ("GOLDPAN_API_URL", "GITHUB_API_URL")
    variable = next((name for name in variables if environment.get(name)), "")
    if variable:
        values["api_url"] = environment[variable]
    url_from = "--api-url" if "api_url" in chosen else variable
    of_file = "api_url" in values and not url_from
    if of_file:
        url_from = f"api_url in {source.place('api_url')}"
    values |= _read(Source("The options", chosen), chosen)
    of_file = of_file and not _is_host_of_gh(values, environment)
    if not of_file:  # another server is asked, by the user's own word
        asks = tuple(text for text in trust.asks if not text.startswith("api_url"))
        trust = replace(trust, asks=asks)
    settings = replace(Settings(workspace), **values, trust=trust, api_url_from=url_from)
    remedy = "For GitHub Enterprise write https://HOST/api/v3"
    check_address(settings.api_url, "--api-url", remedy, "GITHUB_TOKEN")
    if not with_tokens or (of_file and not trust.given):
        return settings
    command = environment.get("GOLDPAN_TOKEN_COMMAND", "")
    tokens, withheld = tokens_for(environment, settings.api_url, command)
    return replace(
        settings, tokens=tokens, token_command="" if withheld else command, withheld=withheld
    )


def find_trust(workspace: str | Path | None = None) -> tuple[Trust, tuple[Path, ...]]:
    """Return what a workspace's settings file asks for, and the files that decide about it."""
    root = _workspace(workspace, os.environ)
    values = read_settings_file(root).values
    return _trust(root, str(workspace or ""), values, os.environ), _deciding(root, values)


def _trust(
    root: Path, named: str, values: Mapping[str, Any], environment: Mapping[str, str]
) -> Trust:
    plugins = ", ".join(path.name for path in _plugin_paths(root, values))
    asks = [f"plugins = {plugins}"] if plugins else []
    if url := values.get("api_url"):
        asks.append(f"api_url = {url}")
    named = named or environment.get("GOLDPAN_WORKSPACE", "")
    return trust_of(root, named, asks, _deciding(root, values), environment)


def _deciding(root: Path, values: Mapping[str, Any]) -> tuple[Path, ...]:
    return (root / CONFIG_FILE, *_plugin_paths(root, values))


def use_plugins(workspace: str | Path | None = None) -> None:
    """Load the plugins that a trusted workspace's settings file names."""
    trust, _ = find_trust(workspace)
    _use_plugins(trust.workspace, read_settings_file(trust.workspace).values, trust)


def _use_plugins(root: Path, values: Mapping[str, Any], trust: Trust) -> tuple[Path, ...]:
    paths = _plugin_paths(root, values)
    if not trust.given:
        if paths:
            leave_out(f"{trust.problem()}, so that its plugins were left out. {trust.remedy}")
        return ()
    for path in paths:
        try:
            use(path)
        except UsageError as error:
            problem = f"{root / CONFIG_FILE}: {error.problem}"
            raise UsageError(problem, error.remedy) from None
    return paths


def _plugin_paths(root: Path, values: Mapping[str, Any]) -> tuple[Path, ...]:
    names = values.get("plugins", [])
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise UsageError(
            f"plugins = {names!r} in {root / CONFIG_FILE} is not a list of files",
            'Write plugins = ["my_criterion.py"]',
        )
    return tuple(root / name for name in names)


def _workspace(named: object, environment: Mapping[str, str]) -> Path:
    named = cast("str | Path", named or environment.get("GOLDPAN_WORKSPACE") or DEFAULT_WORKSPACE)
    return open_address(named) if is_address(named) else Path(named)


def repository_name(text: str) -> str:
    """Return ``OWNER/NAME`` from itself or from a web address of the repository or a page of it.

    Raises `UsageError` for anything else: the name becomes a path.
    """
    if other := _OTHER_HOST.match(text.strip()):
        raise UsageError(
            f"{text!r} is on {other[1]}, and Goldpan mines GitHub", "Name a repository on GitHub"
        )
    name, addresses = re.subn(r"^(https?://(www\.)?[^/]+/|git@[^:]+:)", "", text.strip())
    if addresses:
        name = "/".join(re.split(r"[?#]", name)[0].split("/")[:2])
    name = name.strip("/")
    while name.endswith(".git"):  # GitHub gives no repository such a name
        name = name.removesuffix(".git")
    if not _REPO.fullmatch(name):
        many = " and give --repo for each" if re.search(r"[,\s]", text.strip()) else ""
        raise UsageError(f"{text!r} does not name a repository", f"Write it as OWNER/NAME{many}")
    return name


def read_settings_file(workspace: Path) -> Source:
    """Return what a workspace's settings file says; raises `UsageError` where it is wrong."""
    path = workspace / CONFIG_FILE
    if not path.exists():
        return Source(str(path), {})
    source = read_toml(path)
    for key in source.values:
        if "token" in key:
            remedy = "Tokens belong in the environment variable GITHUB_TOKEN, never in a file"
            raise UsageError(f"{source.place(key)}: the key {key} is unknown", remedy)
    return source


def _read(source: Source, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings as their types; raises `UsageError` for all that are none."""
    if not given:
        return {}
    values = dict(given)
    if isinstance(include := values.get("include"), str):
        values["include"] = [include]
    if "since" in values:
        values["since"] = _time(source, values["since"])
    if "patience" in values:
        values["patience"] = _duration(source, values["patience"])
    read = source.read(FileSettings, values)
    return {name: getattr(read, name) for name in values}


def _time(source: Source, value: object) -> datetime:
    try:
        moment = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
    except ValueError:
        raise UsageError(
            f"{source.place('since')}: since = {value!r} is not a date",
            "Write it as 2024-08-01 or 2024-08-01T12:00:00Z",
        ) from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _duration(source: Source, value: object) -> float:
    match = _DURATION.fullmatch(str(value).strip().lower())
    if not match or isinstance(value, bool):
        place = source.place("patience")
        raise UsageError(f"{place}: patience = {value!r} is not a time", "Write it as 90s or 30m")
    return float(match[1]) * _SECONDS[match[2]]


def _is_host_of_gh(values: Mapping[str, Any], environment: Mapping[str, str]) -> bool:
    host = environment.get("GH_HOST")
    return bool(host) and urlsplit(str(values["api_url"])).hostname == host
