"""A group whose commands are loaded when they are asked for: its help needs none of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any, ClassVar

import typer
import typer.core
import typer.main

from goldpan.commands.examples import add_examples


@dataclass(frozen=True, slots=True)
class Entry:
    """Where a command lies, and what the list of commands says of it."""

    path: str
    """Its module below `goldpan`, and its function or group there."""
    panel: str
    about: str
    """The first paragraph of its help."""


class LazyGroup(typer.core.TyperGroup):
    """Lists `entries` in their order; a subclass gives them."""

    entries: ClassVar[Mapping[str, Entry]]
    _listing = False

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands: Any = _Commands(self.entries)

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of all commands."""
        return list(self.entries)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command; while the list of commands is made, only what that says of it."""
        entry = self.entries.get(cmd_name)
        if self._listing and entry:
            return typer.core.TyperCommand(
                cmd_name, help=entry.about, rich_help_panel=entry.panel, rich_markup_mode="markdown"
            )
        return super().get_command(ctx, cmd_name)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help of the group."""
        self._listing = True
        super().format_help(ctx, formatter)
        self._listing = False


class _Commands(Mapping[str, Any]):
    """Commands by name, loaded when they are looked up."""

    def __init__(self, entries: Mapping[str, Entry]) -> None:
        self._entries = entries

    def __getitem__(self, name: str) -> Any:
        return _load(name, self._entries[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)


@cache
def _load(name: str, entry: Entry) -> Any:
    module, _, attribute = entry.path.rpartition(".")
    command = getattr(import_module(f"goldpan.{module}"), attribute)
    around = typer.Typer(rich_markup_mode="markdown")
    if isinstance(command, typer.Typer):
        around.add_typer(command, name=name, rich_help_panel=entry.panel)
    else:
        around.command(name, rich_help_panel=entry.panel)(command)
    add_examples(around)
    return typer.main.get_group(around).commands[name]
