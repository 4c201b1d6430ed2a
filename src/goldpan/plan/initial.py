"""`goldpan init`: a new workspace with its settings and a plan, commented."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from inspect import getdoc
from pathlib import Path

from goldpan.core.errors import UsageError
from goldpan.core.result import Block, Line, Result
from goldpan.core.settings.config import CONFIG_FILE, FILE_SETTINGS, Settings
from goldpan.core.settings.trust import record_trust
from goldpan.workspace.workspace import Workspace

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


def init(lab: Workspace, path: Path | str | None = None) -> NewWorkspace:
    """Create a workspace with a commented settings file and a commented plan.

    Example: goldpan init lab

    Args:
        path (WORKSPACE): The directory, if it is not this workspace's.
    """
    from goldpan.core.resources import named
    from goldpan.core.storage.workspace import write_whole
    from goldpan.plan.sections import commented_plan

    root = lab.path if path is None else lab.opened(path).path
    file, plan = root / CONFIG_FILE, root / "plan.toml"
    for path in (file, plan):
        if path.exists():
            raise UsageError(f"{path} already exists", "Edit it, or name another directory")
    with named(file):
        root.mkdir(parents=True, exist_ok=True)
        write_whole(file, settings_template())
        text = commented_plan().replace(
            '#workspace = "WORKSPACE"  # for example', 'workspace = "."'
        )
        write_whole(plan, text)
    record_trust(root, [file], os.environ)
    return NewWorkspace(root, (file, plan))


def settings_template() -> str:
    """Return a settings file in which every setting is explained and commented out."""
    import orjson
    from docstring_parser.google import parse

    documented = (getdoc(Settings), getdoc(Workspace.__init__))
    said = [item for text in documented for item in parse(text or "").params]
    about = {item.arg_name: " ".join((item.description or "").split()) for item in said}
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
