"""What users name: Goldpan's own, what plugins add, and what is stored; found by one rule."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from goldpan.core.errors import UnknownNameError, UsageError
from goldpan.core.plugins import Kind, added_to
from goldpan.core.suggest import choices, suggested

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

T = TypeVar("T")
_REMEDY = "Choose {names}"


@dataclass(frozen=True, slots=True)
class Registry(Generic[T]):
    """Things of one kind by name."""

    noun: str
    """What one of them is called."""
    load: Callable[[], Mapping[str, T]]
    """Returns those that are not a plugin's: shipped ones, and stored ones where there are any."""
    kind: Kind | None = None
    """What plugins register them as, where they can."""
    order: Callable[[tuple[str, T]], Any] | None = None
    """By which they are sorted; None leaves them as they come."""
    remedy: str = _REMEDY
    """For a name that is unknown; ``{names}`` stands for those there are."""

    def entries(self) -> dict[str, T]:
        """Return all by name; raises `UsageError` where a plugin takes a name that is taken."""
        others = self.load()
        items = [*others.items(), *(added_to(others, self.kind).items() if self.kind else ())]
        return dict(sorted(items, key=self.order) if self.order else items)

    def names(self) -> list[str]:
        """Return all names."""
        return list(self.entries())

    def __iter__(self) -> Iterator[T]:
        return iter(self.entries().values())

    def find(self, name: str, others: Iterable[str] = (), *, where: str = "") -> T:
        """Return the one of that name; raises `UsageError` that offers the nearest.

        It offers `others` too, which the caller takes besides, and begins with `where`.
        """
        entries = self.entries()
        if name not in entries:
            raise self.unknown(name, [*entries, *others], where)
        return entries[name]

    def unknown(self, name: object, known: Iterable[str], where: str = "") -> UsageError:
        """Return the error for a name that is none of those known."""
        error = unknown_name(self.noun, name, known, self.remedy, where)
        return UnknownNameError(error.problem, error.remedy) if self.kind else error


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
