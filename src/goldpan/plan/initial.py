"""`goldpan init`: a new workspace with its settings and a plan, commented."""

from __future__ import annotations

import os
import re
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from inspect import getdoc
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin

from goldpan.core.errors import UsageError
from goldpan.core.result import Result
from goldpan.core.settings.config import CONFIG_FILE, FILE_SETTINGS, Settings
from goldpan.core.settings.trust import record_trust
from goldpan.workspace.mining import Asking
from goldpan.workspace.workspace import Workspace

_EXAMPLES = {"since": "2024-08-01", "plugins": ()}
"""Values of settings whose default TOML cannot say, or that help nobody."""
_EXAMPLES_IN_HELP = (
    r"\b(?:such as|for example) ([^\s,;)]+?)[.,;)]?(?:\s|$)",
    r"^([a-z][\w-]*), ",
    r"(https?://[^\s,;)]+?)[.,;)]?(?:\s|$)",
)
"""Where help names a value: as an example, as the first choice, or as an address."""
_HEAD = """\
# A plan for goldpan run. Lines that begin with # and a space are help; remove the # before a line
# without one to set what it says. It sets the default, unless the line ends in # for example.
# Of a table whose heading has a # remove that too, and the # before the keys that it must have,
# which stand first. Words in capitals stand for your own names and paths, which are relative to
# this file (docs/plans.md).

workspace = "."
"""
_LISTED = '[repositories]\n# Their names, OWNER/NAME.\nlisted = ["OWNER/NAME"]\n'
_NAMED = ("name", "family")
"""The keys that every dataset has."""
_NEEDED = {"[[evaluation]]": "dataset", "[[repositories.select]]": "language"}
"""The key that makes a table whole of which one of several has to be there."""
_EXAMPLE = "  # for example"
"""What a line of a plan ends in that sets no default."""


@dataclass(frozen=True, slots=True)
class NewWorkspace(Result):
    """A workspace that was created, and the files in it to be edited."""

    workspace: Path
    files: tuple[Path, ...]


def init(lab: Workspace, path: Path | str | None = None) -> NewWorkspace:
    """Create a workspace with a commented settings file and a commented plan.

    Example: goldpan init lab

    Args:
        path (WORKSPACE): The directory, if it is not this workspace's.
    """
    from goldpan.core.resources import named
    from goldpan.core.storage.workspace import write_whole

    root = lab.path if path is None else lab.opened(path).path
    file, plan = root / CONFIG_FILE, root / "plan.toml"
    for path in (file, plan):
        if path.exists():
            raise UsageError(f"{path} already exists", "Edit it, or name another directory")
    with named(file):
        root.mkdir(parents=True, exist_ok=True)
        write_whole(file, settings_template())
        write_whole(plan, commented_plan())
    record_trust(root, [file], os.environ)
    return NewWorkspace(root, (file, plan))


def settings_template() -> str:
    """Return a settings file in which every setting is explained and commented out."""
    import orjson
    from docstring_parser.google import parse

    documented = (getdoc(Settings), getdoc(Asking))
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


def commented_plan() -> str:
    """Return a plan that runs once its repository is named, with all other keys as comments."""
    from goldpan.plan.file import plan_of, section_of
    from goldpan.plan.section import Select
    from goldpan.plan.stages import STAGES

    head = plan_of(())
    parts = [f"{_HEAD}{_keys(head, ('refresh', *head.parameters), whole=True)}", _LISTED]
    parts.append(_table("[[repositories.select]]", Select))
    for stage in STAGES:
        if stage.name == "dataset":
            parts += _datasets()
        elif stage.heading:
            parts.append(_table(stage.heading, section_of(stage)))
    return "\n".join(parts)


def _datasets() -> Iterator[str]:
    """Yield a dataset of each family, with the keys that those before it have not; qa first."""
    from goldpan.plan.file import dataset_of
    from goldpan.workspace.building import families

    shown = {*_NAMED, "publish"}
    for family in sorted(families(), key=lambda name: name != "qa"):
        section = dataset_of(family)
        fields = section.model_fields
        needed = [key for key in fields if fields[key].is_required() and key not in _NAMED]
        keys = [*needed, *(key for key in fields if key not in {*needed, *shown})]
        shown |= set(keys)
        about = section.__doc__ if family == "qa" else f"Of the family {family}:"
        named = "".join(f'#{name} = "{family}"{_EXAMPLE}\n' for name in _NAMED)
        yield f"{_help(about or '')}#[[dataset]]\n{named}{_keys(section, keys)}"


def _table(heading: str, section: Any) -> str:
    """Return a table, whose heading needs no # where it changes nothing."""
    from goldpan.plan.file import ALWAYS

    fields = section.model_fields
    needed = [name for name in fields if fields[name].is_required()]
    needed += [name for name in fields if name == _NEEDED.get(heading)]
    names = [*needed, *(name for name in fields if name not in needed)]
    mark = "" if heading in ALWAYS else "#"
    return f"{_help(section.__doc__ or '')}{mark}{heading}\n{_keys(section, names, needed)}"


def _keys(
    section: Any, names: Iterable[str], needed: Iterable[str] = (), *, whole: bool = False
) -> str:
    """Return keys with their help; only the `whole` plan shows where work is done."""
    from goldpan.plan.section import EXECUTION

    lines = []
    for name in names:
        field, option = section.model_fields[name], getattr(section, "parameters", {}).get(name)
        is_of_head = option is not None and option.group == EXECUTION and not whole
        if field.description is None or is_of_head:
            continue
        placeholder = (option.placeholder if option else "").removesuffix("...") or name.upper()
        value, is_default = _value(field, placeholder, is_needed=name in needed)
        mark = "" if is_default else _EXAMPLE
        lines.append(f"{_help(field.description)}#{name.replace('_', '-')} = {value}{mark}\n")
    return "".join(lines)


def _help(text: str) -> str:
    return "".join(f"# {line}\n" for line in textwrap.wrap(text, 96))


def _value(field: Any, placeholder: str, *, is_needed: bool) -> tuple[str, bool]:
    """Return the default as TOML writes it, or an example, and whether it is the default."""
    from goldpan.core.settings.file import toml_value

    is_whole = not field.is_required() and not (is_needed and field.default == ())
    if is_whole and field.default is not None:
        return toml_value(field.default), True
    about = field.description or ""
    kind = field.annotation
    if NoneType in get_args(kind):
        kind = next(member for member in get_args(kind) if member is not NoneType)
    kind = get_args(kind)[0] if get_origin(kind) is Annotated else kind
    if kind in (int, float) and (told := re.search(r"\(default: ([\d.]+)", about)):
        return told[1], True
    decimal = re.search(r"\d\.\d+", about)
    named = (re.search(pattern, about) for pattern in _EXAMPLES_IN_HELP)
    examples: dict[Any, Any] = {
        int: 100,
        float: float(decimal[0]) if decimal else 5.0,
        bool: False,
        dict: {},
        tuple: [placeholder],
        Literal: next(iter(get_args(kind)), None),
        str: next((told[1] for told in named if told), placeholder),
    }
    return toml_value(examples.get(get_origin(kind) or kind, placeholder)), False
