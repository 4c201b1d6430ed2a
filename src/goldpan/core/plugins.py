"""What users add without a fork: found by entry points, `--plugin FILE.py` and GOLDPAN_PLUGINS.

A plugin is a Python file, or a module of an installed package, that calls `goldpan.register`.
Files are imported from their own folder, as the last one on the path, so that processes which
this one starts find them, too. What each plugin brought bears the digest of its file, as results
depend on it.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
import traceback
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, TypeVar

from goldpan.core.errors import GoldpanError, PluginError, UsageError
from goldpan.core.sanitize import line

Kind = Literal["criterion", "model", "dataset", "task", "rules", "signal"]
T = TypeVar("T")

GROUP = "goldpan.plugins"
"""The entry points by which installed packages bring plugins."""
VARIABLE = "GOLDPAN_PLUGINS"
"""The environment variable that names files, separated as in PATH."""
_MOST = 400
"""Characters of what a plugin's failure says."""


@dataclass(frozen=True, slots=True)
class Plugin:
    """A file that registered something."""

    name: str
    """The name of the file, or of the module in a package."""
    path: str
    sha256: str
    """Of the file; empty for what was typed into an interpreter."""


_registered: dict[tuple[Kind, str], tuple[Plugin, object]] = {}
_sought: set[str] = set()
"""Where plugins were looked for: the entry points, files by their paths."""
_left_out: dict[str, None] = {}
"""Why plugins that a workspace names were not loaded."""


def add(kind: Kind, name: str, thing: object, module: Mapping[str, Any]) -> None:
    """Keep what a module registers, in place of what the same file registered before.

    Raises `UsageError` where another plugin registered the same name.
    """
    plugin = _plugin(module)
    earlier = _registered.get((kind, name))
    if earlier is not None and earlier[0].path != plugin.path:
        raise UsageError(
            f"Both {earlier[0].name} and {plugin.name} register the {kind} {name!r}",
            "Leave one of them out, or give one another name",
        )
    _registered[kind, name] = (plugin, thing)


def use(file: str | Path) -> None:
    """Import a plugin's file, here and in the processes that this one starts.

    Raises `UsageError` where there is none or its name is taken, `PluginError` where it fails.
    """
    path = Path(file).absolute()
    if str(path) in _sought:
        return
    if not path.is_file():
        raise UsageError(
            f"There is no plugin {file}", "Give a Python file, such as my_criterion.py"
        )
    if path.suffix != ".py":
        raise UsageError(f"The plugin {file} is not a Python file", "Give a file that ends in .py")
    if not path.stem.isidentifier():
        raise UsageError(
            f"The plugin {file} cannot be imported by that name",
            "Use letters, digits and underscores, such as my_criterion.py",
        )
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))
    spec = find_spec(path.stem)
    if spec is None or Path(spec.origin or "").resolve() != path.resolve():
        raise UsageError(
            f"The plugin {file} has the name of another module, {path.stem}",
            "Give the file another name",
        )
    _sought.add(str(path))
    named = os.environ.get(VARIABLE, "").split(os.pathsep)
    if str(path) not in named:
        os.environ[VARIABLE] = os.pathsep.join([*filter(None, named), str(path)])
    before, imported = dict(_registered), path.stem in sys.modules
    _import(path.stem, str(file), f"Fix {file}, or leave it out")
    if not imported and _registered == before:
        raise UsageError(
            f"The plugin {file} registers nothing", "Call goldpan.register in it with what it adds"
        )


def leave_out(reason: str) -> None:
    """Remember why plugins that a workspace names are not loaded, for who looks for a name."""
    _left_out[reason] = None


def left_out() -> tuple[str, ...]:
    """Return why plugins were not loaded that workspaces name."""
    return tuple(_left_out)


def named_files() -> tuple[str, ...]:
    """Return the paths of the files that `use` imported, here or in the parent of this process."""
    return tuple(filter(None, os.environ.get(VARIABLE, "").split(os.pathsep)))


def registered(kind: Kind) -> dict[str, Any]:
    """Return what plugins registered of a kind, by name, sorted."""
    _seek()
    return {
        name: thing
        for (registered_kind, name), (_, thing) in sorted(_registered.items(), key=_by_name)
        if registered_kind == kind
    }


def added_to(builtin: Mapping[str, T], kind: Kind) -> dict[str, T]:
    """Return what plugins add of a kind to what there is.

    Raises `UsageError` where a plugin takes a name that is there.
    """
    added: dict[str, T] = registered(kind)
    if duplicates := sorted(builtin.keys() & added.keys()):
        plugin, _ = _registered[kind, duplicates[0]]
        raise UsageError(
            f"{plugin.name} registers the {kind} {duplicates[0]!r}, which is one of Goldpan's own",
            "Give it another name",
        )
    return added


def digests(*used: tuple[Kind, str]) -> dict[str, str]:
    """Return the SHA-256 of the plugins that brought these, by their names; none of others."""
    _seek()
    plugins = {_registered[entry][0] for entry in used if entry in _registered}
    return {
        plugin.name: plugin.sha256 for plugin in sorted(plugins, key=lambda plugin_: plugin_.name)
    }


def plugin_command(plugins: Iterable[str], command: str) -> str:
    """Return a whole command that loads plugins, of which the names are known that they stored."""
    files = [f"--plugin {shlex.quote(name)} " for name in sorted(plugins) if name.endswith(".py")]
    packages = [name for name in sorted(plugins) if not name.endswith(".py")]
    where = f", where {' and '.join(packages)} is installed" if packages else ""
    return f"goldpan {''.join(files)}{command}{where}"


@contextmanager
def blamed(kind: Kind, name: str) -> Iterator[None]:
    """Tell of a failure in the block that it is the plugin's that registered the name.

    What Goldpan brings itself fails as it does.
    """
    try:
        yield
    except GoldpanError:
        raise
    except Exception as error:  # a user's code may raise anything: its author needs file and line
        registered_plugin = _registered.get((kind, name))
        if registered_plugin is None:
            raise
        plugin, _ = registered_plugin
        raise PluginError(
            f"The {kind} {name} of the plugin {plugin.name} failed{_line(error, plugin.path)}: "
            f"{_reason(error)}",
            f"Fix {plugin.path or plugin.name}",
        ) from error


def _seek() -> None:
    """Import the plugins of installed packages and of the environment, once."""
    if GROUP in _sought:
        return
    _sought.add(GROUP)
    from importlib.metadata import entry_points

    for entry in sorted(entry_points(group=GROUP), key=lambda point: (point.name, point.value)):
        package = entry.dist.name if entry.dist else entry.value
        _import(entry.module, f"{entry.name} of {package}", f"Fix or uninstall {package}")
    for file in filter(None, os.environ.get(VARIABLE, "").split(os.pathsep)):
        use(file)


def _import(module: str, name: str, remedy: str) -> ModuleType:
    try:
        return import_module(module)
    except GoldpanError:
        raise
    except Exception as error:  # importing runs a user's code, which may raise anything
        spec = None if isinstance(error, ImportError) else find_spec(module)
        where = _line(error, spec.origin or "") if spec else ""
        raise PluginError(
            f"The plugin {name} cannot be imported{where}: {_reason(error)}", remedy
        ) from error


def _plugin(module: Mapping[str, Any]) -> Plugin:
    path = str(module.get("__file__") or "")
    name = str(module.get("__name__"))
    if path and not module.get("__package__"):
        name = Path(path).name
    digest = sha256(Path(path).read_bytes()).hexdigest() if path else ""
    return Plugin(name, path, digest)


def _reason(error: Exception) -> str:
    """Return a failure in one line, without the mark that DuckDB puts below a query."""
    text = re.sub(r"\n *\^+\s*$", "", str(error))
    return f"{type(error).__name__}: {line(text, _MOST)}"


def _line(error: Exception, path: str) -> str:
    """Say at which line of a file a failure came up."""
    if isinstance(error, SyntaxError) and error.filename == path:
        return f" at line {error.lineno}"
    lines = [at.lineno for at in traceback.extract_tb(error.__traceback__) if at.filename == path]
    return f" at line {lines[-1]}" if lines else ""


def _by_name(item: tuple[tuple[Kind, str], object]) -> tuple[str, str]:
    return item[0]
