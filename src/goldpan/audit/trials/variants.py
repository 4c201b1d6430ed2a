"""Variants of a fix: the code with the fix, but for one difference in the changed lines.

A variant that passes the tests shows what they do not check. Each parses, and none has the syntax
tree of the fix, of the code before it, or of another variant; for Python, none has their bytecode.
"""

from __future__ import annotations

import ast
import hashlib
import random
import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from difflib import unified_diff
from itertools import groupby, pairwise, zip_longest
from types import CodeType
from typing import TYPE_CHECKING, TypeVar

from goldpan.audit.trials.mutations import Block, Kind, MutationEdit, edits_of, line_starts
from goldpan.code.grammar import Mark, ParsedCode, read
from goldpan.code.languages import Language, language_of, second_language_of
from goldpan.code.patch import FilePatch, read_hunks
from goldpan.code.substance import LARGEST

if TYPE_CHECKING:
    from tree_sitter import Node

T = TypeVar("T")
VERSION = 3
"""Raised where the same fix and seed would give other variants."""
_AROUND = 2
"""Lines before and after a change that its diff shows."""
_RAISED = re.compile(r"(?:raise|throw)(?:_statement|_expression)?")
_CALL = re.compile(r"call|invocation|creation|new_expression|macro")
_MESSENGER = re.compile(
    rb"(?:.*\W)?(?:\w*(?:Error|Exception|Warning)|_*(?:raise|throw|fail|panic|abort|warn)\w*|bail"
    rb"|debug|info|error|critical|fatal|exception|errors\.New|Errorf)[\s!]*",
    re.DOTALL,
)
"""A callee whose texts tell people of errors or progress."""
_ARGUMENTS = re.compile(r"arguments?(?:_list)?|token_tree")
_APART = re.compile(r"subscript.*|(?:dictionary|object|pair|keyword_argument|comparison_operator)")
"""Within a message, a string here may be more than words, such as a key."""
_ASSIGNMENT = re.compile(r"assignment(?:_expression|_statement)?|variable_declarator")
_ERASED = re.compile(
    r"type_annotation|type_parameters|type_arguments|interface_declaration|function_signature"
    r"|type_alias_declaration"
)
"""Nodes of TypeScript that no compiled code has."""
_STUBS = re.compile(rb"if\s+(?:\w+\.)?TYPE_CHECKING\s*:\s*|class\s[^:]*\bTypedDict\b[^:]*:\s*")
_OVERLOAD = re.compile(rb"@(?:\w+\.)?overload\s")


@dataclass(frozen=True, slots=True)
class FixedFile:
    """A file that a fix changes, with the fix."""

    path: str
    content: bytes = field(repr=False)
    blocks: tuple[Block, ...] = field(repr=False)

    @property
    def before(self) -> bytes:
        """The file as it was before the fix."""
        content, starts = self.content, line_starts(self.content)
        for block in reversed(self.blocks):
            start, end = starts[block.first], starts[block.first + block.added]
            content = content[:start] + block.removed + content[end:]
        return content


@dataclass(frozen=True, slots=True)
class Variant:
    """A file of the fix with one difference."""

    kind: Kind
    path: str
    line: int
    """Where it differs from the fix, from 1."""
    content: bytes = field(repr=False)
    diff: str
    """The difference, as a git diff on top of the fix; bytes that are no text are replaced."""


def changed_blocks(part: FilePatch) -> tuple[Block, ...]:
    """Return where a git diff of one file changes it, in order."""
    blocks: list[Block] = []
    for hunk in read_hunks(part.text):
        for is_same, group in groupby(hunk, lambda line: line.mark == " "):
            lines = [] if is_same else list(group)
            gone = [line.text + "\n" * line.ends for line in lines if line.mark == "-"]
            removed = "".join(gone).encode("utf-8", "surrogateescape")
            if lines:
                blocks.append(Block(lines[0].new - 1, len(lines) - len(gone), removed))
    return tuple(blocks)


def make_variants(files: Sequence[FixedFile], count: int, seed: int) -> tuple[Variant, ...]:
    """Return at most `count` variants of a fix, drawn by seed, spread over its blocks and kinds.

    Files without a grammar, larger than 1 MB, or that do not parse, have none. Nothing bounds the
    time that a hostile text takes.
    """
    codes = [code for file in files if (code := _parse(file))]
    queues: list[list[tuple[_Code, MutationEdit]]] = []
    known: set[tuple[str, bytes | None]] = set()
    for code in codes:
        path = code.file.path
        known |= {(path, None), (path, code.meaning(code.file.content))}
        if len(codes) == 1:
            known.add((path, code.meaning(code.file.before)))
        draw = random.Random(f"{seed} {path}")  # noqa: S311 - repeats a drawing
        blocks = edits_of(code.reading, code.language, code.file.blocks)
        queues += ([(code, edit) for edit in _drawn(edits, draw)] for edits in blocks)
    random.Random(f"{seed}").shuffle(queues)  # noqa: S311 - repeats a drawing
    variants: list[Variant] = []
    for code, edit in _in_turn(queues):
        if len(variants) == count:
            break
        file = code.file
        content = file.content[: edit.start] + edit.text + file.content[edit.end :]
        meaning = (file.path, code.meaning(content))
        if meaning not in known:
            known.add(meaning)
            line = file.content.count(b"\n", 0, edit.start) + 1
            variants.append(Variant(edit.kind, file.path, line, content, _diff(file, content)))
    return tuple(variants)


@dataclass(frozen=True, slots=True)
class _Code:
    """A file of a fix with the language in which it parses."""

    file: FixedFile
    language: Language
    reading: ParsedCode
    by_bytecode: bool
    """True where the running Python compiles it."""

    def meaning(self, content: bytes) -> bytes | None:
        """Return a digest of a text's meaning, None where it is no code of the language."""
        reading = _read(content, self.language)
        behavior = _behavior(reading, self.language)
        if self.by_bytecode:
            return _bytecode(behavior) or _bytecode(content)
        return _tree(_read(behavior, self.language)) if reading.clean else None


def _parse(file: FixedFile) -> _Code | None:
    if len(file.content) > LARGEST:
        return None
    for language in (language_of(file.path), second_language_of(file.path)):
        if language and language.grammar and (reading := _read(file.content, language)).clean:
            by_bytecode = language.name == "Python" and _bytecode(file.content) is not None
            return _Code(file, language, reading, by_bytecode)
    return None


def _read(content: bytes, language: Language) -> ParsedCode:
    assert language.grammar is not None
    return read(content, language.grammar)


def _drawn(edits: Sequence[MutationEdit], draw: random.Random) -> list[MutationEdit]:
    """Return edits in a random order in which kinds take turns; leaving out all comes first."""
    by_kind: dict[Kind, list[MutationEdit]] = {}
    for edit in edits:
        by_kind.setdefault(edit.kind, []).append(edit)
    whole = by_kind.pop("hunk", [])
    queues = [by_kind[kind] for kind in sorted(by_kind)]
    for queue in queues:
        draw.shuffle(queue)
    draw.shuffle(queues)
    return [*whole, *_in_turn(queues)]


def _in_turn(queues: Sequence[Sequence[T]]) -> Iterator[T]:
    """Yield the first of each queue, then the second of each, and so on."""
    for row in zip_longest(*queues):
        yield from (item for item in row if item is not None)


def _behavior(reading: ParsedCode, language: Language) -> bytes:
    """Return a text without messages, docstrings and types, which tests of behavior ignore."""
    cuts: list[tuple[int, int, bytes]] = []
    strings: dict[bytes, list[Node]] = {}
    in_messages, elsewhere = {b""}, set[bytes]()
    waiting: list[tuple[Node, bytes | None]] = [(reading.tree.root_node, None)]
    while waiting:
        node, owner = waiting.pop()
        if reading.marks.get(node.id) is Mark.STRING:
            if owner is not None:
                strings.setdefault(owner, []).append(node)
            continue
        if node.type == "identifier":
            (in_messages if owner == b"" else elsewhere).add(node.text or b"")
        cuts += _types(node, reading.marks.get(node.id), language)
        waiting += _owned(node, owner)
    for name in in_messages - elsewhere:
        cuts += [(node.start_byte, node.end_byte, b'""') for node in strings.get(name, ())]
    parts, at = [], 0
    for start, end, text in sorted(cuts, key=lambda cut: (cut[0], -cut[1])):
        if start >= at:
            parts += [reading.text[at:start], text]
            at = end
    return b"".join([*parts, reading.text[at:]])


def _owned(node: Node, owner: bytes | None) -> Iterator[tuple[Node, bytes | None]]:
    """Yield the children of a node, each with what its strings go to: a message (b"") or a name."""
    target = None
    if _ASSIGNMENT.fullmatch(node.type):
        target = node.child_by_field_name("left") or node.child_by_field_name("name")
    if target is not None:
        owner = target.text if target.type == "identifier" else None
    elif _RAISED.fullmatch(node.type):
        owner = b""
    elif _APART.fullmatch(node.type):
        owner = None
    for child in node.children:
        if _CALL.search(node.type) and _ARGUMENTS.fullmatch(child.type):
            callee = (node.text or b"")[: child.start_byte - node.start_byte]
            is_raised = node.parent is not None and _RAISED.fullmatch(node.parent.type)
            yield child, b"" if is_raised or _MESSENGER.fullmatch(callee) else None
        elif child != target:
            yield child, owner


def _types(node: Node, mark: Mark | None, language: Language) -> Iterator[tuple[int, int, bytes]]:
    """Yield the places of docstrings or types in a node, each with its replacement."""
    start, end, text = node.start_byte, node.end_byte, node.text or b""
    if language.name in ("TypeScript", "TSX") and _ERASED.fullmatch(node.type):
        yield start, end, b""
    if language.name != "Python":
        return
    parent = node.parent.type if node.parent else ""
    if node.type == "expression_statement" and mark is Mark.COMMENT:
        # Only a docstring may stand before imports from `__future__`.
        yield start, end, b"" if parent == "module" else b"pass"
    if _OVERLOAD.match(text):
        yield start, end, b"pass"
    body = node.child_by_field_name("consequence") or node.child_by_field_name("body")
    if body is not None and _STUBS.fullmatch(text[: body.start_byte - start]):
        yield body.start_byte, body.end_byte, b"pass"
    parameters = node.child_by_field_name("parameters")
    if node.type == "function_definition" and parent != "decorated_definition" and parameters:
        for part in (node, *parameters.named_children):
            for sign, kind in pairwise(part.children):
                if kind.type == "type":
                    yield sign.start_byte, kind.end_byte, b""


def _tree(reading: ParsedCode) -> bytes:
    """Return a digest of a syntax tree without comments, white space and parentheses."""
    digest = hashlib.sha256()
    waiting: list[Node | None] = [reading.tree.root_node]
    while waiting:
        node = waiting.pop()
        if node is None:
            digest.update(b")")
        elif reading.marks.get(node.id) is not Mark.COMMENT and node.type not in "()":
            if node.type != "parenthesized_expression":
                digest.update(f"({node.type} ".encode())
                waiting.append(None)
            if not node.child_count:
                digest.update(node.text or b"")
            waiting += reversed(node.children)
    return digest.digest()


def _bytecode(content: bytes) -> bytes | None:
    """Return a digest of the bytecode; None where this Python does not compile the text."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(content)
            _put_on_one_line(tree)
        code = compile(tree, "", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return hashlib.sha256(repr(_plain(code)).encode("utf-8", "replace")).digest()


def _put_on_one_line(tree: ast.Module) -> None:
    """Give all nodes the same place: some line breaks change the bytecode."""
    for node in ast.walk(tree):
        for name in node._attributes:
            setattr(node, name, 1)


def _plain(constant: object) -> object:
    if isinstance(constant, CodeType):
        code = constant
        names = (code.co_name, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
        counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
        table = getattr(code, "co_exceptiontable", b"")
        return (code.co_code, table, names, counts, [_plain(part) for part in code.co_consts])
    if isinstance(constant, frozenset):
        return sorted(map(repr, constant))
    return (type(constant).__name__, repr(constant))


def _diff(file: FixedFile, content: bytes) -> str:
    """Return the difference of a text from the fix, as git would."""
    texts = (
        text.removesuffix(b"\n").decode("utf-8", "replace") for text in (file.content, content)
    )
    old, new = (text.split("\n") for text in texts)
    names = f"a/{file.path}", f"b/{file.path}"
    return "\n".join([*unified_diff(old, new, *names, n=_AROUND, lineterm=""), ""])
