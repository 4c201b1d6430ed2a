"""No expression repeats a group possessively: CPython 3.11.0 to 3.11.4 match that wrongly.

See gh-106052 of python/cpython: `(?:a|ab)*+` and the like miss what they should match there, by
which private keys went into datasets.
"""

import ast
import importlib
import pkgutil
import re
import tomllib
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import goldpan
from goldpan.core.errors import EvaluationError

_SOURCE = Path(goldpan.__file__).parent
_PARSER = importlib.import_module("re._parser")
_UNITS = {"LITERAL", "NOT_LITERAL", "IN", "ANY", "CATEGORY"}


def _is_unit(parsed: Any) -> bool:
    if len(parsed) != 1:
        return False
    operation, argument = parsed[0]
    if str(operation) == "SUBPATTERN":
        return argument[0] is None and _is_unit(argument[-1])
    return str(operation) in _UNITS


def _repeats_groups_possessively(parsed: Any) -> bool:
    if isinstance(parsed, (tuple, list, _PARSER.SubPattern)):
        if isinstance(parsed, tuple) and str(parsed[:1]) == "(POSSESSIVE_REPEAT,)":
            return not _is_unit(parsed[1][2]) or _repeats_groups_possessively(parsed[1][2])
        return any(_repeats_groups_possessively(part) for part in parsed)
    return False


def _is_refused(pattern: str | bytes | re.Pattern[Any]) -> bool:
    text, flags = pattern, 0
    if isinstance(pattern, re.Pattern):
        text, flags = pattern.pattern, pattern.flags & ~re.UNICODE
    elif len(pattern) > 5000:
        return False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _repeats_groups_possessively(_PARSER.parse(text, flags))
    except (re.error, OverflowError, RecursionError):
        return False  # a text, and no expression


def _strings(value: Any, seen: set[int]) -> Iterator[str | bytes | re.Pattern[Any]]:
    """Yield texts and expressions in an attribute, however deep."""
    if isinstance(value, (str, bytes, re.Pattern)):
        yield value
    elif id(value) not in seen and type(value).__module__.partition(".")[0] in (
        "builtins",
        "goldpan",
        "mappingproxy",
    ):
        seen.add(id(value))
        if isinstance(value, dict):
            value = list(value.values())
        if isinstance(value, (list, tuple, set, frozenset)):
            parts = list(value)
        else:
            names = getattr(type(value), "__dataclass_fields__", {})
            parts = [getattr(value, name, None) for name in names]
        for part in parts:
            yield from _strings(part, seen)


def _modules() -> Iterator[str]:
    yield "goldpan"
    for module in pkgutil.walk_packages([str(_SOURCE)], "goldpan."):
        yield module.name


def test_no_compiled_expression_repeats_a_group_possessively() -> None:
    refused, patterns, seen = [], 0, set[int]()
    for name in _modules():
        try:
            module = importlib.import_module(name)
        except (ImportError, EvaluationError):
            continue  # it needs an extra that is not installed; its text is read below
        for attribute, value in vars(module).items():
            for text in _strings(value, seen):
                patterns += isinstance(text, re.Pattern)
                if _is_refused(text):
                    refused.append(f"{name}.{attribute}")
    assert patterns > 300
    assert not refused


def test_no_expression_in_the_source_or_its_data_repeats_a_group_possessively() -> None:
    refused = []
    for path in sorted(_SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_bytes())):
            if (
                isinstance(node, ast.Constant)
                and isinstance(node.value, (str, bytes))
                and _is_refused(node.value)
            ):
                refused.append(f"{path.relative_to(_SOURCE)}:{node.lineno}")
    for path in sorted(_SOURCE.rglob("*.toml")):
        try:
            data = tomllib.loads(path.read_text("utf-8"))
        except tomllib.TOMLDecodeError:
            continue  # a template of an export
        for text in _strings(data, set()):
            if _is_refused(text):
                refused.append(f"{path.relative_to(_SOURCE)}: {text!r}")
    assert not refused


def test_the_construction_is_known() -> None:
    for text in (r"(?:a|ab)*+", rb"x(ab)++", r"(?:\\.[^\n]*+){4,}+y", "((?:[0-3][0-7])++)"):
        assert _is_refused(re.compile(text))
        assert _is_refused(text)
    for text in (r"[a-z]*+", r"a++(?:b*+c)*", r"(?:[ab])*+", "(?>ab)*"):
        assert not _is_refused(re.compile(text))
