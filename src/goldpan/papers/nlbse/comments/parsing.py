"""Runs a query over the tree of a text."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from goldpan.core.extras import load

if TYPE_CHECKING:
    import tree_sitter

    Captures = Mapping[str, list[tree_sitter.Node]]

_LONGEST_NAME = 200


@dataclass(frozen=True, slots=True)
class Match:
    """What one pattern of a query found."""

    pattern: int
    """Its place in the query."""
    captures: Captures

    def node(self, name: str) -> tree_sitter.Node | None:
        """Return the first node of that name."""
        return next(iter(self.captures.get(name, ())), None)


@dataclass(frozen=True, slots=True)
class Parsed:
    """A text as its grammar sees it; `clean` where it parses without error."""

    matches: tuple[Match, ...]
    clean: bool

    def all(self, name: str) -> list[tree_sitter.Node]:
        """Return all nodes of that name."""
        return [node for match in self.matches for node in match.captures.get(name, ())]


def parse(data: bytes, package: str, entry: str, query: str) -> Parsed:
    """Parse UTF-8 text and run a query. Nothing bounds the time that a hostile text takes."""
    import tree_sitter

    language, compiled = _load(package, entry, query)
    root = tree_sitter.Parser(language).parse(data).root_node
    matches = tree_sitter.QueryCursor(compiled).matches(root)
    return Parsed(tuple(Match(*match) for match in matches), not root.has_error)


def name_of(node: tree_sitter.Node) -> str:
    """Return the name in a node on one line, cut where it is endless."""
    text = (node.text or b"")[:_LONGEST_NAME].decode(errors="ignore")
    return " ".join(text.split())


@cache
def _load(package: str, entry: str, query: str) -> tuple[tree_sitter.Language, tree_sitter.Query]:
    import tree_sitter

    pointer = getattr(load(package, "Reading this programming language"), entry)()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # some packages give a bare pointer
        language = tree_sitter.Language(pointer)
    return language, tree_sitter.Query(language, query)
