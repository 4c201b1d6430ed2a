"""The commands that begin work and look at what came of it: init, doctor, config, open."""

from __future__ import annotations

import os
import webbrowser
from collections.abc import Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Annotated, Any

import typer

from goldpan.commands.shared import Directory, Json, print_result, settings_of
from goldpan.core.config import CONFIG_FILE, Settings, find_trust
from goldpan.core.errors import UsageError
from goldpan.core.remote import is_address, open_address
from goldpan.core.resources import named
from goldpan.core.terminal import Terminal, clean
from goldpan.core.trust import record_trust

_MARKS = {"ok": ("ok  ", "green"), "note": ("note", "yellow"), "fail": ("FAIL", "red")}
_REPORTS = ("goldpan-report.html", "*.html")

config_app = typer.Typer(help="Show the settings in effect.", no_args_is_help=True)


def init(
    workspace: Annotated[
        str, typer.Argument(help="The directory to create, or s3://BUCKET/NAME.")
    ] = "goldpan-workspace",
) -> None:
    """Create a workspace with a commented settings file."""
    root = open_address(workspace) if is_address(workspace) else Path(workspace)
    file = root / CONFIG_FILE
    if file.exists():
        raise UsageError(f"{file} already exists", "Edit it, or name another directory")
    with named(file):
        root.mkdir(parents=True, exist_ok=True)
        file.write_text(_template(), encoding="utf-8")
    record_trust(root, [file], os.environ)
    console = Terminal()
    console.print(clean(f"{file} lists all settings with their defaults."))
    console.print(f"Next: goldpan mine --workspace {workspace} --repo OWNER/NAME")


def trust(
    workspace: Annotated[
        str, typer.Argument(help="A workspace whose goldpan.toml you have read.")
    ] = "goldpan-workspace",
    json: Json = False,
) -> None:
    """Let the plugins and the server count that a workspace's goldpan.toml names.

    Plugins are programs, and a server gets your tokens. Both count as they are now: where the file
    or a plugin beside it changes, they wait until you trust the workspace again.
    """
    found, files = find_trust(workspace)
    if not found.workspace.is_dir():
        raise UsageError(f"There is no workspace {workspace}", "Give its directory")
    path = record_trust(found.workspace, files, os.environ)

    def show() -> None:
        console = Terminal()
        for text in found.asks or ("nothing that takes your consent",):
            console.print(clean(f"Trusted: {text}"))
        console.print(clean(f"{path} remembers {found.workspace} as it is now."))

    print_result(json, {"workspace": str(found.workspace), "trusted": list(found.asks)}, show)


def _template() -> str:
    """Return a settings file in which every setting is commented out."""
    defaults = Settings()
    lines = [
        "# Settings of this workspace. The environment and flags override them.",
        "# Never put tokens in a file: set GITHUB_TOKEN.",
        "",
    ]
    for name, about in _ABOUT.items():
        value = getattr(defaults, name)
        text = _EXAMPLES.get(name, f'"{value}"' if isinstance(value, str) else value)
        lines += [f"# {about}", f"# {name} = {text}", ""]
    return "\n".join(lines)


_ABOUT = {
    "api_url": "The REST root; GitHub Enterprise Server: https://HOST/api/v3",
    "via": "auto, graphql or rest; auto is GraphQL with a token and REST without",
    "since": "Only entries updated at or after this time",
    "concurrency": "The most concurrent requests",
    "retries": "How often a request is tried before the run continues without it",
    "patience": "Seconds to wait while GitHub does not answer at all",
    "timeout": "Seconds without a byte before a request is given up",
    "workers": "Processes that turn raw replies into tables; 0 is one per core",
    "plugins": "Python files that add criteria, models and the like, relative to this file",
}
_EXAMPLES = {"since": '"2024-08-01"', "plugins": "[]"}


def doctor(workspace: Directory = None, json: Json = False) -> None:
    """Check git, disk space, tokens and their limits, extras and servers before a long run.

    Exits with 1 if something will not work.
    """
    from goldpan.doctor import examine

    findings = examine(settings_of(workspace=workspace))

    def show() -> None:
        console = Terminal()
        for finding in findings:
            mark, style = _MARKS[finding.level]
            line = clean(mark, style)
            line.append(clean(f"  {finding.name}: {finding.message}"))
            if finding.remedy:
                line.append(clean(f". {finding.remedy}"))
            console.print(line)

    print_result(json, [asdict(finding) for finding in findings], show)
    raise typer.Exit(1 if any(finding.level == "fail" for finding in findings) else 0)


@config_app.command("show")
def config_show(workspace: Directory = None, json: Json = False) -> None:
    """Print every setting with its value and its source; tokens are only counted."""
    settings = settings_of(workspace=workspace)
    values = _settings_and_sources(settings, os.environ)

    def show() -> None:
        console = Terminal()
        for name, (value, source) in values.items():
            console.print(clean(f"{name:<14} {value or 'none'}  ({source})"))

    data = {name: {"value": value, "source": source} for name, (value, source) in values.items()}
    print_result(json, data, show)


def _settings_and_sources(
    settings: Settings, environment: Mapping[str, str]
) -> dict[str, tuple[Any, str]]:
    from goldpan.core.config import read_settings_file

    file = read_settings_file(settings.workspace)
    sources: dict[str, tuple[Any, str]] = {}
    shown = [field.name for field in fields(Settings) if field.repr or field.name == "tokens"]
    for name in shown:
        value = getattr(settings, name)
        source = f"{settings.workspace / CONFIG_FILE}" if name in file else "default"
        if name == "tokens":
            value = f"{len(settings.tokens)} token{'s' if len(settings.tokens) != 1 else ''}"
            source = settings.withheld or "the environment, GOLDPAN_TOKEN_COMMAND or gh"
        elif name == "api_url" and (
            environment.get("GOLDPAN_API_URL") or environment.get("GITHUB_API_URL")
        ):
            source = "environment"
        elif name == "plugins":
            value = ", ".join(map(str, settings.plugins))
            if not settings.trust.given:
                source += ", not trusted"
        elif name == "workspace" and value != Settings().workspace:
            source = "--workspace or GOLDPAN_WORKSPACE"
        sources[name] = (str(value) if value is not None else "", source)
    return sources


def open_result(
    project: Annotated[
        str | None, typer.Option(help="Open this annotation project in Label Studio.")
    ] = None,
    show_only: Annotated[
        bool, typer.Option("--print", help="Print the address instead of opening a browser.")
    ] = False,
    workspace: Directory = None,
) -> None:
    """Open the newest report, or an annotation project in Label Studio, in the browser."""
    root = settings_of(workspace=workspace).workspace
    address = _project_address(root, project) if project else _newest_report(root).as_uri()
    Terminal().print(clean(address))
    if not show_only:
        webbrowser.open(address)


def _newest_report(root: Path) -> Path:
    paths = [
        path.absolute()
        for folder in (root, Path.cwd())
        for pattern in _REPORTS
        for path in folder.glob(pattern)
    ]
    if not paths:
        raise UsageError(
            f"Neither {root} nor this directory holds an HTML report", "Run goldpan report first"
        )
    return max(paths, key=lambda path: path.stat().st_mtime_ns)


def _project_address(root: Path, name: str) -> str:
    from goldpan.annotation.studio.project import open_project
    from goldpan.core.workspace import Workspace

    return open_project(Workspace(root), name).page
