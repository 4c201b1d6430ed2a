"""Comments on classes: before them, in languages with a grammar, Python's docstrings, Smalltalk's.

A docstring is the first statement of a class, a module or a function.
"""

from __future__ import annotations

import ast
import re
import warnings
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from goldpan.plugins.data import Grammar, Language, load_grammar, read_toml

if TYPE_CHECKING:
    import tree_sitter

    Match: TypeAlias = Mapping[str, list[tree_sitter.Node]]
    """The nodes that a query captured together, by the names that it gives them."""

Form = Literal["doc-comment", "docstring", "class-comment"]
"""Before the declaration, in its body, or apart from the code as in Smalltalk."""
LINE_END = re.compile(r"\r\n|\r|\n")
_OPENING = re.compile(r"/\*+!?")
_STAR = re.compile(r"[ \t]*+(?:\*++(?=[ \t]|\Z)|\*)?[ \t]?")
_SLASHES = re.compile(r"\A[ \t]*+(?://+!?|\#+)[ \t]?")
_DIRECTIVE = re.compile(r"//[a-z0-9]{1,40}+:[a-z0-9]")
"""A line for a tool, which Go's documentation leaves out: ``//go:generate``."""
_TONEL = re.compile(rb'\s*+"([^"]*+(?:""[^"]*+)*)"\s*+(Class|Trait)\s*+\{')
_TONEL_NAME = re.compile(rb"#name[ \t]*+:[ \t]*+#?'?([\w:]{1,200})")
_FAR = 1_000


@dataclass(frozen=True, slots=True)
class ByteSpan:
    """Bytes of a file as UTF-8: from `start` up to `end`."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment and what it is about."""

    name: str
    """The name of the class, after those around it: ``Outer.Inner``."""
    kind: str
    """The kind of declaration: class, interface, struct, module, function and the like."""
    form: Form
    text: str
    """Without its marks; line ends are line feeds."""
    span: ByteSpan
    """With its marks."""
    about: ByteSpan | None
    """The declaration, which may hold the comment; None where it is another file."""


def unmarked(data: bytes, spans: Iterable[ByteSpan]) -> str:
    """Return what comments say that follow each other: a block, or lines."""
    return "\n".join(_unmarked(data[span.start : span.end].decode()) for span in spans)


def _unmarked(comment: str) -> str:
    first, *others = LINE_END.split(comment)
    if opening := _OPENING.match(first):
        body = comment.removesuffix("*/").rstrip("*")[opening.end() :]
        first, *others = LINE_END.split(body)
        lines = [first, *(_STAR.sub("", line, count=1) for line in others)]
        return "\n".join(line.rstrip() for line in lines)
    if first.startswith("=begin"):  # Ruby's, whose first line and last are marks
        return "\n".join(others).rpartition("=end")[0]
    return "" if _DIRECTIVE.match(first) else _SLASHES.sub("", first, count=1).rstrip()


def is_tonel(path: str) -> bool:
    """Return whether a file is a class or trait in Tonel; extensions of classes have no comment."""
    return path.endswith((".class.st", ".trait.st"))


def is_filetree(path: str) -> bool:
    """Return whether a file is a class comment in FileTree, if properties.json is beside it."""
    return path.endswith((".class/README.md", ".trait/README.md"))


def read_smalltalk(data: bytes, path: str) -> Comment | None:
    """Return the class comment of a file of Pharo, given as UTF-8.

    In Tonel it comes first, in double quotes, doubled within it; in FileTree it is a README.md in a
    folder such as Bowl.class.
    """
    if is_filetree(path):
        name, _, kind = path.split("/")[-2].rpartition(".")
        span = ByteSpan(0, len(data))
        return Comment(name, kind, "class-comment", _text(data), span, None)
    match = _TONEL.match(data)
    if not match:
        return None
    found = _TONEL_NAME.search(data, match.end(), match.end() + _FAR)
    name = found[1].decode() if found else path.rpartition("/")[2].split(".", 1)[0]
    span = ByteSpan(match.start(1) - 1, match.end(1) + 1)
    about = ByteSpan(match.start(2), len(data))
    text, kind = _text(match[1]).replace('""', '"'), match[2].decode().lower()
    return Comment(name, kind, "class-comment", text, span, about)


def _text(data: bytes) -> str:
    return LINE_END.sub("\n", data.decode())


_NO_KIND = frozenset({"name", "inner", "outer", "comment", "skip"})
_DEEPEST_WRAP = 4
_LONGEST_NAME = 200
_LONGEST_PATH = 500
_MOST_BETWEEN = 50
_MOST_SPACE = 4_096
_BLOCKS = (b"/*", b"=begin")
_QUERIES = """
(class_definition name: (_) @name body: (block)) @class
(function_definition name: (_) @name body: (block)) @function
(module) @module
"""
_GRAMMAR = Grammar("tree_sitter_python", comments=(), strings=(), patterns=_QUERIES)
_ESCAPE = re.compile(
    r"\\(?:N\{[^{}]{1,80}\}|U[0-9a-fA-F]{8}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|[0-7]{1,3}|\r\n|.)",
    re.S,
)
_NO_DOCSTRING = frozenset("bft")
"""Letters before a quote that make the string bytes, or an expression."""


@dataclass(frozen=True, slots=True)
class CommentRules:
    """How the documented classes of a language are found."""

    queries: str
    """A declaration is captured as what it is, with its `@name`. Where a node `@outer` is around
    it as `@inner`, the comment stands before that. What is `@skip` may stand between them."""
    marks: str = r"/\*\*(?![/<])"
    """A regular expression for the first characters of a comment that documents."""
    comments: tuple[str, ...] = ("comment",)
    """Node types."""
    adjacent: bool = False
    """True where a blank line between comment and declaration parts them."""

    def grammar(self, language: Language) -> Grammar:
        """Return the language's grammar with these queries in place of its own."""
        assert language.grammar
        package, entry = language.grammar.package, language.grammar.entry
        return Grammar(package, self.comments, strings=(), patterns=self.queries, entry=entry)


RULES = read_toml(Path(__file__).with_name("comment_languages.toml")).read(dict[str, CommentRules])
RULES["TSX"] = RULES["TypeScript"]
"""The rules by the name of the language."""


@dataclass(frozen=True, slots=True)
class Declaration:
    """A class, and where it begins with what is wrapped around it."""

    name: str
    kind: str
    node: tree_sitter.Node
    outer: int

    @property
    def span(self) -> ByteSpan:
        """Where it stands."""
        return span_of(self.node)


def read_declared(data: bytes, language: Language) -> tuple[list[Comment], bool]:
    """Return the comments before classes of UTF-8 text, and whether it parses without error."""
    rules = RULES[language.name]
    matches, clean = parse(data, rules.grammar(language))
    notes = Notes(data, _spans(matches, "comment"), _spans(matches, "skip"), rules)
    comments: dict[ByteSpan, Comment] = {}
    for declaration in qualified(find_declarations(matches)):
        span = declaration.span
        if spans := notes.before(span.start) or notes.before(declaration.outer):
            whole = ByteSpan(spans[0].start, spans[-1].end)
            about = ByteSpan(min(declaration.outer, span.start), span.end)
            text, kind = unmarked(data, spans), declaration.kind
            comment = Comment(declaration.name, kind, "doc-comment", text, whole, about)
            comments.setdefault(whole, comment)
    return list(comments.values()), clean


def parse(data: bytes, grammar: Grammar) -> tuple[list[Match], bool]:
    """Return what a grammar's queries find in UTF-8 text, and whether it parses without error.

    Nothing bounds the time that a hostile text takes.
    """
    import tree_sitter

    language, query = load_grammar(grammar)
    root = tree_sitter.Parser(language).parse(data).root_node
    matches = tree_sitter.QueryCursor(query).matches(root)
    return [match for _, match in matches], not root.has_error


def find_declarations(matches: Iterable[Match]) -> list[Declaration]:
    """Return what queries captured as a kind of declaration, each once."""
    around = {match["inner"][0].id: match["outer"][0] for match in matches if "outer" in match}
    declarations: dict[tuple[ByteSpan, str], Declaration] = {}
    for match in matches:
        for capture in match.keys() - _NO_KIND:
            node = outer = match[capture][0]
            for _ in range(_DEEPEST_WRAP):
                outer = around.get(outer.id, outer)
            name, kind = _name(match), capture.replace("_", " ")
            declaration = Declaration(name, kind, node, outer.start_byte)
            declarations.setdefault((declaration.span, kind), declaration)
    return list(declarations.values())


def qualified(declarations: Iterable[Declaration]) -> Iterator[Declaration]:
    """Yield declarations in the order of the file, each under the names of those around it."""
    around: list[Declaration] = []
    for declaration in sorted(declarations, key=lambda item: (item.span.start, -item.span.end)):
        while around and around[-1].span.end <= declaration.span.start:
            around.pop()
        name = f"{around[-1].name}.{declaration.name}" if around else declaration.name
        around.append(replace(declaration, name=name[-_LONGEST_PATH:]))
        yield around[-1]


def span_of(node: tree_sitter.Node) -> ByteSpan:
    """Return where a node stands."""
    return ByteSpan(node.start_byte, node.end_byte)


def _spans(matches: Iterable[Match], capture: str) -> list[ByteSpan]:
    return [span_of(node) for match in matches for node in match.get(capture, ())]


def _name(match: Match) -> str:
    """Return the name in a match on one line, cut where it is endless; a module has none."""
    texts = [node.text or b"" for node in match.get("name", ())]
    return " ".join(b"".join(texts[:1])[:_LONGEST_NAME].decode(errors="ignore").split())


class Notes:
    """The comments of a file, and what may stand between a comment and its declaration."""

    def __init__(
        self,
        data: bytes,
        comments: Iterable[ByteSpan],
        skipped: Iterable[ByteSpan],
        rules: CommentRules,
    ) -> None:
        self._data = data
        self._marks = re.compile(rules.marks.encode())
        self._adjacent = rules.adjacent
        self._comments = {self._without_space(span) for span in comments}
        self._spans = sorted({*self._comments, *skipped}, key=lambda span: span.end)
        self._ends = [span.end for span in self._spans]

    def before(self, position: int) -> tuple[ByteSpan, ...]:
        """Return the comment for what begins at a place: a block, or lines; empty for none.

        The nearest that documents is taken; others may stand between.
        """
        index = bisect_right(self._ends, position) - 1
        for _ in range(_MOST_BETWEEN):
            if index < 0 or not self._touches(index, position):
                return ()
            span = self._spans[index]
            if self._documents(span):
                return self._whole(index)
            position, index = span.start, index - 1
        return ()

    def _touches(self, index: int, position: int) -> bool:
        end = self._ends[index]
        if position - end > _MOST_SPACE:
            return False
        gap = self._data[end:position]
        return not gap.strip() and not (self._adjacent and _line_ends(gap) > 1)

    def _documents(self, span: ByteSpan) -> bool:
        return span in self._comments and bool(self._marks.match(self._data, span.start, span.end))

    def _whole(self, index: int) -> tuple[ByteSpan, ...]:
        """Return a comment, and where it is a line, the lines of its kind right above it."""
        lines = [self._spans[index]]
        if self._data.startswith(_BLOCKS, lines[0].start):
            return tuple(lines)
        if not self._stands_alone(lines[0]):
            return ()
        for position in reversed(range(index)):
            above = self._spans[position]
            gap = self._data[above.end : lines[-1].start][:_MOST_SPACE]
            is_next = not gap.strip() and _line_ends(gap) == 1 and self._documents(above)
            is_block = self._data.startswith(_BLOCKS, above.start)
            if not is_next or is_block or not self._stands_alone(above):
                break
            lines.append(above)
        return tuple(reversed(lines))

    def _stands_alone(self, span: ByteSpan) -> bool:
        """Return whether nothing stands before a comment on its line."""
        before = self._data[max(0, span.start - _MOST_SPACE) : span.start]
        line = before[max(before.rfind(b"\n"), before.rfind(b"\r")) + 1 :]
        return not line.strip()

    def _without_space(self, span: ByteSpan) -> ByteSpan:
        """Return a comment without the white space after it that some grammars count to it."""
        text = self._data[span.start : span.end]
        return ByteSpan(span.start, span.start + len(text.rstrip()))


def _line_ends(gap: bytes) -> int:
    return gap.count(b"\n") or gap.count(b"\r")


def read_docstrings(data: bytes, module: str, kinds: frozenset[str]) -> tuple[list[Comment], bool]:
    """Return the docstrings of UTF-8 text, and whether it parses without error.

    `module` names the file, `kinds` is what is wanted: class, module, function.
    """
    matches, clean = parse(data, _GRAMMAR)
    declared = find_declarations(matches)
    modules = [item for item in declared if item.kind == "module"]
    others = qualified(item for item in declared if item.kind != "module")
    comments = []
    for declaration in (*others, *modules):
        value = _first_string(declaration.node) if declaration.kind in kinds else None
        text = _docstring(value) if value else None
        if value and text:
            about = None if declaration.kind == "module" else declaration.span
            name = declaration.name or module
            span = span_of(value)
            comments.append(Comment(name, declaration.kind, "docstring", text, span, about))
    return comments, clean


def _first_string(node: tree_sitter.Node) -> tree_sitter.Node | None:
    """Return the string that is the first statement of a declaration's body, or of a module."""
    body = node.child_by_field_name("body") or node
    value = next((part for part in body.named_children if part.type != "comment"), None)
    if value is None or value.type != "expression_statement":
        return None
    while value is not None and value.type in ("expression_statement", "parenthesized_expression"):
        value = value.named_child(0) if value.named_child_count == 1 else None
    return value if value and value.type in ("string", "concatenated_string") else None


def _docstring(value: tree_sitter.Node) -> str | None:
    """Return what a string says; None where it is no docstring, but bytes or an expression."""
    strings = [value] if value.type == "string" else value.named_children
    parts = []
    for string in (part for part in strings if part.type == "string"):
        prefix = re.split("[\"']", (string.text or b"").decode(), maxsplit=1)[0].lower()
        if _NO_DOCSTRING & set(prefix):
            return None
        contents = (part for part in string.named_children if part.type == "string_content")
        text = "".join((part.text or b"").decode() for part in contents)
        parts.append(text if "r" in prefix else _ESCAPE.sub(_decoded, text))
    return LINE_END.sub("\n", "".join(parts))


def _decoded(escape: re.Match[str]) -> str:
    """Return what an escape stands for; itself where that is no text that is shown."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value = ast.literal_eval(f'"""{escape[0]}"""')
    except (SyntaxError, ValueError):
        return escape[0]
    shown = isinstance(value, str) and (value.isprintable() or value in "\n\t")
    return str(value) if shown else escape[0]
