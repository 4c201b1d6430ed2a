"""Plugins, found and loaded: papers that ship, packages, `--plugin` and GOLDPAN_PLUGINS.

A plugin is a Python file, a folder with an `__init__.py`, or a module of an installed package; it
calls `goldpan.register`. Files and folders are imported from where they lie, as the last ones on
the path, so that processes which this one starts find them, too. Each part bears the digest
of its plugin's files, as results depend on it.

The papers in `goldpan.papers` come in by the same door. They are Goldpan's own: its version stands
for them, and no plugin takes their names.
"""

from __future__ import annotations

import os
import pkgutil
import shlex
import sys
import traceback
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar, get_args

from goldpan.core.errors import GoldpanError, PluginError, UsageError, choices, suggested
from goldpan.core.plugins.parts import (
    Builder,
    Kind,
    Plugin,
    Registrable,
    folder_digest,
    imported,
    place_in,
    plugin_failure,
    reason_of,
)

T = TypeVar("T")

GROUP = "goldpan.plugins"
"""The entry points by which installed packages bring plugins."""
VARIABLE = "GOLDPAN_PLUGINS"
"""The environment variable that names files and folders, separated as in PATH."""
_PAPERS = "goldpan.papers"


_registered: dict[tuple[Kind, str], tuple[Plugin, object]] = {}
_importing = 0
"""How many plugins are being imported, one by the other."""
_anew: set[tuple[str, Kind, str]] = set()
"""Parts that the plugins being imported have registered, each after its plugin's path."""
_sought: set[str] = set()
"""Where plugins were looked for: the papers, the entry points, files by their paths."""
_versions: dict[str, str] = {}
"""Versions of the installed packages that bring plugins, by module."""
_left_out: dict[str, None] = {}
"""Why plugins that a workspace names were not loaded."""


def register(*things: Registrable) -> None:
    """Add the parts of a plugin to those of Goldpan; a plugin calls it when it is imported.

    They take the place of what the module registered when it was imported before. Raises
    `UsageError` for what is no part of a plugin, for a name that is taken, and for a kind that
    there is not.
    """
    for thing in things:
        if not hasattr(thing, "parts"):
            raise UsageError(
                f"A plugin registers an object of type {type(thing).__name__}, which Goldpan does "
                "not know",
                "Register what goldpan.plugins offers, such as a Criterion, Model, Recipe or Part",
            )
    _seek_papers()
    plugin = _plugin(sys._getframe(1).f_globals)
    if not _importing:
        _anew.clear()
    for kind, name, value in [part for thing in things for part in thing.parts()]:
        _check_part(plugin, kind, name)
        _anew.add((plugin.path, kind, name))
        _registered[kind, name] = (plugin, value)


def _check_part(plugin: Plugin, kind: Kind, name: str) -> None:
    kinds = get_args(Kind)
    if kind not in kinds:
        raise UsageError(
            f"There is no kind of part {kind!r}{suggested(str(kind), kinds)}",
            f"{plugin.name} may register {choices(kinds)}",
        )
    if not isinstance(name, str):
        raise UsageError(
            f"{plugin.name} registers a {kind} whose name is {name!r}, not a text", "Give it a name"
        )
    another = "Leave one out, or give it another name"
    if (plugin.path, kind, name) in _anew:
        raise UsageError(f"{plugin.name} registers the {kind} {name!r} twice", another)
    earlier, _ = _registered.get((kind, name), (plugin, None))
    if earlier.ships and earlier.path != plugin.path:
        raise _taken(plugin, kind, name)
    if earlier.path != plugin.path:
        raise UsageError(
            f"Both {earlier.name} and {plugin.name} register the {kind} {name!r}", another
        )


def _taken(plugin: Plugin, kind: Kind, name: str) -> UsageError:
    return UsageError(
        f"{plugin.name} registers the {kind} {name!r}, which is one of Goldpan's own",
        "Give it another name",
    )


def use(file: str | Path) -> None:
    """Import a plugin's file or folder, here and in the processes that this one starts.

    Raises `UsageError` where there is none or its name is taken, `PluginError` where it fails.
    """
    _seek_papers()
    path = Path(file).absolute()
    if str(path) in _sought:
        return
    _check_path(path, file)
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))
    spec = find_spec(path.stem)
    origin = path / "__init__.py" if path.is_dir() else path
    if spec is None or Path(spec.origin or "").resolve() != origin.resolve():
        raise UsageError(
            f"The plugin {file} has the name of another module, {path.stem}",
            "Give the file another name",
        )
    _sought.add(str(path))
    if str(path) not in named_files():
        os.environ[VARIABLE] = os.pathsep.join([*named_files(), str(path)])
    before, imported = dict(_registered), path.stem in sys.modules
    _import(path.stem, str(file), f"Fix {file}, or leave it out")
    if not imported and _registered == before:
        raise UsageError(
            f"The plugin {file} registers nothing", "Call goldpan.register in it with what it adds"
        )


def _check_path(path: Path, file: str | Path) -> None:
    if not path.exists():
        problem = f"There is no plugin {file}"
    elif path.is_dir() and not (path / "__init__.py").is_file():
        problem = f"The plugin {file} is a folder without __init__.py"
    elif path.is_file() and path.suffix != ".py":
        problem = f"The plugin {file} is not a Python file"
    elif not path.stem.isidentifier():
        problem = f"The plugin {file} cannot be imported by that name"
    else:
        return
    raise UsageError(
        problem, "Give a Python file such as my_criterion.py, or a folder with an __init__.py"
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
    return {name: find(kind, name) for name in names_of(kind)}


def names_of(kind: Kind, *, ships: bool = False) -> list[str]:
    """Return the names of what was registered of a kind, sorted; nothing more is imported.

    With `ships`, only of what the papers registered that ship with Goldpan.
    """
    _seek()
    return sorted(
        name
        for (registered_kind, name), (plugin, _) in _registered.items()
        if registered_kind == kind and (plugin.ships or not ships)
    )


def find(kind: Kind, name: str) -> Any:
    """Return what a plugin registered, imported if only its place is known.

    Raises `KeyError` where none has.
    """
    plugin, value = _registered[kind, name]
    if isinstance(value, str):
        with attribute_to_plugin(kind, name):
            value = imported(value)
        _registered[kind, name] = (plugin, value)
    return value


def added_names(others: Iterable[str], kind: Kind) -> list[str]:
    """Return the names that plugins add to others of a kind.

    Raises `UsageError` where a plugin takes a name that is there.
    """
    added = names_of(kind)
    if taken := sorted({*others} & {*added}):
        raise _taken(_registered[kind, taken[0]][0], kind, taken[0])
    return added


def digests(*used: tuple[Kind, str]) -> dict[str, str]:
    """Return the SHA-256 of the plugins that brought these, by their names; none of Goldpan's."""
    _seek()
    plugins = {_registered[entry][0] for entry in used if entry in _registered}
    return {
        plugin.name: plugin.sha256
        for plugin in sorted(plugins, key=lambda plugin_: plugin_.name)
        if not plugin.ships
    }


def plugin_command(plugins: Iterable[str], command: str) -> str:
    """Return a whole command that loads plugins, of which the names are known that they stored."""
    names = sorted(plugins)
    lying = [name for name in names if name.endswith(".py") or name.isidentifier()]
    files = [f"--plugin {shlex.quote(name)} " for name in lying]
    packages = [name for name in names if name not in lying]
    where = f", where {' and '.join(packages)} is installed" if packages else ""
    return f"goldpan {''.join(files)}{command}{where}"


@contextmanager
def attribute_to_plugin(kind: Kind, name: str) -> Iterator[None]:
    """Attribute a failure in the block to the plugin that registered the name.

    A failure of Goldpan's own parts passes through unchanged.
    """
    try:
        yield
    except GoldpanError:
        raise
    except Exception as error:  # a user's code may raise anything: its author needs file and line
        plugin = source_of(kind, name)
        if plugin is None or plugin.ships:
            raise
        raise plugin_failure(
            f"The {kind} {name} of the plugin {plugin.name}", plugin, error
        ) from error


def source_of(kind: Kind, name: str) -> Plugin | None:
    """Return the plugin that registered a name, None where none has."""
    return _registered.get((kind, name), (None, None))[0]


def culprit(error: Exception) -> PluginError | None:
    """Return a failure as that of the plugin in whose files it came up last; None without one."""
    plugins = {plugin for plugin, _ in _registered.values() if not plugin.ships}
    for at in reversed(traceback.extract_tb(error.__traceback__)):
        for plugin in plugins:
            if plugin.has(at.filename):
                return plugin_failure(f"The plugin {plugin.name}", plugin, error)
    return None


def _seek() -> None:
    """Import the papers, and the plugins of installed packages and of the environment, once."""
    _seek_papers()
    if GROUP in _sought:
        return
    _sought.add(GROUP)
    if _is_named_by_a_package():
        from importlib.metadata import entry_points  # which takes long to import

        for entry in sorted(entry_points(group=GROUP), key=lambda one: (one.name, one.value)):
            package = entry.dist.name if entry.dist else entry.value
            _versions[entry.module] = entry.dist.version if entry.dist else ""
            _import(entry.module, f"{entry.name} of {package}", f"Fix or uninstall {package}")
    for file in named_files():
        use(file)


def _seek_papers() -> None:
    if _PAPERS in _sought:
        return
    _sought.add(_PAPERS)
    folders = import_module(_PAPERS).__path__
    for module in sorted(found.name for found in pkgutil.iter_modules(folders)):
        _import(f"{_PAPERS}.{module}", module, "Install Goldpan again")


def _is_named_by_a_package() -> bool:
    """Tell whether the entry points of any package on the path name the group."""
    files = (file for at in sys.path for file in Path(at).glob("*-info/entry_points.txt"))
    return any(os.access(file, os.R_OK) and GROUP.encode() in file.read_bytes() for file in files)


def _import(module: str, name: str, remedy: str) -> ModuleType:
    global _importing
    _importing += 1
    try:
        return import_module(module)
    except GoldpanError:
        raise
    except Exception as error:  # importing runs a user's code, which may raise anything
        spec = None if isinstance(error, ImportError) else find_spec(module)
        origin = (spec and spec.origin) or ""
        folder = str(Path(origin).parent) if Path(origin).name == "__init__.py" else ""
        file, number = place_in(error, Plugin(module, origin, "", folder=folder))
        where = f" at line {number}" if number else ""
        where += f" of {file}" if where and file != origin else ""
        raise PluginError(
            f"The plugin {name} cannot be imported{where}: {reason_of(error)}", remedy
        ) from error
    finally:
        _importing -= 1
        if not _importing:
            _anew.clear()


def _plugin(module: Mapping[str, Any]) -> Plugin:
    name, path = str(module.get("__name__")), str(module.get("__file__") or "")
    if name.startswith(f"{_PAPERS}."):
        return Plugin(name.split(".")[2], path, "", ships=True)
    top, _, rest = str(module.get("__package__") or "").partition(".")
    if not path:
        return Plugin(name, path, "")
    if not top:
        from hashlib import sha256

        return Plugin(Path(path).name, path, sha256(Path(path).read_bytes()).hexdigest())
    folder = Path(path).parents[rest.count(".") + 1 if rest else 0]
    if version := _versions.get(name):
        name = f"{name} {version}"
    return Plugin(name, path, folder_digest(folder), folder=str(folder))


def find_builder(family: str) -> Builder | None:
    """Return the builder of a family that has options of its own; None of others."""
    builder: Builder | None = find("builder", family) if family in names_of("builder") else None
    return builder
