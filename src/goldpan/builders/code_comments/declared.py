"""Comments before declarations, in languages of which a grammar is there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from goldpan.builders.code_comments.comment import Comment
from goldpan.builders.code_comments.marks import unmarked
from goldpan.builders.code_comments.notes import Notes
from goldpan.builders.code_comments.parsing import Parsed, name_of, parse
from goldpan.builders.code_comments.rules import RULES, Rules
from goldpan.builders.code_comments.text import Span

if TYPE_CHECKING:
    import tree_sitter

_DEEPEST_WRAP = 4
_LONGEST_PATH = 500


@dataclass(frozen=True, slots=True)
class Declaration:
    """A class, and where it begins with what is wrapped around it."""

    name: str
    kind: str
    span: Span
    outer: int


@dataclass(frozen=True, slots=True)
class Found:
    """The documented classes of a file; `clean` where it parses without error."""

    comments: tuple[Comment, ...]
    clean: bool


def read_declared(data: bytes, language: str) -> Found:
    """Find the classes of UTF-8 text that have a comment before them."""
    rules = RULES[language]
    parsed = parse(data, rules.package, rules.entry, _query(rules))
    notes = Notes(
        data,
        map(span_of, parsed.all("comment")),
        map(span_of, parsed.all("skip")),
        rules.marks,
        adjacent=rules.adjacent,
    )
    found: dict[Span, Comment] = {}
    for one in qualified(_declarations(parsed, rules)):
        spans = notes.before(one.span.start) or notes.before(one.outer)
        if not spans:
            continue
        whole = Span(spans[0].start, spans[-1].end)
        about = Span(min(one.outer, one.span.start), one.span.end)
        text = unmarked(data, spans)
        found.setdefault(whole, Comment(one.name, one.kind, "doc-comment", text, whole, about))
    return Found(tuple(found.values()), parsed.clean)


def qualified(declarations: Iterable[Declaration]) -> Iterator[Declaration]:
    """Yield declarations in the order of the file, each under the names of those around it."""
    around: list[Declaration] = []
    for one in sorted(declarations, key=lambda one: (one.span.start, -one.span.end)):
        while around and around[-1].span.end <= one.span.start:
            around.pop()
        name = f"{around[-1].name}.{one.name}" if around else one.name
        around.append(replace(one, name=name[-_LONGEST_PATH:]))
        yield around[-1]


def span_of(node: tree_sitter.Node) -> Span:
    """Return where a node stands."""
    return Span(node.start_byte, node.end_byte)


def _query(rules: Rules) -> str:
    declared = [query for queries in rules.kinds.values() for query in queries]
    others = [f"({kind}) @comment" for kind in rules.comments]
    others += [f"({kind}) @skip" for kind in rules.skipped]
    return "\n".join([*declared, *rules.wrapped, *others])


def _declarations(parsed: Parsed, rules: Rules) -> list[Declaration]:
    kinds = [kind for kind, queries in rules.kinds.items() for _ in queries]
    around: dict[int, tree_sitter.Node] = {}
    for match in parsed.matches:
        inner, outer = match.node("inner"), match.node("outer")
        if inner is not None and outer is not None:
            around[inner.id] = outer
    found: dict[Span, Declaration] = {}
    for match in parsed.matches:
        node, name = match.node("inner"), match.node("name")
        if node is not None and name is not None:
            outer = node
            for _ in range(_DEEPEST_WRAP):
                outer = around.get(outer.id, outer)
            span = span_of(node)
            kind = kinds[match.pattern]
            found.setdefault(span, Declaration(name_of(name), kind, span, outer.start_byte))
    return list(found.values())
