"""Comments before declarations, in languages of which a grammar is there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from goldpan.papers.nlbse.comments.comment import Comment
from goldpan.papers.nlbse.comments.marks import unmarked
from goldpan.papers.nlbse.comments.notes import Notes
from goldpan.papers.nlbse.comments.parsing import Parsed, name_of, parse
from goldpan.papers.nlbse.comments.rules import RULES, Rules
from goldpan.papers.nlbse.comments.text import Span

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
class DocumentedClasses:
    """The documented classes of a file; `clean` where it parses without error."""

    comments: tuple[Comment, ...]
    clean: bool


def read_declared(data: bytes, language: str) -> DocumentedClasses:
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
    comments: dict[Span, Comment] = {}
    for declaration in qualified(_declarations(parsed, rules)):
        spans = notes.before(declaration.span.start) or notes.before(declaration.outer)
        if not spans:
            continue
        whole = Span(spans[0].start, spans[-1].end)
        about = Span(min(declaration.outer, declaration.span.start), declaration.span.end)
        text = unmarked(data, spans)
        comments.setdefault(
            whole, Comment(declaration.name, declaration.kind, "doc-comment", text, whole, about)
        )
    return DocumentedClasses(tuple(comments.values()), parsed.clean)


def qualified(declarations: Iterable[Declaration]) -> Iterator[Declaration]:
    """Yield declarations in the order of the file, each under the names of those around it."""
    around: list[Declaration] = []
    for declaration in sorted(
        declarations, key=lambda declaration: (declaration.span.start, -declaration.span.end)
    ):
        while around and around[-1].span.end <= declaration.span.start:
            around.pop()
        name = f"{around[-1].name}.{declaration.name}" if around else declaration.name
        around.append(replace(declaration, name=name[-_LONGEST_PATH:]))
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
    declarations: dict[Span, Declaration] = {}
    for match in parsed.matches:
        node, name = match.node("inner"), match.node("name")
        if node is not None and name is not None:
            outer = node
            for _ in range(_DEEPEST_WRAP):
                outer = around.get(outer.id, outer)
            span = span_of(node)
            kind = kinds[match.pattern]
            declarations.setdefault(span, Declaration(name_of(name), kind, span, outer.start_byte))
    return list(declarations.values())
