"""Settings that users write, mostly in TOML: one reader, and one form of message.

A message names the file, the line and the key, the cause and the remedy; where several keys are
wrong it names them all.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cache
from pathlib import Path
from types import GenericAlias, NoneType, UnionType
from typing import TYPE_CHECKING, Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints
from urllib.parse import urlsplit

from goldpan.core.errors import UsageError, cause_of, question

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

    from pydantic import TypeAdapter, ValidationError

T = TypeVar("T")
Location = tuple[int | str, ...]
"""Where a value stands: keys of tables, and numbers in arrays."""
_NO_TABLE = ("dataclass_type", "dict_type", "mapping_type", "model_type", "model_attributes_type")
"""Pydantic's error types for a value that should be a table."""


@dataclass(frozen=True, slots=True)
class Least:
    """The least that a number may be, for pydantic, whose own types take long to import."""

    number: float

    def __get_pydantic_core_schema__(self, kind: Any, schema_of: Callable[[Any], Any]) -> Any:
        return {**schema_of(kind), "ge": self.number}


@dataclass(frozen=True, slots=True)
class Source:
    """Settings as somebody wrote them, and what messages call their place."""

    name: str
    """The path of a file, or whose settings they are where they lie in none."""
    values: Mapping[str, Any]
    page: str = ""
    """The page of the documentation that describes every key."""
    text: str = field(default="", repr=False)
    """The TOML, in which messages count lines."""

    @property
    def see(self) -> str:
        """The sentence that points to the page."""
        return f"{self.page} describes every key" if self.page else ""

    def place(self, *location: int | str) -> str:
        """Return what messages call the place of a key, with its line where that is known."""
        line = _line(self.text, location)
        return f"{self.name}, line {line}" if line else self.name

    def named(self, name: str) -> dict[str, Any]:
        """Return the settings with the name of their file, which they must not say themselves."""
        if "name" in self.values:
            raise UsageError(
                f"{self.place('name')}: name is given twice", "Remove it; the file's name says it"
            )
        return {**self.values, "name": name}

    def read(self, kind: type[T], values: object = None, at: Location = ()) -> T:
        """Return the settings as a type, or those `values` that stand `at` a place of them.

        A dataclass is read strictly, a model as it says itself. Raises `UsageError`.
        """
        from pydantic import ValidationError
        from pydantic_core import to_json

        values = self.values if values is None else values
        adapter = _adapter(cast("Any", kind))
        try:
            if hasattr(kind, "model_fields"):
                read = adapter.validate_python((values,))
            else:  # JSON has arrays where strict Python asks for tuples
                read = adapter.validate_json(to_json((values,), fallback=str))
        except ValidationError as error:
            raise self.refusal(list(_problems(kind, values, at, error))) from None
        return cast("T", read[0])

    def refusal(self, found: Sequence[Problem]) -> UsageError:
        """Return what tells one fault with its line, cause and remedy, or all of several."""
        found = [replace(one, line_of=_written(self.values, one.line_of)) for one in found]
        # A mistyped key is missing, too, from the table that it stands in.
        meant = {(one.line_of[:-1], one.remedy) for one in found}
        problems = [
            one
            for one in found
            if not one.missing or (one.line_of, question(one.missing, [one.missing])) not in meant
        ]
        if len(problems) == 1:
            (problem,) = problems
            remedy = problem.remedy or f"{'Add' if problem.missing else 'Correct'} it. {self.see}"
            return UsageError(f"{self.place(*problem.line_of)}: {problem.cause}", remedy.strip())
        lines = [(_line(self.text, one.line_of), str(one)) for one in problems]
        causes = [f"line {line}: {one}" if line else one for line, one in sorted(lines)]
        return UsageError(
            f"{self.name}: {len(problems)} things are missing or wrong: {'; '.join(causes)}",
            f"Correct them all. {self.see}".strip(),
        )


def read_toml(path: Path | Traversable, page: str = "") -> Source:
    """Read a file; raises `UsageError` where that cannot be, or it is not TOML."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {cause_of(error)}", "Check the file") from None
    return parse_toml(str(path), content, page)


def parse_toml(name: str, content: bytes | str, page: str = "") -> Source:
    """Return the settings of a text; raises `UsageError` where it is not TOML."""
    import tomllib  # which help does without

    try:
        text = content.decode("utf-8-sig") if isinstance(content, bytes) else content
        return Source(name, tomllib.loads(text), page, text)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{name} is not valid TOML: {cause_of(error)}", "Correct it") from None


def toml_text(values: Mapping[str, Any]) -> str:
    """Return settings as TOML, tables within them last."""
    flat = {name: value for name, value in values.items() if not isinstance(value, Mapping)}
    lines = _toml_lines(flat)
    for name, value in values.items():
        if isinstance(value, Mapping):
            lines += ["", f"[{_toml_key(name)}]", *_toml_lines(value)]
    return "\n".join(lines) + "\n"


def _toml_lines(values: Mapping[str, Any]) -> list[str]:
    return [f"{_toml_key(name)} = {toml_value(value)}" for name, value in values.items()]


def _toml_key(name: str) -> str:
    return name if name.isascii() and name.isidentifier() else str(toml_value(name))


def toml_value(value: Any) -> str:
    """Return a value as TOML writes it on one line."""
    import orjson

    match value:
        case Mapping():
            return f"{{{', '.join(_toml_lines(value))}}}"
        case list() | tuple():
            return f"[{', '.join(map(toml_value, value))}]"
        case float() if not math.isfinite(value):
            return str(value)
        case int() if not -(2**63) <= value < 2**64:
            return str(value)
        case _:  # TOML reads what JSON writes, but for one character
            return orjson.dumps(value).decode().replace("\x7f", "\\u007f")


def unknown_key(key: str, known: Sequence[str]) -> tuple[str, str]:
    """Return the cause and the remedy for a key that nothing reads."""
    others = f"It may hold {', '.join(known)}" if known else "Leave it out"
    return f"the key {key} is unknown", question(key.rpartition(".")[2], known) or others


@dataclass(frozen=True, slots=True)
class Problem:
    """A fault of a key, with its remedy."""

    cause: str
    remedy: str
    line_of: Location
    missing: str = ""
    """The key, where it is one that must be there."""

    @classmethod
    def at(cls, place: Location, cause: str, remedy: str = "") -> Problem:
        """Return a fault that is told by its key."""
        return cls(f"{_key(place)}: {cause}", remedy, place)

    def __str__(self) -> str:
        remedy = f" ({self.remedy[:1].lower()}{self.remedy[1:]})" if self.remedy else ""
        return f"{self.cause}{remedy}"


_SUBJECTS = ("Input", "Tuple", "List", "Dictionary")
"""What pydantic's messages begin with, in place of the value."""
_SHOWN = 30
"""The most characters of a wrong value that are shown: tokens have more."""


@cache
def _adapter(kind: Any) -> TypeAdapter[tuple[Any]]:
    from pydantic import ConfigDict, TypeAdapter

    # In a tuple, as pydantic takes no configuration for a dataclass alone.
    one: Any = GenericAlias(tuple, (kind,))
    return TypeAdapter(one, config=ConfigDict(extra="forbid", strict=True))


def _problems(
    kind: object, values: object, at: Location, error: ValidationError
) -> Iterator[Problem]:
    """Yield what is wrong, once for each key, of which a union may have several opinions."""
    seen = set()
    for part in error.errors(include_url=False):
        location = part["loc"][1:]
        is_missing = part["type"] in ("missing", "missing_argument")
        table = _written(values, location[:-1])
        place = (*table, location[-1]) if is_missing else _written(values, location)
        if place in seen:
            continue
        seen.add(place)
        key = _key((*at, *place))
        if is_missing:
            yield Problem(f"{key} is missing", "", (*at, *table), str(place[-1]))
        elif part["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
            yield Problem(*unknown_key(key, _known(kind, table)), (*at, *place))
        else:
            cause = part["msg"].removeprefix("Value error, ").removesuffix(".")
            if part["type"] == "path_type":
                cause = "Input should be a path"
            given, shown = part["input"], "it"
            if isinstance(given, str | int | float | None) and len(str(given)) <= _SHOWN:
                shown = "None" if given is None else toml_value(given)
            subject, should, rest = cause.partition(" should")
            if subject in _SUBJECTS:
                cause = shown + should + rest.partition(" after validation")[0]
            remedy = str(part.get("ctx", {}).get("remedy", ""))
            if part["type"] in _NO_TABLE:
                cause = "it is not a table"
            elif part["type"] in ("list_type", "tuple_type"):
                cause, remedy = "it is not a list", f"Write [{toml_value(part['input'])}]"
            yield Problem(f"{key}: {cause}" if key else cause, remedy, (*at, *place))


def _written(values: object, location: Location) -> Location:
    """Return as much of a location as a user wrote: pydantic adds the branches of unions.

    A table that stands by itself where several may stand has no number.
    """
    written: list[int | str] = []
    for part in location:
        if part == 0 and isinstance(values, Mapping):
            continue
        inside = _inside(values, part)
        if inside is None and not (isinstance(values, Mapping) and part in values):
            break
        values = inside
        written.append(part)
    return tuple(written)


def _inside(values: object, part: int | str) -> object:
    if isinstance(values, Mapping):
        return values.get(part, values.get(str(part).replace("_", "-")))
    has_part = isinstance(values, list | tuple) and isinstance(part, int) and part < len(values)
    return values[part] if has_part else None  # type: ignore[index]


def _key(location: Location) -> str:
    parts = [f"[{part}]" if isinstance(part, int) else f".{part}" for part in location]
    return "".join(parts).removeprefix(".")


def _known(kind: Any, location: Location) -> list[str]:
    """Return the keys that the table at a location of a type may have."""
    if names := _fields(kind):
        return _known(names.get(str(location[0])), location[1:]) if location else list(names)
    inner = [part for part in get_args(kind) if part not in (NoneType, ...)]
    if get_origin(kind) in (Union, UnionType):
        return next(filter(None, (_known(part, location) for part in inner)), [])
    if not inner:
        return []
    number = next(iter(location), "")
    if get_origin(kind) is tuple and not isinstance(number, int):
        return _known(inner[-1], location)
    is_place = isinstance(number, int) and number < len(inner)
    return _known(inner[number if is_place else -1], location[1:])  # type: ignore[index]


def _fields(kind: Any) -> dict[str, Any]:
    """Return the types of a dataclass' or a model's fields, by the names that files use."""
    if is_dataclass(kind):
        hints = get_type_hints(kind)
        return {one.name: hints[one.name] for one in fields(kind) if one.init}
    model = getattr(kind, "model_fields", {})
    return {one.alias or name: one.annotation for name, one in model.items()}


def _line(text: str, location: Location) -> int:
    """Return the line on which a key is set; 0 where the text does not set it.

    What whole statements begin a text with is TOML: the shortest that has the key ends with it.
    """
    import tomllib

    lines = text.replace("\r\n", "\n").split("\n")

    @cache
    def statements(end: int) -> dict[str, Any] | None:
        with suppress(tomllib.TOMLDecodeError):
            return tomllib.loads("\n".join(lines[:end]))
        return None

    def is_set(count: int) -> bool:
        whole = map(statements, range(count, len(lines) + 1))
        return _written(next(one for one in whole if one is not None), location) == location

    known = bool(location) and is_set(len(lines))
    return bisect_left(range(len(lines)), True, key=is_set) if known else 0


def check_address(url: str, name: str, remedy: str, variable: str = "") -> None:
    """Raise `UsageError` for an address that is none of HTTP, or that holds credentials.

    `name` is the option that gives it, and `variable` where a secret belongs, if there may be one.
    """
    try:
        parts = urlsplit(url)
        valid = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:  # a port or an IPv6 address that is none
        valid = None
    if not valid:
        raise UsageError(f"{name} {url} is not a web address", remedy)
    if parts.username or parts.password or parts.query:
        remedy = f"Give a secret only through {variable}" if variable else remedy
        raise UsageError(f"{name} holds credentials or a query", remedy)
