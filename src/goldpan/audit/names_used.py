"""Which names lines of code define, and which they need from elsewhere, by their tokens alone.

Signs tell the two apart in most languages: what stands behind `def`, before `=` or among the
parameters is defined; what is called, reached by a dot, imported, or named as an argument or a
field is needed. No language is known better than that, so both are guesses.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

_TOKEN = re.compile(r"\w+|[=!<>]=|=>|->|::|:=|\?\.|[^\w\s]")
_NAME = re.compile(r"[^\W\d]\w{2,}")
_IMPORT = re.compile(r"\s*(?:import|from|#\s*include|using|require|use|package|export \{)\b")
_FUNCTION = re.compile(r"def|func|fn|function|fun|sub|constructor")
_DECLARES = re.compile(
    rf"{_FUNCTION.pattern}|class|interface|struct|enum|trait|type|module|const|let|var|val|define"
    r"|typedef|protocol|object|record|mod|union|namespace"
)
_STATEMENT = re.compile(
    r"return|else|new|throw|await|yield|in|not|and|or|if|while|raise|assert|del|print|case|import"
    r"|from|is|lambda|elif|until|unless|when|typeof|delete|goto|with"
)
_BEFORE_METHOD = (")", "*", ".", "get", "set")
_OWN = frozenset({"self", "this", "cls", "Self"})
_ACCESS = frozenset({".", "->", "::", "?."})
_OPEN, _CLOSE = "([{", ")]}"
_PARAMETERS, _IMPORTED = "parameters", "imported"


@dataclass(frozen=True, slots=True)
class Use:
    """A name where it stands in code."""

    name: str
    line: int
    """Of the lines that were read, from 0."""
    defines: bool
    is_bare: bool
    """Whether it stands for itself, not as a part of another object."""
    is_import: bool
    is_reached: bool
    """Whether it is imported, or is an attribute, argument or field of something else."""
    is_called: bool
    """Whether it is called, or written as classes and constants are."""
    is_function: bool
    """Whether it is a function that is defined or declared here."""


def read_uses(code: Sequence[str], wanted: Collection[str]) -> Iterator[Use]:
    """Yield these names, and functions that are defined, in lines of code without comments."""
    around: list[str] = []
    for number, line in enumerate(code):
        tokens = _TOKEN.findall(line)
        is_import = bool(_IMPORT.match(line)) or around[-1:] == [_IMPORTED]
        function = _defined_function(tokens, around)
        for at, token in enumerate(tokens):
            if token in _OPEN:
                kind = _PARAMETERS if function >= 0 and at == function + 1 else token
                around.append(_IMPORTED if is_import else kind)
            elif token in _CLOSE:
                del around[-1:]
            elif at == function or (token in wanted and _NAME.fullmatch(token)):
                inner = around[-1] if around else ""
                yield _use(token, number, tokens, at, inner, is_import, at == function)


def _defined_function(tokens: Sequence[str], around: Sequence[str]) -> int:
    """Return the place of the function that a line defines or declares, -1 for none."""
    if "(" not in tokens or (around and around[-1] != "{"):
        return -1
    has_keyword = any(_FUNCTION.fullmatch(token) for token in tokens)
    for at in range(1, len(tokens) - 1):
        before = tokens[at - 1]
        if tokens[at + 1] != "(" or not _NAME.fullmatch(tokens[at]):
            continue
        if has_keyword and (_FUNCTION.fullmatch(before) or before in _BEFORE_METHOD):
            return at
        is_typed = before in ("*", "&", ">", "]") or _NAME.fullmatch(before)
        ends = tokens[-1] in ("{", ")", ";", ",", "(")
        if is_typed and not _STATEMENT.fullmatch(before) and ends and "=" not in tokens[:at]:
            return at
    return -1


def _use(
    name: str,
    number: int,
    tokens: Sequence[str],
    at: int,
    inner: str,
    is_import: bool,
    is_function: bool,
) -> Use:
    before = tokens[at - 1] if at else ""
    after = tokens[at + 1] if at + 1 < len(tokens) else ""
    is_access = before in _ACCESS and not is_function
    is_own = is_access and at > 1 and tokens[at - 2] in _OWN
    is_bare = not is_access or is_own
    is_free = inner in ("", "{", _PARAMETERS)
    begins = before in ("", "{", ",", "(")
    is_typed = bool(_NAME.fullmatch(before)) and not _STATEMENT.fullmatch(before)
    defines = is_bare and bool(
        is_function
        or _DECLARES.fullmatch(before)
        or (after in ("=", ":=") and is_free)
        or (after == ":" and is_free and (begins or is_own))
        or (inner == _PARAMETERS and after in (",", ")", "=", ""))
        or (after == ";" and is_typed)
        or (inner == "{" and not at and (after in (",", "") or _NAME.fullmatch(after)))
    )
    is_named = begins and ((inner == "(" and after == "=") or (inner == "{" and after == ":"))
    is_reached = not is_own and (is_access or is_named or is_import or before == "@")
    is_called = is_bare and not is_own and not is_function and not _DECLARES.fullmatch(before)
    is_called = is_called and (after == "(" or name[0].isupper())
    defines = defines and not is_import
    return Use(name, number, defines, is_bare, is_import, is_reached, is_called, is_function)


_MOST_SIGNS = 2_000
_RECEIVER = re.compile(r"(?:&?(?:mut )?self|cls|this|void|\*|/)?")
_KEYWORD = re.compile(r"\w+\s*=(?!=)|\*|\.\.\.")
_LAST = re.compile(r"(\w+)\W*$")


def read_arguments(code: str, start: int) -> tuple[str, ...]:
    """Return what stands in the brackets that open at a place, parted by commas.

    Receivers such as `self` are left out; empty where nothing closes.
    """
    parts: list[str] = []
    depth, begin = 0, start + 1
    for at in range(start, min(len(code), start + _MOST_SIGNS)):
        sign = code[at]
        depth += (sign in _OPEN) - (sign in _CLOSE)
        if depth == 0 or (depth == 1 and sign == ","):
            parts.append(code[begin:at].strip())
            begin = at + 1
        if depth == 0:
            return tuple(part for part in parts if not _RECEIVER.fullmatch(part))
    return ()


def positional(arguments: Sequence[str]) -> int:
    """Return how many arguments have no name and unpack nothing."""
    return sum(not _KEYWORD.match(argument) for argument in arguments)


def parameter_names(parameters: Sequence[str]) -> tuple[str, ...]:
    """Return the names of parameters without types and defaults, as most languages write them."""
    names = (re.split(r"[:=]", parameter)[0] for parameter in parameters)
    return tuple(found[1] for name in names if (found := _LAST.search(name)))
