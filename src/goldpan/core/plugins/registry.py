"""Lookup by name, by one rule for Goldpan's own things, those of plugins, and stored ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from goldpan.core.errors import UnknownNameError, UsageError, choices, suggested
from goldpan.core.plugins import loading as plugins
from goldpan.core.plugins.parts import Kind

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable


T = TypeVar("T")
_REMEDY = "Choose {names}"


@dataclass(frozen=True, slots=True)
class Registry(Generic[T]):
    """Things of one kind by name."""

    noun: str
    """The word that messages use for one of the things."""
    load: Callable[[], Mapping[str, T]]
    """Returns those that are not a plugin's: shipped ones, and stored ones where there are any."""
    kind: Kind | None = None
    """The kind that plugins register them as; None where plugins cannot."""
    order: Callable[[tuple[str, T]], Any] | None = None
    """By which they are sorted; None leaves them as they come."""
    remedy: str = _REMEDY
    """For a name that is unknown; ``{names}`` stands for those there are."""
    read: Callable[[Path], T] | None = None
    """Reads what a plugin registers as a file."""

    def entries(self) -> dict[str, T]:
        """Return all by name; raises `UsageError` where a plugin takes a name that is taken."""
        others = self.load()
        items = [*others.items(), *((name, self._added(name)) for name in self._names(others))]
        return dict(sorted(items, key=self.order) if self.order else items)

    def names(self) -> list[str]:
        """Return all names in order; parts of plugins are imported only to sort by them."""
        others = self.load()
        return list(self.entries()) if self.order else [*others, *self._names(others)]

    def __iter__(self) -> Iterator[T]:
        return iter(self.entries().values())

    def find(self, name: str, others: Iterable[str] = (), *, where: str = "") -> T:
        """Return the one of that name; raises `UsageError` that offers the nearest.

        It offers `others` too, which the caller takes besides, and begins with `where`.
        """
        own = self.load()
        added = self._names(own)
        if name in own:
            return own[name]
        if name in added:
            return self._added(name)
        raise self.unknown(name, [*self.entries(), *others], where)

    def _names(self, others: Iterable[str]) -> list[str]:
        return plugins.added_names(others, self.kind) if self.kind else []

    def _added(self, name: str) -> T:
        assert self.kind is not None
        value: Any = plugins.find(self.kind, name)
        return self.read(value) if self.read and isinstance(value, Path) else value

    def unknown(self, name: object, known: Iterable[str], where: str = "") -> UsageError:
        """Return the error for a name that is none of those known."""
        error = unknown_name(self.noun, name, known, self.remedy, where)
        return error if self.kind is None else UnknownNameError(error.problem, error.remedy)


def files_in(folder: Traversable, ending: str = ".toml") -> dict[str, Traversable]:
    """Return the files of a folder by name, without their ending, sorted."""
    paths = sorted(folder.iterdir(), key=lambda path: path.name)
    return {path.name.removesuffix(ending): path for path in paths if path.name.endswith(ending)}


def unknown_name(
    noun: str, name: object, known: Iterable[str], remedy: str = _REMEDY, where: str = ""
) -> UsageError:
    """Return the error for a name that is none of those known, with the nearest that are."""
    names = list(known)
    start = f"{where}: there" if where else "There"
    return UsageError(
        f"{start} is no {noun} {name!r}{suggested(str(name), names, 3)}",
        remedy.replace("{names}", choices(names)) if names else f"Leave the {noun} out",
    )
