"""Variants of a fix: the code with the fix, but for one difference in the changed lines.

A variant that passes the tests shows what they do not check. Each parses, and none has the tokens
of the fix, of the code before it, or of another variant; for Python, none has their bytecode.
Comments, types and strings with a word count for nothing: most of these are messages.
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
from itertools import groupby, zip_longest
from types import CodeType
from typing import TypeVar

from goldpan.audit.trials.mutations import SIGNS, Block, Kind, MutationEdit, edits_of, line_starts
from goldpan.code.grammar import ParsedCode, read
from goldpan.code.languages import Language, language_of, second_language_of
from goldpan.code.lexer import tokens
from goldpan.code.patch import FilePatch, read_hunks
from goldpan.code.substance import LARGEST

T = TypeVar("T")
VERSION = 5
"""Raised where the same fix and seed would give other variants."""
_AROUND = 2
"""Lines before and after a change that its diff shows."""
_TYPES = re.compile(
    r"type_annotation|type_parameters|type_arguments|interface_declaration|function_signature"
    r"|type_alias_declaration"
)
"""Nodes of TypeScript that no compiled code has."""


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
        if self.by_bytecode:
            return _bytecode(content)
        reading = _read(content, self.language)
        if reading.clean and self.language.name in ("TypeScript", "TSX"):
            reading = _read(_without_types(reading), self.language)
        signs = filter(SIGNS.fullmatch, reading.stripped.strings)
        code = b" ".join((*tokens(reading.stripped.code), *signs))
        return hashlib.sha256(code).digest() if reading.clean else None


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


def _without_types(reading: ParsedCode) -> bytes:
    parts, at = [], 0
    waiting = [reading.tree.root_node]
    while waiting:
        node = waiting.pop()
        if _TYPES.fullmatch(node.type):
            parts.append(reading.text[at : node.start_byte])
            at = node.end_byte
        else:
            waiting += reversed(node.children)
    return b"".join([*parts, reading.text[at:]])


def _bytecode(content: bytes) -> bytes | None:
    """Return a digest of the bytecode; None where this Python does not compile the text."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(content)
            _Behavior().visit(tree)
        code = compile(tree, "", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return hashlib.sha256(repr(_plain(code)).encode("utf-8", "replace")).digest()


class _Behavior(ast.NodeTransformer):
    """Takes strings, types and places out of a tree: some line breaks change the bytecode."""

    def visit(self, node: ast.AST) -> ast.AST:
        is_text = isinstance(node, ast.Constant) and isinstance(node.value, (str, bytes))
        if (is_text and not SIGNS.fullmatch(ast.unparse(node).encode())) or isinstance(
            node, ast.JoinedStr
        ):
            node = ast.Constant("")
        for name in ("annotation", "returns"):
            if getattr(node, name, None) is not None:
                setattr(node, name, ast.Constant("") if isinstance(node, ast.AnnAssign) else None)
        for name in node._attributes:
            setattr(node, name, 1)
        return self.generic_visit(node)


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
