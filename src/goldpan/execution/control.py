"""The negative control of a patch that is scored: its tests, changed so that none can pass.

A patch runs in the process of the tests and may forge what they report. One that still reports
them as passed when each of their functions fails at its first line has forged it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from pathlib import Path

_FAILURE = "raise AssertionError"


def fail_tests(testbed: Path, files: Iterable[str]) -> bool:
    """Make each test function of the Python files fail at once; say whether there was any."""
    changed = False
    for path in files:
        target = testbed / path
        if target.suffix != ".py" or target.is_symlink() or not target.is_file():
            continue
        failing = failing_tests(target.read_bytes())
        if failing is not None:
            target.write_text(failing, encoding="utf-8")
            changed = True
    return changed


def failing_tests(source: bytes) -> str | None:
    """Return a test file whose test functions all fail, None where none is to be read as Python.

    Decorators, parameters and documentation strings stay, so tests keep their names.
    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # Python 2, or hostile
        return None
    functions = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.name.lower().startswith("test")
    ]
    for function in functions:
        documented = ast.get_docstring(function, clean=False) is not None
        function.body.insert(int(documented), ast.parse(_FAILURE).body[0])
    return ast.unparse(tree) if functions else None
