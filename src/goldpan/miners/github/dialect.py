"""Asks a server only for what its GraphQL schema has: GitHub Enterprise lags behind github.com.

The documents of `queries.py` say everything that Goldpan can use. `adapt` takes out of one what
a server lacks: fields, arguments, values of an enumeration, whole types. It reads the part of
GraphQL's grammar that those documents use.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import resources

from goldpan.core.settings.file import read_toml

_TOKEN = re.compile(r'"[^"]*"|\w+|\.\.\.|\$\w+|[^\s,]')

_TYPES = {
    field: kind
    for kind, fields in read_toml(resources.files(__package__) / "types.toml").values.items()
    for field in fields
}
"""The type that each field with a selection yields."""
_ENUMS = {
    "Issue.timelineItems": "IssueTimelineItemsItemType",
    "PullRequest.timelineItems": "PullRequestTimelineItemsItemType",
}

Need = tuple[str, str]
"""(type, field), (type.field, argument), (enumeration, value), or (type, "__typename")."""


Dialect = frozenset[Need]
"""Schema elements that Goldpan uses and a server lacks; a whole type as its `__typename`."""
NEWEST: Dialect = frozenset()
"""The dialect of github.com."""


def adapt(document: str, dialect: Dialect) -> str:
    """Return a document without what the server lacks."""
    return _DocumentReader(document, dialect).read() if dialect else document


def needs(document: str) -> frozenset[Need]:
    """Return the elements of a schema that a document names."""
    reader = _DocumentReader(document, frozenset())
    reader.read()
    return frozenset(reader.met)


@dataclass(slots=True)
class _DocumentReader:
    document: str
    lacks: frozenset[Need]
    met: set[Need] = field(default_factory=set)
    _tokens: list[re.Match[str]] = field(default_factory=list)
    _at: int = 0
    _spread_here: set[str] = field(default_factory=set)

    def read(self) -> str:
        self._tokens, self._at = list(_TOKEN.finditer(self.document)), 0
        return "\n".join(self._definitions())

    def _definitions(self) -> Iterator[str]:
        while self._at < len(self._tokens):
            head = self._until("{")
            operation = head.startswith("query")
            kind = "Query" if operation else head.split()[-1]
            selection = self._selection(kind)
            if operation or head.split()[1] in self._spread_here:
                yield f"{head} {selection}"

    def _selection(self, parent: str) -> str:
        """Read a selection in braces; return nothing where nothing remains of it."""
        self._take("{")
        parts = []
        while self._peek() != "}":
            part = self._spread() if self._peek() == "..." else self._field(parent)
            parts.append(part)
        self._take("}")
        present = [part for part in parts if part]
        return f"{{ {' '.join(present)} }}" if present else ""

    def _spread(self) -> str:
        self._take("...")
        name = self._take()
        if name != "on":
            self._spread_here.add(name)
            return f"...{name}"
        kind = self._take()
        has_typename = self._has(kind, "__typename")
        selection = self._selection(kind)
        return f"... on {kind} {selection}" if has_typename and selection else ""

    def _field(self, parent: str) -> str:
        alias, name = "", self._take()
        if self._peek() == ":":
            self._take(":")
            alias, name = f"{name}: ", self._take()
        exists, spread_here = self._has(parent, name), set(self._spread_here)
        path = f"{parent}.{name}"
        arguments = self._arguments(path) if self._peek() == "(" else ""
        if self._peek() != "{":
            return f"{alias}{name}{arguments}" if exists else ""
        kind = _TYPES.get(path) or _TYPES[name]
        if name == "nodes" and parent.endswith("Connection"):
            kind = parent.removesuffix("Connection")
        selection = self._selection(kind)
        if exists and selection:
            return f"{alias}{name}{arguments} {selection}"
        self._spread_here = spread_here
        return ""

    def _arguments(self, path: str) -> str:
        self._take("(")
        supported = []
        while self._peek() != ")":
            name = self._take()
            self._take(":")
            value = self._value(_ENUMS.get(path))
            if self._has(path, name):
                supported.append(f"{name}: {value}")
        self._take(")")
        return f"({', '.join(supported)})" if supported else ""

    def _value(self, enumeration: str | None) -> str:
        first = self._take()
        closing = {"[": "]", "{": "}"}.get(first)
        if closing is None:
            return first
        inner = self._until(closing)
        self._take(closing)
        if enumeration:
            values = [value for value in inner.split(", ") if self._has(enumeration, value)]
            inner = ", ".join(values)
        return f"{first}{inner}{closing}"

    def _has(self, kind: str, name: str) -> bool:
        if name != "__typename":
            self.met.add((kind, "__typename"))
        self.met.add((kind, name))
        return (kind, name) not in self.lacks

    def _peek(self) -> str:
        return self._tokens[self._at][0]

    def _take(self, expected: str | None = None) -> str:
        token = self._peek()
        if expected is not None and token != expected:
            raise ValueError(f"{token!r} stands where {expected!r} is expected")
        self._at += 1
        return token

    def _until(self, end: str) -> str:
        """Take all up to a token and return it as it is written."""
        start = self._tokens[self._at].start()
        while self._peek() != end:
            self._at += 1
        return self.document[start : self._tokens[self._at].start()].strip()
