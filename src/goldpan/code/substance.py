"""Check that a change to a file touches more than comments, docstrings and string literals.

The substance check of FAUN-Eval (section 3.3.2). Two versions are compared by the tokens of their
code, with one mark for each string literal, and by how these tokens nest; a change of white space
counts only where it changes what the code says, such as an indentation in Python, and a comma that
formatters put after the last item of a list only where it makes a tuple. What an
interpolation holds is code, and so are the paths of imports.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, Literal

from goldpan.code.edits.diff import count_common
from goldpan.code.grammar import Mark, ParsedCode, code_bytes, read
from goldpan.code.languages import Language, language_of, second_language_of
from goldpan.code.lexer import CONTINUED, LexicalRules, Stripped, squeeze, strip, tokens
from goldpan.core.parallel.workers import Failed, map_in_sandbox
from goldpan.core.sanitize import line

if TYPE_CHECKING:
    from tree_sitter import Node


# Where two texts differ, and how much; a change is shown in one line for people.

_WIDTH = 100


def changed_tokens(old_code: bytes, new_code: bytes) -> int:
    """Count the tokens of which one code has more than the other."""
    old, new = Counter(old_code.split(b"\n")), Counter(new_code.split(b"\n"))
    change: Counter[bytes] = Counter()
    for changed, times in ((new - old), 1), ((old - new), -1):
        for line_of_code, lines in changed.items():
            for token in tokens(line_of_code):
                change[token] += times * lines
    return sum(map(abs, change.values()))


def first_change(old: bytes, new: bytes, old_code: bytes, new_code: bytes) -> str:
    """Return the first line that changed, of the code if it did; codes have the lines of texts."""
    is_code = squeeze(old_code) != squeeze(new_code)
    rows = map(_rows, (old_code, new_code) if is_code else (old, new))
    ends = old.count(b"\n") + 1, new.count(b"\n") + 1
    for place, other in zip_longest(*rows):
        (number, text), (new_number, new_text) = place or (ends[0], b""), other or (ends[1], b"")
        if text != new_text:
            return f"{_line_text(old, number)} => {_line_text(new, new_number)}"
    number = old.count(b"\n", 0, count_common(old, new))
    return f"{_line_text(old, number)} => {_line_text(new, number)}"


def _rows(text: bytes) -> list[tuple[int, bytes]]:
    """Return the lines that are not blank, without white space, each with its number from 0."""
    rows = enumerate(map(squeeze, text.split(b"\n")))
    return [(number, row) for number, row in rows if row]


def _line_text(text: bytes, number: int) -> str:
    lines = text.split(b"\n", number + 1)
    if number >= len(lines) or lines[number:] == [b""]:
        return "the end"
    shown = lines[number][: 8 * _WIDTH].decode(errors="replace")
    return f"{number + 1}: {line(shown, _WIDTH)}"


# Whether two trees nest the same code alike.


def same_structure(before: ParsedCode, after: ParsedCode) -> bool:
    """Return whether two versions are the same tree, but for comments and what strings say.

    Both must have the same grammar.
    """
    return all(left == right for left, right in zip_longest(_nodes(before), _nodes(after)))


def _nodes(reading: ParsedCode) -> Iterator[tuple[Mark, int, int, list[bytes]]]:
    """Yield the nodes of code: mark, kind, the number of nodes within, and the words of a leaf."""
    waiting = [(reading.tree.root_node, Mark.CODE)]
    while waiting:
        node, outer = waiting.pop()
        mark = _mark(node, reading, outer)
        within = _within(node, reading, mark)
        is_string = mark is Mark.STRING
        words = [] if is_string or node.child_count else _words(node, reading, mark)
        yield mark, 0 if is_string else node.kind_id, len(within), words
        waiting += ((child, mark) for child in reversed(within))


def _mark(node: Node, reading: ParsedCode, outer: Mark) -> Mark:
    mark = reading.marks.get(node.id)
    return outer if mark is None else mark.within(outer)


def _words(node: Node, reading: ParsedCode, mark: Mark) -> list[bytes]:
    return code_bytes(reading.text[node.start_byte : node.end_byte], mark, reading.grammar).split()


def _within(node: Node, reading: ParsedCode, outer: Mark) -> list[Node]:
    """Return the children that are code; those of a string are its interpolations."""
    nodes: list[Node] = []
    waiting = node.children[::-1]
    while waiting:
        child = waiting.pop()
        mark = _mark(child, reading, outer)
        if mark is Mark.STRING and outer is Mark.STRING:
            waiting.extend(child.children[::-1])
        elif mark is not Mark.COMMENT:
            nodes.append(child)
    if _has_last_comma(node, nodes):
        del nodes[-2]
    return nodes


def _has_last_comma(node: Node, within: list[Node]) -> bool:
    """Return whether a comma stands before the closing bracket that says nothing."""
    *_, item, comma, closing = (None, None, None, *(child.type for child in within))
    if comma != "," or closing not in _CLOSING or item in _NO_ITEM:
        return False
    return node.type not in _COMMA_COUNTS and not ("tuple" in node.type and len(within) == 4)


_CLOSING = frozenset(")]}>")
_NO_ITEM = frozenset(",([{<")  # a comma after these is a hole, as in `[1,,]` and `Map<,>`
# A macro may read each of its tokens, and `a[1,]` is another key than `a[1]`.
_COMMA_COUNTS = frozenset({"token_tree", "subscript"})
_LAST_COMMA = re.compile(rb"(?<![,(\[{<]),(?=[)\]}>])")


def _same_but_for_commas(old: bytes, new: bytes) -> bool:
    """Return whether squeezed codes are the same, but for commas before closing brackets."""
    if len(old) - old.count(b",") != len(new) - new.count(b","):
        return False
    return old == new or _LAST_COMMA.sub(b"", old) == _LAST_COMMA.sub(b"", new)


Parsed = Literal["tree", "failed", "tokens", "none"]
"""How a verdict was found.

tree: both versions parse, and their trees were compared; failed: one does not parse, so the
tokens alone decided; tokens: the tokens decided without a parser, because the language's comments
and strings can be told without one; none: nothing was read.
"""
Reason = Literal[
    "comments",
    "strings",
    "comments-and-strings",
    "white-space",
    "last-comma",
    "encoding",
    "rename-only",
    "mode-only",
    "unknown-language",
    "no-grammar",
    "too-large",
    "binary",
    "absent",
    "timeout",
    "crash",
]
LARGEST = 1_000_000
"""Bytes of a version above which a change is left undecided; such files are generated."""


@dataclass(frozen=True, slots=True)
class Substance:
    """The verdict on one change; `keep` is None where it could not be judged."""

    keep: bool | None
    reason: Reason | None
    """Why not kept, or why undecided; None where kept."""
    language: str | None
    parsed: Parsed
    changed_tokens: int = 0
    """Tokens of which one version has more than the other; 0 where only their order or nesting
    changed."""
    evidence: str = ""
    """The first line of code that changed, before and after."""


@dataclass(frozen=True, slots=True)
class FilePair:
    """Two versions of a file; None is a file that is not there."""

    before: bytes | None
    after: bytes | None
    path: str
    previous_path: str | None = None


def compare(
    before: bytes | None, after: bytes | None, path: str, previous_path: str | None = None
) -> Substance:
    """Judge a change from one version of a file to another.

    The result depends on the arguments alone, and is the same for both directions but for the
    order in the evidence. A hostile file may take minutes: `compare_all` stops at a time.
    """
    pair = FilePair(before, after, path, previous_path)
    return compare_unread(pair) or compare_texts(pair)


def compare_unread(pair: FilePair) -> Substance | None:
    """Judge a change where that needs no look at the texts; else None."""
    previous = pair.previous_path or pair.path
    first, last = language_of(previous), language_of(pair.path)
    name = last.name if last else None
    if pair.before is None and pair.after is None:
        return Substance(None, "absent", name, "none")
    if pair.before == pair.after:
        reason: Reason = "mode-only" if previous == pair.path else "rename-only"
        return Substance(False, reason, name, "none")
    if first is None or last is None:
        return Substance(None, "unknown-language", name, "none")
    if max(len(pair.before or b""), len(pair.after or b"")) > LARGEST:
        return Substance(None, "too-large", name, "none")
    return None


def compare_texts(pair: FilePair) -> Substance:
    """Judge a change that `compare_unread` leaves open."""
    first, last = language_of(pair.previous_path or pair.path), language_of(pair.path)
    assert first and last
    old, new = _normalize(pair.before or b""), _normalize(pair.after or b"")
    if old is None or new is None:
        return Substance(None, "binary", last.name, "none")
    if old == new:
        has_both = pair.before is not None and pair.after is not None
        return Substance(False, "encoding" if has_both else "white-space", last.name, "none")
    if first is last and first.lexis:
        substance = _by_lexis(old, new, first, first.lexis)
        if substance:
            return substance
    return _by_grammar(old, new, first, last, pair.path)


def _normalize(text: bytes) -> bytes | None:
    """Return a text as UTF-8 with line feeds and no byte order mark; None where it is none."""
    if text[:2] in (b"\xff\xfe", b"\xfe\xff"):
        text = text.decode("utf-16", "replace").encode()
    text = text.removeprefix(b"\xef\xbb\xbf")
    if b"\0" in text:
        return None
    if not text.isascii():
        try:
            text.decode()
        except UnicodeDecodeError:
            text = text.decode("latin-1").encode()
    return text.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in text else text


def _by_lexis(old: bytes, new: bytes, language: Language, lexis: LexicalRules) -> Substance | None:
    """Judge by tokens alone; None where only a parser can tell."""
    before, after = strip(old, lexis), strip(new, lexis)
    squeezed = (squeeze(code, strings=False) for code in (before.code, after.code))
    keep = not _same_but_for_commas(*squeezed)
    if not keep and language.grammar:
        return None
    keep = keep or tokens(before.code) != tokens(after.code)
    keep = keep or _layout(before.code, language) != _layout(after.code, language)
    return _verdict(keep, language.name, "tokens", (old, before), (new, after))


def _by_grammar(old: bytes, new: bytes, first: Language, last: Language, path: str) -> Substance:
    if not first.grammar or not last.grammar:
        return Substance(None, "no-grammar", last.name, "none")
    name = last.name
    before, after = read(old, first.grammar), read(new, last.grammar)
    clean = before.clean and after.clean
    second = second_language_of(path)
    if not clean and first is last and second and second.grammar:
        other = read(old, second.grammar)
        if other.clean and (another := read(new, second.grammar)).clean:
            before, after, clean, name = other, another, True, second.name
    squeezed = squeeze(before.stripped.code), squeeze(after.stripped.code)
    keep = squeezed[0] != squeezed[1]
    if clean and before.grammar is after.grammar:
        keep = not _same_but_for_commas(*squeezed) or not same_structure(before, after)
    elif first is last:
        old_layout = _layout(before.stripped.code, last)
        keep = keep or old_layout != _layout(after.stripped.code, last)
    parsed: Parsed = "tree" if clean else "failed"
    return _verdict(keep, name, parsed, (old, before.stripped), (new, after.stripped))


def _layout(code: bytes, language: Language) -> list[tuple[int, list[bytes]]]:
    """Return what the lines of a code say: how far each is indented, and its tokens."""
    lines = code.replace(CONTINUED, b" ").split(b"\n")
    match language.layout:
        case "free":
            return []
        case "directives":
            return [(0, tokens(line)) for line in lines if line.lstrip().startswith(b"#")]
        case "indented":
            lines = [line.expandtabs() for line in lines if line.strip()]
            return [(len(line) - len(line.lstrip()), tokens(line)) for line in lines]


def _verdict(
    keep: bool,
    language: str,
    parsed: Parsed,
    before: tuple[bytes, Stripped],
    after: tuple[bytes, Stripped],
) -> Substance:
    (old, old_code), (new, other) = before, after
    evidence = first_change(old, new, old_code.code, other.code)
    if keep:
        count = changed_tokens(old_code.code, other.code)
        return Substance(True, None, language, parsed, count, evidence)
    comments, strings = old_code.comments != other.comments, old_code.strings != other.strings
    squeezed = squeeze(old_code.code), squeeze(other.code)
    layout: Reason = "white-space" if squeezed[0] == squeezed[1] else "last-comma"
    reason: Reason = "comments" if comments else "strings" if strings else layout
    reason = "comments-and-strings" if comments and strings else reason
    return Substance(False, reason, language, parsed, 0, evidence)


def compare_all(
    pairs: Iterable[FilePair], workers: int = 2, timeout: float = 20.0
) -> Iterator[Substance]:
    """Judge changes in order, in `workers` processes; pairs are drawn as they are needed.

    `timeout` is seconds of processor time for one pair. Where it is spent, or the parser crashes,
    or wants more than 2 GiB, that pair is undecided with reason ``timeout`` or ``crash``, the only
    verdicts that another machine may not give, and the rest goes on. Raises `GoldpanError` where
    a process cannot start.
    """
    pending: deque[FilePair] = deque()

    def noted() -> Iterator[FilePair]:
        for pair in pairs:
            pending.append(pair)
            yield pair

    for result in map_in_sandbox(compare_texts, noted(), workers, timeout, compare_unread):
        pair = pending.popleft()
        if isinstance(result, Failed):
            language = language_of(pair.path)
            yield Substance(None, result.reason, language.name if language else "", "none")
        else:
            yield result
