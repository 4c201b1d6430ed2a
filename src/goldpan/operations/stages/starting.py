"""How work begins: a new workspace, its settings, a plan and the demo."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from goldpan.core.errors import UsageError
from goldpan.core.result import Block, Line, Result, Results
from goldpan.core.settings.config import CONFIG_FILE, FILE_SETTINGS, Settings, find_trust
from goldpan.core.settings.trust import record_trust
from goldpan.core.values import LOCAL, Execution, several
from goldpan.operations.signature import Parameter, fields_of, opens_with, read_operation
from goldpan.operations.table import Group

if TYPE_CHECKING:
    from goldpan.demo.pipeline import DemoResult
    from goldpan.doctor import Diagnosis
    from goldpan.operations.workspace import Workspace
    from goldpan.plan.results import PlanResult
    from goldpan.plan.status import DryRun


_EXAMPLES = {"since": "2024-08-01", "plugins": ()}
"""Values of settings whose default TOML cannot say, or that help nobody."""


@dataclass(frozen=True, slots=True)
class NewWorkspace(Result):
    """A workspace that was created, and the files in it to be edited."""

    workspace: Path
    files: tuple[Path, ...]

    def blocks(self) -> Iterator[Block]:
        """Yield the files and what comes next."""
        for file in self.files:
            yield Line(f"{file} lists all settings with their defaults.")
        yield Line(f"Next: goldpan mine --workspace {self.workspace} --repo OWNER/NAME")


@opens_with("path")
def init(self: Workspace) -> NewWorkspace:
    """Create a workspace with a commented settings file and a commented plan."""
    from goldpan.core.resources import named
    from goldpan.core.storage.workspace import write_whole
    from goldpan.plan.sections import commented_plan

    file, plan = self.path / CONFIG_FILE, self.path / "plan.toml"
    for path in (file, plan):
        if path.exists():
            raise UsageError(f"{path} already exists", "Edit it, or name another directory")
    with named(file):
        self.path.mkdir(parents=True, exist_ok=True)
        opening = read_operation(type(self).__init__).parameters
        write_whole(file, settings_template(opening))
        text = commented_plan().replace('#workspace = "WORKSPACE"', 'workspace = "."')
        write_whole(plan, text)
    record_trust(self.path, [file], os.environ)
    return NewWorkspace(self.path, (file, plan))


def settings_template(opening: Sequence[Parameter]) -> str:
    """Return a settings file in which every setting is explained and commented out.

    `opening` are the parameters of `Workspace`.
    """
    import orjson

    declared = (*fields_of(Settings), *opening)
    about = {parameter.name: parameter.help for parameter in declared}
    defaults = Settings()
    lines = [
        "# Settings of this workspace. The environment and options of commands override them.",
        "# Never put tokens in a file: set GITHUB_TOKEN.",
        "",
    ]
    for name in FILE_SETTINGS:
        value = orjson.dumps(_EXAMPLES.get(name, getattr(defaults, name))).decode()
        lines += [f"# {about[name]}", f"# {name} = {value}", ""]
    return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Trusted(Result):
    """The plugins and server that a workspace's settings file may use from now on."""

    workspace: Path
    trusted: tuple[str, ...]
    file: Path
    """Where that is remembered."""

    def blocks(self) -> Iterator[Block]:
        """Yield what is trusted."""
        for text in self.trusted or ("nothing that takes your consent",):
            yield Line(f"Trusted: {text}")
        yield Line(f"{self.file} remembers {self.workspace} as it is now.")


@opens_with("path")
def trust(self: Workspace) -> Trusted:
    """Let the plugins and the server count that a workspace's goldpan.toml names.

    Plugins are programs, and a server gets your tokens. Both count as they are now: where the file
    or a plugin beside it changes, they wait until you trust the workspace again. They take effect
    where the workspace is opened next.
    """
    found, files = find_trust(self.path)
    if not self.path.is_dir():
        raise UsageError(f"There is no workspace {self.path}", "Give its directory")
    return Trusted(self.path, found.asks, record_trust(self.path, files, os.environ))


def doctor(self: Workspace) -> Results[Diagnosis]:
    """Check git, disk space, tokens and their limits, extras and servers before a long run.

    Exits with 1 if something will not work.
    """
    from goldpan.doctor import examine

    return Results(examine(self.settings))


@dataclass(frozen=True, slots=True)
class Setting:
    """The value of a setting, and where it is from."""

    value: str
    source: str


@dataclass(frozen=True, slots=True)
class SettingsInEffect(Result):
    """Every setting by name; tokens are only counted."""

    settings: Mapping[str, Setting]

    def plain(self) -> dict[str, dict[str, str]]:
        """Return value and source of each."""
        return {name: asdict(setting) for name, setting in self.settings.items()}

    def blocks(self) -> Iterator[Block]:
        """Yield a line for each."""
        for name, setting in self.settings.items():
            yield Line(f"{name:<14} {setting.value or 'none'}  ({setting.source})")


class Config(Group):
    """Show the settings in effect."""

    def show(self) -> SettingsInEffect:
        """Print every setting with its value and its source; tokens are only counted."""
        from goldpan.core.settings.config import read_settings_file

        settings = self.lab.settings
        file = read_settings_file(settings.workspace)
        names = [field.name for field in fields(Settings) if field.repr]
        found = {name: Setting(_shown(settings, name), self._source(name, file)) for name in names}
        count = len(settings.tokens)
        found["tokens"] = Setting(
            f"{count} token{'s' if count != 1 else ''}",
            settings.withheld or "the environment, GOLDPAN_TOKEN_COMMAND or gh",
        )
        return SettingsInEffect(found)

    def _source(self, name: str, file: Mapping[str, Any]) -> str:
        settings = self.lab.settings
        if name == "workspace":
            is_default = settings.workspace == Settings().workspace
            return "default" if is_default else "--workspace or GOLDPAN_WORKSPACE"
        if name in self.lab.given:
            return "argument"
        if name == "api_url" and (
            os.environ.get("GOLDPAN_API_URL") or os.environ.get("GITHUB_API_URL")
        ):
            return "environment"
        source = str(settings.workspace / CONFIG_FILE) if name in file else "default"
        is_withheld = name == "plugins" and not settings.trust.given
        return f"{source}, not trusted" if is_withheld else source


def _shown(settings: Settings, name: str) -> str:
    value = getattr(settings, name)
    if name == "plugins":
        return ", ".join(map(str, value))
    return "" if value is None else str(value)


def run(
    plan: Path | str,
    *,
    only: str | Sequence[str] = (),
    update: bool = False,
    select: bool = False,
    force: bool = False,
    dry_run: bool = False,
    execution: Execution = LOCAL,
    workspace: str | Path | None = None,
    progress: bool = False,
) -> PlanResult | DryRun:
    """Run a plan: the whole pipeline, declared in one file. Only what changed runs.

    A unit is a stage of one repository, a dataset, an evaluation or a publication. It runs if an
    input, a setting or Goldpan's version has changed since its last run. A unit that fails stops
    only those that need it. Exits with 3 if one failed, waits for people, or something is missing;
    the same command resumes.

    Args:
        plan (PLAN): The plan, a TOML file (docs/plans.md).
        only (UNIT): Only these units: a stage, OWNER/NAME or both, such as filter/OWNER/NAME.
        update: Mine what changed, regardless of the refresh setting.
        select: Search again for the selected repositories.
        force: Also run units that are up to date.
        dry_run: Only show what would run, why, and what it would cost.
        execution: Where units are run; all machines have to see the workspace and the plan.
        workspace: A directory or s3://BUCKET/NAME. (default: the plan's)
        progress: Show progress on standard error.
    """
    from goldpan.plan.cluster import open_cluster
    from goldpan.plan.due import RunSelection
    from goldpan.plan.file import load_plan
    from goldpan.plan.make import open_workspace
    from goldpan.plan.results import listening
    from goldpan.plan.run import OpenPlan
    from goldpan.plan.status import DryRun

    chosen = RunSelection(several(only), update, force)
    with listening(progress=progress) as (listener, reporter, shows_stages):
        file = load_plan(plan)
        lab = open_workspace(file, workspace, progress=shows_stages)
        opened = OpenPlan(file, lab, reporter, select=select, keep=not dry_run)
        if dry_run:
            judged = opened.assess(chosen, price=True)
            return DryRun(tuple(judged), file.path, lab.path)
        with open_cluster(execution) as cluster:
            return opened.run(chosen, listener, cluster)


def demo(self: Workspace) -> DemoResult:
    """Run the whole pipeline offline on a small repository that ships with Goldpan.

    The workspace is demo-workspace where none is named.
    """
    from goldpan.demo.pipeline import run_demo

    is_named = "workspace" in self.given
    lab = self if is_named else type(self)("demo-workspace", progress=self.shows_progress)
    return run_demo(lab, progress=lab.shows_progress)
